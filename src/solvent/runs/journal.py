"""The journal of a shard: one log of a store, which only one process at a time may write.

A process that opens a journal reads all of it and appends `ShardTaken`. The store takes a record only with the position
of the one before (`expected`). So if a process was stopped for a while and another one has opened the journal, its next
commit is refused. Where a lease decides which agent may open a journal, the epochs in the journal grow: an agent that
was stopped between taking the lease and opening the journal is refused when it opens it, however much it has read.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias

from solvent.errors import Conflict, RecordProblem
from solvent.runs import events
from solvent.runs.events import (
    Adapted,
    CallAnswered,
    CallFailed,
    CallLost,
    CallStarted,
    Ended,
    Event,
    MessagesReceived,
    ResourceChanged,
    Resumed,
    ShardTaken,
    ShardWaits,
    SignalReceived,
    WaitBegan,
    WaitEnded,
    WorkflowDefined,
)
from solvent.runs.kept import keep
from solvent.services.failure import legible
from solvent.store import Append
from solvent.values import codec

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from solvent.runs.events import AnyEvent, Why
    from solvent.runs.kept import Blobs
    from solvent.runs.report import Item
    from solvent.services import Failure
    from solvent.store import Store
    from solvent.values.encoding import Pieces

MAX_READ = 1000
MAX_OUTPUT = 1 << 20
"""How many characters of the output of calls a journal keeps; that of calls that failed is kept beyond it."""
NO_ROOM = "(from here on what calls print is not kept: it is more than 1 MiB)"
Wait: TypeAlias = tuple[str, str, tuple[int, int]]
"""The path of a sub-workflow, a task in it, and which of its waits."""


PoolKey: TypeAlias = tuple[str, str, bytes, bytes]
"""What makes calls equal: the task, the round, and the digests of arguments and code."""
Pool: TypeAlias = "dict[PoolKey, list[CallAnswered]]"
"""Answers by what makes their calls equal."""


class Journal(Protocol):
    """What an execution has done before, and where it notes what it does."""

    #: The name of the run.
    run: str
    #: Whether what is noted is kept.
    is_kept: bool
    #: Whether what was done is only done again.
    is_read_only: bool
    #: Inputs that are yet to be fed to the workflow again.
    past: deque[AnyEvent]
    #: How many of these are in the last record: the messages and calls that follow from them may not have been stored.
    last_inputs: int
    #: Calls that were made in the past, each with the number of inputs before it. Calls without an answer are left out,
    #: since they are still to be made, unless the journal is read only (`is_read_only`).
    starts: deque[tuple[int, str]]
    #: How often each call was begun before, and when it was first.
    begun: Counter[str]
    began: dict[str, float]
    #: How many attempts of each call were begun before, without those that their own agent has given up.
    attempts: Counter[str]
    #: How often each call was lost because the process that was making it died.
    losses: Counter[str]
    #: Calls that are still being made, each with its latest attempt: at other agents, or here if their agent resumes.
    out: dict[str, int]
    #: The agents that make some of these calls, where it is another agent.
    elsewhere: dict[str, str]
    #: All adaptations that have happened.
    adaptations: list[Adapted]
    #: Answers of the version before, by what makes calls equal: an equal call gets its answer from here.
    pool: Pool
    #: The tasks that wait for people, each with the signal, as was noted last.
    waits: list[tuple[str, str]]
    #: By when the signal of each wait must come.
    limits: dict[Wait, float]
    #: The paths of open sub-workflows, by their calls, and delays, with none: they are continued and not made again.
    open_calls: dict[str, str]
    #: The sub-workflows that were called, by their digests.
    definitions: dict[str, WorkflowDefined]

    @property
    def position(self) -> int:
        """The position of the last record."""

    @property
    def max_value_bytes(self) -> int:
        """How large the value of an answer may be."""

    def note(self, event: Event, /) -> None:
        """Note an event; it counts from the next `commit` on."""

    def name_of(self, call: str, /) -> str:
        """Return what the service of a call knows it by."""

    def name_noted(self, call: str, /) -> str:
        """Return what the service of a call knows it by, if that is noted with it."""

    def started(self, event: CallStarted, /) -> int:
        """Note that an attempt of a call is about to be made; return how many were noted, by all agents."""

    def defined(self, definition: str, make: Callable[[Blobs], WorkflowDefined], /) -> None:
        """Note what a sub-workflow is, unless it is in the journal."""

    def lost(self, call: str, why: Why, attempts: int, /) -> None:
        """Note that a call made at another agent is to be made again; so many attempts were noted since `open`."""

    def number(self, call: str, /) -> int:
        """Return how many attempts of a call were noted, by all agents."""

    def withdraw(self, call: str, /) -> None:
        """Note that a call which is out was not made, if it is: it has used up no attempt."""

    def signalled(self, name: str, value: Any, id: str, /) -> None:  # noqa: A002 - what an event calls it
        """Note that a signal has come."""

    def adapted(self, event: Adapted, /) -> None:
        """Note an adaptation, unless it is in the journal and follows again."""

    def draw(self, call: str, key: PoolKey, /) -> CallAnswered | None:
        """Return an answer of an earlier version for a call, and do not return it again; nothing if there is none."""

    def answered(
        self,
        call: str,
        attempts: int,
        value: bytes | Pieces,
        /,
        *,
        within: str = "",
        output: str = "",
        item: Item | None = None,
        reused: str = "",
    ) -> None:
        """Note an answer, whose value is encoded; raise `MemoryError` where memory runs out."""

    def changed(self, call: str, resource: str, start: int, data: bytes, /) -> None:
        """Note that a call has changed a part of a resource, which begins with the byte `start`."""

    def failed(
        self,
        call: str,
        task: str,
        attempts: int,
        failure: Failure,
        /,
        *,
        is_last: bool = True,
        within: str = "",
        item: Item | None = None,
    ) -> None:
        """Note that a call, or one of its attempts, failed."""

    def value_of(self, answer: CallAnswered, /) -> Any:
        """Return the value of an answer."""

    def text_of(self, definition: WorkflowDefined, /) -> str:
        """Return a sub-workflow as JSON; nothing where a file cannot say it."""

    def commit(self) -> None:
        """Store what was noted; raise `RecordProblem` if another process has the journal now."""

    def taken(self) -> list[Append]:
        """Return what was noted, if anything: the caller appends it and reports its position by `kept`."""

    def kept(self, position: int, /) -> None:
        """Take the position of the last record, which the store has taken."""

    def end(self, state: str, /) -> bool:
        """Note how it ended, and nothing of what was not kept yet."""


class StoredJournal:
    """A log of a store."""

    is_kept = True

    def __init__(self, store: Store, log: str, agent: str, *, version: int = 1, is_read_only: bool = False) -> None:
        self.store = store
        self.agent = agent
        self.log = log
        #: The name of the run: a log of it is `runs/RUN/...`.
        self.run = log.split("/")[1] if log.startswith("runs/") else log
        #: Whether all of its services have a cache.
        self.caches_all = False
        self._version = version
        self._names: dict[str, str] = {}
        # The answers that calls have drawn from the pool.
        self._drawn: dict[str, CallAnswered] = {}
        # How many characters of the output of calls may still be kept.
        self._output_room = MAX_OUTPUT
        self.past = deque[events.AnyEvent]()
        self.last_inputs = 0
        self.starts = deque[tuple[int, str]]()
        self.begun: Counter[str] = Counter()
        self.began: dict[str, float] = {}
        self.attempts: Counter[str] = Counter()
        self.losses: Counter[str] = Counter()
        #: Calls that are still being made, each with its latest attempt; here only if `is_resumed`.
        self.out: dict[str, int] = {}
        self.elsewhere: dict[str, str] = {}
        # How many attempts of each call were noted, by all agents.
        self._numbers: Counter[str] = Counter()
        self.is_read_only = is_read_only
        #: Whether the agent that has opened it had it before, and no other agent since.
        self.is_resumed = False
        self.adaptations: list[Adapted] = []
        self.pool: Pool = {}
        self.waits: list[tuple[str, str]] = []
        self.limits: dict[Wait, float] = {}
        self.open_calls: dict[str, str] = {}
        self.definitions: dict[str, WorkflowDefined] = {}
        #: What calls have changed of resources, in the order in which they did.
        self.changes: list[ResourceChanged] = []
        #: The paths of sub-workflows that begin again: what happened inside is not done again.
        self._lost_within = set[str]()
        #: Adaptations that will follow from the inputs again.
        self._adapted: list[Adapted] = []
        self._pending: list[Event] = []
        self._pending_bytes = 0
        #: The record that is being appended. The store may or may not have it yet; nothing is appended before it.
        self._sealed = b""
        self._last = 0
        self._room = store.max_record_bytes // 2

    def open(self, epoch: int = 0, *, since: Collection[int] = ()) -> None:
        """Read what was done, and continue from here; raise `RecordProblem` R402 if that was done in a later epoch.

        An agent that had it in the epochs `since`, and does not know how far it came, resumes if no other had it since.
        """
        last_at, epoch_before = 0, 0
        # What makes calls equal, by their names; and the answers that they have had from the pool.
        keys, drawn = dict[str, PoolKey](), list[PoolKey]()
        for position, event in read_journal(self.store, self.log):
            self._last = position
            self._count(event)
            is_fed = is_input(event) and not self._is_lost(event)
            if isinstance(event, ShardTaken):
                epoch_before = max(epoch_before, event.epoch)
            elif isinstance(event, Adapted):
                self.adaptations.append(event)
                if event.within not in self._lost_within:
                    self._adapted.append(event)
            elif isinstance(event, ShardWaits):
                self.waits = event.waits
            elif isinstance(event, WaitBegan):
                self.limits[event.within, event.task, event.wait] = event.until
            elif isinstance(event, CallStarted) and event.attempt == 1:
                self.starts.append((len(self.past), event.call))
                if self.pool:
                    keys[event.call] = pool_key(event)
            if isinstance(event, CallAnswered | CallFailed):
                self._output_room -= len(event.output)
            if isinstance(event, CallAnswered) and event.kept and epoch_before and event.call in keys:
                drawn.append(keys[event.call])
            elif isinstance(event, Resumed):
                # What is before was written by who made this version.
                drawn.clear()
            # Who notes a call, or takes an input, has said before what followed from the records before.
            if position != last_at and (is_fed or isinstance(event, CallStarted)):
                last_at, self.last_inputs = position, 0
            if is_fed:
                self.past.append(event)
                self.last_inputs += 1
        for key in drawn:
            if waiting := self.pool.get(key):
                waiting.pop()
        if not self.is_read_only:
            answered = {one.call for one in self.past if isinstance(one, CallAnswered | CallFailed)}
            self.starts = deque(one for one in self.starts if one[1] in answered)
        self.is_resumed = epoch_before in since
        if not self.is_resumed:
            self._lose_calls()
        if self.is_read_only:
            return
        if 0 < epoch <= epoch_before:
            raise self._another()
        self.note(ShardTaken(self.agent, time.time(), epoch, self.is_resumed))
        self.commit()

    def _count(self, event: AnyEvent) -> None:
        """Count calls."""
        match event:
            case CallStarted(call, at=at, attempt=attempt, agent=agent, name=name):
                if name:
                    self._names[call] = name
                self.begun[call] += attempt == 1
                self.began.setdefault(call, at)
                self.attempts[call] += 1
                self._numbers[call] += 1
                if event.opens and not self._begins_again(event):
                    self.open_calls[call] = event.opens
                elif event.is_delay and event.within not in self._lost_within:
                    self.open_calls[call] = ""
                else:
                    self.out[call] = attempt
                if agent:
                    self.elsewhere[call] = agent
            case CallAnswered(call) | CallFailed(call, is_last=True):
                self.out.pop(call, None)
                self.elsewhere.pop(call, None)
                self.open_calls.pop(call, None)
            case CallLost(call, why=why):
                # An attempt that was lost with its agent counts as a loss; the others were none.
                if why == "agent":
                    self.losses[call] += 1
                else:
                    self.attempts[call] -= 1
                self.out.pop(call, None)
                self.elsewhere.pop(call, None)
            case ShardTaken(resumed=False):
                self._lose_calls()
            case WorkflowDefined(definition):
                self.definitions[definition] = event
            case ResourceChanged():
                self.changes.append(event)
            case _:
                pass

    def _begins_again(self, event: CallStarted) -> bool:
        """Return whether the sub-workflow that a call opens begins again should its process die."""
        known = self.definitions.get(event.definition)
        return event.within in self._lost_within or (known is not None and known.begins_again)

    def _is_lost(self, event: AnyEvent) -> bool:
        """Return whether an event is about a sub-workflow that begins again, or inside of it."""
        if isinstance(event, CallStarted) and event.opens and self._begins_again(event):
            self._lost_within.add(event.opens)
            return True
        return getattr(event, "within", "") in self._lost_within

    def _lose_calls(self) -> None:
        """Count the open calls as lost with the agent that was making them; calls at other agents go on there."""
        self.losses.update(self.out.keys() - self.elsewhere.keys())
        self.out = {call: attempt for call, attempt in self.out.items() if call in self.elsewhere}

    def withdraw(self, call: str) -> None:
        """Note that a call which is out was not made, if it is: it has used up no attempt."""
        if self.out.pop(call, 0):
            self.attempts[call] -= 1
            self.note(CallLost(call, time.time()))

    def note(self, event: Event) -> None:
        """Note an event; it counts from the next `commit` on."""
        self._pending.append(event)

    def name_of(self, call: str) -> str:
        """Return what the service of a call knows it by.

        Where a call of this name may have been another one in an earlier version, this version is a part of the name.
        """
        return self._names.get(call) or name_in(self.run, call, self._version)

    def name_noted(self, call: str) -> str:
        """Return what the service of a call knows it by, if that is noted with it."""
        return self._names.get(call, "")

    def started(self, event: CallStarted) -> int:
        """Note that an attempt of a call is about to be made; return how many were noted, by all agents."""
        self.note(event)
        number = self._numbers[event.call] = self._numbers.get(event.call, 0) + 1
        return number

    def defined(self, definition: str, make: Callable[[Blobs], WorkflowDefined]) -> None:
        """Note what a sub-workflow is, unless it is in the journal."""
        if definition not in self.definitions:
            event = self.definitions[definition] = make(self.store)
            self.note(event)

    def lost(self, call: str, why: Why, attempts: int) -> None:
        """Note that a call made at another agent is to be made again; so many attempts were noted since `open`."""
        self.note(CallLost(call, time.time(), why))
        self.out.pop(call, None)
        self.elsewhere.pop(call, None)
        self.attempts[call] += attempts - (why != "agent")
        self.losses[call] += why == "agent"
        self.begun[call] += why != "unmade" or attempts > 1

    def number(self, call: str) -> int:
        """Return how many attempts of a call were noted, by all agents."""
        return self._numbers[call]

    def signalled(self, name: str, value: Any, id: str) -> None:  # noqa: A002 - what an event calls it
        """Note that a signal has come."""
        self.note(SignalReceived(name, time.time(), codec.encode(value), id))

    def adapted(self, event: Adapted) -> None:
        """Note an adaptation, unless it is in the journal and follows again."""
        known = next((one for one in self._adapted if event.is_same(one)), None)
        if known is None:
            self.adaptations.append(event)
            self.note(event)
        else:
            self._adapted.remove(known)

    def draw(self, call: str, key: PoolKey) -> CallAnswered | None:
        """Return an answer of an earlier version for a call, and do not return it again; nothing if there is none."""
        waiting = self.pool.get(key)
        if not waiting:
            return None
        answer = waiting.pop()
        self._drawn[call] = answer
        return answer

    def answered(
        self,
        call: str,
        attempts: int,
        value: bytes | Pieces,
        *,
        within: str = "",
        output: str = "",
        item: Item | None = None,
        reused: str = "",
    ) -> None:
        """Note an answer, whose value is encoded; raise `MemoryError` where memory runs out."""
        now, version = time.time(), 0
        if drawn := self._drawn.pop(call, None) if self._drawn else None:
            version, output = drawn.kept, drawn.output
        # What is noted together is one record, and that may be only so long.
        kept = keep(self.store, value, room=self._room - self._pending_bytes)
        self._pending_bytes += len(kept.data)
        output = self._bounded(output)
        self.note(CallAnswered(call, now, attempts, kept, version, within, item, output, reused))

    def _bounded(self, output: str) -> str:
        """Return the output of a call, as far as there is room for it; of the first that has none, that."""
        output = output.strip("\n")
        if not output or self._output_room <= 0:
            return ""
        self._output_room -= len(output)
        return legible(output) if self._output_room >= 0 else NO_ROOM

    def changed(self, call: str, resource: str, start: int, data: bytes) -> None:
        """Note that a call has changed a part of a resource, which begins with the byte `start`."""
        kept = keep(self.store, data, room=self._room - self._pending_bytes)
        self._pending_bytes += len(kept.data)
        self.note(ResourceChanged(call, resource, start, kept))

    def failed(
        self,
        call: str,
        task: str,
        attempts: int,
        failure: Failure,
        *,
        is_last: bool = True,
        within: str = "",
        item: Item | None = None,
    ) -> None:
        """Note that a call, or one of its attempts, failed."""
        now, kind, text, output = time.time(), failure.kind, failure.text, failure.output
        # It is always kept.
        self._output_room -= len(output)
        self.note(CallFailed(call, task, now, attempts, kind, text, output, is_last, within=within, item=item))

    def value_of(self, answer: CallAnswered) -> Any:
        """Return the value of an answer."""
        return codec.decode(answer.value.read(self.store))

    def text_of(self, definition: WorkflowDefined) -> str:
        """Return a sub-workflow as JSON; nothing where a file cannot say it."""
        return self.store.get_blob(definition.document).decode() if definition.document else ""

    def taken(self) -> list[Append]:
        """Return what was noted, if anything: the caller appends it and reports its position by `kept`.

        Until then nothing more is returned: a record behind one that is not there would be read as if nothing
        had happened between them.
        """
        if self._sealed:
            raise RecordProblem("R402", f"nobody knows where `{self.log}` ends", hint="open it again")
        record = self._seal()
        return [Append(self.log, record, self._last)] if record else []

    def _seal(self) -> bytes:
        """Make one record of what was written down, if anything: it counts as a whole, however much it is."""
        if self._sealed or not self._pending:
            return self._sealed
        record = events.encode(self._pending, max_bytes=self._room, put_blob=self.store.put_blob)
        # In one step, here and below: nothing, not even Ctrl-C, comes between two of these assignments.
        self._sealed, self._pending, self._pending_bytes = record, [], 0
        return record

    @property
    def position(self) -> int:
        """The position of the last record."""
        return self._last

    @property
    def max_value_bytes(self) -> int:
        """How large the value of an answer may be."""
        return self.store.max_blob_bytes

    def kept(self, position: int) -> None:
        """Take the position of the last record, which the store has taken."""
        self._last, self._sealed = position, b""

    def commit(self) -> None:
        """Store what was noted; raise `RecordProblem` if another process has the journal now."""
        if self.is_read_only:
            self._pending.clear()
            return
        # One that was being appended when an error came is first, and is as it was.
        while record := self._seal():
            try:
                position = self.store.append(self.log, record, expected=self._last)
            except Conflict as error:
                found = self._position_of(record)
                if found is None:
                    raise self._another() from error
                position = found
            self.kept(position)

    def end(self, state: str) -> bool:
        """Note how it ended, and nothing of what was not kept yet; raise `RecordProblem` R402 as `commit` does."""
        self._sealed = b""
        self._pending = [Ended(state, time.time())]
        self.commit()
        return True

    def _another(self) -> RecordProblem:
        said = f"another process goes on with `{self.log}`"
        return RecordProblem("R402", said, hint="this one stops; nothing is lost")

    def _position_of(self, record: bytes) -> int | None:
        """Return where a record is that was appended, if it is there: one whose answer was lost may have been taken."""
        found = self.store.read(self.log, self._last, 2)
        return found[0].position if len(found) == 1 and found[0].data == record else None


class MemoryJournal:
    """The journal of a run that is not recorded: nothing is kept, and nothing has happened before."""

    run = ""
    is_kept = False
    is_read_only = False
    last_inputs = 0
    position = 0
    max_value_bytes = sys.maxsize

    def __init__(self) -> None:
        self.past = deque[events.AnyEvent]()
        self.starts = deque[tuple[int, str]]()
        self.begun = self.attempts = self.losses = Counter[str]()
        self.began: dict[str, float] = {}
        self.adaptations: list[Adapted] = []
        self.pool: Pool = {}
        self.waits: list[tuple[str, str]] = []
        self.limits: dict[Wait, float] = {}
        self.out: dict[str, int] = {}
        self.open_calls: dict[str, str] = {}
        self.definitions: dict[str, WorkflowDefined] = {}
        self.elsewhere: dict[str, str] = {}

    def note(self, _event: Event) -> None:
        """Keep nothing."""

    def withdraw(self, _call: str) -> None:
        """Keep nothing."""

    def name_of(self, call: str) -> str:
        """Return its name."""
        return call

    def name_noted(self, _call: str) -> str:
        """Return nothing."""
        return ""

    def started(self, _event: CallStarted) -> int:
        """Keep nothing."""
        return 0

    def defined(self, _definition: str, _make: Callable[[Blobs], WorkflowDefined]) -> None:
        """Keep nothing."""

    def lost(self, _call: str, _why: Why, _attempts: int) -> None:
        """Keep nothing."""

    def number(self, _call: str) -> int:
        """Return nothing: no other agent makes calls."""
        return 0

    def signalled(self, _name: str, _value: Any, _id: str) -> None:
        """Keep nothing."""

    def adapted(self, event: Adapted) -> None:
        """Note an adaptation."""
        self.adaptations.append(event)

    def draw(self, _call: str, _key: PoolKey) -> None:
        """Return nothing: there is none."""

    def answered(self, _call: str, _attempts: int, _value: bytes | Pieces, **_about: Any) -> None:
        """Keep nothing."""

    def changed(self, _call: str, _resource: str, _start: int, _data: bytes) -> None:
        """Keep nothing."""

    def failed(self, _call: str, _task: str, _attempts: int, _failure: Failure, **_about: Any) -> None:
        """Keep nothing."""

    def value_of(self, answer: CallAnswered) -> NoReturn:
        """Never come to this: there is no past."""
        raise AssertionError(f"nothing was kept of `{answer.call}`")

    def text_of(self, _definition: WorkflowDefined) -> str:
        """Return nothing."""
        return ""

    def commit(self) -> None:
        """Keep nothing."""

    def taken(self) -> list[Append]:
        """Return nothing."""
        return []

    def kept(self, _position: int) -> None:
        """Keep nothing."""

    def end(self, _state: str) -> bool:
        """Keep nothing."""
        return True


def name_in(run: str, call: str, version: int) -> str:
    """Return what the service of a call knows it by that was begun in a version of a run."""
    return f"{run}/{call}" if version == 1 else f"{run}/{call}@{version}"


def is_input(event: AnyEvent) -> bool:
    """Return whether what follows in the run depends on an event."""
    if isinstance(event, CallFailed):
        return event.is_last
    if isinstance(event, CallStarted):
        return bool(event.opens)
    return isinstance(event, CallAnswered | MessagesReceived | SignalReceived | WaitEnded)


def spare_from(store: Store, blob: str) -> list[tuple[CallStarted, CallAnswered]]:
    """Return the answers that the version before has left, each with the beginning of its call."""
    noted = events.decode(store.get_blob(blob), store.get_blob)
    pairs = zip(noted[::2], noted[1::2], strict=True)
    return [(one, two) for one, two in pairs if isinstance(one, CallStarted) and isinstance(two, CallAnswered)]


def pool_from(store: Store, blob: str) -> Pool:
    """Return the answers that the version before has left, by what makes calls equal."""
    found: Pool = {}
    for start, answer in spare_from(store, blob):
        found.setdefault(pool_key(start), []).append(answer)
    return found


def pool_key(start: CallStarted) -> PoolKey:
    """Return what makes a call equal to others."""
    return start.task, start.call[len(start.task) :].partition("#")[2], start.arguments, start.code


def read_journal(store: Store, log: str) -> Iterator[tuple[int, AnyEvent]]:
    """Yield the events of a journal with their positions."""
    after = 0
    while True:
        found = store.read(log, after, MAX_READ)
        for record in found:
            try:
                noted = events.decode(record.data, store.get_blob)
            except ValueError as error:
                raise RecordProblem("R403", f"record {record.position} of `{log}` does not read: {error}") from None
            for event in noted:
                yield record.position, event
        if len(found) < MAX_READ:
            return
        after = found[-1].position


__all__ = [
    "MAX_READ",
    "Journal",
    "MemoryJournal",
    "StoredJournal",
    "pool_from",
    "pool_key",
    "read_journal",
    "spare_from",
]
