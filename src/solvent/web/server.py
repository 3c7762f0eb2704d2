"""The web application of a site, the guard before it, and the server that runs both.

The guard answers only the page itself, asked for by a name that is its own. A page of another origin, open in the same
browser, must neither read runs nor change anything. Its own name may be made to point to this machine (DNS rebinding),
so requests by a name that is not ours are refused, and a change is accepted only from our own page.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from solvent.errors import Misuse, SolventError
from solvent.runs.observing.hosts import is_own_name
from solvent.web import locks, nodes, replays, runs
from solvent.web.playground import routes as playground

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from solvent.web.site import Site

PAGE = Path(__file__).parent / "page"
_KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
_NOT_FOUND = frozenset({"R401", "H318", "H346"})
_READING = frozenset({"GET", "HEAD"})
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_GRACE_SECONDS = 2
_BACKLOG = 100


class Guard:
    """Middleware that refuses foreign requests and sets the headers by which browsers run only our own scripts."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str] = frozenset()) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("cache-control", "no-cache")
            await send(message)

        refusal = self._refusal(scope["method"], Headers(scope=scope))
        app = JSONResponse({"error": refusal}, status_code=403) if refusal else self._app
        await app(scope, receive, guarded)

    def _refusal(self, method: str, headers: Headers) -> str:
        """Return why a request is refused; an empty text if it is not."""
        host = headers.get("host", "")
        if not self.is_ours(host):
            return f"this page is not called `{host[:100]}`"
        if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"} and method not in _READING:
            return "only the page itself may change something"
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return "only the page itself may ask"
        return ""

    def is_ours(self, host: str) -> bool:
        """Return whether a host is an address, which no name server can redirect, or one of our names."""
        return is_own_name(host, self._hosts)


class _PageFiles(StaticFiles):
    """The files of the page, with content types that do not depend on the settings of the machine."""

    def file_response(self, full_path: object, *arguments: object, **options: object) -> Response:
        found = super().file_response(full_path, *arguments, **options)  # type: ignore[arg-type]
        kind = _KINDS.get(Path(str(full_path)).suffix)
        if kind and isinstance(found, FileResponse):
            found.headers["content-type"] = f"{kind}; charset=utf-8"
        return found


def make_app(site: Site) -> Starlette:
    """Return the application of a site."""

    def about(_request: Request) -> Response:
        from solvent import __version__

        return JSONResponse({"version": __version__, "store": site.shown, "control": site.has_control})

    def index(_request: Request) -> Response:
        return FileResponse(PAGE / "index.html", media_type="text/html")

    return Starlette(
        routes=[
            Route("/", index),
            Route("/api/about", about),
            *(route for part in (runs, replays, nodes, locks, playground) for route in part.routes(site)),
            Mount("/page", _PageFiles(directory=PAGE)),
        ],
        middleware=[Middleware(Guard, hosts=site.hosts)],
        exception_handlers={SolventError: _error_response},
    )


async def _error_response(_request: Request, error: Exception) -> Response:
    """Return an error as the page shows it: what is wrong, and what to do."""
    assert isinstance(error, SolventError)
    found = {"error": error.message, "code": error.code, "hint": error.hint}
    return JSONResponse(found, status_code=404 if error.code in _NOT_FOUND else 422)


class Server(uvicorn.Server):
    """A server that ends the streams of its viewers when it stops, so that it need not wait for them."""

    def __init__(self, site: Site, *, ready: Callable[[], None] | None = None) -> None:
        config = uvicorn.Config(
            make_app(site),
            # Requests are the user's own business; errors of ours are shown.
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        super().__init__(config)
        self._site = site
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and call `ready`."""
        await super().startup(sockets)
        if self._ready is not None:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at Ctrl-C, also while viewers are connected."""
        self._site.is_stopping.set()
        super().handle_exit(sig, frame)


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise `Misuse` if the address cannot be used."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        said = getattr(error, "strerror", None) or error
        hint = "take another port: --port N; 0 takes one that is free"
        raise Misuse("H350", f"cannot listen on {host}:{port}: {said}", hint=hint) from None
    return found


def address_of(listening: socket.socket) -> str:
    """Return the URL at which a browser finds the page."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


__all__ = ["HEADERS", "Guard", "Server", "address_of", "listen"]
