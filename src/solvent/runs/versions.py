"""Continues a run otherwise than it was: after a repair, with failed calls made again, or from some task on.

    update = plan_update(store, record, workflow, reopened={"fetch"})
    update.kept, update.again, update.new, update.gone, update.waiting  # how many calls
    record = apply(store, update)

The run gets a further version, with journals of its own. To plan it the workflow as it is now is executed in memory,
with the inputs of the version before, in their order in the store. A call that is planned keeps its answer if a call of
the same task and round had the same arguments, and its service the same code, unless its task is reopened. Its item may
have another position: positions only choose among calls that are equal. Answers that come before their call is planned
wait for it. What the execution says to other shards is heard in the order in which it was heard before, as far as the
same was said. So a workflow that has not changed comes to exactly where it was.

A call that is still being made, where its process holds still (`hosts`), continues there if it is planned. An agent is
asked for what comes of it. The process of an embedded run gets the only shard of the new version.

What happens is written down as a host would write it, and the journals of the new version are complete before its
record counts, which one compare-and-set decides: whoever dies before that has changed nothing.
"""

from __future__ import annotations

import secrets
import time
from bisect import bisect_right
from collections import Counter, deque
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from solvent.errors import RecordProblem, nearest
from solvent.hocl.process_settings import deep_stack, few_collections
from solvent.runs import events, messages
from solvent.runs.agents.remote_calls import AttemptAsked, AttemptEnded, AttemptUnmade, history_of, packed_calls
from solvent.runs.calls import NoCaller, round_of
from solvent.runs.events import (
    CallAnswered,
    CallFailed,
    CallLost,
    CallStarted,
    Event,
    MessagesReceived,
    Resumed,
    ShardTaken,
    SignalReceived,
    WaitBegan,
    WaitEnded,
    WorkflowClosed,
    WorkflowDefined,
)
from solvent.runs.execution import Execution
from solvent.runs.functions import FUNCTIONS
from solvent.runs.journal import MAX_READ, MemoryJournal, is_input, name_in, pool_key, spare_from
from solvent.runs.messages import Mailbox, dealt
from solvent.runs.registry import (
    calls_of,
    change,
    inputs_of,
    journal_of,
    key_of,
    messages_of,
    new_record,
    shards_of,
    signals_of,
    task_names,
    tell_agents,
)
from solvent.runs.report import said_counts
from solvent.runs.turns import Inbox
from solvent.services.current_call import CallIdentity
from solvent.store import Append, Record
from solvent.store.leases import GIVEN_EPOCH, assign
from solvent.values import codec
from solvent.workflows.forms import forms_of
from solvent.workflows.shards import are_together, divided
from solvent.workflows.translate import Concretiser

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from solvent.runs.agents.remote_calls import History
    from solvent.runs.calls import OpenCall
    from solvent.runs.events import Adapted, AnyEvent
    from solvent.runs.registry import RunRecord
    from solvent.store import Store
    from solvent.workflows.model import Workflow

MAX_EVENTS = 500
"""How many events are one record of a journal that is written at once."""
_EVENT_BYTES = 400
"""What an event takes besides its value, at most, roughly."""
_BRANCH_BYTES = 4


class Host(NamedTuple):
    """An agent that has a shard and holds still, or the process of an embedded run; and which process that is."""

    agent: str
    token: str


class Update(NamedTuple):
    """A further version of a run: what becomes of the calls of the last one, and what is to be written."""

    before: RunRecord
    record: RunRecord
    #: How many calls keep their answers, are to be made again, are new, and have nothing in the workflow any more; and
    #: how many keep their answers if they come again, which is seen when what they rest on was made again.
    kept: int
    again: int
    new: int
    gone: int
    waiting: int
    #: Whether anything is otherwise than it was.
    is_changed: bool
    #: The events of each shard, with positions of messages as indices of `messages`, from 1.
    journals: list[list[Event]]
    messages: list[bytes]
    #: Beginnings and answers of calls that have not come again yet: they keep these when they do.
    pool: list[Event]
    #: What agents are asked for: calls that continue there.
    asked: list[AttemptAsked | AttemptEnded]

    def __str__(self) -> str:
        return said_counts(self.kept, self.again, self.new, self.gone, self.waiting)


# ------------------------------------------------------------------------------------------------------ planning


def plan_update(
    store: Store,
    record: RunRecord,
    workflow: Workflow,
    *,
    reopened: Collection[str] = (),
    retried: Collection[str] = (),
    folder: Path | None = None,
    knows_code: bool = True,
    hosts: Mapping[int, Host] = MappingProxyType({}),
) -> Update:
    """Return what a further version of a run would be.

    No answer of the `reopened` tasks is kept, and no failure of the `retried` ones. Conditions, rule libraries and the
    code of services are looked for in `folder`; with `knows_code` being false, services are the same where tasks are.
    `hosts` have shards and hold still; nobody has the others.
    """
    if record.hindrance:
        said = f"nobody can go on with the run `{record.run}`: {record.hindrance}"
        raise RecordProblem("R406", said, hint="run it anew")
    after = _record_after(store, record, workflow)
    if after.hindrance:
        raise RecordProblem("R406", f"nobody could go on with the run `{record.run}`: {after.hindrance}")
    with few_collections(), deep_stack():
        planner = _Planner(store, record, after, workflow, folder=folder, reopened=reopened, retried=retried,
                           knows_code=knows_code, hosts=hosts)  # fmt: skip
        return planner.plan()


