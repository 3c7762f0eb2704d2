"""One execution of a workflow, or of those of its tasks that are at one shard.

An `Execution` consists of a reactor for its molecules, a journal, a mailbox, the open calls and the functions that its
rules call. An embedded run or an agent drives it by `turns`, in one thread at a time:

    execution.start(caller)         # repeat what the journal has
    execution.take(answer)          # take what has come: the answer of a call,
    execution.hear(messages)        # or messages of other shards,
    execution.signal(name, value)   # or a signal
    execution.settle()              # react until nothing more can happen without further input; calls are planned
    execution.admit(call)           # choose the calls that are to be made, and note them
    execution.journal.commit()      # store what was noted; a shard also has messages: `appends` returns both
    execution.begin_calls()         # make the calls

The sub-workflows that it calls are executions inside it (`nested`): they use its journal and its calls, and only the
outermost execution is driven.

The journal and the messages determine its state: an execution that reads both arrives where the one before it stopped.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import replace

from solvent.engine.batches import dissolve
from solvent.engine.reactor import Reactor
from solvent.errors import RecordProblem
from solvent.lang.molecule import Molecule, Symbol
from solvent.lang.solution import Solution
from solvent.runs.calls import Again, Calls, NoCaller, OpenCall, SubworkflowBegan, SubworkflowStopped
from solvent.runs.closed_shards import adapted_event, closed_run, closed_shard
from solvent.runs.conditions import Chooser, cause, judge_of
from solvent.runs.events import (
    CallAnswered,
    CallFailed,
    CallStarted,
    MessagesReceived,
    ShardWaits,
    SignalReceived,
    WaitBegan,
    WaitEnded,
)
from solvent.runs.functions import bound
from solvent.runs.nested import Nested
from solvent.runs.outcome import Outcome, has_waiting
from solvent.runs.report import (
    MAX_TEXT,
    REJECTED,
    Failed,
    Item,
    Report,
    TaskEvent,
    Timing,
    add_route,
    by_item,
    concluded,
    named_item,
    said_follows,
)
from solvent.runs.resources import claimed
from solvent.runs.signals import Signals, elapsed
from solvent.runs.stuck import waiting_in
from solvent.services import Failure
from solvent.values import codec
from solvent.values.text import shortened_form
from solvent.workflows.forms import task_of
from solvent.workflows.items import follows, in_place, leaves
from solvent.workflows.model import Task
from solvent.workflows.rule_functions import Unpassable, Unusable, molecule_of, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from solvent.engine.reaction import Flight, Reaction
    from solvent.runs.adrift import Adrift
    from solvent.runs.calls import Answer, Answers, CallMaker, Room
    from solvent.runs.events import AnyEvent, ShardClosed, Why
    from solvent.runs.functions import Request
    from solvent.runs.journal import Journal
    from solvent.runs.kept import Blobs
    from solvent.runs.messages import Mailbox
    from solvent.runs.nested import Inside
    from solvent.runs.signals import Signal
    from solvent.services import Handle
    from solvent.store import Append, Record
    from solvent.workflows.items import Follows
    from solvent.workflows.translate import Concrete

_RES, _ERR, _GOT, _FAULT, _AWAY = map(Symbol, ("RES", "ERR", "GOT", "FAULT", "AWAY"))
_OFF, _REPLACE, _GIVE_UP, _PASS, _SIGNAL, _FROM, _PART = map(
    Symbol, ("OFF", "REPLACE", "GIVE_UP", "PASS", "SIGNAL", "FROM", "PART")
)
_MAX_ERRORS = 100
"""Of so many tasks the exceptions are held, with all that their frames hold."""


class Spectator(Protocol):
    """Who watches an execution from inside."""

    #: When what happens was noted.
    at: float

    def __call__(self, reaction: Reaction) -> None:
        """See a reaction."""

    def begin(self, solution: Solution, names: Any) -> None:
        """See the solution before anything has happened."""

    def opened(self, around: Solution, what: Molecule, solution: Solution, names: Any) -> bool:
        """See the solution of a sub-workflow before anything has happened in it; return whether to see that."""

    def outside(self, solution: Solution) -> None:
        """See the solution after something was put in from outside."""

    def called(self, flight: Flight) -> None:
        """See a reaction that waits for a call."""


class Execution:
    """One execution; see above.

    Without `mailbox` it is the whole workflow. See `Calls` for `room` and `is_shared`. With `root` it is a sub-workflow
    inside that one.
    """

    def __init__(
        self,
        concrete: Concrete,
        *,
        answers: Answers,
        journal: Journal,
        mailbox: Mailbox | None = None,
        room: Room | None = None,
        signals: Sequence[Signal] = (),
        folder: Path | None = None,
        is_shared: bool = False,
        watch: Callable[[TaskEvent], None] | None = None,
        observe: Callable[[Reaction], None] | None = None,
        spectator: Spectator | None = None,
        should_stop: Callable[[], bool] | None = None,
        root: Execution | None = None,
        inside: Inside | None = None,
    ) -> None:
        self.workflow = workflow = concrete.workflow
        self.solution = concrete.solution
        self.root = self if root is None else root
        self.inside = inside
        #: The path of the sub-workflow that it is; nothing if it is the outermost.
        self.within = "" if inside is None else inside.path
        self.depth: int = 0 if inside is None else inside.depth
        self.folder = folder
        self.should_stop = should_stop if root is None else self._must_stop
        self.reactor = Reactor(observe=observe or spectator, should_stop=self.should_stop)
        self.journal = journal
        self.mailbox = mailbox
        self.signals = Signals(workflow, signals)
        self.chooser = Chooser(workflow, folder)
        self.report = Report(workflow.name, trace=[] if workflow.is_controlled else None)
        #: The open calls, and the sub-workflows: of all that is inside the outermost.
        self.calls: Calls = Calls(journal, answers, room, is_shared=is_shared) if root is None else root.calls
        self.nested: Nested = Nested(self) if root is None else root.nested
        self.services = {one.name: one for one in workflow.services}
        #: Whether it is to be left to another agent as soon as nothing is out.
        self.is_leaving = False
        #: Whether anything has changed since it was last told how it stands.
        self.is_fresh = True
        #: Whether the journal says how the tasks are: the run is over.
        self.is_closed = False
        self._names = concrete.names
        self._tasks = workflow.by_name
        if concrete.is_foreign:
            self._add_unknown_tasks()
        #: Makes its calls.
        self.caller: CallMaker = NoCaller()
        self._is_shared = is_shared
        self.watch: Callable[[TaskEvent], None] | None = watch if root is None else root.watch
        self.spectator = spectator
        #: Whom calls are shown to that have failed, while they are done again.
        self.on_failure: Callable[[OpenCall, CallFailed], None] | None = None
        self._alternatives = {one.name: one for one in workflow.alternatives}
        self._judge = judge_of(workflow, folder)
        # The predicates to ask about a task's result before it is taken in: they may take their time.
        asked = [one for one in workflow.alternatives if one.predicate is not None]
        self._judges = {
            task: [one.name for one in asked if task in one.watched]
            for one in asked
            for task in one.watched
            if task in self._tasks and self._tasks[task].each is None
        }
        # Of a task with a gate that stands in for another, the one whose instance it is called in.
        swaps = [one for one in workflow.alternatives if one.name in concrete.forms.swapped]
        self._stands_for = {new: old for one in swaps for old, new in one.exits.items()}
        self._forms = concrete.forms
        self.began: float = time.perf_counter() if root is None else root.began
        self._faults: dict[str, Failed] = {}
        # How many items of each task are over.
        self._over: Counter[str] = Counter()
        #: The exceptions of the tasks that failed first, where they were raised in this process.
        self.errors: dict[str, BaseException] = {}
        self._replaced: set[str] = set()
        # How far each task with a gate is cancelled, and which of its cases: what is older is not called any more.
        self._void: dict[str, int] = {}
        self._void_parts: set[tuple[str, int]] = set()
        # Tasks of other shards that rules know to be elsewhere.
        self._away = {one[1] for one in self.solution if type(one) is tuple and one[0] is _AWAY} if mailbox else set()
        # Messages that follow from what the journal has already.
        self._again: list[Append] = []
        # Whether all that came after the last record has been heard: only then it is known which calls are to be made.
        self._is_caught_up = False
        self._adrift: Adrift | None = None
        # How many inputs the past had.
        self._inputs = 0
        # The signals that were heard, by their ids.
        self._heard: set[str] = set()
        #: The tasks that wait for people, each with the signal.
        self.waits: list[tuple[str, str]] = []
        #: The waits that are to end, each by when, in seconds since 1970.
        self.limits: dict[tuple[str, tuple[int, int]], float] = {}

    def _add_unknown_tasks(self) -> None:
        """Learn the tasks that someone has written into a concrete workflow by hand."""
        self._names, self._tasks = dict(self._names), dict(self._tasks)
        for molecule in self.solution:
            task = task_of(molecule)
            if task is not None and task not in self._names:
                self._names[task] = name = str(task)
                self._tasks[name] = Task(name, "")

    # --- Being driven.

    def start(self, caller: CallMaker, messages: Iterable[Record] = (), *, adrift: Adrift | None = None) -> None:
        """Be where the journal ends; `messages` are all that were sent here, `adrift` has calls that are out."""
        self._adrift = adrift
        if self.mailbox is not None:
            self.mailbox.arrive(messages)
        try:
            self.prepare(caller)
            self.settle()
            if self.mailbox is not None:
                self._again = self.mailbox.outgoing()
            self._is_caught_up = True
            # Messages that came after the agent before had died may call off what that agent had called.
            self._hear_the_rest()
            self.settle()
        except BaseException:
            if self._is_shared:
                # Python warns of a coroutine that nobody has begun.
                for instance in (self, *self.nested.below(self)):
                    for flight in instance.reactor.flights:
                        flight.coroutine.close()
                    instance.reactor.flights = []
            raise
        finally:
            self._adrift = None

    def begin(self) -> None:
        """Let a sub-workflow react for the first time."""
        self.reactor.run(self.solution)

    def prepare(self, caller: CallMaker) -> None:
        """React for the first time; what has happened since is still to come, and calls are only planned."""
        self.caller = caller
        self._inputs = len(self.journal.past)
        # One that goes on with the calls of another goes on with its time.
        self.began = time.perf_counter() if self._adrift is None else self._adrift.execution.began
        if self.spectator is not None:
            self.spectator.begin(self.solution, self._names)
        with bound(self):
            self.reactor.run(self.solution)

    @property
    def is_live(self) -> bool:
        """Whether its calls are made; those of a sub-workflow that is done again are when the call around it is."""
        return self.inside is None or self.inside.attempt is not None or self.journal.is_read_only

    def _must_stop(self) -> bool:
        """Return whether a sub-workflow must stop reacting: it is not wanted any more, or nothing is."""
        if self.inside is not None and self.inside.is_unwanted():
            return True
        outer = self.root.should_stop
        return outer is not None and outer()

    def take(self, answer: Answer | Again | SubworkflowBegan | SubworkflowStopped) -> None:
        """Take what has come of a call: its answer; or that it is to be tried again, which is noted before."""
        if isinstance(answer, (SubworkflowBegan, SubworkflowStopped)):
            self.nested.take(answer)
            return
        if answer.call not in self.calls.out:
            return
        taken = self.calls.take(answer)
        # The answer that came is let go: its value may be all that memory holds.
        del answer
        if taken is None:
            return
        instance = taken[0].instance
        if instance is not self:
            self.nested.react(instance, partial(instance.take_in, *taken))
            return
        with bound(self):
            self.take_in(*taken)
            self.plan_calls()

    def lose(self, call: OpenCall, why: Why) -> None:
        """Let a call be made again that another agent was to make."""
        self.calls.lose(call, why)

    def hear(self, messages: Iterable[Record]) -> None:
        """Take messages of other shards; those that were there at the start have been taken then."""
        assert self.mailbox is not None
        self.mailbox.arrive(messages)
        self._hear_the_rest()

    def _hear_the_rest(self) -> None:
        if self.mailbox is not None and self.mailbox.has_arrived:
            self.journal.note(MessagesReceived(self.mailbox.position))
            with bound(self):
                self._hear(self.mailbox.position)
                self.plan_calls()
            signals, self.mailbox.signals = self.mailbox.signals, []
            for one in signals:
                self.signal(one.name, codec.decode(one.value.read(self.mailbox.store)), one.id)

    def signal(self, name: str, value: Any, id: str = "") -> None:  # noqa: A002 - what a sender calls it
        """Take a signal, unless it was taken before."""
        if id in self._heard:
            return
        self.journal.signalled(name, value, id)
        with bound(self):
            self._send_signal(name, value, id)
            self.plan_calls()

    def settle(self) -> None:
        """React until nothing more can happen without an answer, a message or a signal; plan the calls that follow."""
        with bound(self):
            while not self.report.ended_by:
                self.plan_calls()
                if self.journal.starts:
                    self._tell_starts()
                past = self.journal.past
                if past:
                    self._repeat(past.popleft())
                elif not self.reactor.flights:
                    break
        for one in (self, *self.nested.below(self)):
            one.look_at_limits()
        self.nested.settle()
        if self.report.ended_by:
            self.abandon()
        elif self._is_caught_up:
            self.calls.offer(self._adrift)
            self._look_who_waits()

    def look_at_limits(self) -> None:
        """Note by when signals are to come that tasks have begun to wait for."""
        found, known, journal = self.signals.limited(self.solution), self.limits, self.root.journal
        self.limits = {}
        for wait, seconds in found.items():
            until = known.get(wait) or journal.limits.get((self.within, *wait))
            if until is None:
                until = time.time() + seconds
                journal.note(WaitBegan(*wait, until, self.within))
            self.limits[wait] = until

    @property
    def due(self) -> float | None:
        """When the next wait ends here or in a sub-workflow, in seconds since 1970, if one does."""
        if not self._is_caught_up or self.report.ended_by:
            return None
        return min((at for one in (self, *self.nested.below(self)) for at in one.limits.values()), default=None)

    @property
    def is_due(self) -> bool:
        """Whether the time of a wait is over."""
        due = self.due
        return due is not None and due <= time.time()

    def end_waits(self) -> None:
        """End the waits whose time is over."""
        now = time.time()
        for one in (self, *self.nested.below(self)):
            for (task, wait), until in list(one.limits.items()):
                if until <= now:
                    self._end_wait(WaitEnded(task, wait, now, one.within), one)

    def _end_wait(self, event: WaitEnded, instance: Execution) -> None:
        self.journal.note(event)
        if instance is not self:
            self.nested.react(instance, lambda: instance.let_fail(event))
            return
        with bound(self):
            self.let_fail(event)
            self.plan_calls()

    def let_fail(self, event: WaitEnded) -> None:
        """Let a task fail whose signal has not come in time."""
        self.limits.pop((event.task, event.wait), None)
        self._note("failed", event.task, self.seconds, "its signal did not come in time")
        self.solution.add(elapsed(event.task, event.wait))
        self._go_on()

    def _look_who_waits(self) -> None:
        """Note which tasks wait for people, also in sub-workflows, where that has changed."""
        listening, before = self.nested.listening, self.waits
        if not (self.signals.outside or listening or before or self.journal.waits):
            return
        self.waits = self.awaited()
        for one in listening:
            self.waits += [(f"{one.within}/{task}", f"{one.within}/{signal}") for task, signal in one.awaited()]
        if self.waits != self.journal.waits and not self.journal.is_read_only:
            self.journal.waits = self.waits
            self.journal.note(ShardWaits(time.time(), self.waits))
        if self.watch is not None and self.journal.is_kept:
            for task, signal in self.waits:
                if (task, signal) not in before:
                    self.watch(TaskEvent("waits", task, self.seconds, signal))

    def awaited(self) -> list[tuple[str, str]]:
        """Return the tasks here that wait for people, each with its signal."""
        outside = self.signals.outside
        return [one for one in self.signals.awaited(self.solution, is_needed=True) if one[1] in outside]

    def hear_signal(self, name: str, value: Any) -> None:
        """Hear a signal in a sub-workflow."""
        self.solution.extend(self.signals.molecules(name, value))
        self._go_on()

    @property
    def is_signal_coming(self) -> bool:
        """Whether a signal is to come at a time, and a task waits for it."""
        return self.signals.next_at() is not None and self.signals.is_coming(self.signals.awaited(self.solution))

    def admit(self, call: OpenCall) -> bool:
        """Make a call next that waits; tell whether it is made."""
        if not self.calls.admit(call):
            return False
        call.instance.tell_made(call)
        return True

    def admit_all(self) -> None:
        """Make all calls that wait."""
        for call in list(self.calls.waiting.values()):
            self.admit(call)

    def appends(self) -> list[Append]:
        """Give what is to be kept before anything is done: the journal, and messages to others behind it.

        First come the messages that the agent before may not have sent: from the next record of the journal on it would
        not be known that they were not sent.
        """
        assert self.mailbox is not None
        found = [*self._again, *self.journal.taken(), *self.mailbox.outgoing()]
        self._again = []
        if found:
            self.is_fresh = True
        return found

    def begin_calls(self) -> None:
        """Make the calls that waited for the journal."""
        self.calls.begin()

    def abandon(self) -> None:
        """Do nothing any more: end the calls that are out, and put back what they were made of, so nothing is lost."""
        below, is_inner = self.nested.below(self), self.inside is not None
        several = [self, *below]
        for call in self.calls.abandon([one.within for one in several] if is_inner else None):
            call.instance.give_up(call)
        for one in several:
            for flight in one.reactor.flights:
                flight.coroutine.close()
                one.reactor.crash(flight, KeyboardInterrupt())
            one.reactor.flights = []
        self.nested.give_up(below, is_over=is_inner or bool(self.report.ended_by))

    def give_up(self, call: OpenCall) -> None:
        """Put back what a call was made of that was ended."""
        now = self.seconds
        self.report.timings.setdefault(call.task, Timing(now, now)).ended = now
        if self.report.trace is not None:
            self._note("cancelled", call.task, now)
        call.flight.coroutine.close()
        self.reactor.crash(call.flight, KeyboardInterrupt())

    def dissolve(self) -> None:
        """Take the molecules apart, so that their memory is free at once and need not be searched for."""
        todo = [one.solution for one in (self, *(() if self.inside is not None else self.nested.below(self)))]
        for solution in todo:
            todo += [part for one in solution if type(one) is tuple for part in one if type(part) is Solution]
        for solution in reversed(todo):
            dissolve(solution)

    @property
    def seconds(self) -> float:
        """How long it goes on."""
        return time.perf_counter() - self.began

    @property
    def is_idle(self) -> bool:
        """Whether nothing more can happen here unless a message or a signal comes."""
        return bool(self.report.ended_by) or (not self.calls.out and not self.reactor.flights)

    @property
    def is_done(self) -> bool:
        """Whether nothing more can happen here, whatever comes: no task waits, and none can be changed."""
        return not self.workflow.alternatives and not self.workflow.is_controlled and not has_waiting(self.solution)

    # --- Calls.

    def plan_calls(self) -> None:
        """Plan the calls that reactions wait for.

        After each thing that happens, as when it is done again: what comes next may call them off, and finds only those
        that are planned.
        """
        if not self.report.ended_by:
            flights, self.reactor.flights = self.reactor.flights, []
            for flight in flights:
                if self.spectator is not None:
                    self.spectator.called(flight)
                self._plan(flight, self._resume(flight, None))

    def _resume(self, flight: Flight, answer: Molecule) -> Request:
        """Let a reaction go on to its next call; raise `StopIteration` with its product if there is none."""
        try:
            request: Request = flight.coroutine.send(answer)
        except StopIteration:
            raise
        except Exception as error:
            raise self.reactor.crash(flight, error) from error
        return request

    def _plan(self, flight: Flight, request: Request) -> None:
        name, report = self._names[request.task], self.report
        call = self._open_call(flight, request, name)
        now = self.seconds
        report.timings.setdefault(name, Timing(now, now))
        self._prepare(call)
        self.calls.plan(call)

    def planned_again(self, call: OpenCall) -> OpenCall:
        """Return what stands for a call that was lost with the agent that was to make it."""
        again = self._open_call(call.flight, call.request, call.task)
        self._prepare(again)
        return again

    def _open_call(self, flight: Flight, request: Request, name: str) -> OpenCall:
        origin = self._original(name) if self._stands_for else name
        return OpenCall(self, flight, request, name, origin, self.services.get(request.service))

    def _prepare(self, call: OpenCall) -> None:
        """Say how a call is made."""
        request, name = call.request, call.task
        task = self._tasks[name]
        values = [value_of(one) for one in request.arguments]
        if self.workflow.resources:
            values = claimed(task, values)
        refusal = self._refusal(call, values)
        if refusal is not None:
            call.is_refused = True
            call.start = partial(self._refuse, call, refusal)
        else:
            positional = len(task.arguments)
            keywords = dict(zip(task.keywords, values[positional:], strict=True)) if task.keywords else {}
            arguments = values[:positional]
            if call.service is not None and call.service.kind == "workflow":
                call.nested = self.nested.called_by(call.service, self.folder)
                call.given, arguments, keywords = (arguments, keywords), [call], {}
            start = self.caller.start if self.inside is None else self._start
            call.start = partial(start, request.service, name, arguments, keywords, call.done)

    def _start(self, *what: Any, **options: Any) -> Handle:
        """Start a call in a sub-workflow: who makes it is known when the call around it has begun."""
        return self.caller.start(*what, **options)

    def tell_made(self, call: OpenCall) -> None:
        """Count a call that is about to be made, and report it to `watch`; a call that is refused only has an end."""
        name, now = call.task, self.seconds
        self.report.timings[name].started = now
        if not call.is_refused and not call.is_made:
            call.is_made = True
            self.report.calls[name] = self.report.calls.get(name, 0) + 1
            is_item = call.request.index is not None and self._tasks[name].each is not None
            items = (self._over[name], self.calls.items[call.label]) if is_item else None
            self._note("started", name, now, items=items)

    def _refusal(self, call: OpenCall, values: list[Any]) -> Failure | None:
        """Say why a call is not made, if it is not."""
        if self._is_void(call):
            return Failure("CANCELLED", "it was cancelled before it was called")
        if Unusable in map(type, values):
            # A plain text: a record cannot hold any other type.
            return Failure("FAILED", str(next(one for one in values if type(one) is Unusable)))
        if call.task in self._replaced:
            # It was set up before the reaction that gives it up had its turn.
            return Failure("CANCELLED", "it was replaced before it was called")
        return None

    @staticmethod
    def _refuse(call: OpenCall, failure: Failure, **_: Any) -> None:
        call.done(None, failure, 1)

    def queue_answer(self, answer: Answer | Again) -> None:
        """Take what has come of a call, from any thread: predicates judge it first, and then it waits for its turn."""
        judges = self._judges.get(answer.call.task)
        if judges is None or isinstance(answer, Again) or answer.failure is not None:
            self.calls.answers.put(answer)
        elif answer.call.changes:
            # Before others change what it has changed: answers come in that order.
            self._judge_first(judges, answer)
        else:
            threading.Thread(target=self._judge_first, args=(judges, answer), daemon=True).start()

    def _judge_first(self, judges: list[str], answer: Answer) -> None:
        answer.call.verdicts = self._judge.ask(judges, answer.value)
        self.calls.answers.put(answer)

    def item_of(self, call: OpenCall, value: Any, failure: Failure | None) -> Item | None:
        """Return of which item a call has failed or was rejected, and what follows; nothing for any other call."""
        request, task = call.request, self._tasks[call.task]
        if request.index is None or task.each is None or call.is_called_off or call.is_refused:
            return None
        kind = "" if failure is None else failure.kind
        then = None
        if task.per_item is not None:
            then = follows(task.per_item, request.route, kind, partial(self._rejects, call.task, value))
        request.follows = then
        if then is None:
            return Item(request.index, self._argument_of(call)) if kind not in {"", "CANCELLED"} else None
        return Item(request.index, self._argument_of(call), then.what, then.service)

    def _rejects(self, name: str, value: Any, fallback: int) -> bool:
        try:
            return self.chooser.rejects(name, fallback, molecule_of(value))
        except Unpassable:
            return False

    def _argument_of(self, call: OpenCall) -> str:
        """Return the arguments of a call that are an item's, as people read them."""
        each = self._tasks[call.task].each
        assert each is not None
        values = [call.request.arguments[at] for at in leaves(each)]
        return ", ".join(shortened_form(value_of(one)) for one in values)[:MAX_TEXT]

    def answer_of_item(self, task: Molecule, what: Follows, index: Molecule) -> Molecule:
        """Return the answer of an item that has none of its own."""
        per_item = self._tasks[self._names[task]].per_item
        assert per_item is not None
        return in_place(per_item, what, index)

    def take_in(self, call: OpenCall, value: Any, failure: Failure | None, attempts: int) -> None:
        """Put the answer of a call in, and react."""
        if call.nested is not None:
            self.nested.end(call)
        self.calls.end(call)
        name, flight, index, report = call.task, call.flight, call.request.index, self.report
        if attempts == 0 and call.is_made:
            # It was cancelled before it began.
            report.calls[name] -= 1
        if call.is_called_off:
            failure = Failure("CANCELLED", "what it was called with was called off")
        now = self.seconds
        timing = report.timings[name]
        timing.ended, timing.attempts = now, attempts
        item, call.item = call.item, None
        if call.reused:
            report.reused[name] = report.reused.get(name, 0) + 1
        if item is not None:
            failure = self._note_item(call, item, failure)
        answer: Molecule = None
        if failure is None:
            try:
                answer = molecule_of(value)
            except Unpassable as error:
                failure = Failure("FAILED", error.message)
        if failure is None:
            molecule: Molecule = (_RES, answer) if index is None else (_GOT, index, answer)
        else:
            text = failure.text[:MAX_TEXT]
            # Nothing that was healed is a fault of its task.
            if item is None or not item.follows:
                self._faults[name] = Failed(name, failure.kind, text, attempts, failure.output)
            if (
                failure.error is not None
                and (item is None or not item.follows)
                and (name in self.errors or len(self.errors) < _MAX_ERRORS)
            ):
                self.errors[name] = failure.error
            molecule = (_ERR if index is None else _FAULT, Symbol(failure.kind), text)
        if item is not None and item.follows:
            said = named_item(item, REJECTED) if failure is None else failure.text
            self._note("healed", name, now, f"{said}; {said_follows(item)}", self._items_over(call, item))
        else:
            said = "" if failure is None else failure.text
            self._note(self._end_of(failure), name, now, said, self._items_over(call, item))
        if name in self._judges:
            self._judge.take_in(name, call.verdicts)
        try:
            request = self._resume(flight, molecule)
        except StopIteration as answered:
            self.reactor.arrive(flight, answered.value)
            self._go_on(flight.solution)
        else:
            # Its product has a further call.
            self._plan(flight, request)

    def _note_item(self, call: OpenCall, item: Item, failure: Failure | None) -> Failure | None:
        """Put an item into the report that failed or was rejected; return its failure, which names it."""
        service = call.request.service if call.request.route else ""
        add_route(self.report.routes, call.task, item, service, REJECTED if failure is None else failure.text)
        return None if failure is None else replace(failure, text=named_item(item, failure.text))

    def tell_cache(self, call: OpenCall, kind: str, text: str) -> None:
        """Report to `watch` that the result of a call is `reused`, or that the cache has none (`missed`), and why."""
        if self.watch is not None:
            self.watch(TaskEvent(kind, call.label, self.seconds, f"{call.key}: {text}", self.within))

    @property
    def tasks(self) -> Mapping[str, Task]:
        """Its tasks, by their names."""
        return self._tasks

    def _items_over(self, call: OpenCall, item: Item | None) -> tuple[int, int] | None:
        """Count an item whose call has ended; return how many are over, of how many there are."""
        if call.request.index is None or self._tasks[call.task].each is None:
            return None
        if item is None or item.follows != "tried":
            self._over[call.task] += 1
        return self._over[call.task], self.calls.items[call.label]

    def _end_of(self, failure: Failure | None) -> str:
        """Name the event by which a call ends."""
        if failure is None:
            return "done"
        return "cancelled" if failure.kind == "CANCELLED" and self.report.trace is not None else "failed"

    def _go_on(self, solution: Solution | None = None) -> None:
        if self.spectator is not None:
            # Signals and messages are put in without a reaction, just before it goes on.
            self.spectator.outside(self.solution)
        self.reactor.go_on(self.solution if solution is None else solution)

    def _note(self, kind: str, task: str, at: float, text: str = "", items: tuple[int, int] | None = None) -> None:
        """Report what has happened to a task to `watch`, and keep it for the report of a controlled workflow."""
        trace, watch = self.report.trace, self.watch
        if trace is not None:
            trace.append(TaskEvent(kind, task, at, text, items=items))
        if watch is not None:
            watch(TaskEvent(kind, f"{self.within}/{task}" if self.within else task, at, text, self.within, items))

    # --- The past.

    def _repeat(self, event: AnyEvent) -> None:
        """Do again what was done."""
        if self.spectator is not None:
            self.spectator.at = getattr(event, "at", self.spectator.at)
        if isinstance(event, MessagesReceived) and self.mailbox is not None:
            self._hear(event.position)
            # The journal has them as well, behind this.
            self.mailbox.signals.clear()
        elif isinstance(event, SignalReceived):
            self.signals.came(event.name)
            self._send_signal(event.name, codec.decode(event.value), event.id)
        elif isinstance(event, WaitEnded):
            if event.within:
                self.nested.repeat(event.within, partial(Execution.let_fail, event=event))
            else:
                self.let_fail(event)
        elif isinstance(event, CallStarted):
            self.nested.open_again(event)
        elif isinstance(event, CallAnswered | CallFailed):
            if event.within:
                self.nested.repeat(event.within, partial(Execution.repeat_answer, event=event))
            else:
                self.repeat_answer(event)
        else:
            raise RecordProblem("R403", f"an event `{type(event).__name__}` where none is expected")

    def _tell_starts(self) -> None:
        """Tell of the calls of the past that were made before its next input."""
        fed, starts = self._inputs - len(self.journal.past), self.journal.starts
        while starts and starts[0][0] <= fed:
            call = self.calls.planned(starts.popleft()[1])
            if call is not None:
                call.instance.tell_made(call)

    def repeat_answer(self, event: CallAnswered | CallFailed) -> None:
        """Take an answer that was taken before."""
        call = self.calls.pop_planned(event.call)
        if call is None:
            raise RecordProblem(
                "R404",
                f"the record does not fit the workflow `{self.workflow.name}`: it has an answer of `{event.call}`, "
                "which is not called there",
                hint="resume it with the workflow as it was, or run it anew",
            )
        if isinstance(event, CallFailed):
            failure = Failure(event.kind, event.text, event.output)
            call.item = self.item_of(call, None, failure)
            if self.root.on_failure is not None:
                self.root.on_failure(call, event)
            self.take_in(call, None, failure, event.attempts)
        else:
            value = self._kept_value(event)
            call.item = self.item_of(call, value, None)
            self.take_in(call, value, None, event.attempts)

    def _kept_value(self, event: CallAnswered) -> Any:
        try:
            return self.journal.value_of(event)
        except ValueError as error:
            raise RecordProblem("R403", f"the answer of `{event.call}` does not read: {error}") from None

    def _hear(self, position: int) -> None:
        """Take messages up to a position."""
        assert self.mailbox is not None
        for molecule in self.mailbox.take(position):
            if molecule[0] is _SIGNAL:
                # A task that has its token by now waits for it; a signal that nobody waits for may be lost.
                self._go_on()
            self._receive(molecule)
        self._go_on()

    def _receive(self, molecule: Molecule) -> None:
        assert self.mailbox is not None
        kind = molecule[0]
        for part in molecule[1:-1] if kind is _PASS or kind is _SIGNAL else molecule[1:]:
            if part in self._names and part not in self._away and not self.mailbox.has(part):
                self._away.add(part)
                self.solution.add((_AWAY, part))
        if kind is _OFF:
            self.call_off(molecule[1], molecule[3])
        elif kind is _REPLACE or kind is _GIVE_UP:
            self._give_up(self._names[molecule[1]])
        self.solution.add(molecule)

    def _send_signal(self, name: str, value: Any, id: str) -> None:  # noqa: A002 - what its sender calls it
        if id:
            self._heard.add(id)
        self._note("signal", name, self.seconds)
        # Each shard hears of it, and has the listeners that are there.
        mailbox = self.mailbox
        found = [one for one in self.signals.molecules(name, value) if mailbox is None or mailbox.has(one[1])]
        self.solution.extend(found)
        self._go_on()
        self.nested.hear(name, value, is_heard=bool(found))

    # --- What rules ask.

    def tell(self, task: Molecule, molecule: Molecule) -> None:
        """Send something to a task of another shard."""
        assert self.mailbox is not None
        past = self.journal.past
        # It was sent before the next record was written; only what the last record led to may not have been sent.
        self.mailbox.send(task, molecule, was_sent=bool(past) and len(past) >= self.journal.last_inputs)

    def note_adaptation(self, alternative: str, task: Molecule, kind: Molecule, what: Molecule) -> None:
        """Note that an alternative applies, and end the calls of the tasks it replaces."""
        now = self.seconds
        name = self._names[task]
        one = self._alternatives[alternative]
        adaptation = {
            "alternative": alternative,
            "because": name,
            "cause": cause(kind, what, self._judge.troubles),
            "replaced": list(one.replaced),
            "by": [*dict.fromkeys(one.exits.values())],
            "seconds": now,
        }
        self.report.adaptations.append(adaptation)
        if self.within:
            self.root.report.adaptations.append({**adaptation, "within": self.within})
        if alternative not in self._forms.swapped:
            self._replaced.update(one.replaced)
        if one.replaced != (name,) or self._tasks[name].each is not None:
            # Otherwise its only call has just ended, and nothing is to be looked for.
            for replaced in one.replaced:
                self._cancel_calls(replaced)
        self.journal.adapted(adapted_event(adaptation, at=time.time(), within=self.within))
        self._note("adapted", name, now, alternative)

    def _give_up(self, name: str) -> None:
        """End the calls of a task that an alternative elsewhere replaces."""
        self._replaced.add(name)
        self._cancel_calls(name)

    def _cancel_calls(self, name: str) -> None:
        for call in self.calls.of(self.within, self._original(name)):
            if call.task == name:
                call.cancel()

    def name_of(self, task: Molecule) -> str:
        """Give the name of the task that a molecule stands for."""
        return self._names[task]

    def call_off(self, task: Molecule, number: Molecule) -> None:
        """End the calls of a task whose arguments no longer hold; of one with a gate those that are older than that."""
        name = self._names[task]
        if name in self._forms.gates:
            self._void[name] = number
        self._call_off(name)

    def call_off_parts(self, task: Molecule, case: Molecule) -> None:
        """End the calls of one case of a task that has several instances."""
        name = self._names[task]
        self._void_parts.add((name, case))
        self._call_off(name)

    def _call_off(self, name: str) -> None:
        for call in self.calls.of(self.within, name):
            if not call.is_called_off and (name not in self._forms.gates or self._is_void(call)):
                call.is_called_off = True
                call.cancel()

    def _original(self, name: str) -> str:
        """Give the task in whose instance a task is called."""
        while name in self._stands_for:
            name = self._stands_for[name]
        return name

    def _is_void(self, call: OpenCall) -> bool:
        """Tell whether the instance that makes a call is cancelled."""
        name = call.origin
        if name not in self._forms.gates or (name not in self._void and not self._void_parts):
            return False
        parts = {part[0]: part[1] for part in call.flight.solution if type(part) is tuple}
        return parts[_FROM] < self._void.get(name, 0) or (name, parts.get(_PART)) in self._void_parts

    def end(self, task: Molecule, how: Molecule) -> None:
        """End the case: no further call is made, and those that are out are ended."""
        self.report.ended_by = self._names[task]
        self.report.is_cancelled = how is Symbol("CANCELLED")

    def rejecting(self, task: Molecule, judges: Molecule, result: Molecule) -> list[str]:
        """Give the alternatives that reject a task's result."""
        return self._judge.rejecting(self._names[task], judges, result)

    # --- The end.

    def finish(self) -> Report:
        """Return the report of a whole workflow, as it stands."""
        report = self.report
        report.reactions = self.reactor.reactions
        report.seconds = self.seconds
        report.routes.sort(key=by_item)
        if self.inside is None:
            report.inner = self.nested.finished()
        found = self._read(self._tasks, is_whole=True)
        if not report.ended_by and report.error is None:
            report.stuck = self._stuck()
        return concluded(report, self.workflow, self._forms, found.values, self._replaced, self._faults)

    def _read(self, tasks: Iterable[str], *, is_whole: bool = False) -> Outcome:
        """Read how tasks are, and put their states into the report.

        Someone may have left tasks out of a whole workflow.
        """
        report, forms = self.report, self._forms
        found = Outcome(self._names, self._faults, report.trace or (), is_ended=bool(report.ended_by))
        found.read(self.solution, forms.gates, unjudged=self._judge.troubles, unrouted=self.chooser.troubles)
        report.states = {}
        for name in tasks:
            if name in forms.gates or name in self._stands_for:
                report.states[name] = found.gate_state(name, self._tasks[name], self._void)
            elif name in found.states or not is_whole:
                report.states[name] = found.state(name)
        return found

    def _stuck(self) -> list[str]:
        """Say who waits, in a workflow in which not every task must run."""
        relations = self._forms.relations
        return [] if relations is None else waiting_in(self.solution, self.workflow, relations.paths.sources)

    def closed(self, blobs: Blobs, tasks: Iterable[str], wanted: Iterable[str]) -> ShardClosed:
        """Return how the `tasks` of this shard are; results of those that are `wanted` may be the workflow's."""
        tasks = list(tasks)
        if len(tasks) == len(self._tasks):
            return closed_run(blobs, self.finish(), self.journal.adaptations)
        report, found = self.report, self._read(tasks)
        report.reactions = self.reactor.reactions
        report.stuck = self._stuck()
        values = {name: found.values[name] for name in wanted if name in found.values}
        noted, faults = self.journal.adaptations, self._faults.values()
        return closed_shard(blobs, report, noted, values=values, replaced=self._replaced, faults=faults)


__all__ = ["Execution", "Spectator"]
