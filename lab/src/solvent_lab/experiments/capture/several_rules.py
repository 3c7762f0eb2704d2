"""Figures 15 to 19: programs of several rules (experiments 5 to 8), each in three panels.

Above, how many nodes execute each rule; in the middle, how many are in each mode; below, how many molecules of each
type there are, on a logarithmic scale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent_lab.experiments.capture.one_rule import modes_panel
from solvent_lab.experiments.figure import Figure, Panel, over_steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent_lab.experiments.capture.measurement import Measured

PROGRAMS = {
    15: ("independent", "The independent-rules program"),
    16: ("dependent", "The dependent-rules program"),
    17: ("circular", "The circular program, from T0 alone"),
    18: ("circular, all types", "The circular program, from all types"),
    19: ("workflow", "The workflow program"),
}
"""Cell and title of each figure."""


def figure_of_program(number: int, cells: Mapping[str, Measured]) -> Figure:
    """Draw the course of one program."""
    name, title = PROGRAMS[number]
    measured = cells[name]
    rules = tuple(over_steps(f"R{rule}", ys) for rule, ys in enumerate(measured.rules))
    molecules = tuple(over_steps(f"T{kind}", ys) for kind, ys in enumerate(measured.molecules))
    panels = (Panel("nodes executing", rules), modes_panel(measured), Panel("molecules", molecules, log_y=True))
    return Figure(number, title, "step", panels)


__all__ = ["PROGRAMS", "figure_of_program"]