def _record_after(store: Store, record: RunRecord, workflow: Workflow) -> RunRecord:
    """Return the record of the version after one; its tasks are at the shards at which they were, where that can be."""
    fresh = new_record(store, record.run, workflow, inputs_of(store, record), options=record.options)
    # A run that had ended has its time anew.
    since_created = 0.0 if record.has_ended else fresh.created - record.created
    deadline = fresh.deadline and fresh.deadline - since_created
    if record.options.deadline and not record.has_ended:
        # It may have been given later.
        deadline = record.deadline
    parts = _division(record, workflow, shards_of_version(store, record))
    where = {name: number for number, names in enumerate(parts) for name in names}
    return replace(
        record,
        digest=fresh.digest,
        tasks=fresh.tasks,
        names=fresh.names,
        document=fresh.document,
        hindrance=fresh.hindrance,
        signals=fresh.signals,
        may_hear=fresh.may_hear,
        deadline=deadline,
        format=fresh.format,
        shards=len(parts),
        max_shards=max(record.max_shards, len(parts)),
        division=bytes(where[task.name] for task in workflow.tasks) if record.division else b"",
        version=record.version + 1,
        branch=secrets.token_hex(_BRANCH_BYTES),
        state="running",
        ended=0.0,
        why="",
        updater="",
        pool="",
    )


def shards_of_version(store: Store, record: RunRecord) -> dict[str, int]:
    """Return the shard of each task, as far as the record has them."""
    return dict(zip(task_names(store, record), record.division, strict=False))


def _division(record: RunRecord, workflow: Workflow, where: dict[str, int]) -> list[list[str]]:
    if record.shards == 1:
        return [[task.name for task in workflow.tasks]]
    if record.division:
        shards: list[list[str]] = [[] for _ in range(record.shards)]
        known = dict(where)
        for task in workflow.tasks:
            near = next((known[one] for one in task.sources if one in known), 0)
            number = known.setdefault(task.name, near)
            shards[number].append(task.name)
        if all(shards) and are_together(workflow, shards):
            return shards
    return divided(workflow, record.max_shards)


def tasks_from(workflow: Workflow, task: str) -> set[str]:
    """Return a task and all after it; raise `RecordProblem` R410 where there is no such task."""
    if task not in workflow.by_name:
        said = f"`{workflow.name}` has no task `{task}`"
        raise RecordProblem("R410", said, hint=nearest(task, workflow.by_name) or "`solvent status RUN` lists them")
    onward = {name: [*later] for name, later in workflow.destinations.items()}
    relations = forms_of(workflow).relations
    for one in workflow.alternatives:
        for old, new in one.exits.items():
            onward.setdefault(new, []).extend(workflow.destinations.get(old, ()))
    found, todo = {task}, [task]
    while todo:
        name = todo.pop()
        later = [*onward.get(name, ()), *(relations.addressed_by(name) if relations is not None else ())]
        for one in later:
            if one not in found and one in workflow.by_name:
                found.add(one)
                todo.append(one)
    return found


class _Draft(MemoryJournal):
    """The journal of a shard of a version that is planned."""

    def __init__(self, store: Store, definitions: dict[str, WorkflowDefined], *, knows_code: bool) -> None:
        super().__init__()
        # What a sub-workflow is the record says, where no code is known.
        self.is_read_only = not knows_code
        self.definitions = definitions
        self.events: list[Event] = []
        self._noted = set[str]()
        self._store = store
        self._at = 0.0

    def feed(self, event: AnyEvent) -> None:
        """Let something happen next."""
        self._at = getattr(event, "at", self._at)
        self.events.append(event)
        self.past.append(event)

    def define(self, event: WorkflowDefined) -> None:
        """Note what a sub-workflow is, once."""
        if event.definition not in self._noted:
            self._noted.add(event.definition)
            self.events.append(event)

    def text_of(self, event: WorkflowDefined) -> str:
        """Return a sub-workflow as JSON; nothing where a file cannot say it."""
        return self._store.get_blob(event.document).decode() if event.document else ""

    def adapted(self, event: Adapted) -> None:
        """Note an adaptation."""
        super().adapted(event)
        self.events.append(replace(event, at=self._at))

    def value_of(self, answer: CallAnswered) -> Any:
        """Return the value of an answer."""
        return codec.decode(answer.value.read(self._store))


