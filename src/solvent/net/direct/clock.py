"""What is to be done later: by name, so that it can be set anew and stopped; looked at by whoever works."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

NEVER = float("inf")


class Clock:
    """Times at which something is due. What was set anew or stopped in the meantime never comes late."""

    __slots__ = ("_heap", "_set", "_turn", "next_at")

    def __init__(self) -> None:
        #: The time at which the next is due.
        self.next_at = NEVER
        self._heap = list[tuple[float, int, Any]]()
        self._set = dict[Any, tuple[int, Callable[[Any], None]]]()
        self._turn = 0

    def set(self, name: Any, at: float, due: Callable[[Any], None]) -> None:
        """Have `due(name)` called at a time, and not at the one that was set before."""
        self._turn += 1
        self._set[name] = (self._turn, due)
        heapq.heappush(self._heap, (at, self._turn, name))
        self._look()

    def stop(self, name: Any) -> None:
        """Have nothing called; a name that is not set is no fault."""
        if self._set.pop(name, None) is not None:
            self._look()

    def is_set(self, name: Any) -> bool:
        """Whether something is due under a name."""
        return name in self._set

    def clear(self) -> None:
        """Stop everything."""
        self._set.clear()
        self._look()

    def due(self, now: float) -> Iterator[tuple[Any, Callable[[Any], None]]]:
        """Give what is due, one at a time: each may set and stop others, but those are not due yet."""
        last = self._turn
        while self.next_at <= now and self._heap[0][1] <= last:
            name = heapq.heappop(self._heap)[2]
            due = self._set.pop(name)[1]
            self._look()
            yield name, due

    def _look(self) -> None:
        """Know what is next; forget what was set anew or stopped."""
        heap = self._heap
        while heap:
            at, turn, name = heap[0]
            found = self._set.get(name)
            if found is not None and found[0] == turn:
                self.next_at = at
                return
            heapq.heappop(heap)
        self.next_at = NEVER


__all__ = ["NEVER", "Clock"]
