"""The solution of a run as molecules, at any moment of it: what the page asks about films (see `running.films`)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from solvent.web.films import Films, told

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from solvent.runs.replay_index.viewing import Viewer
    from solvent.web.site import Site

_MAX_TEXT = 200
_MAX_DIGITS = 15


def routes(site: Site) -> list[Route]:
    """Give what can be asked."""
    films = Films(site)

    def state(request: Request) -> dict[str, Any]:
        subject, places = films.subject(request.path_params["run"], request.query_params.get("place"))
        making = films.make(subject) if request.method == "POST" else films.get(subject)
        more: dict[str, Any] = {"place": subject.place, "places": places}
        if making is not None and making.is_over:
            more["has_grown"] = films.position(subject) > making.position
        return told(making, **more)

    async def film(request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(state, request))

    def asked(look: Callable[[Viewer, Request], dict[str, Any]]) -> Callable[[Request], Any]:
        def answer(request: Request) -> dict[str, Any]:
            subject, _ = films.subject(request.path_params["run"], request.query_params.get("place"))
            making = films.get(subject)
            if making is None or making.viewer is None:
                raise HTTPException(409, "the run has not been replayed yet")
            try:
                return look(making.viewer, request)
            except LookupError as error:
                raise HTTPException(404, str(error)) from None

        async def respond(request: Request) -> Response:
            try:
                return JSONResponse(await asyncio.to_thread(answer, request))
            except HTTPException as problem:
                return JSONResponse({"error": problem.detail}, status_code=problem.status_code)

        return respond

    at = "/api/runs/{run}/film"
    return [
        Route(at, film, methods=["GET", "POST"]),
        Route(f"{at}/at", asked(lambda film, request: film.moment(_number(request, "n")))),
        Route(f"{at}/inside", asked(_inside)),
        Route(f"{at}/search", asked(lambda film, request: film.search(_number(request, "n"), _text(request, "text")))),
        Route(f"{at}/events", asked(lambda film, request: film.events(_text(request, "task"), _number(request, "n")))),
        Route(f"{at}/why", asked(lambda film, request: film.why(_number(request, "molecule")))),
    ]


def _inside(film: Viewer, request: Request) -> dict[str, Any]:
    return film.inside(
        _number(request, "n"),
        _number(request, "solution"),
        offset=_number(request, "offset"),
        with_rules=request.query_params.get("rules") == "1",
    )


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "0")
    if not text.isdecimal() or len(text) > _MAX_DIGITS:
        raise HTTPException(422, f"`{name}` is a number")
    return int(text)


def _text(request: Request, name: str) -> str:
    return request.query_params.get(name, "")[:_MAX_TEXT]


__all__ = ["routes"]
