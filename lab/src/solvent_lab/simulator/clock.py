"""The clock of a simulation: what is to happen, in order of time.

Things that are to happen at the same moment happen in the order in which they were put there, so a run depends on
its seed alone.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Clock:
    """Milliseconds since the start, and what is still to come."""

    def __init__(self) -> None:
        self.now = 0.0
        self._times: list[tuple[float, int]] = []
        #: What is still to come, in the order in which it was put there.
        self._items: dict[int, Any] = {}
        self._ticket = 0

    def put(self, time: float, item: Any) -> int:
        """Let something happen at a time, or now if that has passed; return the ticket by which it can be cancelled."""
        self._ticket += 1
        self._items[self._ticket] = item
        heappush(self._times, (max(time, self.now), self._ticket))
        return self._ticket

    def put_back(self, time: float, ticket: int, item: Any) -> None:
        """Let something that was just taken happen later, still before what was put there after it."""
        self._items[ticket] = item
        heappush(self._times, (max(time, self.now), ticket))

    def cancel(self, ticket: int) -> None:
        """Let something not happen; if it has happened, or is cancelled already, that is no fault."""
        self._items.pop(ticket, None)

    def cancel_where(self, is_cancelled: Callable[[Any], bool]) -> list[Any]:
        """Let everything of a kind not happen, and return it."""
        tickets = [ticket for ticket, item in self._items.items() if is_cancelled(item)]
        return [self._items.pop(ticket) for ticket in tickets]

    def take(self, max_time: float) -> tuple[int, Any] | None:
        """Advance to what happens next and return it with its ticket; None if that is not until after `max_time`."""
        times, items = self._times, self._items
        while times:
            time, ticket = times[0]
            if ticket not in items:
                heappop(times)
                continue
            if time > max_time:
                break
            heappop(times)
            self.now = time
            return ticket, items.pop(ticket)
        return None

    def items(self) -> Iterable[Any]:
        """Go through what is still to come, in the order in which it was put there."""
        return self._items.values()

    def __len__(self) -> int:
        return len(self._items)
