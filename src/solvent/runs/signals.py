"""Signals that come to a run from outside, who waits for them, and how they are sent to a run in a store."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Any

from solvent.engine.index import Store as Settled
from solvent.errors import Misuse, RecordProblem, nearest
from solvent.lang.molecule import Symbol
from solvent.runs.holders import Updaters
from solvent.runs.journal import MAX_READ
from solvent.runs.kept import keep
from solvent.runs.messages import Message, SentSignal, addressed, dealt, read
from solvent.runs.projection import Follower
from solvent.runs.registry import existing, messages_of, shards_of, workflow_of
from solvent.values import codec
from solvent.workflows.model import Workflow
from solvent.workflows.rule_functions import Unpassable, molecule_of
from solvent.workflows.translate import task_symbol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from solvent.lang.molecule import Molecule
    from solvent.lang.solution import Solution
    from solvent.runs.projection import RunView
    from solvent.runs.registry import RunRecord
    from solvent.store import Store
    from solvent.workflows.model import Task

_SIGNAL, _GATE, _ARMED, _EVERY, _RUNS, _FROM, _ELAPSED = map(
    Symbol, ("SIGNAL", "GATE", "ARMED", "EVERY", "RUNS", "FROM", "ELAPSED")
)
LOOK_SECONDS = 0.02
_OUTSIDE = -1
"""The sender of a message that no shard has sent."""

Signal = tuple[float, str, Any]
"""When it comes, in seconds from the start of the run; its name; what comes with it."""


class Signals:
    """The signals that are still to come, and the tasks that wait for some."""

    def __init__(self, workflow: Workflow, signals: Sequence[Signal]) -> None:
        """Raise `Misuse` H316 for a signal that no task waits for, or that cannot be sent."""
        self._names: dict[Molecule, str] = {}
        self._listeners: dict[str, list[Molecule]] = {}
        for task in workflow.tasks:
            if task.control is not None and task.control.signal is not None:
                symbol = task_symbol(task.name)
                self._names[symbol] = task.name
                self._listeners.setdefault(task.control.signal, []).append(symbol)
        #: The tasks that wait only so long: how many seconds.
        self._limits = {
            task_symbol(task.name): task.control.timeout
            for task in workflow.tasks
            if task.control is not None and task.control.timeout is not None
        }
        #: The signals that only people send.
        self.outside = frozenset(workflow.signals_from_outside)
        for _, name, value in signals:
            check_signal(workflow.name, workflow.signals_heard, name, value)
        self._coming = sorted(signals, key=lambda signal: signal[0])

    def next_at(self) -> float | None:
        """Return when the next one comes, in seconds from the start of the run."""
        return self._coming[0][0] if self._coming else None

    def pop(self) -> tuple[str, Any]:
        """Return the next one."""
        _, name, value = self._coming.pop(0)
        return name, value

    def came(self, name: str) -> None:
        """Do not wait for one that has come before, in an earlier life of the run."""
        sent = next((one for one in self._coming if one[1] == name), None)
        if sent is not None:
            self._coming.remove(sent)

    def molecules(self, name: str, value: Any) -> Iterator[Molecule]:
        """Yield what a signal is to the tasks that wait for it."""
        for task in self._listeners.get(name, ()):
            yield _SIGNAL, task, molecule_of(value)

    def awaited(self, solution: Solution, *, is_needed: bool = False) -> list[tuple[str, str]]:
        """Return the tasks that start as soon as their signal comes, each with the signal.

        With `is_needed`, without those that start for each signal and have started: nobody waits for another one.
        """
        settled = solution.settled
        if not self._listeners or not isinstance(settled, Settled):
            return []
        gates = settled.index((3, _GATE), (1,))
        return [
            (self._names[task], signal)
            for signal, tasks in self._listeners.items()
            for task in tasks
            if any(cell.alive and _is_armed(cell.molecule, is_needed=is_needed) for cell in gates.get(task, ()))
        ]

    def limited(self, solution: Solution) -> dict[tuple[str, tuple[int, int]], float]:
        """Return the waits that are to end: the task, which wait of it, and how many seconds it may take."""
        settled = solution.settled
        if not self._limits or not isinstance(settled, Settled):
            return {}
        gates = settled.index((3, _GATE), (1,))
        return {
            (self._names[task], _number(cell.molecule)): seconds
            for task, seconds in self._limits.items()
            for cell in gates.get(task, ())
            if cell.alive and _is_armed(cell.molecule, is_needed=True)
        }

    def is_coming(self, awaited: Iterable[tuple[str, str]]) -> bool:
        """Return whether one is to come that is awaited: if none is, nothing will ever happen again."""
        coming = {name for _, name, _value in self._coming}
        return any(signal in coming for _, signal in awaited)


def _number(gate: Molecule) -> tuple[int, int]:
    """Return which wait a gate is in."""
    parts = {part[0]: part for part in gate[2] if type(part) is tuple}
    return parts[_FROM][1], parts[_RUNS][1]


def elapsed(task: str, wait: tuple[int, int]) -> Molecule:
    """Return what ends a wait whose signal has not come in time."""
    return _ELAPSED, task_symbol(task), *wait


def _is_armed(gate: Molecule, *, is_needed: bool) -> bool:
    """Return whether a gate has all its tokens and waits for something else."""
    parts = {part[0] if type(part) is tuple else part: part for part in gate[2]}
    return _ARMED in parts and not (is_needed and _EVERY in parts and parts[_RUNS][1] > 0)


def check_signal(workflow: str, known: Collection[str], name: str, value: Any) -> None:
    """Raise `Misuse` H316 for a signal that no task of a workflow waits for, or whose value cannot be passed on."""
    if name not in known and name.rpartition("/")[2] not in known:
        hint = nearest(name, known) or (f"signals: {', '.join(known)}" if known else "it has no signals")
        raise Misuse("H316", f"no task of `{workflow}` waits for the signal `{name}`", hint=hint)
    try:
        molecule_of(value)
    except Unpassable as error:
        raise Misuse("H316", f"the signal `{name}` cannot be sent: {error.message}") from None


# ------------------------------------------------------------------------------------------- to a run in a store


def send_signal(store: Store, run: str, name: str, value: Any = None, *, id: str = "") -> str:  # noqa: A002 - the word
    """Send a signal to a run, whoever has it, and return its id: one that comes twice by the same id is heard once.

    It is kept until a task waits for it, also while nobody has the run. Raise `RecordProblem` R401 if there is no such
    run, R409 if it has ended, and `Misuse` H316 for a signal that no task waits for, or that is no data.
    """
    record = existing(store, run)
    _refuse_ended(record, name)
    check_signal(record.workflow, _known(store, record, name), name, value)
    try:
        kept = keep(store, codec.pieces(value))
    except codec.Unrecordable as error:
        raise Misuse("H316", f"the signal `{name}` cannot be sent: {error}") from None
    sent = SentSignal(id or secrets.token_hex(8), name, time.time(), kept)
    message = Message(_OUTSIDE, 0, (), sent)
    while True:
        shards = _listening(store, record, name)
        store.append(messages_of(record.prefix), b"".join(addressed(shard, message) for shard in shards))
        # Its last task may have ended meanwhile, or another version of it may count.
        before, record = record, _decided(store, run)
        _refuse_ended(record, name)
        if record.prefix == before.prefix:
            return sent.id
        check_signal(record.workflow, _known(store, record, name), name, value)


def _decided(store: Store, run: str) -> RunRecord:
    """Return the record of a run when nobody is about to update it: who does may have read the messages before."""
    updaters = Updaters(store)
    while True:
        record = existing(store, run)
        if not record.updater or record.has_ended:
            return record
        if updaters.is_updating(record):
            time.sleep(LOOK_SECONDS)


def _refuse_ended(record: RunRecord, name: str) -> None:
    if record.has_ended:
        said = f"the run `{record.run}` has ended ({record.state}), and hears the signal `{name}` no more"
        raise RecordProblem("R409", said, hint=f"`solvent status {record.run}` shows how it ended")


def _known(store: Store, record: RunRecord, name: str) -> set[str]:
    """Return the signals that tasks of a run wait for; those of a sub-workflow in a file when it was begun."""
    path, _, own = name.rpartition("/")
    if name in record.signals or not record.may_hear:
        return {*record.signals}
    opened = _opened(store, record).inner
    if path and not (path in opened and opened[path].ended is None):
        hint = f"`solvent status --waiting` lists what waits; `{own}` alone is for any that waits for it"
        raise Misuse("H316", f"no sub-workflow of `{record.run}` is open at `{path}`", hint=hint)
    return {*record.signals, *(one for inner in opened.values() for one in inner.signals)}


def _opened(store: Store, record: RunRecord) -> RunView:
    """Return which sub-workflows are open, also of a run that was stopped: these are continued."""
    follower = Follower(store, record)
    for _ in follower.news():
        pass
    return follower.view


def _listening(store: Store, record: RunRecord, name: str) -> list[int]:
    """Return the shards that have tasks, or sub-workflows with tasks, which wait for a signal."""
    if record.shards == 1:
        return [0]
    path, _, _ = name.rpartition("/")
    workflow = workflow_of(store, record)
    _, where = shards_of(workflow, record)
    found = {where[task_symbol(one.name)] for one in workflow.tasks if _hears(workflow, one, name)}
    if not found or path:
        view = _opened(store, record)
        opened = {path for path, one in view.inner.items() if name in one.signals} | {path}
        found |= {call.shard for call in view.calls if call.opens and call.opens in opened}
    return sorted(found)


def _hears(workflow: Workflow, task: Task, name: str) -> bool:
    if task.control is not None and task.control.signal == name:
        return True
    service = workflow.service(task.service)
    inner = None if service is None else service.function
    return isinstance(inner, Workflow) and name in inner.signals_heard


class SignalReader:
    """Reads the signals that were sent to a run of one shard."""

    def __init__(self, store: Store, prefix: str) -> None:
        self._store = store
        self._log = messages_of(prefix)
        self._after = 0

    def news(self) -> list[tuple[str, Any, str]]:
        """Return the name, the value and the id of each that was sent since."""
        found: list[tuple[str, Any, str]] = []
        while True:
            records = self._store.read(self._log, self._after, MAX_READ)
            for record in records:
                for _, one in dealt(record, (0,)):
                    sent = _read(one.data)
                    if sent is not None:
                        found.append((sent.name, codec.decode(sent.value.read(self._store)), sent.id))
                self._after = record.position
            if len(records) < MAX_READ:
                return found


def _read(data: bytes) -> SentSignal | None:
    """Return the signal of a message, if it is one; what does not read was sent by nobody."""
    try:
        return read(data).signal
    except ValueError:
        return None


__all__ = ["Signal", "SignalReader", "Signals", "check_signal", "elapsed", "send_signal"]
