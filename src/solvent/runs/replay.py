"""Does a run of one process again, from its journal: nobody is called, and nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.errors import LimitReached, ReactionFailed
from solvent.hocl.process_settings import deep_stack, few_collections
from solvent.runs.calls import NoCaller
from solvent.runs.execution import Execution
from solvent.runs.functions import FUNCTIONS
from solvent.runs.inbox import Inbox
from solvent.workflows.translate import concretise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from solvent.engine.reaction import Reaction
    from solvent.lang.solution import Solution
    from solvent.runs.execution import Spectator
    from solvent.runs.journal import Journal
    from solvent.runs.report import Report
    from solvent.runs.signals import Signal
    from solvent.workflows.model import Workflow


class Replay:
    """A replay; `journal` is open, and read only."""

    def __init__(
        self,
        workflow: Workflow,
        inputs: Mapping[str, Any] | None,
        journal: Journal,
        *,
        folder: Path | None = None,
        signals: Sequence[Signal] = (),
        observe: Callable[[Reaction], None] | None = None,
        spectator: Spectator | None = None,
    ) -> None:
        self._execution = Execution(
            concretise(workflow, inputs, functions=FUNCTIONS, folder=folder),
            answers=Inbox[Any](),
            journal=journal,
            signals=signals,
            folder=folder,
            observe=observe,
            spectator=spectator,
        )

    @property
    def solution(self) -> Solution:
        """Its molecules."""
        return self._execution.solution

    def run(self) -> Report:
        """Do all that is recorded, and report; if the run was not over, the report's `error` says so (R407)."""
        execution, report = self._execution, self._execution.report
        with few_collections():
            with deep_stack():
                try:
                    execution.start(NoCaller())
                except ReactionFailed as error:
                    report.error = error
                else:
                    report.error = self._end_of_record()
                finally:
                    execution.abandon()
            return execution.finish()

    def _end_of_record(self) -> LimitReached | None:
        """Return what says that the run went on, or would have."""
        execution = self._execution
        if execution.report.ended_by:
            return None
        if not execution.calls.out and not execution.signals.are_awaited(execution.solution):
            return None
        count = len(execution.calls.waiting)
        said = "the record ends here" + (f": {count:,} calls have no answer in it" if count else "")
        return LimitReached("R407", said)


__all__ = ["Replay"]
