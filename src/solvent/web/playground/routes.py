"""The playground: what the page asks about programs that people type in.

It keeps nothing and changes nothing, so it is there without `--control`. Programs run in processes of their own, within
limits: see `solvent.web.playground`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from solvent.errors import Misuse
from solvent.web.playground import Sandbox
from solvent.web.playground.examples import examples
from solvent.web.playground.question import MAX_BYTES, Question, limits, read_question
from solvent.web.playground.words import words

if TYPE_CHECKING:
    from starlette.requests import Request

    from solvent.web.site import Site

_LOOK_SECONDS = 0.5
"""How often it is looked whether anybody still waits for an answer."""


def routes(site: Site) -> list[Route]:
    """Give what can be asked."""
    sandbox = Sandbox()
    site.at_end(sandbox.close)

    async def about(_request: Request) -> Response:
        await asyncio.to_thread(sandbox.warm)
        known = await asyncio.to_thread(examples)
        usual = {name: getattr(Question("check", ""), name) for name in ("max_reactions", "max_seconds", "max_states")}
        found = {"examples": known, "words": words(), "limits": limits(), "usual": usual}
        return Response(msgspec.json.encode(found), media_type="application/json")

    async def ask(request: Request) -> Response:
        if request.headers.get("content-type", "").split(";")[0] != "application/json":
            # A form of another page could send anything else without asking first.
            return JSONResponse({"error": "a question is sent as application/json"}, status_code=415)
        job = sandbox.ask(read_question(await _body(request)))
        future = asyncio.wrap_future(job.future)
        try:
            while not (await asyncio.wait({future}, timeout=_LOOK_SECONDS))[0]:
                if await request.is_disconnected():
                    break
        finally:
            # Whoever has gone, or is to end, leaves nothing behind.
            job.end()
        return Response(await future, media_type="application/json")

    return [Route("/api/playground", about), Route("/api/playground", ask, methods=["POST"])]


async def _body(request: Request) -> bytes:
    """Read a question, up to as long as it may be."""
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > MAX_BYTES:
            raise Misuse("H370", "this program is too long for the playground", hint="run it with `solvent run`")
    return data


__all__ = ["routes"]
