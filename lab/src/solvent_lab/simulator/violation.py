"""What is raised when something that must always hold does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import SolventError

if TYPE_CHECKING:
    from collections.abc import Sequence


class InvariantBroken(SolventError):
    """An invariant does not hold in a simulated run; shows the last events, and how to play the run again."""

    exit_code = 1

    def __init__(
        self, invariant: str, found: str, *, at_ms: float, events: int, seed: int, replay: str = "", drawn: str = ""
    ) -> None:
        said = f" ({found})" if found else ""
        super().__init__("P401", f"after {events:,} events, at {at_ms:.3f} ms, it is not so that {invariant}{said}")
        self.invariant = invariant
        self.found = found
        self.at_ms = at_ms
        self.events = events
        self.seed = seed
        self.replay = replay
        self.drawn = drawn

    def details(self) -> Sequence[str]:
        """Show the last events, and the line that plays the run again."""
        lines = ["the last events:", *self.drawn.splitlines()] if self.drawn else []
        return *lines, f"the same run again: {self.replay or f'seed={self.seed}'}"


__all__ = ["InvariantBroken"]
