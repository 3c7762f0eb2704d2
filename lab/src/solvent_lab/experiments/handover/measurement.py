"""What is kept of a cell's runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from solvent_lab.experiments.token.measurement import Estimate, estimate
from solvent_lab.simulator import elmp  # noqa: TC001 - msgspec looks at the types
from solvent_lab.simulator.handover_setup import Outcome, Setup  # noqa: TC001 - the same


class Timed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Runs of the benchmark."""

    setup: Setup
    seed: int
    outcomes: list[Outcome]

    @property
    def runs(self) -> int:
        """How many there were."""
        return len(self.outcomes)

    def mean(self, name: str) -> Estimate:
        """Give the mean over runs of something that was seen, by its name."""
        return estimate([float(getattr(outcome, name)) for outcome in self.outcomes])


class Counted(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Counts of messages."""

    setup: elmp.Setup
    seed: int
    outcomes: list[elmp.Outcome]

    @property
    def runs(self) -> int:
        """How many there were."""
        return len(self.outcomes)

    @property
    def messages(self) -> Estimate:
        """All messages for each operation."""
        return estimate([outcome.messages_per_operation for outcome in self.outcomes])


Measured: TypeAlias = Timed | Counted
Cells: TypeAlias = Mapping[str, Measured]


def seen(cells: Cells, name: str, what: str) -> Estimate:
    """Give the mean of something that was seen in a cell of the benchmark."""
    cell = cells[name]
    assert isinstance(cell, Timed)
    return cell.mean(what)


def messages(cells: Cells, name: str) -> Estimate:
    """Give the messages for each operation of a count."""
    cell = cells[name]
    assert isinstance(cell, Counted)
    return cell.messages


__all__ = ["Cells", "Counted", "Measured", "Timed", "messages", "seen"]
