"""Figures 9 and 10 of the paper on token passing, run again; its variants, full load, and two other protocols beside.

Reading order: cells (what is run, and what is kept of it), figures (and tables), claims (what the paper says
beside what we measure).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent_lab.experiments.claims import judged
from solvent_lab.experiments.reproduction import Paper
from solvent_lab.experiments.token.cells import PAPER, SCALES, Measured, cells_of
from solvent_lab.experiments.token.claims import statements
from solvent_lab.experiments.token.figures import FIGURES, tables_of

if TYPE_CHECKING:
    from solvent_lab.experiments.claims import Claim
    from solvent_lab.experiments.token.cells import Cells, Scale


def _judge(cells: Cells, scale: Scale) -> list[Claim]:
    return judged(statements(scale), cells, explains=scale.name == PAPER.name)


EXPERIMENTS = Paper(
    figures=FIGURES,
    cells=cells_of,
    gather=lambda cell, seed, outcomes: Measured(setup=cell.setup, seed=seed, outcomes=list(outcomes)),
    kept=Measured,
    judge=_judge,
    tables=tables_of,
)

__all__ = ["EXPERIMENTS", "SCALES"]
