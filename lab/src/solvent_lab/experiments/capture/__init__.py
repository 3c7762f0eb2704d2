"""Experiments 1 to 8 of "Adaptive atomic capture of multiple molecules": figures 3 to 11 and 15 to 19.

Reading order: measurement (what is kept of runs), cells (which setups, how often), figures, claims_one_rule and
claims_several_rules (what the paper says beside what we measure).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent_lab.experiments.capture import claims_one_rule, claims_several_rules
from solvent_lab.experiments.capture.cells import PAPER, SCALES, cells_of
from solvent_lab.experiments.capture.figures import FIGURES
from solvent_lab.experiments.capture.measurement import Measured, gathered
from solvent_lab.experiments.claims import judged
from solvent_lab.experiments.reproduction import Paper

if TYPE_CHECKING:
    from solvent_lab.experiments.capture.cells import Scale
    from solvent_lab.experiments.capture.measurement import Cells
    from solvent_lab.experiments.claims import Claim, Statement


def statements(scale: Scale) -> list[Statement]:
    """Return all statements, the paper's and those about our own variants."""
    return [
        *claims_one_rule.statements(scale),
        *claims_several_rules.statements(),
        *claims_one_rule.statements_of_ours(),
    ]


def _judge(cells: Cells, scale: Scale) -> list[Claim]:
    return judged(statements(scale), cells, explains=scale.name == PAPER.name)


EXPERIMENTS = Paper(
    figures=FIGURES,
    cells=cells_of,
    gather=gathered,
    kept=Measured,
    judge=_judge,
    tables=lambda _cells, _scale: [],
    place=("experiment", "figure"),
    head=("experiment", "figure", "paper says"),
)

__all__ = ["EXPERIMENTS", "SCALES", "statements"]
