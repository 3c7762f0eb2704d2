"""How a run stands, from its events: the states of its tasks, its calls, adaptations, signals and shards. Pure.

Everything that shows a run is made of this: `solvent status`, `logs` and `timeline`, the page, reports of runs that
agents have. A `RunView` takes each event once, in the order of the store, and returns what has changed. Who has its
state at some moment and applies all later changes has what it has. Times are seconds from the beginning of the run, by
the clocks of those who wrote the events, which nobody compares: they are for people.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from solvent.errors import RecordProblem, SolventError
from solvent.runs import events
from solvent.runs.events import (
    Adapted,
    CallAnswered,
    CallFailed,
    CallLost,
    CallStarted,
    Ended,
    Resumed,
    ShardClosed,
    ShardTaken,
    ShardWaits,
    SignalReceived,
    WaitEnded,
    WorkflowClosed,
    WorkflowDefined,
)
from solvent.runs.holders import status_of
from solvent.runs.journal import MAX_READ
from solvent.runs.registry import key_of, task_names, workflow_of
from solvent.runs.report import REJECTED, Failed, Item, Report, Timing, add_route, by_item, said_follows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from solvent.runs.events import AnyEvent
    from solvent.runs.registry import RunRecord
    from solvent.store import Store
    from solvent.workflows.model import Workflow


_ENDED = frozenset({"done", "failed", "cancelled", "healed"})


class CallView(msgspec.Struct):
    """One call: when it began and ended, in which attempt, and how."""

    number: int
    task: str
    call: str
    began: float
    state: str = "running"
    """`running`, `done`, `failed`, `cancelled`; `healed` if it failed, or was rejected, for an item that has another
    way; `interrupted` if its process died, `withdrawn` if that gave it up."""
    shard: int = 0
    #: The agent or process that makes it, and whether that is another one than has the shard.
    agent: str = ""
    is_elsewhere: bool = False
    ended: float | None = None
    #: When each further attempt began.
    retried: list[float] = []
    attempts: int = 1
    text: str = ""
    #: What the service had written when the last attempt failed.
    output: str = ""
    #: Whether it was made before, by a process that is gone.
    is_repeated: bool = False
    #: The path of the sub-workflow in which it is made, with which its task begins; and of that which it opened last.
    within: str = ""
    opens: str = ""
    #: Which item of its task it is of, if it is of one; and the service that it calls, if that is not the task's own.
    item: int = -1
    route: str = ""
    #: The run that had made its result, if that was in the cache.
    reused: str = ""

    @property
    def is_item(self) -> bool:
        """Whether it is of one of the items that its task is called for."""
        return self.item >= 0


class InnerView(msgspec.Struct):
    """A sub-workflow that was opened."""

    workflow: str
    #: The task that calls it, as it is called in the view.
    task: str
    #: Its tasks, by their names inside, as they are called in the view: these begin with its path.
    tasks: dict[str, str]
    #: When it was opened, and when it had ended.
    began: float
    ended: float | None = None
    failures: list[Failed] = []
    stuck: list[str] = []
    is_cancelled: bool = False
    ended_by: str = ""
    reactions: int = 0
    #: The signals that its tasks wait for.
    signals: tuple[str, ...] = ()


class TaskChanged(NamedTuple):
    """A task has another state."""

    task: str
    state: str


class CallChanged(NamedTuple):
    """Something has happened to a call."""

    call: CallView
    #: `called`, `retried`, `attempted` (an attempt failed, another follows), or the state in which it ended.
    what: str
    at: float
    text: str = ""
    #: Of an item: how many of its task are over, and of how many.
    items: tuple[int, int] | None = None


class Taken(NamedTuple):
    """A process continues a shard."""

    at: float
    agent: str
    shard: int
    #: Whether another one had it before.
    is_again: bool


class Signal(NamedTuple):
    """A signal came."""

    at: float
    name: str


class Waits(NamedTuple):
    """A task waits for people to send a signal."""

    at: float
    task: str
    signal: str


class Adaptation(NamedTuple):
    """An alternative has taken over."""

    at: float
    alternative: str
    because: str
    cause: str
    replaced: tuple[str, ...]
    by: tuple[str, ...]
    #: The tasks that stood by, and may be called from now on.
    woken: tuple[str, ...]
    #: The path of the sub-workflow in which it did, with which all these tasks begin.
    within: str = ""

    def as_reported(self) -> dict[str, Any]:
        """Return it as a report of the sub-workflow has it, whose tasks do not begin with its path."""
        start = len(self.within) + 1 if self.within else 0
        return {
            "alternative": self.alternative,
            "because": self.because[start:],
            "cause": self.cause,
            "replaced": [name[start:] for name in self.replaced],
            "by": [name[start:] for name in self.by],
            "seconds": self.at,
        }


class Opened(NamedTuple):
    """A sub-workflow was opened: its tasks are there from now on."""

    path: str
    workflow: str
    tasks: tuple[str, ...]


class Continued(NamedTuple):
    """A further version of the run begins: how many calls keep their answers, and what becomes of the others."""

    at: float
    version: int
    kept: int
    again: int
    new: int
    gone: int
    waiting: int


class Stuck(NamedTuple):
    """Tasks wait, and nothing more can happen."""

    lines: list[str]


class Over(NamedTuple):
    """The run has ended."""

    at: float
    state: str
    why: str = ""


Change: TypeAlias = TaskChanged | CallChanged | Taken | Signal | Waits | Adaptation | Opened | Continued | Stuck | Over


class RunView:
    """How a run stands, as far as its events tell."""

    def __init__(self, tasks: Sequence[str], began: float, workflow: Workflow | None = None) -> None:
        self.began = began
        self.tasks = tuple(tasks)
        #: `waiting`, `asleep` (until an alternative needs it), `running`, `done`, `failed`, `cancelled`, `replaced`,
        #: `interrupted` (its process is gone); in the end also `unused`. Also of the tasks inside sub-workflows.
        self.states = dict.fromkeys(tasks, "waiting")
        #: The sub-workflows that were opened, by their paths.
        self.inner: dict[str, InnerView] = {}
        self.calls: list[CallView] = []
        self.adaptations: list[Adaptation] = []
        self.takings: list[Taken] = []
        self.signals: list[Signal] = []
        #: Of tasks that are called for each item: how many are over, and of how many.
        self.items: dict[str, tuple[int, int]] = {}
        #: As of a report, by the path of the sub-workflow.
        self.routes: dict[str, list[dict[str, Any]]] = {}
        self.stuck: list[str] = []
        #: The tasks that wait for people, each with its signal, of each shard.
        self._waits: dict[int, dict[tuple[str, str], Waits]] = {}
        self._heard = set[str]()
        self.ended: float | None = None
        #: The calls that have no answer yet, by name.
        self.out: dict[str, CallView] = {}
        #: When the last thing happened.
        self.seconds = 0.0
        self._out_of: Counter[str] = Counter()
        self._begun: Counter[str] = Counter()
        self._replaced = set[str]()
        self._definitions: dict[str, WorkflowDefined] = {}
        self._beginning_again = set[str]()
        # The calls that only wait for a time.
        self._delays = set[str]()
        # Who has each shard.
        self._holders: dict[int, str] = {}
        self._wakes: dict[str, list[str]] = {}
        for name, alternatives in ({} if workflow is None else workflow.wakers).items():
            if name in self.states:
                self.states[name] = "asleep"
            for one in alternatives:
                self._wakes.setdefault(one, []).append(name)

    def take(self, shard: int, event: AnyEvent) -> list[Change]:
        """Apply the next event of a shard's journal, and return what has changed."""
        match event:
            case ShardTaken():
                return self._taken(shard, event)
            case CallStarted():
                return self._started(shard, event)
            case CallAnswered():
                return self._answered(event)
            case CallFailed():
                return self._failed(shard, event)
            case CallLost():
                state = "interrupted" if event.why == "agent" else "withdrawn"
                return self._end_call(event.call, event.at, state, "waiting")
            case SignalReceived():
                return self._signalled(event)
            case ShardWaits():
                return self._waiting(shard, event)
            case WaitEnded(task, within="") if task in self.states:
                self._after(event.at)
                return self._set_state(task, "failed")
            case Adapted():
                return self._adapted(event)
            case WorkflowDefined(definition):
                self._definitions[definition] = event
            case WorkflowClosed():
                return self._inner_closed(event)
            case Resumed(version, at, kept, again, new, gone, waiting):
                return [Continued(self._after(at), version, kept, again, new, gone, waiting)]
            case ShardClosed():
                return self._closed(shard, event)
            case Ended():
                return self._over(event)
        return []

    def end(self, record: RunRecord) -> list[Change]:
        """Apply the end of a run of agents, which its record has; that of another one is in its journal."""
        return self._over(Ended(record.state, record.ended, record.why)) if self.ended is None else []

    @property
    def waits(self) -> list[Waits]:
        """The tasks that wait for people."""
        return [] if self.ended is not None else [one for some in self._waits.values() for one in some.values()]

    @property
    def is_waiting(self) -> bool:
        """Whether nothing but people can let the run go on."""
        return bool(self.waits) and all(call.opens for call in self.out.values())

    def interrupt(self) -> list[Change]:
        """End the calls that are out: the process that made them is gone, or the run is over."""
        at = self.began + (self.seconds if self.ended is None else self.ended)
        changes: list[Change] = []
        for name in list(self.out):
            # The time of a delay passes, whoever is gone.
            becomes = "waiting" if self.ended is None and name in self._delays else "interrupted"
            changes += self._end_call(name, at, "interrupted", becomes)
        return changes

    @property
    def open_states(self) -> dict[str, str]:
        """The states of the tasks as people see them: one that an alternative may need waits."""
        found = {name: self.states[name] for name in self.tasks}
        return {name: "waiting" if one == "asleep" else one for name, one in found.items()}

    @property
    def called_again(self) -> dict[str, int]:
        """How many calls of each task were made again, since the process that had made them was gone."""
        return dict(Counter(call.task for call in self.calls if call.is_repeated))

    @property
    def timings(self) -> dict[str, Timing]:
        """When the last call of each task began and ended; of one that was called again, that call."""
        last = self.seconds if self.ended is None else self.ended
        return {
            one.task: Timing(one.began, max(one.began, last if one.ended is None else one.ended), one.attempts)
            for one in self.calls
        }

    def _after(self, at: float) -> float:
        found = round(max(0.0, at - self.began), 6)
        self.seconds = max(self.seconds, found)
        return found

    def _set_state(self, task: str, state: str, *, is_final: bool = False) -> list[Change]:
        """Set the state of a task; one that was replaced stays so, whatever becomes of its calls."""
        if self.states.get(task, state) == state or (task in self._replaced and state != "replaced" and not is_final):
            return []
        self.states[task] = state
        return [TaskChanged(task, state)]

    # ------------------------------------------------------------------------------------------------- events

    def _taken(self, shard: int, event: ShardTaken) -> list[Change]:
        is_again = any(one.shard == shard for one in self.takings)
        taken = Taken(self._after(event.at), event.agent, shard, is_again)
        self.takings.append(taken)
        self._holders[shard] = event.agent
        changes: list[Change] = [taken]
        if not event.resumed:
            # The process that made these calls is gone; calls that are still needed are repeated.
            for name, call in [(name, call) for name, call in self.out.items() if call.shard == shard]:
                # The end of one ends those of the sub-workflow inside it.
                if name in self.out and not self._continues(name) and not call.is_elsewhere:
                    changes += self._end_call(name, event.at, "interrupted", "waiting")
        return changes

    def _continues(self, name: str) -> bool:
        """Return whether whoever takes the shard continues a call: a delay, or that of a sub-workflow."""
        call = self.out.get(name)
        if call is not None and name in self._delays:
            return not self._begins_again(call.within)
        return call is not None and bool(call.opens) and not self._begins_again(call.opens)

    def _begins_again(self, path: str) -> bool:
        return path in self._beginning_again

    def _open(self, call: CallView, event: CallStarted, at: float) -> list[Change]:
        """Apply that a call has opened a sub-workflow: the one that an attempt before has opened is over."""
        changes = self._end_inside(call, event.at)
        known = self._definitions.get(event.definition)
        if known is None or not event.opens:
            return changes
        call.opens = event.opens
        if known.begins_again:
            self._beginning_again.add(event.opens)
        labels = {name: f"{event.opens}/{name}" for name in known.tasks}
        self.inner[event.opens] = InnerView(known.name, call.task, labels, at, signals=known.signals)
        for name, label in labels.items():
            self.states[label] = "asleep" if name in known.dormant else "waiting"
        return [*changes, Opened(event.opens, known.name, tuple(labels.values()))]

    def _end_inside(self, call: CallView, at: float, state: str = "cancelled") -> list[Change]:
        """End the calls inside the sub-workflow of a call that is over."""
        path = call.opens
        if not path:
            return []
        if self.inner[path].ended is None:
            self.inner[path].ended = self._after(at)
        inside = [name for name, one in self.out.items() if one.within == path]
        return [change for name in inside for change in self._end_call(name, at, state, state)]

    def _inner_closed(self, event: WorkflowClosed) -> list[Change]:
        """Apply how the tasks of a sub-workflow are in the end."""
        inner = self.inner.get(event.within)
        if inner is None:
            return []
        inner.ended, inner.failures, inner.stuck = self._after(event.at), event.failures, event.stuck
        inner.is_cancelled, inner.ended_by, inner.reactions = event.is_cancelled, event.ended_by, event.reactions
        changes: list[Change] = []
        for name in [name for name, one in self.out.items() if one.within == event.within]:
            changes += self._end_call(name, event.at, "cancelled", "cancelled")
        for name, state in event.states.items():
            label = inner.tasks.get(name, "")
            if label:
                found = "unused" if self.states[label] == "asleep" and state == "waiting" else state
                changes += self._set_state(label, found, is_final=True)
        return changes

    def inner_reports(self) -> dict[str, Report]:
        """Return how each sub-workflow went, by its path."""
        found = {}
        timings = self.timings
        for path, inner in self.inner.items():
            end = self.seconds if inner.ended is None else inner.ended
            report = Report(inner.workflow, task=inner.task, seconds=end - inner.began, reactions=inner.reactions)
            report.states = {
                name: "waiting" if (state := self.states[label]) in {"asleep", "interrupted"} else state
                for name, label in inner.tasks.items()
            }
            report.timings = {name: timings[label] for name, label in inner.tasks.items() if label in timings}
            report.failures, report.stuck = inner.failures, inner.stuck
            report.routes = sorted(self.routes.get(path, []), key=by_item)
            report.is_cancelled, report.ended_by = inner.is_cancelled, inner.ended_by
            found[path] = report
        for call in self.calls:
            if call.within in found and not call.is_repeated:
                name = call.task.removeprefix(f"{call.within}/")
                calls = found[call.within].calls
                calls[name] = calls.get(name, 0) + 1
        for one in self.adaptations:
            if one.within in found:
                found[one.within].adaptations.append(one.as_reported())
        return found

    def _started(self, shard: int, event: CallStarted) -> list[Change]:
        at, known = self._after(event.at), self.out.get(event.call)
        if known is not None and event.attempt > 1:
            known.retried = [*known.retried, at]
            known.attempts = max(known.attempts, len(known.retried) + 1)
            return [*self._open(known, event, at), CallChanged(known, "retried", at)]
        task = _label(event)
        if task not in self.states:
            return []
        changes = self._end_call(event.call, event.at, "interrupted", "waiting")
        call = self._new_call(event, at, shard)
        if event.is_delay:
            self._delays.add(event.call)
        if event.agent:
            call.agent, call.is_elsewhere = event.agent, True
        if event.items:
            call.item, call.route = event.item, event.route
            over, total = self.items.get(task, (0, 0))
            self.items[task] = (over, max(total, event.items))
        return [
            *changes,
            *self._open(call, event, at),
            CallChanged(call, "called", at, items=self.items.get(task) if call.is_item else None),
            *self._set_state(task, "running"),
        ]

    def _new_call(self, event: CallStarted | CallFailed, at: float, shard: int) -> CallView:
        name, task = event.call, _label(event)
        self._begun[name] += 1
        call = CallView(
            len(self.calls), task, name, at, shard=shard, agent=self._holders.get(shard, ""),
            is_repeated=self._begun[name] > 1,
        )  # fmt: skip
        call.within = event.within
        self.calls.append(call)
        self.out[name] = call
        self._out_of[task] += 1
        return call

    def _answered(self, event: CallAnswered) -> list[Change]:
        call = self.out.get(event.call)
        if call is None:
            return []
        call.attempts, call.output = max(call.attempts, event.attempts), event.output
        if event.item is not None:
            return self._item_ended(call, event.item, REJECTED, event.at)
        call.reused = event.reused
        return self._end_call(event.call, event.at, "done", "done", f"from {event.reused}" if event.reused else "")

    def _item_ended(self, call: CallView, item: Item, cause: str, at: float) -> list[Change]:
        """Apply that the call of an item failed, or its result was rejected, and what follows."""
        task = call.task.removeprefix(f"{call.within}/") if call.within else call.task
        add_route(self.routes.setdefault(call.within, []), task, item, call.route, cause)
        call.text = f"{item.argument}: {cause}"
        if not item.follows:
            return self._end_call(call.call, at, "failed", "failed", call.text)
        call.text = f"{call.text}; {said_follows(item)}"
        return self._end_call(call.call, at, "healed", "running" if item.follows == "tried" else "done", call.text)

    def _failed(self, shard: int, event: CallFailed) -> list[Change]:
        text = event.text if event.kind in {"FAILED", "CANCELLED"} else f"{event.kind}: {event.text}"
        call = self.out.get(event.call)
        if call is not None:
            call.output = event.output
        if not event.is_last:
            at = self._after(event.at)
            return [] if call is None else [CallChanged(call, "attempted", at, text)]
        if call is None:
            # It was not made at all: cancelled before, or lost too often.
            if _label(event) not in self.states:
                return []
            call = self._new_call(event, self._after(event.at), shard)
            call.attempts, call.is_repeated, call.output = 0, False, event.output
        call.attempts = max(call.attempts, event.attempts)
        call.text = text
        if event.item is not None:
            return self._item_ended(call, event.item, text, event.at)
        kind = "cancelled" if event.kind == "CANCELLED" else "failed"
        return self._end_call(event.call, event.at, kind, kind, text)

    def _end_call(self, name: str, at: float, state: str, becomes: str, text: str = "") -> list[Change]:
        """End a call; its task takes the state `becomes` unless other calls of it are out, or one has failed."""
        call = self.out.pop(name, None)
        if call is None:
            return []
        call.ended, call.state = max(self._after(at), call.began), state
        inside = self._end_inside(call, at, "interrupted" if state == "interrupted" else "cancelled")
        task = call.task
        self._out_of[task] -= 1
        has_failed = self.states[task] == "failed"
        items = None
        if call.is_item and (becomes != "running") and state in _ENDED:
            over, total = self.items[task]
            self.items[task] = (min(over + 1, total), total)
        if call.is_item:
            items = self.items[task]
        changes: list[Change] = [*inside, CallChanged(call, state, call.ended, text, items)]
        if becomes == "failed" or (not self._out_of[task] and not (has_failed and becomes == "cancelled")):
            changes += self._set_state(task, becomes)
        return changes

    def _signalled(self, event: SignalReceived) -> list[Change]:
        """Take a signal; several shards may have heard it."""
        if event.id in self._heard:
            return []
        if event.id:
            self._heard.add(event.id)
        self.signals.append(Signal(self._after(event.at), event.name))
        return [self.signals[-1]]

    def _waiting(self, shard: int, event: ShardWaits) -> list[Change]:
        """Take which tasks of a shard wait for people."""
        at, before = self._after(event.at), self._waits.get(shard, {})
        found = {(task, signal): before.get((task, signal)) or Waits(at, task, signal) for task, signal in event.waits}
        self._waits[shard] = found
        return [one for key, one in found.items() if key not in before]

    def _adapted(self, event: Adapted) -> list[Change]:
        """Apply an alternative: the tasks that it replaces end, and its own tasks wait from now on."""
        at, path = self._after(event.at), f"{event.within}/" if event.within else ""
        woken = tuple(event.by if path else self._wakes.get(event.alternative, event.by))
        replaced, by, woken = (tuple(path + name for name in names) for names in (event.replaced, event.by, woken))
        one = Adaptation(at, event.alternative, path + event.task, event.cause, replaced, by, woken, event.within)
        self.adaptations.append(one)
        changes: list[Change] = [one]
        for name in replaced:
            changes += self._set_state(name, "replaced")
            self._replaced.add(name)
        for name in woken:
            if self.states.get(name) == "asleep":
                changes += self._set_state(name, "waiting")
        return changes

    def _closed(self, shard: int, event: ShardClosed) -> list[Change]:
        """Apply how the tasks of a shard are in the end, which its calls alone do not show."""
        changes: list[Change] = []
        for name, state in event.states.items():
            known = self.states.get(name)
            if known == "replaced" and any(one.shard != shard for one in self.takings):
                # A shard does not know all alternatives that have taken over at others.
                continue
            found = "unused" if known == "asleep" and state == "waiting" else state
            changes += self._set_state(name, found, is_final=True)
        if event.stuck:
            self.stuck = list(event.stuck)
            changes.append(Stuck(self.stuck))
        return changes

    def _over(self, event: Ended) -> list[Change]:
        self.ended = self._after(event.at)
        changes: list[Change] = []
        if event.state == "cancelled" or event.why:
            # It was ended from outside.
            for name in list(self.out):
                changes += self._end_call(name, event.at, "cancelled", "cancelled")
            for task in {call.task: None for call in self.calls}:
                if self.states[task] == "waiting":
                    changes += self._set_state(task, "cancelled")
        else:
            changes += self.interrupt()
        return [*changes, Over(self.ended, event.state, event.why)]


