"""The experiments of the paper on data handover, run again, and message counts to 10,000 processes.

Reading order: cells (what is run), measurement (what is kept of it), figures (and tables), claims (what the paper says
beside what we measure).
"""

from solvent_lab.experiments.handover.cells import SCALES, cells_of
from solvent_lab.experiments.handover.claims import claims_of
from solvent_lab.experiments.handover.figures import FIGURES, tables_of
from solvent_lab.experiments.handover.measurement import Measured, gathered
from solvent_lab.experiments.reproduction import Paper

EXPERIMENTS = Paper(figures=FIGURES, cells=cells_of, gather=gathered, kept=Measured, judge=claims_of, tables=tables_of)

__all__ = ["EXPERIMENTS", "SCALES"]
