"""The server of the page: where it listens, and how it ends."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import uvicorn

from solvent.errors import Misuse

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from starlette.applications import Starlette

    from solvent.web.site import Site

_GRACE_SECONDS = 2
_BACKLOG = 100


class Server(uvicorn.Server):
    """A server that tells those who listen that it ends, so that it need not wait for them."""

    def __init__(self, site: Site, app: Starlette, *, ready: Callable[[], None] | None = None) -> None:
        config = uvicorn.Config(
            app,
            # What is asked for is nobody's business but the user's; errors of ours are shown.
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
        """Begin to listen, and say so."""
        await super().startup(sockets)
        if self._ready is not None:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End at Ctrl-C, also while somebody listens."""
        self._site.is_stopping.set()
        super().handle_exit(sig, frame)


def listen(host: str, port: int) -> socket.socket:
    """Give a socket that listens; raise `Misuse` where it cannot."""
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
    """Give what a browser asks for."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


__all__ = ["Server", "address_of", "listen"]
