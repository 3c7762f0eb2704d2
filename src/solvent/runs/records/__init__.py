"""Records of runs, in a store: what a workflow has done, from which it goes on wherever and however it was stopped.

Reading order: entries (what is written down), values (results as bytes), journal (one log, one writer), recorded (a run
with a journal), holders (which process has a run), cards (what is known of a run), runs (to begin one, find it, go on
with it), history (what has happened, for people).
"""

from solvent.runs.records.journal import Journal, read_journal
from solvent.runs.records.recorded import RecordedRun, recorded_run

__all__ = ["Journal", "RecordedRun", "read_journal", "recorded_run"]
