"""A page that is really served, for tests to ask: a socket of this machine, a thread, a space in a file."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx

from solvent.web.app import make_app
from solvent.web.serving import Server, address_of, listen
from solvent.web.site import Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECONDS_MAX = 200.0


@contextmanager
def served(space: Path | str, **options: object) -> Iterator[httpx.Client]:
    """Serve the page of a space, and give a client of it."""
    site = Site(str(space), **options)  # type: ignore[arg-type]
    is_ready = threading.Event()
    with listen("127.0.0.1", 0) as listening:
        server = Server(site, make_app(site), ready=is_ready.set)
        loops: list[asyncio.AbstractEventLoop] = []

        async def serve() -> None:
            loops.append(asyncio.get_running_loop())
            await server.serve(sockets=[listening])

        thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
        thread.start()
        try:
            assert is_ready.wait(SECONDS_MAX)
            with httpx.Client(base_url=address_of(listening), timeout=SECONDS_MAX) as client:
                yield client
        finally:
            loops[0].call_soon_threadsafe(server.handle_exit, 0, None)
            thread.join(SECONDS_MAX)
            site.close()
            assert not thread.is_alive()
