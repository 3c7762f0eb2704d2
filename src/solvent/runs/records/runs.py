"""Runs in a store: to begin one, find it again, go on with it, end it.

    held = new_run(store, workflow, inputs)  # or: resume(store, find(store, "pipeline-7k3q"))
    run = recorded_run(workflow, inputs, journal=held.journal, should_stop=held.is_cancelled)
    held.open()  # now it is in the store, and this process has it
    held.end(run.run())

A run has one holder at a time. Whoever had it before, and was only stopped, finds out when it next writes anything.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import Conflict, LimitReached, RecordProblem, StoreError, nearest
from solvent.runs.records.cards import (
    RunCard,
    RunOptions,
    State,
    digest_of,
    document_of,
    read_card,
    summed_up,
    write_card,
)
from solvent.runs.records.entries import Ended
from solvent.runs.records.holders import is_there, this_process
from solvent.runs.records.journal import Journal
from solvent.runs.records.names import MEANING, claim_for_process, is_name, is_of_agents
from solvent.values import codec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.runs.report import Report
    from solvent.store import Store
    from solvent.workflows.model import Workflow

LOOK_SECONDS = 0.25
"""How often a run looks whether somebody has cancelled it."""
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
_ENDING_CHARACTERS = 4
_MAX_NAME_CHARACTERS = 40
_RESOURCES = "its tasks change resources in place, and what is in those is not recorded"


class HeldRun:
    """A run that this process has from `open` on."""

    def __init__(self, store: Store, card: RunCard, revision: int) -> None:
        self.store = store
        self.card = card
        self.journal = Journal(store, log_of(card.run), str(card.holder))
        self.is_new = revision == 0
        self._revision = revision
        self._is_named = False
        self._was_cancelled = threading.Event()
        self._is_over = threading.Event()
        self._watcher: threading.Thread | None = None

    def open(self) -> None:
        """Go on from where it is, and look from now on whether somebody cancels it."""
        if self.is_new:
            self._put_first()
        self.journal.open()
        self._watcher = threading.Thread(target=self._look, name="solvent-cancelling", daemon=True)
        self._watcher.start()

    def _put_first(self) -> None:
        while True:
            try:
                self._put_card()
            except Conflict as error:
                run = self.card.run
                if self._is_named:
                    hint = f"go on with it: `solvent resume {run}`; or give another name"
                    raise RecordProblem("R408", f"there is a run `{run}` already", hint=hint) from error
                self.card = msgspec.structs.replace(self.card, run=new_name(self.card.workflow))
                self.journal.rename(log_of(self.card.run))
            else:
                return

    def _put_card(self) -> None:
        """Let the run be in the store; raise `Conflict` where there is one of its name."""
        run = self.card.run
        self._revision = self.store.put(key_of(run), write_card(self.card), expected=0)
        # A name that nobody has chosen is not chosen by another at the same time.
        is_free = claim_for_process(self.store, run) if self._is_named else not is_of_agents(self.store, run)
        if not is_free:
            self.store.delete(key_of(run), expected=self._revision)
            self._revision = 0
            raise Conflict(key_of(run), expected=0, last=0)

    def name(self, name: str) -> None:
        """Call it so, before it is opened; what no run can be called is refused."""
        if not is_name(name):
            raise RecordProblem("R408", f"a run cannot be called `{name}`", hint=MEANING)
        self._is_named = True
        self.card = msgspec.structs.replace(self.card, run=name)
        self.journal.rename(log_of(name))

    def is_cancelled(self) -> bool:
        """Tell whether somebody has cancelled it."""
        return self._was_cancelled.is_set()

    def end(self, report: Report) -> State:
        """Keep how the run ended, or that it was stopped, in which case somebody may go on with it."""
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
        # The card first: who finds it ended does not look any further.
        self.card = summed_up(self.store, self.card, report)
        self._put(state=state, holder=None, ended=ended)
        self.journal.note(Ended(state, ended))
        self.journal.commit()
        return state

    def leave(self) -> None:
        """Let somebody else go on with it, if that can still be said."""
        self._stop_looking()
        if self._revision and self.card.state == "running":
            with suppress(StoreError, RecordProblem):
                self._put(state="stopped", holder=None)

    def forget(self) -> None:
        """Let there be no such run: it could not even begin."""
        self._stop_looking()
        if self._revision:
            with suppress(StoreError):
                self.store.delete(key_of(self.card.run), expected=self._revision)
            self._revision = 0

    def _state_of(self, report: Report) -> State:
        if isinstance(report.error, LimitReached):
            return "cancelled" if self.is_cancelled() else "stopped"
        if report.is_cancelled:
            return "cancelled"
        return "done" if report.succeeded else "failed"

    def _put(self, **changes: Any) -> None:
        card = msgspec.structs.replace(self.card, **changes)
        try:
            self._revision = self.store.put(key_of(card.run), write_card(card), expected=self._revision)
        except Conflict as error:
            raise _taken_away(card.run) from error
        self.card = card

    def _look(self) -> None:
        key = cancel_key_of(self.card.run)
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
    """Give a run that is to begin, with a name of its own."""
    document = document_of(workflow)
    hindrance = _RESOURCES if workflow.resources else ""
    try:
        given = codec.encode(dict(inputs or {}))
    except codec.Unrecordable as error:
        given, hindrance = b"", f"its inputs are not all data: {error}"
    card = RunCard(
        run=new_name(workflow.name),
        workflow=workflow.name,
        digest=digest_of(workflow),
        tasks=tuple(task.name for task in workflow.tasks),
        created=time.time(),
        holder=this_process(),
        file=file,
        folder=folder,
        document=store.put_blob(document.encode()) if document else "",
        inputs=given,
        options=options,
        hindrance=hindrance,
    )
    return HeldRun(store, card, 0)


def resume(store: Store, card: RunCard, *, takes_over: bool = False) -> HeldRun:
    """Have a run that was stopped; one that another process has only if that is dead, or by force (`takes_over`)."""
    found = store.get(key_of(card.run))
    if found is None:
        raise _unknown(store, card.run)
    card = read_card(card.run, found.value)
    if card.hindrance:
        hint = "run it anew"
        raise RecordProblem("R406", f"nobody can go on with the run `{card.run}`: {card.hindrance}", hint=hint)
    if card.holder is not None and not takes_over:
        refuse_if_there(card)
    card = msgspec.structs.replace(card, holder=this_process(), state="running")
    try:
        revision = store.put(key_of(card.run), write_card(card), expected=found.revision)
    except Conflict as error:
        raise _taken_away(card.run) from error
    return HeldRun(store, card, revision)


def refuse_if_there(card: RunCard) -> None:
    """Raise `RecordProblem` R405 if the process that has a run is still there, or may be."""
    assert card.holder is not None
    is_alive = is_there(card.holder)
    if is_alive is None:
        said = f"the run `{card.run}` may still be going on: {card.holder} has it, and cannot be seen from here"
        hint = "if you know that it is dead: `solvent resume --take-over`"
        raise RecordProblem("R405", said, hint=hint)
    if is_alive:
        said = f"the run `{card.run}` is still going on: {card.holder} has it"
        hint = f"stop it first (`kill {card.holder.process}`), or end it: `solvent cancel {card.run}`"
        raise RecordProblem("R405", said, hint=hint)


def all_runs(store: Store, damaged: dict[str, str] | None = None) -> list[RunCard]:
    """Give the cards of all runs, the latest last; `damaged` gets the names of those that do not read, and why."""
    found = []
    for key, entry in store.keys("runs/").items():
        if key.count("/") == 1:
            run = key.removeprefix("runs/")
            try:
                found.append(read_card(run, entry.value))
            except RecordProblem as error:
                # The others are none the worse for it.
                if damaged is not None:
                    damaged[run] = error.message
    return sorted(found, key=lambda card: (card.created, card.run))


def names_in(store: Store) -> list[str]:
    """Give the names of all runs in a store, whoever has them: one process, agents, or the nodes of a program."""
    from solvent.runs.nodes.shared import PROGRAMS  # what nodes need is asked for by few who look for a run

    found: dict[str, int] = {}
    for key, entry in {**store.keys("runs/"), **store.keys(PROGRAMS)}.items():
        name = key.split("/")[1]
        found[name] = min(entry.revision, found.get(name, entry.revision))
    return sorted(found, key=found.__getitem__)


def find(store: Store, name: str) -> RunCard:
    """Find a run by its name, or by the beginning of it that no other run has."""
    entry = store.get(key_of(name)) if is_name(name) else None
    if entry is not None:
        return read_card(name, entry.value)
    matches = [card for card in all_runs(store) if card.run.startswith(name)]
    if len(matches) == 1 and name:
        return matches[0]
    raise _unknown(store, name)


def latest(store: Store) -> RunCard:
    """Give the latest run that can be gone on with; if there is none, the latest of all."""
    cards = all_runs(store)
    if not cards:
        raise RecordProblem("R401", f"there are no runs in {store.url}", hint="`solvent run WORKFLOW` makes one")
    idle = [one for one in cards if not one.has_ended and (one.holder is None or not is_there(one.holder))]
    return (idle or cards)[-1]


def cancel(store: Store, card: RunCard) -> bool:
    """Cancel a run; tell whether that is done, or only asked of the process that has it."""
    store.put(cancel_key_of(card.run), b"")
    found = store.get(key_of(card.run))
    if found is None:
        raise _unknown(store, card.run)
    card = read_card(card.run, found.value)
    if card.has_ended:
        return True
    if card.holder is not None and is_there(card.holder) is not False:
        return False
    card = msgspec.structs.replace(card, state="cancelled", holder=None, ended=time.time())
    try:
        store.put(key_of(card.run), write_card(card), expected=found.revision)
    except Conflict:
        # Somebody goes on with it just now, and will look.
        return False
    return True


def log_of(run: str) -> str:
    """Name the journal of a run."""
    return f"runs/{run}/journal"


def key_of(run: str) -> str:
    """Name the card of a run."""
    return f"runs/{run}"


def cancel_key_of(run: str) -> str:
    """Name the key by which a run is cancelled."""
    return f"runs/{run}/cancel"


def new_name(workflow: str) -> str:
    """Make a name that people can read, type and tell from others."""
    words = re.sub(r"[^a-z0-9]+", "-", workflow.lower())[:_MAX_NAME_CHARACTERS].strip("-")
    return f"{words or 'run'}-{''.join(secrets.choice(_LETTERS) for _ in range(_ENDING_CHARACTERS))}"


def _taken_away(run: str) -> RecordProblem:
    return RecordProblem(
        "R402", f"another process goes on with the run `{run}`", hint="this one stops; nothing is lost"
    )


def _unknown(store: Store, name: str) -> RecordProblem:
    runs = names_in(store)
    matches = [run for run in runs if run.startswith(name)]
    run = name if name in runs else matches[0] if len(matches) == 1 else ""
    if run and store.get(f"programs/{run}/run") is not None:
        said = f"`{run}` is no run of a workflow, but of a program over nodes"
        hint = (
            f"`solvent status {run}` shows it; `solvent run --attach {run}` waits for it and, with --spares 1, goes on"
        )
        return RecordProblem("R401", said, hint=hint)
    if len(matches) > 1:
        shown = ", ".join(matches[-5:])
        return RecordProblem("R401", f"`{name}` matches several runs: {shown}", hint="write more of the name")
    hint = nearest(name, runs) or (f"the latest: {', '.join(runs[-3:])}" if runs else "there are no runs in it")
    return RecordProblem("R401", f"there is no run `{name}` in {store.url}", hint=hint)


__all__ = [
    "HeldRun", "all_runs", "cancel", "cancel_key_of", "find", "key_of", "latest", "log_of", "names_in", "new_name",
    "new_run", "refuse_if_there", "resume",
]  # fmt: skip
