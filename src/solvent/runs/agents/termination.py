"""How agents find out that a run is over, and end it: each shard tells when it is idle, the last one tells the end.

A shard at which nothing more can happen unless a message comes tells what it has sent and heard. When all have told,
and all that was sent was heard, the run is over: each agent publishes how the tasks are that it has, and whoever finds
that all are there writes the end, once.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from solvent.errors import RecordProblem, problem_of
from solvent.runs.agents.hosted_run import number_of
from solvent.runs.agents.shards import MOVED, is_away, is_closed, is_over, standings
from solvent.runs.closed_shards import report_of
from solvent.runs.projection import view_of
from solvent.runs.registry import OVER, end, record_of, run_at
from solvent.runs.report import deadline_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.runs.agents.hosted_run import HostedRun
    from solvent.runs.agents.log import Teller
    from solvent.runs.execution import Execution
    from solvent.store import Store

IDLE_SECONDS = 0.02
"""How long nothing must have happened at a shard before that is told, unless all that is to be done there is done."""


class Endings:
    """What an agent knows of runs that are over, or are about to be; for one thread."""

    def __init__(self, store: Store, tell: Teller) -> None:
        self._store = store
        self._tell = tell
        #: The prefixes of versions of runs that have ended.
        self.known = set[str]()
        #: Shards at which nothing more can happen unless a message comes, and since when.
        self.idle: dict[Execution, tuple[float, HostedRun]] = {}

    def is_ended(self, hosted: HostedRun) -> bool:
        """See whether a run is over though nobody has said so: who was to say it may have died before."""
        record = record_of(self._store, hosted.run)
        if record is not None and record.prefix != hosted.prefix and not record.has_ended:
            # Whoever has updated it may have died before it said so.
            hosted.next = record.prefix
            return False
        if record is None or record.has_ended:
            # It may have been removed since it ended.
            self.known.add(hosted.prefix)
            return True
        hosted.updater = record.updater
        if record.is_late and not hosted.is_over:
            view = view_of(self._store, record)
            seconds = record.options.deadline or hosted.submitted.deadline or 0.0
            opened = {call.task for call in view.out.values() if not call.opens} or {one.task for one in view.waits}
            self.end_as_failed(hosted.prefix, deadline_text(seconds, sorted(opened)))
            return True
        if hosted.here and not hosted.is_over and hosted.is_idle():
            self._consider(hosted)
        return hosted.prefix in self.known

    def tell_idle(self, runs: Mapping[str, HostedRun]) -> None:
        """Tell of shards at which nothing has happened for a moment, and whether this is the end of a run."""
        now, told = time.monotonic(), set[str]()
        for shard, (since, hosted) in list(self.idle.items()):
            if not shard.is_idle or hosted.here.get(number_of(shard)) is not shard:
                del self.idle[shard]
            elif now - since >= IDLE_SECONDS:
                del self.idle[shard]
                hosted.tell(shard)
                told.add(hosted.run)
        for run in told:
            hosted = runs[run]
            if hosted.is_over:
                self.end(hosted)
            elif hosted.is_idle():
                self._consider(hosted)

    def end(self, hosted: HostedRun) -> None:
        """Tell how the tasks are, as far as they are here, of a run that is over; the last one ends it."""
        hosted.is_over = True
        try:
            for shard in hosted.lost():
                # How its tasks are another agent knows.
                hosted.drop(shard)
            hosted.publish()
            is_last = is_closed(standings(self._store, hosted.prefix), hosted.record.shards)
            report = report_of(self._store, hosted.record, hosted.workflow) if is_last else None
        except Exception as error:
            if not hosted.here:
                # Those who have shards find the same, or do not.
                if is_away(problem_of(error)):
                    raise
                return
            self.fail(hosted, next(iter(hosted.here.values())), error)
            return
        if report is not None and end(self._store, hosted.prefix, "done" if report.succeeded else "failed"):
            self._tell.done(hosted.run) if report.succeeded else self._tell.failed(hosted.run)

    def fail(self, hosted: HostedRun, shard: Execution, error: Exception) -> None:
        """End a run that cannot go on, and not the agent, which has others; what is about the store is raised again.

        Its record is damaged, or a product cannot be computed. Only who still has the shard may say so: this is noted
        before, which the store refuses to one that was stopped meanwhile.
        """
        problem = problem_of(error)
        if is_away(problem):
            raise error
        hosted.drop(shard)
        try:
            is_here = problem.code != MOVED and shard.journal.end("failed")
        except RecordProblem:
            is_here = False
        if is_here:
            self.end_as_failed(hosted.prefix, problem.message)
        else:
            self._tell.lost(hosted.run, number_of(shard))

    def end_as_failed(self, prefix: str, why: str) -> None:
        """End a version of a run that cannot go on."""
        if end(self._store, prefix, "failed", why):
            self._tell.failed(run_at(prefix), why)
        self.known.add(prefix)

    def _consider(self, hosted: HostedRun) -> None:
        found = standings(self._store, hosted.prefix)
        for number in hosted.here.keys() - found.keys():
            # It was told, and does not read any more.
            hosted.tell(hosted.here[number])
        if is_over(found, hosted.record.shards):
            self._store.append(OVER, hosted.prefix.encode())


__all__ = ["IDLE_SECONDS", "Endings"]