def _label(event: CallStarted | CallFailed) -> str:
    """Return how the task of a call is named in a view."""
    return f"{event.within}/{event.task}" if event.within else event.task


class Follower:
    """Reads the journals of a run from a store, again and again, and keeps its view.

    Whoever follows a run takes no part in it. Those who have it do not know that it is there.
    """

    def __init__(self, store: Store, record: RunRecord, workflow: Workflow | None = None) -> None:
        self.record = record
        self.view = RunView(task_names(store, record), record.created, workflow)
        #: What happened before this version and was kept, if it was turned to.
        self.kept: list[Change] = []
        self._store = store
        self._reader = JournalReader(store, record.prefix)
        self._fresh: list[Change] = []

    def news(self) -> Iterator[Change]:
        """Yield what has happened since the last time."""
        fresh, self._fresh = self._fresh, []
        yield from fresh
        for shard, event in self._reader.news():
            yield from self.view.take(shard, event)

    def turn_to(self, record: RunRecord, workflow: Workflow | None = None) -> None:
        """Follow another version of the run from now on, with a view of its own; `news` yields what is not kept.

        Call it when `news` has yielded all of the version before: that was told.
        """
        other, told = Follower(self._store, record, workflow), dict(self.view.states)
        # Who made the version has written what is kept; the process that has a shard begins with `ShardTaken`.
        is_kept = dict.fromkeys(range(record.shards), True)
        for shard, event in other._reader.news():
            changes = other.view.take(shard, event)
            if isinstance(event, Resumed) or (shard and isinstance(event, ShardTaken)):
                is_kept[shard] = False
            elif is_kept.get(shard):
                other.kept += changes
                continue
            other._fresh += changes
        told |= {one.task: one.state for one in other._fresh if isinstance(one, TaskChanged)}
        other._fresh += (TaskChanged(name, one) for name, one in other.view.states.items() if told.get(name) != one)
        self.record, self.view, self.kept = record, other.view, other.kept
        self._reader, self._fresh = other._reader, other._fresh


