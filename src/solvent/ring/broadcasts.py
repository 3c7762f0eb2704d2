"""Broadcasts of this node: those that wait to be said, and those that are said and not safe yet.

The node is given a few at a time, so that what it appends at once fits into a frame; the others wait here.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from solvent.protocols.token.group.messages import Broadcast

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_COUNT = 256
MAX_BYTES = 1024 * 1024
"""What the node has at once; one broadcast at least, however large it is."""


class Said:
    """The broadcasts of this node that are not safe yet."""

    def __init__(self, ask: Callable[[Any], None]) -> None:
        self._ask = ask
        self._waiting = deque[tuple[bytes, asyncio.Future[int]]]()
        #: Those that the node has, by their numbers: it counts them as they are given to it.
        self._given = dict[int, tuple[int, asyncio.Future[int]]]()
        self._given_count = 0
        self._given_bytes = 0
        self._fault: BaseException | None = None

    async def say(self, body: bytes) -> int:
        """Have something broadcast; give its place when it is safe."""
        if self._fault is not None:
            raise self._fault
        safe = asyncio.get_running_loop().create_future()
        self._waiting.append((body, safe))
        self._give()
        if safe.done():
            # Nobody else was needed. A task that broadcasts in a loop would else keep the loop from all others.
            await asyncio.sleep(0)
        # Who gives up waiting does not take back what was said, so the future is not to be cancelled with it.
        return await asyncio.shield(safe)

    def on_safe(self, number: int, place: int) -> None:
        """Note that what the node has under a number is safe."""
        if number not in self._given:
            # Given up before, and heard all the same.
            return
        size, safe = self._given.pop(number)
        self._given_bytes -= size
        if not safe.done():
            safe.set_result(place)
        self._give()

    def on_doubt(self, fault: BaseException) -> None:
        """Give up what the node has: whether it was heard nobody can tell."""
        given = [safe for _, safe in self._given.values()]
        self._given.clear()
        self._given_bytes = 0
        _fail(given, fault)
        self._give()

    def end(self, fault: BaseException) -> None:
        """Let nobody wait any more."""
        self._fault = fault
        waiting = [safe for _, safe in (*self._given.values(), *self._waiting)]
        self._given.clear()
        self._waiting.clear()
        _fail(waiting, fault)

    def _give(self) -> None:
        while self._waiting and len(self._given) < MAX_COUNT and (not self._given or self._given_bytes < MAX_BYTES):
            body, safe = self._waiting.popleft()
            self._given[self._given_count] = len(body), safe
            self._given_count += 1
            self._given_bytes += len(body)
            self._ask(Broadcast(body))


def _fail(waiting: list[asyncio.Future[int]], fault: BaseException) -> None:
    for safe in waiting:
        if not safe.done():
            safe.set_exception(fault)
            # Whoever waits no longer must not be told by the loop that nobody looked.
            safe.exception()


__all__ = ["MAX_BYTES", "MAX_COUNT", "Said"]
