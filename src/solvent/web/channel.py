"""Channels: one thread reads the store, and any number of viewers follow it by server-sent events.

A *source* reads the store and returns what has changed as messages; it can also return all that it knows (a snapshot).
A channel keeps the last messages, numbered, so that a viewer whose connection broke gets what it missed
(`Last-Event-ID`). Each viewer reads at its own pace; one that is too far behind gets a snapshot instead. The thread
runs while there are viewers, and a little longer.

Numbers begin with a random word of the channel, so that a viewer of a server that was restarted gets a snapshot.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from starlette.responses import StreamingResponse

from solvent.errors import SolventError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from solvent.store import Store
    from solvent.web.site import Site

Message = dict[str, Any]
MAX_KEPT = 20_000
"""Messages kept for viewers to catch up with."""
MAX_BATCH = 2_000
LOOK_SECONDS = 1.0
"""The longest time between two looks: the death of a process does not change the store."""
LINGER_SECONDS = 20.0
PING_SECONDS = 15.0
RETRY_MS = 1_000
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


class Source(Protocol):
    """What a channel follows; used by one thread at a time."""

    @property
    def scopes(self) -> tuple[str, ...]:
        """The logs and keys whose changes matter."""

    @property
    def pause_seconds(self) -> float:
        """The shortest time between two looks, so that changes are sent in batches."""

    def look(self) -> list[Message]:
        """Read the store, and return what has changed since the last time."""

    def snapshot(self) -> Message:
        """Return all that is known."""


class Channel:
    """One source and its viewers; all but its thread belongs to one event loop."""

    def __init__(self, store: Callable[[], Store | None], make: Callable[[], Source]) -> None:
        """Start following; `make` is called in the thread and returns the source."""
        self._store = store
        self._make = make
        self._word = secrets.token_hex(4)
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._listeners = 0
        self._idle_since = time.monotonic()
        # What the thread writes and viewers read.
        self._lock = threading.Lock()
        self._kept: list[Message] = []
        self._first = 0
        self._snapshot: tuple[int, bytes] | None = None
        self._source: Source | None = None
        self.error: SolventError | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="solvent-channel", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether its thread has ended."""
        return self._is_over.is_set()

    def close(self) -> None:
        """Stop the thread and the streams of the viewers."""
        self._is_over.set()
        self._notify()

    # -------------------------------------------------------------------------------------------------- the thread

    def _run(self) -> None:
        try:
            while not self._is_over.is_set() and not self._is_unwanted():
                store = self._store()
                if store is None:
                    # The file does not exist yet, and reading must not create it.
                    self._look_once()
                    self._is_over.wait(LOOK_SECONDS)
                    continue
                self._follow(store)
        except SolventError as error:
            self.error = error
        finally:
            self._is_over.set()
            self._notify()

    def _follow(self, store: Store) -> None:
        self._look_once()
        assert self._source is not None
        with store.watch(self._source.scopes) as watch:
            while not self._is_over.is_set() and not self._is_unwanted():
                self._look_once()
                self._is_over.wait(self._source.pause_seconds)
                watch.wait(LOOK_SECONDS)
        self._is_over.set()

    def _look_once(self) -> None:
        with self._lock:
            if self._source is None:
                self._source = self._make()
            fresh = self._source.look()
            is_first = self._snapshot is None
            if not fresh and not is_first:
                return
            if is_first:
                self._snapshot = (-1, b"")
                self._first = 1
            else:
                self._kept += fresh
            excess = len(self._kept) - MAX_KEPT
            if excess > 0:
                del self._kept[:excess]
                self._first += excess
        self._notify()

    def _is_unwanted(self) -> bool:
        return not self._listeners and time.monotonic() - self._idle_since > LINGER_SECONDS

    def _notify(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    # ------------------------------------------------------------------------------------------------- the viewers

    async def listen(self, last: str, is_stopping: asyncio.Event) -> AsyncIterator[bytes]:
        """Yield the server-sent events of one viewer, after the last one that it has."""
        self._listeners += 1
        try:
            yield f"retry: {RETRY_MS}\n\n".encode()
            position = self._position(last)
            while not is_stopping.is_set():
                changed = self._changed
                data, position = await asyncio.to_thread(self._since, position)
                if data:
                    yield data
                    continue
                if self.error is not None:
                    yield _event("problem", {"error": self.error.message, "hint": self.error.hint}, "")
                    return
                if self.is_over:
                    return
                if not await _either(changed, is_stopping, PING_SECONDS):
                    yield b": still here\n\n"
        finally:
            self._listeners -= 1
            self._idle_since = time.monotonic()

    def _position(self, last: str) -> int:
        word, _, number = last.partition(".")
        return int(number) if word == self._word and number.isascii() and number.isdigit() else 0

    def _since(self, position: int) -> tuple[bytes, int]:
        """Return the messages after a position, or a snapshot if they are gone, and the new position."""
        with self._lock:
            if self._snapshot is None:
                return b"", position
            end = self._first + len(self._kept)
            if position == 0 or not self._first <= position <= end:
                return self._whole(end), end
            fresh = self._kept[position - self._first :][:MAX_BATCH]
        if not fresh:
            return b"", position
        position += len(fresh)
        return _event("news", fresh, f"{self._word}.{position}"), position

    def _whole(self, end: int) -> bytes:
        """Return a snapshot; viewers that come at the same time share it."""
        assert self._snapshot is not None
        assert self._source is not None
        if self._snapshot[0] != end:
            self._snapshot = end, _event("all", self._source.snapshot(), f"{self._word}.{end}")
        return self._snapshot[1]


class Channels:
    """The channels of a site: one for the list of runs (no name), one for each version of a run that is viewed."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._channels: dict[str, Channel] = {}
        site.at_end(self._close)

    def stream(self, name: str, make: Callable[[], Source], request: Request) -> Response:
        """Return the events of a channel as a response."""
        self._channels = {key: one for key, one in self._channels.items() if not one.is_over}
        if name not in self._channels:
            self._channels[name] = Channel(self._site.store, make)
        last = request.headers.get("last-event-id") or request.query_params.get("after", "")
        events = self._channels[name].listen(last, self._site.is_stopping)
        return StreamingResponse(events, media_type="text/event-stream", headers=_HEADERS)

    def _close(self) -> None:
        for channel in self._channels.values():
            channel.close()


def _event(kind: str, data: Any, number: str) -> bytes:
    named = f"id: {number}\n".encode() if number else b""
    return b"event: " + kind.encode() + b"\n" + named + b"data: " + msgspec.json.encode(data) + b"\n\n"


async def _either(one: asyncio.Event, other: asyncio.Event, seconds: float) -> bool:
    """Wait for one of two events; return false after the timeout."""
    waits = [asyncio.ensure_future(one.wait()), asyncio.ensure_future(other.wait())]
    try:
        done, _ = await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    return bool(done)


__all__ = ["Channel", "Channels", "Message", "Source"]
