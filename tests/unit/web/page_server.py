"""A page that is really served, for tests to ask: a socket of this machine, a thread, a store in a file."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import urllib3

from solvent.web.server import Server, address_of, listen
from solvent.web.site import Site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MAX_SECONDS = 200.0


class Answer:
    """An answer of the page, read to its end."""

    def __init__(self, answer: urllib3.BaseHTTPResponse) -> None:
        self.status_code = answer.status
        self.headers = answer.headers
        self._data = answer.data

    def json(self) -> Any:
        """Return what it says as JSON."""
        return json.loads(self._data)


class Client:
    """Asks the page; addresses are below that of the page."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self._pool = urllib3.PoolManager(timeout=MAX_SECONDS, retries=False, maxsize=10)

    def get(self, path: str, *, params: dict[str, Any] | None = None, headers: dict[str, str] | None = None) -> Answer:
        """Ask for something."""
        query = f"?{urlencode(params)}" if params else ""
        return Answer(self._pool.request("GET", self._address(path) + query, headers=headers))

    def post(
        self, path: str, *, json: object = None, content: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """Ask for a change, or with a question that is long."""
        options: dict[str, Any] = {"body": content} if json is None else {"json": json}
        return Answer(self._pool.request("POST", self._address(path), headers=headers, **options))

    @contextmanager
    def stream(self, path: str, headers: dict[str, str]) -> Iterator[urllib3.BaseHTTPResponse]:
        """Ask for something that does not end."""
        answer = self._pool.request("GET", self._address(path), headers=headers, preload_content=False)
        try:
            yield answer
        finally:
            answer.close()

    def wait_for(self, path: str, is_so: Callable[[Any], Any]) -> Any:
        """Ask until the answer is so, and return it."""
        until = time.monotonic() + MAX_SECONDS
        while not is_so(found := self.get(path).json()):
            assert time.monotonic() < until, found
            time.sleep(0.02)
        return found

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def _address(self, path: str) -> str:
        return self.base_url + path.removeprefix("/")


@contextmanager
def served(store: Path | str, **options: object) -> Iterator[Client]:
    """Serve the page of a store, and give a client of it."""
    site = Site(str(store), **options)  # type: ignore[arg-type]
    is_ready = threading.Event()
    with listen("127.0.0.1", 0) as listening:
        server = Server(site, ready=is_ready.set)
        loops: list[asyncio.AbstractEventLoop] = []

        async def serve() -> None:
            loops.append(asyncio.get_running_loop())
            await server.serve(sockets=[listening])

        thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
        thread.start()
        try:
            assert is_ready.wait(MAX_SECONDS)
            with closing(Client(address_of(listening))) as client:
                yield client
        finally:
            loops[0].call_soon_threadsafe(server.handle_exit, 0, None)
            thread.join(MAX_SECONDS)
            site.close()
            assert not thread.is_alive()