class _OldCall:
    """A call of the version before."""

    __slots__ = (
        "answer",
        "facts",
        "is_begun",
        "is_out",
        "is_spare",
        "is_used",
        "key",
        "number",
        "opened",
        "shard",
        "task",
        "within",
    )

    def __init__(self, key: str, task: str, within: str, shard: int) -> None:
        self.key = key
        self.shard = shard
        self.task = task
        self.within = within
        #: Its attempts, but for the last one's end.
        self.facts: list[CallStarted | CallFailed] = []
        self.answer: CallAnswered | CallFailed | None = None
        self.is_begun = False
        self.is_used = False
        #: Whether it is of an earlier version, and the one before had no use for its answer.
        self.is_spare = False
        #: Whether it is being made; and how many attempts were noted.
        self.is_out = False
        self.number = 0
        #: The call of today in which its sub-workflow goes on, if it called one.
        self.opened: OpenCall | None = None

    @property
    def label(self) -> str:
        """Its task, below the path of the sub-workflow that it is in."""
        return f"{self.within}/{self.task}" if self.within else self.task

    @property
    def start(self) -> CallStarted | None:
        """Its last beginning."""
        return next((one for one in reversed(self.facts) if isinstance(one, CallStarted) and one.attempt == 1), None)

    @property
    def agent(self) -> str:
        """The agent that makes it; empty if that is who has its shard."""
        last = self.facts[-1] if self.facts else None
        return last.agent if isinstance(last, CallStarted) else ""

    @property
    def has_succeeded(self) -> bool:
        """Whether its service has done what it was called for."""
        return isinstance(self.answer, CallAnswered)


_Scope = tuple[str, str]
"""The path of a sub-workflow as it is today, and a task in it."""
_Signature = tuple[str, bytes, bytes]
"""The round of a call, and the digests of its arguments and of the code of its service."""


