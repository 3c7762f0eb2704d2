"""Records an embedded run: this process is the agent of the run's only shard, and takes no other.

    recorded = new_run(store, workflow, inputs)  # or: resume(store, find(store, "pipeline-7k3q"))
    run = recorded.embed(workflow, inputs)
    recorded.open()  # now the run is in the store, and this process has its lease
    report = recorded.execute(run)

Like every agent, this process holds a lease of the shard and writes a heartbeat, which names the process. So another
process sees which one runs the shard, and on the same machine also whether it is alive, without waiting for the
heartbeat to stop. If this process was stopped for a while and another one has taken the shard, the store refuses its
next append to the journal.

If another process, or another thread, updates the run (see `continuation`), this one does nothing more in its version
until that is decided (`hold_still`), and goes on with the next one; calls that are out go on meanwhile.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from solvent.errors import Conflict, LimitReached, RecordProblem, SolventError, StoreError
from solvent.runs.closed_shards import closed_run
from solvent.runs.events import Ended
from solvent.runs.holders import (
    Holder,
    SeenDead,
    ShardLease,
    Stopper,
    Updaters,
    agent_name,
    damaged_lease,
    holder_of,
    is_there,
    this_process,
)
from solvent.runs.registry import (
    FORMAT,
    NAME_RULE,
    KeptOptions,
    create,
    digest_of,
    end,
    existing,
    inputs_of,
    is_name,
    key_of,
    new_name,
    new_record,
    signals_of,
    workflow_of,
)
from solvent.runs.report import DeadlinePassed, cancelled_states
from solvent.runs.signals import SignalReader
from solvent.services.python import import_changed
from solvent.store.leases import AGENTS, GIVEN_EPOCH, Heartbeat
from solvent.workflows.formats.files import load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent.runs.embedded import EmbeddedRun
    from solvent.runs.journal import StoredJournal
    from solvent.runs.registry import RunRecord, State
    from solvent.runs.report import Report
    from solvent.store import Store
    from solvent.workflows.model import Workflow


LOOK_SECONDS = 0.05


class Following(NamedTuple):
    """The version of a run that follows the one that is executed, and the epoch in which this process got its shard."""

    workflow: Workflow
    inputs: dict[str, Any]
    folder: Path | None
    signals: list[tuple[Any, ...]]
    journal: StoredJournal
    epoch: int
    #: How long it may take, if not as its workflow says, and when that is over.
    deadline: float
    ends_at: float
    #: Whether modules of services were imported again.
    is_code_new: bool


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
        # Whether the run is being updated, or was; and the workflows that may come, by their digests.
        self._is_asked = threading.Event()
        self._offered: dict[str, tuple[Workflow, Path | None, bool]] = {}
        self._loaded_at = time.time()
        #: Hears that the run goes on as another version.
        self.tell: Callable[[RunRecord, Workflow], None] = lambda *_: None
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
            updates=self,
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
        self._stopper = Stopper(self.store, self._agent, self._must_stop.set, until=run, look=self._look)
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
        is_another = record.has_ended or record.by_agents or record.prefix != self.record.prefix
        if not is_here or is_another:
            said = f"another process goes on with the run `{record.run}`, or has ended it"
            raise RecordProblem("R402", said, hint="this one stops; nothing is lost")
        before = self._shard.taken_from
        if before and SeenDead(self.store).is_presumed_dead(before):
            # It did not come to say goodbye.
            self.store.delete(AGENTS + before)

    # --- Updates.

    def _look(self, record: RunRecord) -> None:
        if record.updater or record.prefix != self.record.prefix:
            self._is_asked.set()

    def offer(self, workflow: Workflow, folder: Path | None) -> None:
        """Know a workflow that may come, as no file may say it."""
        self._offered[digest_of(workflow)] = workflow, folder, False

    @property
    def is_asked(self) -> bool:
        """Whether to hold still."""
        return self._is_asked.is_set()

    def hold_still(self, should_stop: Callable[[], bool]) -> Following | None:
        """Wait until it is decided whether the run is updated; return the version that follows, if one does.

        Meanwhile nothing happens in the run, and all that has happened is in its journal. The updater relies on that:
        once it was told, a run that is to stop does so after the decision.
        """
        updaters, told = Updaters(self.store, own=self._agent), ""
        while told or not should_stop():
            record = existing(self.store, self.record.run)
            if record.has_ended or record.prefix != self.record.prefix:
                return self._follow(record, was_told=bool(told))
            if not record.updater:
                break
            if updaters.is_updating(record):
                if told != record.updater:
                    told = record.updater
                    self.store.put(f"{key_of(record.prefix, 'still')}/{self._agent}", told.encode())
                time.sleep(LOOK_SECONDS)
        self._is_asked.clear()
        return None

    def _follow(self, record: RunRecord, *, was_told: bool) -> Following | None:
        self._is_asked.clear()
        if record.has_ended or record.by_agents or not was_told:
            # It has ended, or another process has taken it: this one leaves it.
            self._must_stop.set()
            return None
        shard = ShardLease(self.store, record, 0, self._agent)
        if not shard.take(SeenDead(self.store)):
            said = f"another process goes on with the run `{record.run}`"
            raise RecordProblem("R402", said, hint="this one stops; nothing is lost")
        self.record, self._shard, self._signals = record, shard, None
        workflow, folder, is_code_new = self._offered.get(record.digest) or self._load(record)
        shard.open(since=(GIVEN_EPOCH,))
        self.tell(record, workflow)
        inputs, signals = inputs_of(self.store, record), signals_of(record)
        seconds, ends_at = record.options.deadline or 0.0, record.deadline
        journal = shard.journal
        return Following(workflow, inputs, folder, signals, journal, GIVEN_EPOCH, seconds, ends_at, is_code_new)

    def _load(self, record: RunRecord) -> tuple[Workflow, Path | None, bool]:
        """Return the workflow of a further version, the folder of its functions, and whether their code is new."""
        path, options = Path(record.folder, record.file), record.options
        folder = Path(options.folder) if options.folder else path.parent if record.file else None
        if record.document:
            workflow = workflow_of(self.store, record)
        else:
            workflow = load(path, scale=options.scale or 1.0).workflow
        since, self._loaded_at = self._loaded_at, time.time()
        return workflow, folder, import_changed(workflow.services, since)

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


__all__ = ["Following", "RecordedRun", "new_run", "refuse_to_continue", "resume"]