class JournalReader:
    """Reads the journals of all shards of a run, in the order of the store, from where the last reading ended."""

    def __init__(self, store: Store, prefix: str, after: int = 0) -> None:
        self._store = store
        self._below = key_of(prefix, "shard") + "/"
        self.after = after

    def news(self) -> Iterator[tuple[int, AnyEvent]]:
        """Yield the shard and the event of all that was recorded since; raise `RecordProblem` where that is damaged."""
        while True:
            found = self._store.read(self._below, self.after, MAX_READ)
            for record in found:
                try:
                    noted = events.decode(record.data, self._store.get_blob)
                    shard = int(record.log.removeprefix(self._below))
                except ValueError as error:
                    said = f"record {record.position} of `{record.log}` does not read: {error}"
                    raise RecordProblem("R403", said) from None
                self.after = record.position
                for event in noted:
                    yield shard, event
            if len(found) < MAX_READ:
                return


def view_of(store: Store, record: RunRecord) -> RunView:
    """Return how a run stands now."""
    workflow = None
    # Without it, it is not known which tasks stand by.
    with suppress(SolventError):
        workflow = workflow_of(store, record)
    follower = Follower(store, record, workflow)
    for _ in follower.news():
        pass
    if record.has_ended:
        follower.view.end(record)
    elif status_of(store, record) != "running":
        follower.view.interrupt()
    return follower.view


def waits_of(store: Store, record: RunRecord) -> list[Waits]:
    """Return the tasks of a run that wait for people."""
    # Of a workflow without signals no journal is read.
    return [] if record.has_ended or not record.may_hear else view_of(store, record).waits


def state_of(store: Store, record: RunRecord) -> str:
    """Return the state of a run: as `status_of`, or `waiting` where only people can let it go on."""
    state = status_of(store, record)
    is_waiting = state == "running" and record.may_hear and view_of(store, record).is_waiting
    return "waiting" if is_waiting else state


__all__ = [
    "Adaptation", "CallChanged", "CallView", "Change", "Follower", "InnerView", "JournalReader", "Opened", "Over",
    "RunView", "Signal", "Stuck", "Taken", "TaskChanged", "Waits", "state_of", "view_of",
    "waits_of",
]  # fmt: skip
