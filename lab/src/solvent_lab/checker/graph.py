"""The states that were found and the moves between them, as flat arrays of numbers."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROGRESS = 1


class Graph:
    """States by number, in the order they were found (so never farther than the next), with the moves from each."""

    def __init__(self) -> None:
        #: Each state's row, as bytes.
        self.rows: list[bytes] = []
        #: From which state each was found first; the first state from itself.
        self.parents = array("I")
        self.depths = array("I")
        #: Where the moves of each state begin in `targets` and `marks`; one more entry than states when complete.
        self.begins = array("L")
        self.targets = array("I")
        #: For each move: twice its class, plus one if it is progress.
        self.marks = array("I")
        self.goals = bytearray()

    def add(self, row: bytes, parent: int, *, is_goal: bool) -> int:
        """Add a state."""
        number = len(self.rows)
        self.rows.append(row)
        self.parents.append(parent)
        self.depths.append(self.depths[parent] + 1 if number else 0)
        self.goals.append(is_goal)
        return number

    def moves(self, state: int) -> Iterator[tuple[int, int, bool]]:
        """Go through the moves from a state: target, class, whether it is progress."""
        for place in range(self.begins[state], self.begins[state + 1]):
            mark = self.marks[place]
            yield self.targets[place], mark >> 1, bool(mark & _PROGRESS)

    def path_to(self, state: int) -> list[int]:
        """Give the states on a shortest way to a state, the first and itself included."""
        path = [state]
        while state:
            state = self.parents[state]
            path.append(state)
        return path[::-1]

    def __len__(self) -> int:
        return len(self.rows)


__all__ = ["Graph"]
