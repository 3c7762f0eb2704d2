"""The messages that a node has heard, for any number of listeners that go on at their own pace.

Messages hang together in a chain, and each listener is at one of its links. So a slow listener misses nothing, a new
one may begin anywhere among what is kept, and what is neither kept nor waited for is forgotten.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@dataclass(frozen=True, slots=True)
class RingMessage:
    """A broadcast, as all nodes receive it.

    >>> from solvent.ring import RingMessage
    >>> message = RingMessage(place=3, origin=0, data={"temperature": 21.5})
    >>> message.place, message.data["temperature"]
    (3, 21.5)
    """

    place: int
    """Its place in the common order: greater than that of the message before, not always by one."""
    origin: int
    """The node that sent it."""
    data: Any
    """What was sent; tuples arrive as lists."""


class _Link:
    """A message, and the link after it when there is one."""

    __slots__ = ("message", "next")

    def __init__(self, message: RingMessage | None) -> None:
        self.message = message
        self.next: _Link | None = None


class Heard:
    """What has been heard; `max_kept` messages are kept for those that begin to listen later."""

    def __init__(self, max_kept: int) -> None:
        self._last = _Link(None)
        self._kept = deque[_Link]((self._last,), maxlen=max_kept + 1)
        self._news = asyncio.Event()
        self._is_over = False
        self._fault: BaseException | None = None

    @property
    def place(self) -> int:
        """The place of the last message; -1 before the first."""
        message = self._last.message
        return -1 if message is None else message.place

    def add(self, message: RingMessage) -> None:
        """Take a message."""
        link = _Link(message)
        self._last.next = link
        self._last = link
        self._kept.append(link)
        self._tell()

    def end(self, fault: BaseException | None) -> None:
        """Let listeners end when they have heard everything; by a fault, if there is one."""
        if not self._is_over:
            self._is_over, self._fault = True, fault
            self._tell()

    async def listen(self, after: int | None) -> AsyncIterator[RingMessage]:
        """Give the messages after a place, or all that are kept, and go on as they come."""
        at = self._kept[0] if after is None else self._link_before(after)
        while True:
            if at.next is None:
                if self._is_over:
                    if self._fault is not None:
                        raise self._fault
                    return
                await self._news.wait()
                continue
            at = at.next
            assert at.message is not None
            yield at.message

    def _link_before(self, after: int) -> _Link:
        """Find the last link whose message comes not after a place."""
        if after >= self.place:
            return self._last
        first = self._kept[0].message
        if first is not None and after < first.place:
            message = f"messages up to place {first.place} are not kept any more, and those after {after} are wanted"
            raise Misuse("P343", message, hint="listen from the beginning, or keep more of them: `ring.join(kept=...)`")
        at = self._kept[0]
        for link in self._kept:
            if link.message is not None and link.message.place > after:
                break
            at = link
        return at

    def _tell(self) -> None:
        # A new event for those who come to wait, so that each waits once for each message.
        news, self._news = self._news, asyncio.Event()
        news.set()


__all__ = ["Heard", "RingMessage"]
