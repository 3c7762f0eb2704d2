"""What is kept of a cell's runs, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from solvent_lab.experiments.claims import Estimate
from solvent_lab.experiments.handover.cells import counting, mobile, on_platform, without_them
from solvent_lab.experiments.reproduction import Outcomes
from solvent_lab.simulator import elmp
from solvent_lab.simulator.elmp import Fit, fitted
from solvent_lab.simulator.handover import Outcome, Setup
from solvent_lab.simulator.handover_network import PLATFORMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent_lab.experiments.handover.cells import Scale
    from solvent_lab.experiments.reproduction import Cell

MODES = {"peer": "peer to peer", "server": "client-server"}
PAPER_OVERHEADS = {
    (50, 0.25): (2.27, 0.842),
    (50, 0.33): (2.65, 0.98),
    (50, 0.5): (4.29, 1.56),
    (120, 0.25): (4.27, 0.725),
    (120, 0.33): (6.46, 1.05),
    (120, 0.5): (10.34, 1.68),
}
"""The paper's table 2: seconds, and per cent of a cycle."""
PAPER_ETA = {"peer": 430e-6, "server": 70e-6}
MOVES = {"peer": 1, "server": 2}
"""How often the data moves in each cycle."""


class Timed(Outcomes[Setup, Outcome], frozen=True, kw_only=True, tag=True):
    """Runs of the benchmark."""


class Counted(Outcomes[elmp.Setup, elmp.Outcome], frozen=True, kw_only=True, tag=True):
    """Counts of messages."""


Measured: TypeAlias = Timed | Counted
Cells: TypeAlias = Mapping[str, Measured]


def gathered(cell: Cell, seed: int, outcomes: Sequence[Any]) -> Measured:
    """Keep the outcome of each run."""
    kind = Counted if isinstance(cell.setup, elmp.Setup) else Timed
    return kind(setup=cell.setup, seed=seed, outcomes=list(outcomes))


def seen(cells: Cells, name: str, what: str) -> Estimate:
    """Return the mean of something that was measured in a cell, by its name."""
    return cells[name].mean(what)


def messages(cells: Cells, name: str, processes: int) -> Estimate:
    """Return the messages for each operation of a count."""
    return cells[counting(name, processes)].mean("messages_per_operation")


def overhead(cells: Cells, peers: int, leaving: float, leavers: str, platform: str) -> tuple[Estimate, float]:
    """Return by how much peers that leave lengthen the others' cycles, and the cycle without them."""
    with_them = seen(cells, mobile(peers, leaving, leavers, platform), "settled")
    without = seen(cells, without_them(peers, leaving, leavers, platform), "settled")
    half = (with_them.half**2 + without.half**2) ** 0.5
    return Estimate(with_them.mean - without.mean, half), without.mean


def hand_off(cells: Cells, scale: Scale, mode: str, platform: str) -> float:
    """Return the seconds of a hand-off besides holding the resource and moving the data at full speed."""
    cell = on_platform(mode, platform)
    moved = MOVES[mode] * PLATFORMS[platform].seconds_for(scale.bytes)
    return seen(cells, cell, "settled").mean / scale.peers - 5.0 - moved


def fit_of(cells: Cells, scale: Scale, name: str) -> Fit:
    """Fit the messages of an operation."""
    counts = [messages(cells, name, processes).mean for processes in scale.processes]
    return fitted(scale.processes, counts)
