"""How agents find out that a run is over, and end it: each shard tells when it is idle, the last one tells the end.

A shard at which nothing more can happen unless a message comes tells what it has sent and heard. When all have told,
and all that was sent was heard, the run is over: each agent publishes how the tasks are that it has, and whoever finds
that all are there writes the end, once.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from solvent.errors import RecordProblem, problem_of
from solvent.runs.agents.case import number_of
from solvent.runs.agents.shards import MOVED, is_away, is_closed, is_over, standings
from solvent.runs.closing import report_of
from solvent.runs.registry import OVER, end, existing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.runs.agents.case import Case
    from solvent.runs.agents.telling import Teller
    from solvent.runs.execution import Execution
    from solvent.store import Store

IDLE_SECONDS = 0.02
"""How long nothing must have happened at a shard before that is told, unless all that is to be done there is done."""


class Endings:
    """What an agent knows of runs that are over, or are about to be; for one thread."""

    def __init__(self, store: Store, tell: Teller) -> None:
        self._store = store
        self._tell = tell
        #: The runs that have ended.
        self.known = set[str]()
        #: Shards at which nothing more can happen unless a message comes, and since when.
        self.idle: dict[Execution, tuple[float, Case]] = {}

    def is_ended(self, case: Case) -> bool:
        """See whether a run is over though nobody has said so: who was to say it may have died before."""
        if existing(self._store, case.run).has_ended:
            self.known.add(case.run)
        elif case.here and not case.is_over and case.is_idle():
            self._consider(case)
        return case.run in self.known

    def tell_idle(self, cases: Mapping[str, Case]) -> None:
        """Tell of shards at which nothing has happened for a moment, and whether this is the end of a run."""
        now, told = time.monotonic(), set[str]()
        for shard, (since, case) in list(self.idle.items()):
            if not shard.is_idle or case.here.get(number_of(shard)) is not shard:
                del self.idle[shard]
            elif now - since >= IDLE_SECONDS:
                del self.idle[shard]
                case.tell(shard)
                told.add(case.run)
        for run in told:
            case = cases[run]
            if case.is_over:
                self.end(case)
            elif case.is_idle():
                self._consider(case)

    def end(self, case: Case) -> None:
        """Tell how the tasks are, as far as they are here, of a run that is over; the last one ends it."""
        case.is_over = True
        try:
            for shard in case.lost():
                # How its tasks are another agent knows.
                case.drop(shard)
            case.publish()
            is_last = is_closed(standings(self._store, case.run), case.record.shards)
            report = report_of(self._store, case.record, case.workflow) if is_last else None
        except Exception as error:
            if not case.here:
                # Those who have shards find the same, or do not.
                if is_away(problem_of(error)):
                    raise
                return
            self.fail(case, next(iter(case.here.values())), error)
            return
        if report is not None and end(self._store, case.run, "done" if report.succeeded else "failed"):
            self._tell.done(case.run) if report.succeeded else self._tell.failed(case.run)

    def fail(self, case: Case, shard: Execution, error: Exception) -> None:
        """End a run that cannot go on, and not the agent, which has others; what is about the store is raised again.

        Its record is damaged, or a product cannot be computed. Only who still has the shard may say so: this is noted
        before, which the store refuses to one that was stopped meanwhile.
        """
        problem = problem_of(error)
        if is_away(problem):
            raise error
        case.drop(shard)
        try:
            is_here = problem.code != MOVED and shard.journal.end("failed")
        except RecordProblem:
            is_here = False
        if is_here:
            self.end_as_failed(case.run, problem.message)
        else:
            self._tell.lost(case.run, number_of(shard))

    def end_as_failed(self, run: str, why: str) -> None:
        """End a run that cannot go on."""
        if end(self._store, run, "failed", why):
            self._tell.failed(run, why)
        self.known.add(run)

    def _consider(self, case: Case) -> None:
        found = standings(self._store, case.run)
        for number in case.here.keys() - found.keys():
            # It was told, and does not read any more.
            case.tell(case.here[number])
        if is_over(found, case.record.shards):
            self._store.append(OVER, case.run.encode())


__all__ = ["IDLE_SECONDS", "Endings"]
