"""Broadcasts of this node: those that wait to be said, and those that are said and not safe yet.

The node is given a few at a time, so that what it appends at once fits into a frame; the others wait here.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from solvent.protocols.token.group.vocabulary import Broadcast

if TYPE_CHECKING:
    from collections.abc import Callable

COUNT_MAX = 256
BYTES_MAX = 1024 * 1024
"""What the node has at once; one broadcast at least, however large it is."""


class Said:
    """The broadcasts of this node that are not safe yet."""

    def __init__(self, ask: Callable[[Any], None]) -> None:
        self._ask = ask
        self._waiting = deque[tuple[bytes, asyncio.Future[int]]]()
        #: Those that the node has, in order: their numbers go up by one.
        self._given = deque[tuple[int, asyncio.Future[int]]]()
        self._given_bytes = 0
        self._fault: BaseException | None = None

    async def say(self, body: bytes) -> int:
        """Have something broadcast; give its place when it is safe."""
        if self._fault is not None:
            raise self._fault
        safe = asyncio.get_running_loop().create_future()
        self._waiting.append((body, safe))
        self._give()
        # Who gives up waiting does not take back what was said, so the future is not to be cancelled with it.
        return await asyncio.shield(safe)

    def on_safe(self, place: int) -> None:
        """Note that the first of what the node has is safe."""
        size, safe = self._given.popleft()
        self._given_bytes -= size
        if not safe.done():
            safe.set_result(place)
        self._give()

    def end(self, fault: BaseException) -> None:
        """Let nobody wait any more."""
        self._fault = fault
        waiting = [safe for _, safe in (*self._given, *self._waiting)]
        self._given.clear()
        self._waiting.clear()
        for safe in waiting:
            if not safe.done():
                safe.set_exception(fault)
                # Whoever waits no longer must not be told by the loop that nobody looked.
                safe.exception()

    def _give(self) -> None:
        while self._waiting and len(self._given) < COUNT_MAX and (not self._given or self._given_bytes < BYTES_MAX):
            body, safe = self._waiting.popleft()
            self._given.append((len(body), safe))
            self._given_bytes += len(body)
            self._ask(Broadcast(body))


__all__ = ["BYTES_MAX", "COUNT_MAX", "Said"]
