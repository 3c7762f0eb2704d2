"""What is run: setups by name, and how often each.

Figures share cells, so that each setup is simulated once. The paper runs everything fifty times; so do we, save for
large systems: their runs take long and differ little from each other.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from solvent_lab.experiments.capture.measurement import measure
from solvent_lab.experiments.reproduction import Cell
from solvent_lab.simulator.capture import Program, Setup
from solvent_lab.simulator.capture import RuleOfTypes as Rule

# The programs of the paper's sections 4.1 and 4.2.1, besides the single rule. Rules R1 and R2 of the workflow consume
# two molecules of their type each: the text does not say so, but only then do the numbers of its figure come out.
INDEPENDENT: Program = (Rule((0, 0)), Rule((1, 1)), Rule((2, 2)))
DEPENDENT: Program = (Rule((0, 0), (1, 1)), Rule((1, 1), (2, 2)), Rule((2, 2)))
CIRCULAR: Program = (Rule((0, 0), (1, 1)), Rule((1, 1), (2, 2)), Rule((2, 2), (0,)))
WORKFLOW: Program = (Rule((0, 0), (1, 2)), Rule((1, 1), (3,)), Rule((2, 2), (4,)), Rule((3, 4)))

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


def _cell(name: str, setup: Setup, runs: int, *, counts_messages: bool = False) -> Cell:
    of_rules = 1 if len(setup.program) == 1 else 3
    weight = runs * of_rules * (sum(setup.molecules) + 120 * setup.nodes)
    return Cell(name, setup, runs, partial(measure, setup, counts_messages), weight)


def cells_of(scale: Scale) -> dict[str, Cell]:
    """Return all cells, by name."""
    one = Setup(nodes=scale.nodes, molecules=(scale.molecules,))
    asleep = replace(one, dormant=True)
    optimists = replace(one, protocol="optimistic", max_steps=int(_STEPS_OF_OPTIMISTS * one.optimum))
    cells = [
        _cell("optimistic", optimists, scale.runs, counts_messages=True),
        _cell("pessimistic", replace(one, protocol="pessimistic"), scale.runs, counts_messages=True),
        _cell("adaptive", one, scale.runs, counts_messages=True),
        _cell("dormant", asleep, scale.runs, counts_messages=True),
        _cell("waiting", replace(one, waiting=True), scale.runs, counts_messages=True),
        _cell("better", replace(one, protocol="better"), scale.runs, counts_messages=True),
        _cell("optimists first", replace(asleep, favours_optimists=True), scale.runs),
    ]
    cells += [_cell(threshold_name(s), replace(one, threshold=s), scale.runs) for s in THRESHOLDS]
    lowest = replace(one, threshold=THRESHOLDS[0], waiting=True)
    cells.append(_cell(LOWEST_WAITING, lowest, scale.runs))
    for nodes in sorted({*scale.sizes, *scale.sizes_of_switch}):
        runs = next((min(most, scale.runs) for more_than, most in _FEWER if nodes > more_than), scale.runs)
        cells += [
            _cell(size_name(scale, nodes), replace(one, nodes=nodes), runs),
            _cell(size_name(scale, nodes, is_dormant=True), replace(asleep, nodes=nodes), runs),
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
        _cell("independent", replace(several, program=INDEPENDENT, molecules=third), scale.runs),
        _cell("dependent", replace(several, program=DEPENDENT, molecules=only_t0), scale.runs),
        _cell("circular", replace(several, program=CIRCULAR, molecules=only_t0), scale.runs),
        _cell("circular, all types", replace(several, program=CIRCULAR, molecules=third), scale.runs),
        _cell("workflow", replace(several, program=WORKFLOW, molecules=only_t0), scale.runs),
    ]


def threshold_name(threshold: float) -> str:
    """Name the cell of a switch threshold; the usual one is that of the other experiments."""
    return "adaptive" if threshold == Setup().threshold else f"threshold {threshold}"


def size_name(scale: Scale, nodes: int, *, is_dormant: bool = False) -> str:
    """Name the cell of a system size; the usual one is that of the other experiments."""
    if nodes == scale.nodes:
        return "dormant" if is_dormant else "adaptive"
    return f"{nodes} nodes, dormant" if is_dormant else f"{nodes} nodes"
