"""Figures 3 to 11 for one rule that consumes two molecules and makes none, 15 to 19 for programs of several rules."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from solvent_lab.experiments.capture.cells import LOWEST_WAITING, THRESHOLDS, Scale, size_name, threshold_name
from solvent_lab.experiments.capture.measurement import AROUND, MODES
from solvent_lab.experiments.figure import Figure, Panel, Series, over_steps
from solvent_lab.experiments.reproduction import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent_lab.experiments.capture.measurement import Cells, Measured

_STEP, _LEFT, _NODES = "step", "reactions left", "nodes"
VARIANTS = {
    "optimistic": "optimistic",
    "pessimistic": "pessimistic",
    "adaptive": "mixed",
    "dormant": "mixed, with dormant nodes",
}
"""The curves of figure 3, by cell."""
MESSAGES = {
    7: ("optimistic", "Messages of the optimistic sub-protocol"),
    8: ("pessimistic", "Messages of the pessimistic sub-protocol"),
    9: ("adaptive", "Messages of the protocol, without dormant nodes"),
    10: ("dormant", "Messages of the protocol, with dormant nodes"),
}
"""Cell and title of each figure of messages by cycle."""
PROGRAMS = {
    15: ("independent", "The independent-rules program"),
    16: ("dependent", "The dependent-rules program"),
    17: ("circular", "The circular program, from T0 alone"),
    18: ("circular, all types", "The circular program, from all types"),
    19: ("workflow", "The workflow program"),
}
"""Cell and title of each figure of a program of several rules."""


def figure_3(cells: Cells, _scale: Scale) -> Figure:
    """Draw the reactions left by step, for each variant, for our own protocol and for the ideal system."""
    optimum = cells["adaptive"]
    nodes, left = optimum.setup.nodes, optimum.left[0]
    ideal = [max(0.0, left - nodes * (at // 2)) for at in range(int(optimum.setup.optimum) + 1)]
    series = [over_steps(says, cells[name].left) for name, says in VARIANTS.items()]
    series += [
        over_steps("mixed, with waiting (ours)", cells["waiting"].left, is_beside=True),
        over_steps("better (ours)", cells["better"].left, is_beside=True),
        # Last, since `better` keeps so close to it that either hides the other.
        over_steps("theoretic optimum", ideal, is_beside=True)._replace(colour="black"),
    ]
    return Figure(3, "Performance of the protocol's variants", _STEP, (Panel(_LEFT, tuple(series), log_y=True),))


def figure_4(cells: Cells, _scale: Scale) -> Figure:
    """Draw the reactions left by step for different switch thresholds."""
    series = tuple(over_steps(f"s = {s}", cells[threshold_name(s)].left) for s in THRESHOLDS)
    return Figure(4, "Execution time for different switch thresholds", _STEP, (Panel(_LEFT, series, log_y=True),))


def figure_5(cells: Cells, _scale: Scale) -> Figure:
    """Draw how many nodes are optimistic, pessimistic and dormant in each step."""
    return Figure(5, "Nodes in each mode", _STEP, (modes_panel(cells["dormant"]),))


def modes_panel(measured: Measured) -> Panel:
    """Show the nodes in each mode."""
    return Panel(_NODES, tuple(over_steps(mode, ys) for mode, ys in zip(MODES, measured.modes, strict=True)))


def figure_6(cells: Cells, scale: Scale) -> Figure:
    """Draw how many nodes turn pessimistic, around the middle of the switch, for several system sizes.

    Optimists decide every second step, all at the same time; so the values of two steps are taken together.
    """
    series = []
    for nodes in scale.sizes_of_switch:
        switches = cells[size_name(scale, nodes)].switches
        ys = [sum(switches[at : at + 2]) / 2 for at in range(0, len(switches) - 1, 2)]
        series.append(Series(f"{nodes} nodes", [2 * at - AROUND for at in range(len(ys))], ys))
    x_name = "steps from the middle of the switch"
    title = "Nodes that turn pessimistic, for a constant number of molecules"
    return Figure(6, title, x_name, (Panel("nodes per step", tuple(series)),))


def _messages(number: int, cell: str, title: str, cells: Cells, _scale: Scale) -> Figure:
    """Draw the messages of one cell by cycle."""
    measured = cells[cell]
    series = over_steps("useful messages", measured.useful), over_steps("useless messages", measured.useless)
    return Figure(number, title, "cycle of 12 steps", (Panel("messages per cycle", series, is_stacked=True),))


def figure_11(cells: Cells, scale: Scale) -> Figure:
    """Draw the messages of a whole execution by the number of nodes."""
    series = [
        Series(
            says, scale.sizes, [cells[size_name(scale, n, is_dormant=is_dormant)].messages_mean for n in scale.sizes]
        )
        for says, is_dormant in (("without dormant nodes", False), ("with dormant nodes", True))
    ]
    title = "Messages in all, by the number of nodes"
    return Figure(11, title, "nodes in the system", (Panel("messages", tuple(series)),))


def figure_of_program(number: int, cells: Cells, _scale: Scale) -> Figure:
    """Draw the course of one program: nodes at each rule, nodes in each mode, and molecules of each type."""
    name, title = PROGRAMS[number]
    measured = cells[name]
    rules = tuple(over_steps(f"R{rule}", ys) for rule, ys in enumerate(measured.rules))
    molecules = tuple(over_steps(f"T{kind}", ys) for kind, ys in enumerate(measured.molecules))
    panels = (Panel("nodes executing", rules), modes_panel(measured), Panel("molecules", molecules, log_y=True))
    return Figure(number, title, "step", panels)


def _always(*names: str) -> Callable[[Scale], tuple[str, ...]]:
    return lambda _scale: names


def _sizes_of_switch(scale: Scale) -> tuple[str, ...]:
    return tuple(size_name(scale, nodes) for nodes in scale.sizes_of_switch)


def _sizes(scale: Scale) -> tuple[str, ...]:
    return tuple(size_name(scale, nodes, is_dormant=dormant) for nodes in scale.sizes for dormant in (False, True))


FIGURES: dict[int, Plan] = {
    3: Plan(_always(*VARIANTS, "waiting", "better"), figure_3),
    # What waits is not drawn, but the table speaks of it.
    4: Plan(_always(*map(threshold_name, THRESHOLDS), LOWEST_WAITING), figure_4),
    # The paper tells of a run in which optimists come first beside figure 5, and draws nothing of it.
    5: Plan(_always("dormant", "optimists first"), figure_5),
    6: Plan(_sizes_of_switch, figure_6),
    **{
        number: Plan(_always(cell), partial(_messages, number, cell, title))
        for number, (cell, title) in MESSAGES.items()
    },
    11: Plan(_sizes, figure_11),
    **{number: Plan(_always(name), partial(figure_of_program, number)) for number, (name, _) in PROGRAMS.items()},
}
