"""Runs a workflow in this process: its molecules react here, its services are called in threads or processes.

The loop is short: react until nothing is possible without an answer, hand every new call to the `Caller`, wait for an
answer, put it in, react again. A call is a reaction in flight, so its task is not inert and no rule sees it half done.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from functools import partial
from queue import Empty
from typing import TYPE_CHECKING, Any

from solvent.engine.batches import dissolve
from solvent.engine.reaction import Stopped
from solvent.engine.reactor import Reactor
from solvent.errors import Interrupted, LimitReached, ReactionFailed
from solvent.hocl.process_settings import deep_stack, few_collections
from solvent.lang.molecule import Molecule, Symbol
from solvent.lang.solution import Solution
from solvent.runs.invoking import HOST, Call, NotMade, current
from solvent.runs.judging import cause, judge_of
from solvent.runs.kinds import makers_at
from solvent.runs.lean import MAX_AWAKE, Lean
from solvent.runs.mailbox import Mailbox
from solvent.runs.report import MAX_TEXT, Event, Failed, Report, Timing, concluded, held_text
from solvent.runs.resources import claimed, lender_of, while_lending
from solvent.services import Caller, Failure
from solvent.workflows.formats.python.import_guard import refuse_run_while_importing
from solvent.workflows.model import Task
from solvent.workflows.rule_functions import Unpassable, Unusable, molecule_of, value_of
from solvent.workflows.translate import Concrete, concretise, task_symbol, workflow_functions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Executor
    from pathlib import Path

    from solvent.engine.reaction import Flight, Reaction
    from solvent.services import Handle, Processes
    from solvent.services.observer import CallObserver
    from solvent.workflows.model import Workflow

_RES, _ERR, _GOT, _FAULT = Symbol("RES"), Symbol("ERR"), Symbol("GOT"), Symbol("FAULT")
_STATES = {Symbol("OPEN"): "waiting", Symbol("GONE"): "replaced"}
LOOK_EVERY = 0.1
_MAX_NAMED = 5


FUNCTIONS = workflow_functions(**HOST)
"""What the rules of a concrete workflow call; only a `WorkflowRun` can run them."""


class WorkflowRun:
    """One run of a workflow."""

    def __init__(
        self,
        workflow: Workflow,
        inputs: Mapping[str, Any] | None = None,
        *,
        jobs: int | None = None,
        processes: bool | Processes = False,
        executor: Executor | None = None,
        folder: Path | None = None,
        solution: Solution | None = None,
        concrete: Concrete | None = None,
        depth: int = 0,
        max_seconds: float | None = None,
        watch: Callable[[Event], None] | None = None,
        observe: Callable[[Reaction], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
        observer: CallObserver | None = None,
    ) -> None:
        self.workflow = workflow
        if solution is not None:
            # A concrete workflow that was printed and read again comes along as its solution.
            symbols = {task.name: task_symbol(task.name) for task in workflow.tasks}
            concrete = Concrete(workflow, solution, symbols, {symbol: name for name, symbol in symbols.items()})
        self.concrete = concrete or concretise(workflow, inputs, functions=FUNCTIONS, folder=folder)
        self.solution = self.concrete.solution
        is_plain = solution is None and not workflow.alternatives and not workflow.is_controlled
        self._lean = Lean(self.solution, self.concrete.waiting) if is_plain else None
        self.reactor = Reactor(observe=observe, should_stop=self._must_stop)
        self.report = Report(workflow.name)
        self._lender = lender_of(workflow, inputs, folder)
        callers = partial(Caller, jobs=jobs, processes=processes, executor=executor, folder=folder, observer=observer)
        self._caller = partial(callers, workflow.services, makers=makers_at(depth), lender=self._lender)
        self._watch = watch
        self._should_stop = should_stop
        self._max_seconds = max_seconds
        self._names = self.concrete.names
        self._tasks = workflow.by_name
        if solution is not None:
            self._add_unknown_tasks(solution)
        self._alternatives = {one.name: one for one in workflow.alternatives}
        self._judge = judge_of(workflow, folder)
        # The predicates to ask about a task's result before it lands: they may take their time.
        asked = [one for one in workflow.alternatives if one.predicate is not None]
        self._judges = {
            task: [one.name for one in asked if task in one.watched]
            for one in asked
            for task in one.watched
            if task in self._tasks and self._tasks[task].each is None
        }
        # Calls whose arguments were called off while they were out.
        self._called_off: set[Flight] = set()
        #: Of calls: the flight, the call, the value, the failure, the attempts; where it is recorded, also retries.
        self._answers: Mailbox[Any] = Mailbox()
        self._out: dict[Flight, tuple[str, Handle]] = {}
        self._began = 0.0
        self._faults: dict[str, Failed] = {}
        self._replaced: set[str] = set()

    def wake(self, task: Molecule) -> None:
        """Let a task in that something is sent to."""
        if self._lean is not None:
            self._lean.wake(task)

    def _add_unknown_tasks(self, solution: Solution) -> None:
        """Learn the tasks that someone has written into a concrete workflow by hand."""
        self._names, self._tasks = dict(self._names), dict(self._tasks)
        for molecule in solution:
            if type(molecule) is tuple and type(molecule[1]) is Solution and molecule[0] not in self._names:
                self._names[molecule[0]] = name = str(molecule[0])
                self._tasks[name] = Task(name, "")

    def run(self) -> Report:
        """Run until nothing more can happen, and report; what stopped it before is the report's `error`."""
        refuse_run_while_importing()
        self._began = time.perf_counter()
        with few_collections():
            with while_lending(self._lender, self.report), self._caller() as caller, self._here():
                try:
                    self.reactor.run(self.solution)
                    self._go_on(caller)
                except Stopped:
                    self.report.error = self._stopped()
                except ReactionFailed as error:
                    self.report.error = error
                finally:
                    caller.prepare_close()
                    self._bring_back()
            return self._finish()

    def dissolve(self) -> None:
        """Take the molecules apart, so that their memory is free at once and need not be searched for."""
        todo = [self.solution]
        for solution in todo:
            todo += [part for one in solution if type(one) is tuple for part in one if type(part) is Solution]
        for solution in reversed(todo):
            dissolve(solution)

    @contextmanager
    def _here(self) -> Iterator[None]:
        before = getattr(current, "run", None)
        current.run = self
        try:
            with deep_stack():
                yield
        finally:
            current.run = before

    # --- The loop.

    def _go_on(self, caller: Caller) -> None:
        answers, out = self._answers, self._out
        while True:
            flights, self.reactor.flights = self.reactor.flights, []
            for flight in flights:
                self._take_off(caller, flight)
            # Before what is done again, too: what was let in has been called, and may have been answered.
            if self._lets_more_in() or self._catch_up(caller):
                continue
            if not out:
                return
            if self._must_stop():
                raise Stopped
            try:
                self._take(answers.get(timeout=LOOK_EVERY))
            except Empty:
                continue
            while not self.reactor.flights and not answers.empty():
                self._take(answers.get())

    def _take(self, answer: Any) -> None:
        """Take what has come of a call."""
        self._land(*answer)

    def _lets_more_in(self) -> bool:
        """Let in further tasks if nothing is out: those that are in may wait for them; tell whether there were any."""
        if self._out or self._lean is None or not self._lean.let_more_in(MAX_AWAKE):
            return False
        self.reactor.go_on(self.solution)
        return True

    def _must_stop(self) -> bool:
        if self._should_stop is not None and self._should_stop():
            return True
        return self._max_seconds is not None and time.perf_counter() - self._began > self._max_seconds

    def _stopped(self) -> LimitReached:
        if self._should_stop is not None and self._should_stop():
            return Interrupted("H504", "interrupted before the workflow was done")
        limit = f"time limit of {self._max_seconds:g} s reached"
        running = sorted({name for name, _ in self._out.values()})
        if not running:
            return LimitReached("H502", f"{limit} before the workflow was done", hint="allow more: --max-seconds")
        named = ", ".join(f"`{name}`" for name in running[:_MAX_NAMED])
        more = f" and {len(running) - _MAX_NAMED} more" if len(running) > _MAX_NAMED else ""
        hint = "allow more: --max-seconds"
        most = max(running, key=lambda name: self.report.calls.get(name, 0))
        if self.report.calls.get(most, 0) > 1 and self._tasks[most].each is None:
            hint += f"; `{most}` was called {self.report.calls[most]:,} times: check the condition that ends its loop"
        return LimitReached("H502", f"{limit} while {named}{more} ran", hint=hint)

    def _take_off(self, caller: Caller, flight: Flight) -> None:
        call: Call = flight.coroutine.send(None)
        name = self._names[call.task]
        task = self._tasks[name]
        values = claimed(task, [value_of(one) for one in call.arguments])
        refusal = self._refusal(flight, call, values)
        if refusal is not None:
            self._fail_at_once(flight, call, refusal)
            return
        positional = len(task.arguments)
        keywords = dict(zip(task.keywords, values[positional:], strict=True)) if task.keywords else {}
        calls = self.report.calls
        calls[name] = calls.get(name, 0) + 1
        now = time.perf_counter() - self._began
        self.report.timings.setdefault(name, Timing(now, now)).started = now
        self._note(Event("started", name, now))
        judges = self._judges.get(name)

        def done(value: Any, failure: Failure | None, attempts: int) -> None:
            if judges is None or failure is not None:
                self._answers.put((flight, call, value, failure, attempts))
            else:
                answer = (flight, call, value, failure, attempts)
                threading.Thread(target=self._judge_first, args=(name, judges, answer), daemon=True).start()

        self._begin(flight, call, name, partial(caller.start, call.service, name, values[:positional], keywords, done))

    def _begin(self, flight: Flight, _call: Call, name: str, start: Callable[..., Handle]) -> None:
        """Make a call, at once; who knows which call it is gives that as `identity`."""
        self._out[flight] = name, start()

    def _catch_up(self, _caller: Caller) -> bool:
        """Do again what was done before; tell whether there was anything. Here nothing is kept from before."""
        return False

    def _refusal(self, _flight: Flight, call: Call, values: list[Any]) -> Failure | None:
        """Say why a call is not made, if it is not."""
        if Unusable in map(type, values):
            # A plain text: a record cannot hold any other type.
            return Failure("FAILED", str(next(one for one in values if type(one) is Unusable)))
        if self._names[call.task] in self._replaced:
            # It was set up before the reaction that gives it up had its turn.
            return Failure("CANCELLED", "it was replaced before it was called")
        return None

    def _end_of(self, failure: Failure | None) -> str:
        """Name the event by which a call ends."""
        return "done" if failure is None else "failed"

    def _note(self, event: Event) -> None:
        """Tell whoever watches of an event."""
        if self._watch is not None:
            self._watch(event)

    def _judge_first(self, name: str, judges: list[str], answer: tuple[Flight, Call, Any, Failure | None, int]) -> None:
        """Ask the predicates about a result, in a thread of its own, and let it land."""
        self._judge.ask(name, judges, answer[2])
        self._answers.put(answer)

    def _fail_at_once(self, flight: Flight, call: Call, failure: Failure) -> None:
        """Let a call fail that is not made: it has no arguments, or nobody wants its result."""
        name = self._names[call.task]
        now = time.perf_counter() - self._began
        self.report.timings.setdefault(name, Timing(now, now))

        def answer(**_: Any) -> Handle:
            self._answers.put((flight, call, None, failure, 1))
            return NotMade()

        self._begin(flight, call, name, answer)

    def _land(self, flight: Flight, call: Call, value: Any, failure: Failure | None, attempts: int) -> None:
        self._out.pop(flight, None)
        name = self._names[call.task]
        if attempts == 0 and self.report.calls.get(name):
            # It was cancelled before it began.
            self.report.calls[name] -= 1
        if flight in self._called_off:
            self._called_off.discard(flight)
            failure = Failure("CANCELLED", "what it was called with was called off")
        now = time.perf_counter() - self._began
        timing = self.report.timings[name]
        timing.ended, timing.attempts = now, attempts
        answer: Molecule = None
        if failure is None:
            try:
                answer = molecule_of(value)
            except Unpassable as error:
                failure = Failure("FAILED", error.message)
        if failure is None:
            molecule: Molecule = (_RES, answer) if call.index is None else (_GOT, call.index, answer)
        else:
            text = failure.text[:MAX_TEXT]
            self._faults[name] = Failed(name, failure.kind, text, attempts, failure.output)
            molecule = (_ERR if call.index is None else _FAULT, Symbol(failure.kind), text)
        self._note(Event(self._end_of(failure), name, now, "" if failure is None else failure.text))
        try:
            flight.coroutine.send(molecule)
        except StopIteration as answered:
            self.reactor.land(flight, answered.value)
        if self._lean is not None and failure is None and call.index is None and self._lean.finish(flight.solution):
            self.reactor.go_on(self.solution)

    def _bring_back(self) -> None:
        """Cancel what is still out, and put its reactants back, so that nothing is lost."""
        now = time.perf_counter() - self._began
        for name, handle in reversed(self._out.values()):
            handle.cancel()
            self.report.timings.setdefault(name, Timing(now, now)).ended = now
        for flight in (*self._out, *self.reactor.flights):
            flight.coroutine.close()
            self.reactor.crash(flight, KeyboardInterrupt())
        self._out.clear()
        self.reactor.flights = []
        if self._lean is not None:
            self._lean.wake_all()

    # --- What rules ask.

    def note_adaptation(self, alternative: str, task: Molecule, kind: Molecule, what: Molecule) -> None:
        """Note that an alternative applies, and end the calls of the tasks it replaces."""
        now = time.perf_counter() - self._began
        name = self._names[task]
        one = self._alternatives[alternative]
        self.report.adaptations.append(
            {
                "alternative": alternative,
                "because": name,
                "cause": cause(kind, what, self._judge.troubles),
                "replaced": list(one.replaced),
                "by": [*dict.fromkeys(one.exits.values())],
                "seconds": now,
            }
        )
        self._replaced.update(one.replaced)
        if one.replaced != (name,) or self._tasks[name].each is not None:
            # Otherwise its only call has just ended, and nothing is to be looked for.
            for called, handle in list(self._out.values()):
                if called in one.replaced:
                    handle.cancel()
        self._note(Event("adapted", name, now, alternative))

    def name_of(self, task: Molecule) -> str:
        """Give the name of the task that a molecule stands for."""
        return self._names[task]

    def call_off(self, task: Molecule, _number: Molecule) -> None:
        """End the calls of a task that are out with arguments that no longer hold."""
        name = self._names[task]
        for flight, (called, handle) in list(self._out.items()):
            if called == name:
                self._called_off.add(flight)
                handle.cancel()

    def rejecting(self, task: Molecule, judges: Molecule, result: Molecule) -> list[str]:
        """Give the alternatives that reject a task's result."""
        return self._judge.rejecting(self._names[task], judges, result)

    # --- The end.

    def _finish(self) -> Report:
        report = self.report
        report.reactions = self.reactor.reactions
        report.seconds = time.perf_counter() - self._began
        values: dict[str, Any] = {}
        self._read_all(values)
        return concluded(report, self.workflow, values, self._replaced, self._faults)

    def _read_all(self, values: dict[str, Any]) -> None:
        """Note how all tasks are, and what results they have."""
        for molecule in self.solution:
            if type(molecule) is tuple and type(molecule[1]) is Solution and molecule[0] in self._names:
                self._read(self._names[molecule[0]], molecule[1], values)

    def _read(self, name: str, inside: Solution, values: dict[str, Any]) -> None:
        state = "waiting"
        for part in inside:
            kind = type(part)
            if kind is tuple and part[0] is _RES:
                values[name] = value_of(part[1])
                state = "done"
            elif kind is tuple and part[0] is _ERR:
                state = "failed"
                failed = self._faults.setdefault(name, Failed(name, "", str(part[2])))
                failed.kind = "CONDITION" if type(part[1]) is tuple else part[1].name
                if type(part[1]) is tuple:
                    failed.cause = cause(part[1], part[2], self._judge.troubles)
                failed.molecules = held_text(inside)
            elif kind is Symbol and part in _STATES:
                state = _STATES[part]
        self.report.states[name] = state


__all__ = ["FUNCTIONS", "LOOK_EVERY", "MAX_TEXT", "WorkflowRun"]
