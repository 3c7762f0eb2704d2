"""The parts of the page put together: what a browser may ask for, behind the guard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from solvent.errors import SolventError
from solvent.web import control, locks, molecules, nodes, runs
from solvent.web.guard import Guard
from solvent.web.playground.routes import routes as playground

if TYPE_CHECKING:
    from starlette.requests import Request

    from solvent.web.site import Site

PAGE = Path(__file__).parent / "page"
_KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
_NOT_THERE = frozenset({"R401", "H318", "H346"})


class _Page(StaticFiles):
    """The files of the page, with kinds that do not depend on what the machine thinks of their endings."""

    def file_response(self, full_path: object, *arguments: object, **options: object) -> Response:
        found = super().file_response(full_path, *arguments, **options)  # type: ignore[arg-type]
        kind = _KINDS.get(Path(str(full_path)).suffix)
        if kind and isinstance(found, FileResponse):
            found.headers["content-type"] = f"{kind}; charset=utf-8"
        return found


def make_app(site: Site) -> Starlette:
    """Make the page of a site."""

    async def about(_request: Request) -> Response:
        from solvent import __version__

        return JSONResponse({"version": __version__, "store": site.shown, "control": site.has_control})

    async def index(_request: Request) -> Response:
        return FileResponse(PAGE / "index.html", media_type="text/html")

    return Starlette(
        routes=[
            Route("/", index),
            Route("/api/about", about),
            *runs.routes(site),
            *molecules.routes(site),
            *nodes.routes(site),
            *locks.routes(site),
            *playground(site),
            *control.routes(site),
            Mount("/page", _Page(directory=PAGE)),
        ],
        middleware=[Middleware(Guard, hosts=site.hosts)],
        exception_handlers={SolventError: _problem},
    )


async def _problem(_request: Request, error: Exception) -> Response:
    """Give an error as the page shows it: what, and what to do."""
    assert isinstance(error, SolventError)
    found = {"error": error.message, "code": error.code, "hint": error.hint}
    return JSONResponse(found, status_code=404 if error.code in _NOT_THERE else 422)


__all__ = ["PAGE", "make_app"]
