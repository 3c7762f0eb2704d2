"""What is run: setups by name, and how often each.

Figures share cells, so that each setup is simulated once. The paper runs everything fifty times; so do we, save for
large systems: their runs take long and differ little from each other.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from solvent_lab.experiments.capture.programs import CIRCULAR, DEPENDENT, INDEPENDENT, WORKFLOW
from solvent_lab.simulator.capture import Setup

THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9)
LOWEST_WAITING = "threshold 0.1, waiting"
_FEWER = ((5_000, 2), (2_500, 3), (1_000, 5), (250, 20))
"""More nodes than this: at most so many runs."""
_STEPS_OF_OPTIMISTS = 5
"""Optimists alone may never end, so they run for so many times the optimum."""


class Scale(NamedTuple):
    """How large everything is."""

    name: str
    nodes: int
    molecules: int
    runs: int
    #: The system sizes of figures 6 and 11.
    sizes_of_switch: tuple[int, ...]
    sizes: tuple[int, ...]


PAPER = Scale("paper", 250, 15_000, 50, (50, 100, 250, 500, 1_000), (50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000))
SMALL = Scale("small", 50, 3_000, 3, (20, 50, 100), (20, 50, 100, 200))
SCALES = {scale.name: scale for scale in (PAPER, SMALL)}


class Cell(NamedTuple):
    """A setup that is run several times."""

    name: str
    setup: Setup
    runs: int
    counts_messages: bool = False

    @property
    def weight(self) -> float:
        """About how long it takes, in no unit, for the progress bar."""
        of_rules = 1 if len(self.setup.program) == 1 else 3
        return self.runs * of_rules * (sum(self.setup.molecules) + 120 * self.setup.nodes)


def cells_of(scale: Scale) -> dict[str, Cell]:
    """Give all cells, by name."""
    one = Setup(nodes=scale.nodes, molecules=(scale.molecules,))
    asleep = replace(one, dormant=True)
    optimists = replace(one, protocol="optimistic", max_steps=int(_STEPS_OF_OPTIMISTS * one.optimum))
    cells = [
        Cell("optimistic", optimists, scale.runs, counts_messages=True),
        Cell("pessimistic", replace(one, protocol="pessimistic"), scale.runs, counts_messages=True),
        Cell("adaptive", one, scale.runs, counts_messages=True),
        Cell("dormant", asleep, scale.runs, counts_messages=True),
        Cell("waiting", replace(one, waiting=True), scale.runs, counts_messages=True),
        Cell("better", replace(one, protocol="better"), scale.runs, counts_messages=True),
        Cell("optimists first", replace(asleep, favours_optimists=True), scale.runs),
    ]
    cells += [Cell(threshold_name(s), replace(one, threshold=s), scale.runs) for s in THRESHOLDS]
    lowest = replace(one, threshold=THRESHOLDS[0], waiting=True)
    cells.append(Cell(LOWEST_WAITING, lowest, scale.runs))
    for nodes in sorted({*scale.sizes, *scale.sizes_of_switch}):
        runs = next((min(most, scale.runs) for more_than, most in _FEWER if nodes > more_than), scale.runs)
        cells += [
            Cell(size_name(scale, nodes), replace(one, nodes=nodes), runs),
            Cell(size_name(scale, nodes, is_dormant=True), replace(asleep, nodes=nodes), runs),
        ]
    by_name: dict[str, Cell] = {}
    for cell in (*cells, *_of_several_rules(scale, asleep)):
        # Two names of one setup are one cell: the first, which keeps most.
        by_name.setdefault(cell.name, cell)
    return by_name


def _of_several_rules(scale: Scale, asleep: Setup) -> list[Cell]:
    only_t0, third = (scale.molecules,), (scale.molecules // 3,) * 3
    # A circular program needs many times the steps of a single rule.
    several = replace(asleep, max_steps=100 * max(scale.molecules // scale.nodes, 60))
    return [
        Cell("independent", replace(several, program=INDEPENDENT, molecules=third), scale.runs),
        Cell("dependent", replace(several, program=DEPENDENT, molecules=only_t0), scale.runs),
        Cell("circular", replace(several, program=CIRCULAR, molecules=only_t0), scale.runs),
        Cell("circular, all types", replace(several, program=CIRCULAR, molecules=third), scale.runs),
        Cell("workflow", replace(several, program=WORKFLOW, molecules=only_t0), scale.runs),
    ]


def threshold_name(threshold: float) -> str:
    """Name the cell of a switch threshold; the usual one is that of the other experiments."""
    return "adaptive" if threshold == Setup().threshold else f"threshold {threshold}"


def size_name(scale: Scale, nodes: int, *, is_dormant: bool = False) -> str:
    """Name the cell of a system size; the usual one is that of the other experiments."""
    if nodes == scale.nodes:
        return "dormant" if is_dormant else "adaptive"
    return f"{nodes} nodes, dormant" if is_dormant else f"{nodes} nodes"


__all__ = [
    "LOWEST_WAITING",
    "PAPER",
    "SCALES",
    "SMALL",
    "THRESHOLDS",
    "Cell",
    "Scale",
    "cells_of",
    "size_name",
    "threshold_name",
]
