"""A watch over logs and keys on NATS.

The server tells what it has stored, and a lost connection counts as news. Notices are nothing that is kept: one is lost
when a leader dies between storing and telling. So a wait also looks at the last positions, though not often: whoever
waits again and again is not kept from what has happened for longer than some seconds.
"""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from solvent.errors import SpaceError
from solvent.live.space.interface import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent.live.space.nats_link import Link
    from solvent.live.space.nats_streams import Streams, Subjects

_LOOK_S = 2.0


class NatsWatch(Watch):
    """See the module's text."""

    def __init__(
        self,
        link: Link,
        streams: Streams,
        subjects: Subjects,
        scopes: Sequence[str],
        forget: Callable[[NatsWatch], None],
    ) -> None:
        self._link = link
        self._streams = streams
        self._subjects = subjects
        self._scopes = tuple(scopes)
        self._forget = forget
        self._news = threading.Event()
        self._is_closed = False
        self._numbers: list[int] = []
        self._known: list[int] = []
        self._look_at = 0.0

    def start(self) -> None:
        """Listen from now on."""
        self._known = self._link.run(self._begin())
        self._news.clear()
        self._look_at = time.monotonic() + _LOOK_S

    async def _begin(self) -> list[int]:
        told = {subject for scope in self._scopes for subject in self._subjects.saying(scope)}
        self._numbers = [await self._link.listen(subject, self._news.set) for subject in sorted(told)]
        return await self._last()

    async def _last(self) -> list[int]:
        """Give the last positions of everything that is watched."""
        logs = [self._streams.records.last(self._subjects.of_logs(scope)) for scope in self._scopes]
        keys = [self._streams.keys.last(self._subjects.of_keys(scope)) for scope in self._scopes]
        return [found.position if found is not None else 0 for found in await asyncio.gather(*logs, *keys)]

    def wait(self, seconds: float) -> bool:
        """Wait for news."""
        until = time.monotonic() + seconds
        while not self._is_closed:
            now = time.monotonic()
            if self._news.wait(max(0.0, min(until, self._look_at) - now)):
                self._news.clear()
                return not self._is_closed
            if time.monotonic() >= self._look_at and self._has_moved():
                # Perhaps by what was heard of before: to find nothing new costs less than to look after each notice.
                return True
            if time.monotonic() >= until:
                return False
        return False

    def _has_moved(self) -> bool:
        if self._is_closed:
            return False
        try:
            now = self._link.run(self._last())
        except SpaceError as error:
            if error.code == "E408":
                return False
            raise
        self._look_at = time.monotonic() + _LOOK_S
        has_moved, self._known = now != self._known, now
        return has_moved

    def close(self) -> None:
        """Watch no more."""
        if self._is_closed:
            return
        self._is_closed = True
        self._news.set()
        with suppress(SpaceError):
            self._link.run(self._link.stop_listening(self._numbers))
        self._forget(self)


__all__ = ["NatsWatch"]
