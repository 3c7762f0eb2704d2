"""A queue to one thread, for any that put; it can be waited at with a time-out while signals arrive.

Not `queue.SimpleQueue`: until Python 3.13, a wait there that a signal interrupts about when its time is up goes on for
ever, unless another signal comes. So the first Ctrl-C of a run was lost now and then. Waiting for a lock has no such
fault, and the two are about equally fast.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from queue import Empty
from time import monotonic
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Inbox(Generic[Item]):
    """A queue that one thread reads."""

    __slots__ = ("_items", "_mark")

    def __init__(self) -> None:
        self._items: deque[Item] = deque()
        # Locked unless something may have come since the reader last looked.
        self._mark = threading.Lock()
        self._mark.acquire()

    def put(self, item: Item) -> None:
        """Add something, and wake the reader; also a handler of a signal may."""
        self._items.append(item)
        self.wake()

    def leave(self, item: Item) -> None:
        """Add something that this thread takes itself, or wakes the reader for."""
        self._items.append(item)

    def wake(self) -> None:
        """Wake the reader, if it waits."""
        if self._mark.locked():
            # Another thread may do so at the same moment.
            with suppress(RuntimeError):
                self._mark.release()

    def get(self, timeout: float | None = None) -> Item:
        """Take the first, once there is one; raise `queue.Empty` if there is none for so many seconds."""
        end = None if timeout is None else monotonic() + timeout
        while True:
            try:
                return self._items.popleft()
            except IndexError:
                left = -1.0 if end is None else max(0.0, end - monotonic())
                if not self._mark.acquire(timeout=left) and not self._items:
                    raise Empty from None

    def wait(self, timeout: float) -> None:
        """Wait until there is something, the reader is woken, or so many seconds have passed."""
        if not self._items:
            self._mark.acquire(timeout=timeout)

    def empty(self) -> bool:
        """Tell whether there is nothing to take."""
        return not self._items

    def qsize(self) -> int:
        """Return how many there are, roughly."""
        return len(self._items)


__all__ = ["Inbox"]
