"""Figures 3 to 11: one rule that consumes two molecules and makes none (experiments 1 to 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent_lab.experiments.capture.cells import THRESHOLDS, size_name, threshold_name
from solvent_lab.experiments.capture.measurement import AROUND, MODES
from solvent_lab.experiments.figure import Figure, Panel, Series, over_steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent_lab.experiments.capture.cells import Scale
    from solvent_lab.experiments.capture.measurement import Measured

    Cells = Mapping[str, Measured]

_STEP, _LEFT, _NODES = "step", "reactions left", "nodes"
VARIANTS = {
    "optimistic": "optimistic",
    "pessimistic": "pessimistic",
    "adaptive": "mixed",
    "dormant": "mixed, with dormant nodes",
}
"""The curves of figure 3, by cell."""


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


def figure_7(cells: Cells, _scale: Scale) -> Figure:
    """Draw the messages of optimists by cycle."""
    return _messages(7, "Messages of the optimistic sub-protocol", cells["optimistic"])


def figure_8(cells: Cells, _scale: Scale) -> Figure:
    """Draw the messages of pessimists by cycle."""
    return _messages(8, "Messages of the pessimistic sub-protocol", cells["pessimistic"])


def figure_9(cells: Cells, _scale: Scale) -> Figure:
    """Draw the messages of the whole protocol by cycle, without dormant nodes."""
    return _messages(9, "Messages of the protocol, without dormant nodes", cells["adaptive"])


def figure_10(cells: Cells, _scale: Scale) -> Figure:
    """Draw the messages of the whole protocol by cycle, with dormant nodes."""
    return _messages(10, "Messages of the protocol, with dormant nodes", cells["dormant"])


def _messages(number: int, title: str, measured: Measured) -> Figure:
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


__all__ = [
    "VARIANTS",
    "figure_3",
    "figure_4",
    "figure_5",
    "figure_6",
    "figure_7",
    "figure_8",
    "figure_9",
    "figure_10",
    "figure_11",
    "modes_panel",
]
