"""What happens in a run, as its journals record it: one vocabulary of events, and their form as bytes.

A journal is a log of records, and a record is the events of one turn, all or none. *Inputs* (answers, messages,
signals) are what a run depends on: whoever continues it feeds them to the workflow again, in their order, and calls
nobody for them. *Derived* events follow from inputs, and are derived again. *Facts* are for people, and for counting.

    ShardTaken    fact      a process continues from here
    CallStarted   fact      an attempt of a call is about to be made
    CallAnswered  input     the call returned, and its answer was taken
    CallFailed    input     the call failed for good; a fact if another attempt follows
    ResourceChanged fact    a call has changed a part of a resource; its answer is in the same record
    CallLost      fact      the call has no answer, though its shard is still here, and will be made again
    MessagesReceived, SignalReceived   inputs
    WaitEnded     input     a signal has not come in time
    WaitBegan     fact      by when a signal is to come
    ShardWaits    fact      which tasks wait for people
    Adapted       derived   an alternative has replaced tasks
    WorkflowDefined fact    a sub-workflow is called for the first time in this journal, and this is what it is
    WorkflowClosed derived  a sub-workflow has ended, and how its tasks are
    ShardClosed   derived   nothing more can happen in the shard, and how its tasks are
    Resumed       fact      a further version of the run begins here; what is before was kept
    Ended         fact      nothing more can happen

A call of a sub-workflow *opens* it: what happens inside has the path under which it was opened as `within`, and the
start of such a call is an input, since it is not made again: whoever continues the run continues inside. A path is the
name of the call, with a number where it was opened before; it is unique in the run, and nothing parses it. A delay is
not made again either: whoever continues the run waits for the rest of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from solvent.runs.kept import Kept
from solvent.runs.report import Failed, Item  # noqa: TC001 - msgspec looks at the types
from solvent.services.failure import Kind  # noqa: TC001 - msgspec looks at the types
from solvent.values.encoding import encoder
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable

Why: TypeAlias = Literal["released", "unmade", "agent"]
"""Why a call that was to be made is to be made again."""


class Event(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, array_like=True, gc=False):
    """Something that happened in a run. Times are seconds since 1970, for people; nothing is decided by them."""


class ShardTaken(Event, frozen=True, gc=False):
    """A process continues a shard of the run from here; whoever had it before must not any more."""

    agent: str
    at: float
    #: The epoch of its lease of the shard; 0 where there is no lease.
    epoch: int = 0
    #: Whether it had the shard before: its calls that are out were not lost.
    resumed: bool = False


class CallStarted(Event, frozen=True, gc=False):
    """An attempt of a call is about to be made."""

    #: Unique to the call within its run, and the same when it is repeated.
    call: str
    task: str
    at: float
    attempt: int = 1
    #: Digests of its arguments and of the code of its service; empty where they are not data, or it is not found.
    #: Arguments that are shorter than their digest stand for it.
    arguments: bytes = b""
    code: bytes = b""
    #: What its service knows it by, where that is not the run and the call: it was begun in an earlier version.
    name: str = ""
    #: The path of the sub-workflow in which it is made; empty in the workflow itself. So in other events.
    within: str = ""
    #: The path of the sub-workflow that it opens, and which one that is (see `WorkflowDefined`).
    opens: str = ""
    definition: str = ""
    #: The agent that makes it; empty if that is who has the shard.
    agent: str = ""
    #: Whether it only waits for a time: it goes on though its process dies, and is not made again.
    is_delay: bool = False
    #: Of an item: which one, how many of the task are known, and the service, if that is not the task's own.
    item: int = -1
    items: int = 0
    route: str = ""


class CallAnswered(Event, frozen=True, gc=False):
    """A call returned, and its answer was taken."""

    call: str
    at: float
    attempts: int
    #: As `values.codec` encodes it.
    value: Kept = Kept()
    #: The version of the run in which it was answered, if that is an earlier one.
    kept: int = 0
    within: str = ""
    #: If its result was rejected for an item.
    item: Item | None = None
    #: The end of what its service has printed.
    output: str = ""
    #: The run that had made the result, if it was in the cache.
    reused: str = ""


class ResourceChanged(Event, frozen=True, gc=False):
    """A call has changed a part of a resource; whoever continues the run makes the resource anew of these parts."""

    call: str
    resource: str
    #: Its first byte.
    start: int
    data: Kept


class CallFailed(Event, frozen=True, gc=False):
    """A call, or one of its attempts, failed."""

    call: str
    task: str
    at: float
    attempts: int
    kind: Kind
    text: str
    output: str = ""
    #: Whether no other attempt follows.
    is_last: bool = True
    #: As of an answer.
    kept: int = 0
    within: str = ""
    item: Item | None = None


class CallLost(Event, frozen=True, gc=False):
    """A call that was to be made will be made again.

    It was `released` by the process that made it, which leaves; `unmade` by the agent that was asked to make it; or
    lost with that one, which is gone (`agent`).
    """

    call: str
    at: float
    why: Why = "released"


class MessagesReceived(Event, frozen=True, gc=False):
    """The messages of other shards were taken, up to a position of the log of messages."""

    position: int


class SignalReceived(Event, frozen=True, gc=False):
    """A signal came from outside."""

    name: str
    at: float
    value: bytes
    #: What its sender calls it: one that comes twice by the same id is heard once.
    id: str = ""


class WaitBegan(Event, frozen=True, gc=False):
    """A task waits for a signal, and fails if that has not come by a time."""

    task: str
    #: Which of its waits: how often it was cancelled, and started, before.
    wait: tuple[int, int]
    until: float
    #: The path of the sub-workflow that has it.
    within: str = ""


class WaitEnded(Event, frozen=True, gc=False):
    """The signal that a task waited for has not come in time."""

    task: str
    wait: tuple[int, int]
    at: float
    within: str = ""


class ShardWaits(Event, frozen=True, gc=False):
    """Tasks of the shard wait for signals that only people send: all that do, each with its signal.

    Those inside sub-workflows begin with their path, and so do their signals.
    """

    at: float
    waits: list[tuple[str, str]]


class Adapted(Event, frozen=True, gc=False):
    """An alternative has taken over: because of `task`, its tasks `by` do the work of those it has `replaced`."""

    alternative: str
    task: str
    at: float
    cause: str
    replaced: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    within: str = ""

    def is_same(self, other: Adapted) -> bool:
        """Return whether both tell of the same adaptation, whenever that was."""
        return self._what == other._what

    @property
    def _what(self) -> tuple[object, ...]:
        return self.alternative, self.task, self.replaced, self.within


class WorkflowDefined(Event, frozen=True, gc=False):
    """A sub-workflow is called for the first time in this journal."""

    #: Its digest.
    definition: str
    name: str
    tasks: tuple[str, ...]
    #: Those of its tasks that stand by until an alternative needs them.
    dormant: tuple[str, ...] = ()
    #: The blob that has it as JSON; nothing where a file cannot say it.
    document: str = ""
    #: Whether it begins again if its process dies, since it changes resources: what happens inside is no input.
    begins_again: bool = False
    #: The signals that its tasks wait for.
    signals: tuple[str, ...] = ()


class WorkflowClosed(Event, frozen=True, gc=False):
    """A sub-workflow has ended, or was ended: how its tasks are."""

    within: str
    at: float
    states: dict[str, str]
    failures: list[Failed] = []
    stuck: list[str] = []
    ended_by: str = ""
    is_cancelled: bool = False
    reactions: int = 0
    error: str = ""


class ShardClosed(Event, frozen=True, gc=False):
    """Nothing more can happen in a shard: how its tasks are, and what a report needs that calls do not show."""

    at: float
    states: dict[str, str]
    calls: dict[str, int]
    #: Results that may be the workflow's, as `values.codec` encodes them; those of the workflow, if there is no other
    #: shard.
    results: dict[str, Kept]
    #: The Python form of results that are no data.
    forms: dict[str, str] = {}
    adaptations: list[Adapted] = []
    replaced: list[str] = []
    failures: list[Failed] = []
    stuck: list[str] = []
    ended_by: str = ""
    is_cancelled: bool = False
    reactions: int = 0
    error: str = ""
    #: What the resources of the workflow hold, as `values.codec` encodes them.
    resources: dict[str, Kept] = {}


class Resumed(Event, frozen=True, gc=False):
    """A further version of the run continues it: how many calls keep their answers, and what becomes of the others."""

    version: int
    at: float
    kept: int
    again: int
    new: int
    gone: int
    #: How many keep their answers if they come again.
    waiting: int = 0


class Ended(Event, frozen=True, gc=False):
    """Nothing more can happen: the run is over."""

    state: str
    at: float
    why: str = ""


class _InBlob(Event, frozen=True, gc=False, tag="InBlob"):
    """The events are in a blob: they are more than a record may have."""

    blob: str


AnyEvent: TypeAlias = (
    ShardTaken
    | CallStarted
    | CallAnswered
    | CallFailed
    | ResourceChanged
    | CallLost
    | MessagesReceived
    | SignalReceived
    | ShardWaits
    | WaitBegan
    | WaitEnded
    | Adapted
    | WorkflowDefined
    | WorkflowClosed
    | ShardClosed
    | Resumed
    | Ended
)
_ENCODE = encoder()
_DECODE = msgspec.msgpack.Decoder(list[AnyEvent]).decode
_DECODE_IN_BLOB = msgspec.msgpack.Decoder(tuple[_InBlob]).decode
_IN_BLOB = _ENCODE([_InBlob("")])[:-1]
"""What a record begins with whose events are in a blob."""


def encode(events: list[Event], *, max_bytes: int, put_blob: Callable[[bytes], str]) -> bytes:
    """Make a record of events; what is more than `max_bytes` goes into a blob."""
    record = _ENCODE(events)
    return record if len(record) <= max_bytes else _ENCODE([_InBlob(put_blob(record))])


def is_in_blob(data: bytes) -> bool:
    """Return whether the events of a record are in a blob."""
    return data.startswith(_IN_BLOB)


def decode(data: bytes, get_blob: Callable[[str], bytes]) -> list[AnyEvent]:
    """Return the events of a record; raise `ValueError` if it is none."""
    try:
        if is_in_blob(data):
            data = get_blob(_DECODE_IN_BLOB(data)[0].blob)
        return _DECODE(data)
    except UNREADABLE as error:
        raise ValueError(str(error)) from error


__all__ = [
    "Adapted", "AnyEvent", "CallAnswered", "CallFailed", "CallLost", "CallStarted", "Ended", "Event",
    "MessagesReceived", "ResourceChanged", "Resumed", "ShardClosed", "ShardTaken", "ShardWaits", "SignalReceived",
    "WaitBegan", "WaitEnded", "Why", "WorkflowClosed",
    "WorkflowDefined", "decode", "encode", "is_in_blob",
]  # fmt: skip