class _Planner:
    def __init__(
        self,
        store: Store,
        before: RunRecord,
        after: RunRecord,
        workflow: Workflow,
        *,
        reopened: Collection[str],
        retried: Collection[str],
        folder: Path | None,
        knows_code: bool,
        hosts: Mapping[int, Host],
    ) -> None:
        self._store = store
        self._hosts = hosts
        self._before = before
        self._after = after
        self._workflow = workflow
        self._reopened = frozenset(reopened)
        self._retried = frozenset(retried)
        self._knows_code = knows_code
        parts, where = shards_of(workflow, after)
        self._where = {name: number for number, names in enumerate(parts) for name in names}
        concretiser = Concretiser(workflow, inputs_of(store, before), functions=FUNCTIONS, folder=folder)
        self._defined: dict[str, WorkflowDefined] = {}
        self._drafts = [_Draft(store, self._defined, knows_code=knows_code) for _ in parts]
        self._shards = [
            Execution(
                concretiser.concrete(None if len(parts) == 1 else parts[number]),
                answers=Inbox[Any](),
                journal=draft,
                mailbox=Mailbox(store, after.prefix, number, where),
                signals=signals_of(before),
                folder=folder,
            )
            for number, draft in enumerate(self._drafts)
        ]
        self._old: dict[str, _OldCall] = {}
        # Answers that the version before had left over, and calls that had some of these, by shard.
        self._spare: list[_OldCall] = []
        self._drawn: dict[int, list[_OldCall]] = {}
        # Answers whose calls are not planned yet, and calls that are planned, by task and signature.
        self._pool: dict[_Scope, dict[_Signature, list[_OldCall]]] = {}
        self._index: dict[_Scope, dict[tuple[str, bytes], list[OpenCall]]] = {}
        # The call that has opened each sub-workflow, by its path; where that is today; and how it ended.
        self._openers: dict[str, _OldCall] = {}
        self._moved: dict[str, str] = {"": ""}
        self._closed: dict[str, WorkflowClosed] = {}
        self._signatures: dict[OpenCall, _Signature] = {}
        # What was said and is not released yet, by shard: to whom, up to which number, and the message.
        self._outgoing = [deque[tuple[int, int, bytes]]() for _ in parts]
        self._released: list[bytes] = []
        self._records: list[list[Record]] = [[] for _ in parts]
        self._delivered = [0] * len(parts)
        # Where the messages of the version before were, and how many had been released by then.
        self._positions, self._counts = [0], [0]
        self._kept = Counter[str]()
        # How many items each task had.
        self._items = Counter[str]()
        # The calls that continue where they are being made, and what their agents are asked for.
        self._continued = set["OpenCall"]()
        self._asked: list[AttemptAsked | AttemptEnded] = []

    def plan(self) -> Update:
        """Execute the workflow with what has happened, and return what is to be written."""
        stream = [*self._read()]
        try:
            for number, shard in enumerate(self._shards):
                shard.calls.fresh = []
                shard.prepare(NoCaller())
                self._settle(number)
            self._spare_answers()
            for number, event in stream:
                self._take(number, event)
            self._use_pool()
            for number in range(len(self._shards)):
                self._release(number)
            self._carry_on()
            return self._update()
        finally:
            for shard in self._shards:
                shard.abandon()

    # --- What has happened.

    def _read(self) -> Iterator[tuple[int, AnyEvent | Record]]:
        """Yield what has happened, in order; learn of all calls before anything happens again."""
        below, said = key_of(self._before.prefix, "shard") + "/", messages_of(self._before.prefix)
        after = 0
        while found := self._store.read([below, said], after, MAX_READ):
            for record in found:
                if record.log == said:
                    yield -1, record
                    continue
                try:
                    noted = events.decode(record.data, self._store.get_blob)
                    number = int(record.log.removeprefix(below))
                except ValueError as error:
                    said_so = f"record {record.position} of `{record.log}` does not read: {error}"
                    raise RecordProblem("R403", said_so) from None
                for event in noted:
                    self._learn(event, number)
                    yield number, event
            after = found[-1].position

    def _learn(self, event: AnyEvent, number: int) -> None:
        match event:
            case WorkflowDefined(definition):
                self._defined[definition] = event
            case CallStarted(call, task, attempt=attempt, within=within, opens=opens):
                old = self._old.setdefault(call, _OldCall(call, task, within, number))
                if attempt == 1:
                    # What was lost is as if it had not been.
                    old.facts.clear()
                old.is_begun = old.is_out = True
                old.number += 1
                self._items[old.label] = max(self._items[old.label], event.items)
                old.facts.append(event)
                if opens:
                    self._openers[opens] = old
            case CallFailed(call, task, is_last=False, within=within):
                self._old.setdefault(call, _OldCall(call, task, within, number)).facts.append(event)
            case CallAnswered(call, within=within):
                old = self._old.setdefault(call, _OldCall(call, "", within, number))
                old.answer = event
                if event.kept and number in self._drawn:
                    self._drawn[number].append(old)
            case CallFailed(call, task, within=within):
                self._old.setdefault(call, _OldCall(call, task, within, number)).answer = event
            case CallLost(call) if call in self._old:
                self._old[call].is_out = False
            case ShardTaken(resumed=is_resumed):
                self._drawn.setdefault(number, [])
                if is_resumed:
                    return
                for old in self._old.values():
                    old.is_out &= old.shard != number or bool(old.agent)
            case Resumed():
                # What is before was written by who made this version.
                self._drawn[number] = []
            case _:
                pass

    def _take(self, number: int, event: AnyEvent | Record) -> None:
        match event:
            case Record():
                self._said(event)
            case CallStarted(opens=opens) if opens:
                self._open(event)
            case WorkflowClosed(within):
                self._closed[within] = event
            case CallAnswered() | CallFailed(is_last=True):
                old = self._old.get(event.call)
                if old is not None and old.answer is event:
                    self._answered(old)
            case MessagesReceived(position) if number < len(self._shards):
                self._deliver(number, self._counts[bisect_right(self._positions, position) - 1])
            case SignalReceived() if number < len(self._shards):
                self._feed(number, event)
            case WaitBegan() | WaitEnded():
                self._waited(event)
            case _:
                pass

    def _waited(self, event: WaitBegan | WaitEnded) -> None:
        """Let a task wait as long as it would have, or fail as it has; in a sub-workflow it waits anew."""
        number, wait = self._where.get(event.task), (event.task, event.wait)
        if number is None or event.within or event.task in self._reopened or wait not in self._shards[number].limits:
            return
        if isinstance(event, WaitEnded):
            self._feed(number, event)
            return
        self._shards[number].limits[wait] = event.until
        self._drafts[number].limits["", *wait] = event.until
        self._drafts[number].events.append(event)

    def _root_of(self, old: _OldCall) -> _OldCall:
        """Return the call of the workflow itself in which a call is made."""
        while old.within:
            old = self._openers[old.within]
        return old

    def _shard_of(self, old: _OldCall) -> int | None:
        """Return the shard at which a call may keep its answer; nothing if it may not."""
        if old.within not in self._moved or old.label in self._reopened:
            return None
        task = self._root_of(old).task
        return None if task in self._reopened else self._where.get(task)

    def _key_of(self, old: _OldCall) -> str:
        """Return the name of a call at its own position."""
        return self._moved[old.within] + old.key[len(old.within) :]

    def _spare_answers(self) -> None:
        """Let answers that the version before had left over, and that no call of it had, wait once more."""
        starts = (old.start for some in self._drawn.values() for old in some)
        drawn = Counter(pool_key(start) for start in starts if start is not None)
        for start, answer in spare_from(self._store, self._before.pool) if self._before.pool else ():
            if drawn[pool_key(start)]:
                drawn[pool_key(start)] -= 1
                continue
            old = _OldCall(start.call, start.task, "", 0)
            old.facts, old.answer, old.is_spare = [start], answer, True
            self._spare.append(old)
            sign = self._sign_of(old)
            if sign is not None and self._shard_of(old) is not None:
                self._pool.setdefault(("", old.task), {}).setdefault(sign, []).append(old)
        for number, shard in enumerate(self._shards):
            for call in shard.calls.plans:
                if (call.instance.within, call.task) in self._pool:
                    self._draw(number, call)

    # --- Sub-workflows.

    def _open(self, event: CallStarted) -> None:
        """Open the sub-workflow of a call again, also if it has changed: the calls inside are compared one by one."""
        old, known = self._old[event.call], self._defined.get(event.definition)
        number = self._shard_of(old)
        if number is None or (known is not None and known.begins_again):
            return
        call, sign = old.opened, self._sign_of(old)
        if call is None and sign is not None:
            call = self._find(number, old, (*sign[:2], b""))
        sub = None if call is None else call.nested
        if call is None or sub is None or sub.begins_again or not self._is_planned(call):
            return
        if sub.workflow is not None:
            known = sub.defined(self._store)
        if known is None:
            return
        old.opened = call
        path = call.key + event.opens[len(event.call) :]
        self._moved[event.opens] = path
        draft = self._drafts[number]
        draft.define(known)
        code = call.execution.calls.code_of(call) if self._knows_code else event.code
        within, name = call.instance.within, self._name_of(old)
        self._feed(number, replace(event, call=call.key, code=code, name=name, within=within, opens=path,
                                   definition=known.definition))  # fmt: skip

    # --- Answers.

    def _answered(self, old: _OldCall) -> None:
        """Let a call of today have the answer of one of before, or keep it for later."""
        number = self._shard_of(old)
        if number is None or old.is_used:
            return
        if isinstance(old.answer, CallFailed):
            if old.label in self._retried:
                return
            if old.answer.kind == "CANCELLED":
                # Whether a call is cancelled depends on what happens beside it.
                call = self._shards[number].calls.planned(self._key_of(old))
                if call is not None and (call.is_cancelled or call.is_called_off or call.is_refused):
                    self._keep(number, call, old)
                return
        sign = self._sign_of(old)
        if sign is None:
            return
        if old.opened is not None:
            if self._is_planned(old.opened) and self._signature(old.opened) == sign:
                self._keep(number, old.opened, old)
            return
        call = self._find(number, old, sign)
        if call is None:
            self._pool.setdefault((self._moved[old.within], old.task), {}).setdefault(sign, []).append(old)
        else:
            self._keep(number, call, old)

    def _find(self, number: int, old: _OldCall, sign: _Signature) -> OpenCall | None:
        """Return the planned call that is the same as an old one: the one at its own position, if that is."""
        call = self._shards[number].calls.planned(self._key_of(old))
        if call is not None and self._is_alike(call, sign):
            return call
        for other in self._planned(number, (self._moved[old.within], old.task)).get(sign[:2], ()):
            if self._is_planned(other) and self._is_alike(other, sign) and not self._has_own(other, sign):
                return other
        return None

    def _is_alike(self, call: OpenCall, sign: _Signature) -> bool:
        """Return whether a call has a signature; one without code is that of any code."""
        own = self._signature(call)
        return own == sign or (not sign[2] and own[:2] == sign[:2])

    def _planned(self, number: int, scope: _Scope) -> dict[tuple[str, bytes], list[OpenCall]]:
        """Return the planned calls of a task by round and arguments; some may have been answered since."""
        found = self._index.get(scope)
        if found is None:
            found = self._index[scope] = {}
            for call in self._shards[number].calls.plans:
                if (call.instance.within, call.task) == scope:
                    found.setdefault(self._signature(call)[:2], []).append(call)
        return found

    @staticmethod
    def _is_planned(call: OpenCall) -> bool:
        return call.execution.calls.planned(call.key) is call

    def _has_own(self, call: OpenCall, sign: _Signature) -> bool:
        """Return whether an answer of its own position is still to come."""
        old = self._own_of(call)
        return old is not None and not old.is_used and old.answer is not None and self._sign_of(old) == sign

    def _own_of(self, call: OpenCall) -> _OldCall | None:
        """Return the old call at the position of a call."""
        within = call.instance.within
        if not within:
            return self._old.get(call.key)
        before = next((one for one, now in self._moved.items() if now == within), None)
        return None if before is None else self._old.get(before + call.key[len(within) :])

    def _sign_of(self, old: _OldCall) -> _Signature | None:
        start = old.start
        if start is None or not start.arguments or (self._knows_code and not start.code):
            return None
        return round_of(old.key, old.label), start.arguments, start.code if self._knows_code else b""

    def _signature(self, call: OpenCall) -> _Signature:
        found = self._signatures.get(call)
        if found is None:
            calls = call.execution.calls
            code = calls.code_of(call) if self._knows_code else b""
            found = round_of(call.key, call.label), calls.arguments_digest(call), code
            self._signatures[call] = found
        return found

    def _keep(self, number: int, call: OpenCall, old: _OldCall) -> None:
        """Let a call have the answer of an old one."""
        assert old.answer is not None
        old.is_used = True
        if old.is_begun or old.is_spare:
            self._kept[old.label] += 1
        events_, within = self._drafts[number].events, call.instance.within
        if old.opened is None:
            events_ += self._facts_of(old, call)
        else:
            for path, opener in self._openers.items():
                if opener is old and path in self._closed:
                    events_.append(replace(self._closed[path], within=self._moved[path]))
        kept = old.answer.kept or self._before.version
        self._feed(number, replace(old.answer, call=call.key, kept=kept, within=within))

    def _facts_of(self, old: _OldCall, call: OpenCall) -> Iterable[Event]:
        name, within = self._name_of(old), call.instance.within
        for one in old.facts:
            if isinstance(one, CallStarted):
                known = name if one.attempt == 1 else ""
                yield replace(one, call=call.key, name=known, within=within, opens="", definition="")
            else:
                yield replace(one, call=call.key, within=within)

    def _name_of(self, old: _OldCall) -> str:
        start = old.start
        known = "" if start is None else start.name
        return known or name_in(self._before.run, old.key, self._before.version)

    def _feed(self, number: int, event: AnyEvent) -> None:
        self._drafts[number].feed(event)
        self._settle(number)

    def _settle(self, number: int) -> None:
        """Let a shard react, and see what it has said and which calls it has planned."""
        shard = self._shards[number]
        shard.settle()
        mailbox = shard.mailbox
        assert mailbox is not None
        if len(self._shards) > 1:
            for one in mailbox.outgoing():
                for to, record in dealt(Record(0, one.log, one.data), range(len(self._shards))):
                    found = messages.read(record.data)
                    last = found.first + len(found.molecules) - 1
                    self._outgoing[number].append((to, last, one.data))
        fresh = shard.calls.fresh or ()
        shard.calls.fresh = []
        for call in fresh:
            scope = call.instance.within, call.task
            if scope in self._index:
                self._index[scope].setdefault(self._signature(call)[:2], []).append(call)
            if scope in self._pool:
                self._draw(number, call)

    def _draw(self, number: int, call: OpenCall) -> None:
        """Let a call that was just planned have an answer that waits for it."""
        sign = self._signature(call)
        waiting = self._pool[call.instance.within, call.task].get(sign)
        own = self._own_of(call)
        if waiting and self._is_planned(call) and (own in waiting or not self._has_own(call, sign)):
            old = own if own is not None and own in waiting else waiting[0]
            waiting.remove(old)
            self._keep(number, call, old)

    def _use_pool(self) -> None:
        """Let answers be used that have come before their calls, as far as messages lead to these."""
        while any(one for found in self._pool.values() for one in found.values()):
            before = sum(self._kept.values()), len(self._released), sum(self._delivered)
            for number in range(len(self._shards)):
                self._release(number)
            for number, shard in enumerate(self._shards):
                if len(self._shards) > 1:
                    self._deliver(number, len(self._released))
                for call in shard.calls.plans:
                    if (call.instance.within, call.task) in self._pool:
                        self._draw(number, call)
            if before == (sum(self._kept.values()), len(self._released), sum(self._delivered)):
                return

    # --- Messages.

    def _said(self, record: Record) -> None:
        """Release what was said in a record of the version before, and what the same shard has said before that."""
        for to, one in dealt(record, range(self._before.shards)):
            try:
                found = messages.read(one.data)
            except ValueError as error:
                said = f"record {record.position} of `{record.log}` does not read: {error}"
                raise RecordProblem("R403", said) from None
            if found.signal is not None:
                # Its shard may not have heard it yet; one that comes twice is heard once.
                self._append(messages.addressed(to, found))
            elif found.sender < len(self._outgoing):
                self._release(found.sender, to, found.first + len(found.molecules) - 1)
        self._positions.append(record.position)
        self._counts.append(len(self._released))

    def _release(self, number: int, to: int | None = None, last: int = 0) -> None:
        """Release what a shard has said, all of it or up to a molecule."""
        queue = self._outgoing[number]
        many = len(queue)
        if to is not None:
            many = max((at for at, (one, up_to, _) in enumerate(queue, 1) if one == to and up_to <= last), default=0)
        for _ in range(many):
            self._append(queue.popleft()[2])

    def _append(self, data: bytes) -> None:
        self._released.append(data)
        record = Record(len(self._released), messages_of(self._after.prefix), data)
        for receiver, part in dealt(record, range(len(self._shards))):
            self._records[receiver].append(part)

    def _deliver(self, number: int, up_to: int) -> None:
        """Let a shard hear what was released up to a position."""
        shard, known = self._shards[number], self._records[number]
        begin = end = self._delivered[number]
        while end < len(known) and known[end].position <= up_to:
            end += 1
        if end > begin and shard.mailbox is not None:
            self._delivered[number] = end
            shard.mailbox.arrive(known[begin:end])
            self._feed(number, MessagesReceived(known[end - 1].position))

    # --- The end.

    def _carry_on(self) -> None:
        """Let calls continue that are being made; note of others that are to be made that they may have been before."""
        out, left = self._calls_out(), list[tuple[int, "OpenCall", list[_OldCall]]]()
        for number, shard in enumerate(self._shards):
            for call in shard.calls.plans:
                same = out.get((call.instance.within, call.task, *self._signature(call)), []) if out else []
                own = self._own_of(call)
                if own is not None and own in same:
                    same.remove(own)
                    self._continue(number, call, own)
                else:
                    left.append((number, call, same))
        for number, call, same in left:
            if same and not call.is_cancelled:
                self._continue(number, call, same.pop(0))
            else:
                self._note_begun(number, call)

    def _calls_out(self) -> dict[tuple[str, str, str, bytes, bytes], list[_OldCall]]:
        """Return the calls that are being made and may continue, by what makes calls equal."""
        found: dict[tuple[str, str, str, bytes, bytes], list[_OldCall]] = {}
        for old in self._old.values():
            if not old.is_out or old.answer is not None or old.within not in self._moved:
                continue
            start, sign = old.start, self._sign_of(old)
            is_inside = start is None or start.opens
            if not is_inside and sign is not None and self._shard_of(old) is not None and self._host_of(old):
                found.setdefault((self._moved[old.within], old.task, *sign), []).append(old)
        return found

    def _host_of(self, old: _OldCall) -> Host | None:
        """Return where a call is being made; nothing if nobody who is known makes it."""
        if not old.agent:
            return self._hosts.get(old.shard)
        tokens, outcomes = self._calls_elsewhere
        one = (old.shard, old.key, old.number)
        if one not in tokens or isinstance(outcomes.get(one), AttemptUnmade):
            return None
        return Host(old.agent, tokens[one])

    @cached_property
    def _calls_elsewhere(self) -> History:
        return history_of(self._store, calls_of(self._before.prefix))

    def _continue(self, number: int, call: OpenCall, old: _OldCall) -> None:
        """Let a call continue where it is being made."""
        host, facts, name = self._host_of(old), [*self._facts_of(old, call)], self._name_of(old)
        last = facts[-1]
        assert host is not None
        assert isinstance(last, CallStarted)
        old.is_used = True
        self._kept[old.label] += 1
        self._continued.add(call)
        if not self._before.by_agents:
            self._drafts[number].events += facts
            return
        self._drafts[number].events += [*facts[:-1], replace(last, agent=host.agent)]
        one = (number, call.key, sum(isinstance(fact, CallStarted) for fact in facts))
        identity = CallIdentity(self._before.run, call.task, name, repeated=True, since=last.at)
        asked = AttemptAsked(host.agent, host.token, *one, call.request.service, identity, goes_on=True)
        self._asked.append(asked)
        outcome = self._calls_elsewhere[1].get((old.shard, old.key, old.number)) if old.agent else None
        if isinstance(outcome, AttemptEnded):
            self._asked.append(replace(outcome, shard=number, call=call.key, number=asked.number))

    def _note_begun(self, number: int, call: OpenCall) -> None:
        """Note of a call that is to be made that it may have been made before, by the name that it had."""
        old = self._own_of(call)
        start = None if old is None else old.start
        if old is None or start is None or old.is_used or old.has_succeeded or old.opened is not None:
            return
        if start.arguments and start.arguments == self._signature(call)[1]:
            name, within = self._name_of(old), call.instance.within
            self._drafts[number].events += [
                replace(start, call=call.key, name=name, within=within, opens="", definition="", agent=""),
                CallLost(call.key, time.time()),
            ]

    def _left(self) -> Iterator[Event]:
        """Yield the beginnings and answers of calls that may come again, in this version or in one after it."""
        for old in (*self._spare, *self._old.values()):
            start, answer = old.start, old.answer
            if old.is_used or old.within or old.task in self._reopened or start is None or start.opens:
                continue
            if isinstance(answer, CallAnswered) and start.arguments and start.code:
                yield replace(start, name=self._name_of(old))
                yield replace(answer, kept=answer.kept or self._before.version)

    def _update(self) -> Update:
        before = Counter(one.label for one in self._old.values() if one.is_begun)
        roots = {one.label: self._root_of(one).task for one in self._old.values()}
        names = self._where
        known = frozenset(task_names(self._store, self._before))
        plans = (call for shard in self._shards for call in shard.calls.plans)
        planned = Counter(call.label for call in plans if call not in self._continued)
        # Of a run that was stopped, calls may never have been begun that are not new at all.
        was_complete = self._before.state in ("done", "failed")
        items = sum((shard.calls.items for shard in self._shards), Counter[str]())
        waits = Counter(
            one.label for some in self._pool.values() for old in some.values() for one in old if one.is_begun
        )
        again = new = gone = waiting = 0
        for task, many in before.items():
            unkept = max(0, many - self._kept[task])
            if roots[task] not in names:
                gone += many
            elif planned[task] or self._kept[task]:
                again += min(unkept, planned[task])
                if self._items[task]:
                    new += max(0, items[task] - self._items[task])
                elif was_complete:
                    new += max(0, planned[task] - unkept)
                gone += max(0, unkept - planned[task])
            else:
                waiting += min(unkept, waits[task])
                again += max(0, unkept - waits[task])
        new += sum(1 for task in names if task not in known)
        is_over = self._before.has_ended and bool(planned or self._before.why)
        is_unkept = any(one.is_begun and one.answer is not None and not one.is_used for one in self._old.values())
        # The process of an embedded run has the code of its services loaded, also of those that it has not called.
        is_loaded = self._knows_code and bool(self._hosts) and not self._before.by_agents
        is_changed = self._after.digest != self._before.digest or is_over or is_unkept or is_loaded
        kept, version, now = sum(self._kept.values()), self._after.version, time.time()
        journals = [one.events for one in self._drafts]
        journals[0].append(Resumed(version, now, kept, again, new, gone, waiting))
        if self._hosts and not self._before.by_agents:
            journals[0].insert(0, ShardTaken(self._hosts[0].agent, now, GIVEN_EPOCH))
        return Update(
            self._before, self._after, kept, again, new, gone, waiting, is_changed, journals, self._released,
            [*self._left()], self._asked,
        )  # fmt: skip


