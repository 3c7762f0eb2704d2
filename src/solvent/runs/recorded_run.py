"""Records an embedded run: this process is the agent of the run's only shard, and takes no other.

    recorded = new_run(store, workflow, inputs)  # or: resume(store, find(store, "pipeline-7k3q"))
    run = recorded.embed(workflow, inputs)
    recorded.open()  # now the run is in the store, and this process has its lease
    report = recorded.execute(run)

Like every agent, this process holds a lease of the shard and writes a heartbeat, which names the process. So another
process sees which one runs the shard, and on the same machine also whether it is alive, without waiting for the
heartbeat to stop. If this process was stopped for a while and another one has taken the shard, the store refuses its
next append to the journal.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import Conflict, LimitReached, RecordProblem, SolventError, StoreError
from solvent.runs.closed_shards import closed_run
from solvent.runs.events import Ended
from solvent.runs.holders import (
    Holder,
    ShardLease,
    Stopper,
    agent_name,
    damaged_lease,
    holder_of,
    is_there,
    process_of,
    this_process,
)
from solvent.runs.registry import (
    FORMAT,
    NAME_RULE,
    KeptOptions,
    create,
    end,
    existing,
    is_name,
    key_of,
    new_name,
    new_record,
)
from solvent.runs.report import DeadlinePassed, cancelled_states
from solvent.runs.signals import SignalReader
from solvent.store.leases import AGENTS, Heartbeat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from solvent.runs.embedded import EmbeddedRun
    from solvent.runs.journal import StoredJournal
    from solvent.runs.registry import RunRecord, State
    from solvent.runs.report import Report
    from solvent.store import Store
    from solvent.workflows.model import Workflow


class SeenDead:
    """Whether the process of an agent is gone, as seen from here; with `takes_over`, every agent is taken for dead."""

    def __init__(self, store: Store, *, takes_over: bool = False) -> None:
        self._store = store
        self._takes_over = takes_over

    def is_presumed_dead(self, agent: str) -> bool:
        """Return whether an agent is dead: it has no heartbeat any more, or its process is gone."""
        process = process_of(self._store, agent)
        return self._takes_over or process is None or is_there(process) is False


class RecordedRun:
    """A run that this process hosts from `open` on."""

    def __init__(self, store: Store, record: RunRecord, *, is_new: bool, takes_over: bool = False) -> None:
        self.store = store
        self.record = record
        self.is_new = is_new
        self._takes_over = takes_over
        self._is_named = False
        self._agent = agent_name(f"{this_process().host}-{this_process().process}")
        self._shard = ShardLease(store, record, 0, self._agent)
        self._revision = 0
        self._must_stop = threading.Event()
        self._signals: SignalReader | None = None
        self._heartbeat: Heartbeat | None = None
        self._stopper: Stopper | None = None

    @property
    def journal(self) -> StoredJournal:
        """Its journal."""
        return self._shard.journal

    def name(self, name: str) -> None:
        """Call it so, before it is opened; what no run can be called is refused."""
        if not is_name(name):
            raise RecordProblem("R408", f"a run cannot be called `{name}`", hint=NAME_RULE)
        self._is_named = True
        self._rename(name)

    def _rename(self, name: str) -> None:
        self.record = msgspec.structs.replace(self.record, run=name)
        self._shard = ShardLease(self.store, self.record, 0, self._agent)

    def embed(
        self,
        workflow: Workflow,
        inputs: Mapping[str, Any] | None,
        *,
        should_stop: Callable[[], bool] | None = None,
        **options: Any,
    ) -> EmbeddedRun:
        """Return the run that this process executes, before it is opened; see `EmbeddedRun` for the options."""
        from solvent.runs.embedded import EmbeddedRun

        def must_stop() -> bool:
            return self.should_stop() or (should_stop is not None and should_stop())

        return EmbeddedRun(
            workflow,
            inputs,
            journal=self.journal,
            inbox=self.signals,
            should_stop=must_stop,
            **{**options, "deadline": self.record.options.deadline, "ends_at": self.record.deadline},
        )

    def execute(self, run: EmbeddedRun) -> Report:
        """Execute the run, opening it first unless that was done, keep how it ended, and return its report."""
        if self._heartbeat is None:
            self.open()
        report = run.run()
        self.end(report)
        return report

    def give_up(self, error: BaseException) -> bool:
        """Leave the run that an error has ended, or delete one that could not begin; return whether to resume it."""
        if isinstance(error, RecordProblem | StoreError):
            can_resume = error.code not in {"R402", "R404", "R408"}
        else:
            can_resume = isinstance(error, KeyboardInterrupt)
            if self.is_new and isinstance(error, SolventError):
                self.forget()
                return False
        self.leave()
        return can_resume

    def open(self) -> None:
        """Take the shard, read its journal, and notice from now on if another process ends the run."""
        try:
            self._open()
        except BaseException:
            self.leave()
            raise

    def _open(self) -> None:
        if self.is_new:
            self._create()
        run = self.record.run
        about = {"run": run, "format": FORMAT, "process": msgspec.to_builtins(this_process())}
        self._heartbeat = Heartbeat(self.store, self._agent, about=about).start()
        self._take()
        self._shard.open()
        self._stopper = Stopper(self.store, self._agent, self._must_stop.set, until=run, prefix=self.record.prefix)
        self._stopper.__enter__()

    def _create(self) -> None:
        while True:
            try:
                self._revision = create(self.store, self.record)
            except Conflict as error:
                run = self.record.run
                if self._is_named:
                    hint = f"go on with it: `solvent resume {run}`; or give another name"
                    raise RecordProblem("R408", f"there is a run `{run}` already", hint=hint) from error
                self._rename(new_name(self.record.workflow))
            else:
                return

    def _take(self) -> None:
        try:
            is_here = self._shard.take(SeenDead(self.store, takes_over=self._takes_over))
        except StoreError as error:
            if error.code != "E406":
                raise
            raise damaged_lease(self.record.prefix, 0, error) from None
        record = existing(self.store, self.record.run)
        # Somebody may have ended it, or given it to agents, since it was looked at.
        if not is_here or record.has_ended or record.by_agents or record.prefix != self.record.prefix:
            said = f"another process goes on with the run `{record.run}`, or has ended it"
            raise RecordProblem("R402", said, hint="this one stops; nothing is lost")
        before = self._shard.taken_from
        if before and SeenDead(self.store).is_presumed_dead(before):
            # It did not come to say goodbye.
            self.store.delete(AGENTS + before)

    def signals(self) -> list[tuple[str, Any, str]]:
        """Return the signals that others have sent since it was asked last: name, value and id."""
        if self._signals is None:
            self._signals = SignalReader(self.store, self.record.prefix)
        return self._signals.news()

    def should_stop(self) -> bool:
        """Return whether the run is over, or this process was asked to leave it."""
        return self._must_stop.is_set()

    def end(self, report: Report) -> None:
        """Store how the run ended; release one that was stopped, so that another process can continue it."""
        is_cancelled = self._is_cancelled(report)
        if isinstance(report.error, LimitReached) and not is_cancelled:
            self.leave()
            return
        if is_cancelled:
            report.error, report.is_cancelled = None, True
            report.states = cancelled_states(report)
        state: State = "cancelled" if report.is_cancelled else "done" if report.succeeded else "failed"
        why = report.error.message if isinstance(report.error, DeadlinePassed) else ""
        self._shard.close(closed_run(self.store, report, self.journal.adaptations), Ended(state, time.time(), why))
        end(self.store, self.record.prefix, state, why)
        self.record = existing(self.store, self.record.run)
        self.leave()

    def _is_cancelled(self, report: Report) -> bool:
        """Return whether it stopped because another process has ended it."""
        if not (isinstance(report.error, LimitReached) and self.should_stop()):
            return False
        record = existing(self.store, self.record.run)
        return record.has_ended and record.prefix == self.record.prefix

    def leave(self) -> None:
        """Release the shard for other processes, if the store can be reached."""
        with suppress(StoreError):
            self._shard.release()
        self._stop()

    def forget(self) -> None:
        """Let there be no such run: it could not even begin."""
        if self._revision:
            with suppress(StoreError):
                self.store.delete(key_of(self.record.run), expected=self._revision)
        # The lease stays, free: a run of the same name has the same journal, and must have a later epoch.
        self.leave()

    def _stop(self) -> None:
        if self._stopper is not None:
            self._stopper.__exit__()
        if self._heartbeat is not None:
            self._heartbeat.stop()
        self._stopper = self._heartbeat = None


def new_run(
    store: Store,
    workflow: Workflow,
    inputs: Mapping[str, Any] | None = None,
    *,
    file: str = "",
    folder: str = "",
    options: KeptOptions = KeptOptions(),  # noqa: B008 - it cannot change
) -> RecordedRun:
    """Return a run that is to begin, with a name of its own."""
    record = new_record(store, new_name(workflow.name), workflow, inputs, file=file, folder=folder, options=options)
    return RecordedRun(store, record, is_new=True)


def resume(store: Store, record: RunRecord, *, takes_over: bool = False) -> RecordedRun:
    """Return a run that was stopped; one that another process has only if that is dead, or by force (`takes_over`)."""
    refuse_to_continue(store, record, takes_over=takes_over)
    return RecordedRun(store, record, is_new=False, takes_over=takes_over)


@contextmanager
def held_still(store: Store, record: RunRecord, *, takes_over: bool = False) -> Iterator[None]:
    """Have a run that one process was running, and has left: nothing happens in it while in this context."""
    refuse_to_continue(store, record, takes_over=takes_over)
    name = agent_name(f"{this_process().host}-{this_process().process}")
    shard = ShardLease(store, record, 0, name)
    with Heartbeat(store, name, about={"process": msgspec.to_builtins(this_process())}):
        if not shard.take(SeenDead(store, takes_over=takes_over)):
            said = f"another process goes on with the run `{record.run}`"
            raise RecordProblem("R402", said, hint="this one stops; nothing is lost")
        try:
            # A process that had it before, and was only stopped, is refused from now on.
            shard.open()
            yield
        finally:
            shard.release()


def refuse_to_continue(store: Store, record: RunRecord, *, takes_over: bool = False) -> None:
    """Raise `RecordProblem` if a run cannot be continued (R406), or another process has or may have it (R405)."""
    if record.hindrance:
        hint = "run it anew"
        raise RecordProblem("R406", f"nobody can go on with the run `{record.run}`: {record.hindrance}", hint=hint)
    holder = holder_of(store, record)
    if holder is not None and not takes_over:
        _refuse_if_there(record.run, holder)


def _refuse_if_there(run: str, holder: Holder) -> None:
    is_alive = is_there(holder)
    if is_alive is None:
        said = f"the run `{run}` may still be going on: {holder} has it, and cannot be seen from here"
        raise RecordProblem("R405", said, hint="if you know that it is dead: `solvent resume --take-over`")
    if is_alive:
        said = f"the run `{run}` is still going on: {holder} has it"
        hint = f"stop it first (`kill {holder.process}`), or end it: `solvent cancel {run}`"
        raise RecordProblem("R405", said, hint=hint)


__all__ = ["RecordedRun", "SeenDead", "held_still", "new_run", "refuse_to_continue", "resume"]
