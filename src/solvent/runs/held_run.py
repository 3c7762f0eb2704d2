"""A run that this process has: to begin one, or continue one that was stopped, and to end it.

    held = new_run(store, workflow, inputs)  # or: resume(store, find(store, "pipeline-7k3q"))
    run = EmbeddedRun(workflow, inputs, journal=held.journal, should_stop=held.is_cancelled)
    held.open()  # now it is in the store, and this process has it
    held.end(run.run())

A run has one holder at a time. Whoever had it before, and was only stopped, finds out when it next writes anything.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import Conflict, LimitReached, RecordProblem, StoreError
from solvent.runs.closing import closed_whole
from solvent.runs.events import Ended
from solvent.runs.holders import is_there, this_process
from solvent.runs.journal import Journal
from solvent.runs.registry import (
    NAME_RULE,
    RunOptions,
    create,
    existing_revision,
    is_name,
    journal_of,
    key_of,
    new_name,
    new_record,
)
from solvent.values.encoding import encode_msgpack

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.runs.registry import RunRecord, State
    from solvent.runs.report import Report
    from solvent.store import Store
    from solvent.workflows.model import Workflow

LOOK_SECONDS = 0.25
"""How often a run looks whether somebody has cancelled it."""


class HeldRun:
    """A run that this process has from `open` on."""

    def __init__(self, store: Store, record: RunRecord, revision: int = 0) -> None:
        self.store = store
        self.record = record
        self.journal = Journal(store, journal_of(record.run), str(record.holder))
        self.is_new = revision == 0
        self._revision = revision
        self._is_named = False
        self._was_cancelled = threading.Event()
        self._is_over = threading.Event()
        self._watcher: threading.Thread | None = None

    def take(self) -> None:
        """Have a run that was stopped; raise `RecordProblem` R402 if another process does so at the same time."""
        self._put(holder=this_process(), state="running")
        self.journal.agent = str(self.record.holder)

    def open(self) -> None:
        """Continue from where it is, and look from now on whether somebody cancels it."""
        if self.is_new:
            self._create()
        self.journal.open()
        self._watcher = threading.Thread(target=self._look, name="solvent-cancelling", daemon=True)
        self._watcher.start()

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

    def name(self, name: str) -> None:
        """Call it so, before it is opened; what no run can be called is refused."""
        if not is_name(name):
            raise RecordProblem("R408", f"a run cannot be called `{name}`", hint=NAME_RULE)
        self._is_named = True
        self._rename(name)

    def _rename(self, name: str) -> None:
        self.record = msgspec.structs.replace(self.record, run=name)
        self.journal.rename(journal_of(name))

    def is_cancelled(self) -> bool:
        """Return whether somebody has cancelled it."""
        return self._was_cancelled.is_set()

    def end(self, report: Report) -> State:
        """Keep how the run ended, or that it was stopped, in which case somebody may continue it."""
        self._stop_looking()
        state = self._state_of(report)
        if state == "cancelled":
            report.error, report.is_cancelled = None, True
            # What was called and has not ended was ended with the run, and does not wait any more.
            gone = [name for name, told in report.states.items() if told == "waiting" and report.calls.get(name)]
            report.states.update(dict.fromkeys(gone, "cancelled"))
        if state == "stopped":
            self._put(state=state, holder=None)
            return state
        ended = time.time()
        self.journal.note(closed_whole(self.store, report, self.journal.adaptations))
        self.journal.note(Ended(state, ended))
        self.journal.commit()
        self._put(state=state, holder=None, ended=ended)
        return state

    def leave(self) -> None:
        """Let somebody else continue it, if that can still be said."""
        self._stop_looking()
        if self._revision and self.record.state == "running":
            with suppress(StoreError, RecordProblem):
                self._put(state="stopped", holder=None)

    def forget(self) -> None:
        """Let there be no such run: it could not even begin."""
        self._stop_looking()
        if self._revision:
            with suppress(StoreError):
                self.store.delete(key_of(self.record.run), expected=self._revision)
            self._revision = 0

    def _state_of(self, report: Report) -> State:
        if isinstance(report.error, LimitReached):
            return "cancelled" if self.is_cancelled() else "stopped"
        if report.is_cancelled:
            return "cancelled"
        return "done" if report.succeeded else "failed"

    def _put(self, **changes: Any) -> None:
        record = msgspec.structs.replace(self.record, **changes)
        try:
            self._revision = self.store.put(key_of(record.run), encode_msgpack(record), expected=self._revision)
        except Conflict as error:
            raise _taken_away(record.run) from error
        self.record = record

    def _look(self) -> None:
        key = key_of(self.record.run, "cancel")
        with suppress(StoreError):
            while not self._is_over.is_set():
                if self.store.get(key) is not None:
                    self._was_cancelled.set()
                    return
                self._is_over.wait(LOOK_SECONDS)

    def _stop_looking(self) -> None:
        self._is_over.set()
        if self._watcher is not None:
            self._watcher.join()


def new_run(
    store: Store,
    workflow: Workflow,
    inputs: Mapping[str, Any] | None = None,
    *,
    file: str = "",
    folder: str = "",
    options: RunOptions = RunOptions(),  # noqa: B008 - it cannot change
) -> HeldRun:
    """Return a run that is to begin, with a name of its own."""
    record = new_record(
        store,
        new_name(workflow.name),
        workflow,
        inputs,
        holder=this_process(),
        file=file,
        folder=folder,
        options=options,
    )
    return HeldRun(store, record)


def resume(store: Store, record: RunRecord, *, takes_over: bool = False) -> HeldRun:
    """Have a run that was stopped; one that another process has only if that is dead, or by force (`takes_over`)."""
    record, revision = existing_revision(store, record.run)
    if record.hindrance:
        hint = "run it anew"
        raise RecordProblem("R406", f"nobody can go on with the run `{record.run}`: {record.hindrance}", hint=hint)
    if record.holder is not None and not takes_over:
        refuse_if_there(record)
    held = HeldRun(store, record, revision)
    held.take()
    return held


def refuse_if_there(record: RunRecord) -> None:
    """Raise `RecordProblem` R405 if the process that has a run is still there, or may be."""
    assert record.holder is not None
    is_alive = is_there(record.holder)
    if is_alive is None:
        said = f"the run `{record.run}` may still be going on: {record.holder} has it, and cannot be seen from here"
        hint = "if you know that it is dead: `solvent resume --take-over`"
        raise RecordProblem("R405", said, hint=hint)
    if is_alive:
        said = f"the run `{record.run}` is still going on: {record.holder} has it"
        hint = f"stop it first (`kill {record.holder.process}`), or end it: `solvent cancel {record.run}`"
        raise RecordProblem("R405", said, hint=hint)


def _taken_away(run: str) -> RecordProblem:
    return RecordProblem(
        "R402", f"another process goes on with the run `{run}`", hint="this one stops; nothing is lost"
    )


__all__ = ["HeldRun", "new_run", "refuse_if_there", "resume"]
