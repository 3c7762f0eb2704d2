"""The routes of the playground. It keeps nothing and changes nothing, so it needs no `--control`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from solvent.errors import Misuse
from solvent.web.playground.editor import examples, words
from solvent.web.playground.question import MAX_BYTES, Question, limits, read_question
from solvent.web.playground.sandbox import Sandbox

if TYPE_CHECKING:
    from starlette.requests import Request

    from solvent.web.site import Site

_LOOK_SECONDS = 0.5
"""How often to check whether the browser still waits for an answer."""


def routes(site: Site) -> list[Route]:
    """Return the routes of this part of the page."""
    sandbox = Sandbox()
    site.at_end(sandbox.close)

    def about(_request: Request) -> Response:
        sandbox.warm()
        question = Question("check", "")
        defaults = {name: getattr(question, name) for name in ("max_reactions", "max_seconds", "max_states")}
        found = {"examples": examples(), "words": words(), "limits": limits(), "defaults": defaults}
        return Response(msgspec.json.encode(found), media_type="application/json")

    async def ask(request: Request) -> Response:
        if request.headers.get("content-type", "").split(";")[0] != "application/json":
            # A form of another page could send other types without a preflight request.
            return JSONResponse({"error": "a question is sent as application/json"}, status_code=415)
        job = sandbox.ask(read_question(await _body(request)))
        future = asyncio.wrap_future(job.future)
        try:
            while not (await asyncio.wait({future}, timeout=_LOOK_SECONDS))[0]:
                if await request.is_disconnected():
                    break
        finally:
            # A browser that has left, or a server that stops, leaves no process behind.
            job.end()
        return Response(await future, media_type="application/json")

    return [Route("/api/playground", about), Route("/api/playground", ask, methods=["POST"])]


async def _body(request: Request) -> bytes:
    """Read a question; raise `Misuse` if it is too long."""
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > MAX_BYTES:
            raise Misuse("H370", "this program is too long for the playground", hint="run it with `solvent run`")
    return data


__all__ = ["routes"]