# ------------------------------------------------------------------------------------------------------ writing


def apply(store: Store, update: Update) -> RunRecord:
    """Write a version, and make it the one that counts; raise `RecordProblem` R412 if another one came first."""
    prefix, max_bytes = update.record.prefix, store.max_record_bytes // 2
    # A record ends where a shard has heard what was said by then, and not what was said after that.
    ends = {one.position for journal in update.journals for one in journal if isinstance(one, MessagesReceived)}
    appends, records, begin = list[Append](), dict[int, int](), 0
    for end in sorted({*ends, len(update.messages)} - {0}):
        packed = messages.packed(update.messages[begin:end], max_bytes)
        appends += [Append(messages_of(prefix), data) for data in packed]
        records[end], begin = len(appends) - 1, end
    positions = store.append_all(appends)
    for number, journal in enumerate(update.journals):
        if journal and isinstance(journal[0], ShardTaken):
            assign(store, key_of(prefix, "lease", number), journal[0].agent)
        log, appends = journal_of(prefix, number), []
        for some in _records_of(journal, max_bytes):
            moved = [MessagesReceived(positions[records[one.position]]) if isinstance(one, MessagesReceived) else one
                     for one in some]  # fmt: skip
            appends.append(Append(log, events.encode(moved, max_bytes=max_bytes, put_blob=store.put_blob)))
        if appends:
            first, *others = appends
            store.append(log, first.data, expected=0)
            store.append_all(others)
    said = packed_calls(update.asked, max_bytes)
    store.append_all([Append(calls_of(prefix), data) for data in said])
    if update.pool:
        pool = store.put_blob(events.encode(update.pool, max_bytes=store.max_blob_bytes, put_blob=store.put_blob))
        update = update._replace(record=replace(update.record, pool=pool))
    return _switch(store, update)


