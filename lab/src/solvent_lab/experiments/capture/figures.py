"""All figures: which cells each needs, and how it is drawn from them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from solvent_lab.experiments.capture import one_rule
from solvent_lab.experiments.capture.cells import LOWEST_WAITING, THRESHOLDS, Scale, size_name, threshold_name
from solvent_lab.experiments.capture.several_rules import PROGRAMS, figure_of_program
from solvent_lab.experiments.reproduction import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent_lab.experiments.capture.measurement import Measured
    from solvent_lab.experiments.figure import Figure


def _always(*names: str) -> Callable[[Scale], tuple[str, ...]]:
    return lambda _scale: names


def _sizes_of_switch(scale: Scale) -> tuple[str, ...]:
    return tuple(size_name(scale, nodes) for nodes in scale.sizes_of_switch)


def _sizes(scale: Scale) -> tuple[str, ...]:
    return tuple(size_name(scale, nodes, is_dormant=dormant) for nodes in scale.sizes for dormant in (False, True))


def _of_program(number: int, cells: Mapping[str, Measured], _scale: Scale) -> Figure:
    return figure_of_program(number, cells)


FIGURES: dict[int, Plan] = {
    3: Plan(_always(*one_rule.VARIANTS, "waiting", "better"), one_rule.figure_3),
    # What waits is not drawn, but the table speaks of it.
    4: Plan(_always(*map(threshold_name, THRESHOLDS), LOWEST_WAITING), one_rule.figure_4),
    # The paper tells of a run in which optimists come first beside figure 5, and draws nothing of it.
    5: Plan(_always("dormant", "optimists first"), one_rule.figure_5),
    6: Plan(_sizes_of_switch, one_rule.figure_6),
    7: Plan(_always("optimistic"), one_rule.figure_7),
    8: Plan(_always("pessimistic"), one_rule.figure_8),
    9: Plan(_always("adaptive"), one_rule.figure_9),
    10: Plan(_always("dormant"), one_rule.figure_10),
    11: Plan(_sizes, one_rule.figure_11),
    **{number: Plan(_always(name), partial(_of_program, number)) for number, (name, _) in PROGRAMS.items()},
}

__all__ = ["FIGURES", "Plan"]