def _records_of(journal: list[Event], max_bytes: int) -> Iterator[list[Event]]:
    """Divide events into records; the last input begins one: only what it led to may be said once more."""
    last = max((at for at, one in enumerate(journal) if is_input(one)), default=-1)  # type: ignore[arg-type]
    some, size = list[Event](), 0
    for at, one in enumerate(journal):
        own = _EVENT_BYTES + (len(one.value.data) if isinstance(one, CallAnswered) else 0)
        if some and (at == last or len(some) >= MAX_EVENTS or size + own > max_bytes):
            yield some
            some, size = [], 0
        some.append(one)
        size += own
    if some:
        yield some


def _switch(store: Store, update: Update) -> RunRecord:
    before, after = update.before, update.record

    def switched(record: RunRecord) -> RunRecord | None:
        was = before.prefix, before.state, before.updater
        if (record.prefix, record.state, record.updater) != was:
            return None
        if record.deadline != before.deadline:
            # It was given another one meanwhile.
            return replace(after, options=record.options, deadline=record.deadline)
        return after

    if change(store, before.run, switched) is None:
        said = f"another version of `{before.run}` came first, or it has ended since"
        raise RecordProblem("R412", said, hint=f"look at it: `solvent status {before.run}`")
    below = key_of(before.run, "refusal") + "/"
    for key in store.keys(below):
        # What agents could not do may be possible now.
        store.delete(key)
    if after.by_agents:
        tell_agents(store, after)
    return after


__all__ = ["Host", "Update", "apply", "plan_update", "tasks_from"]
