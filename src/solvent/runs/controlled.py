"""Runs a workflow whose tasks join, split, repeat, wait and cancel by patterns.

Beside a plain run: tasks may be called several times, so the report has a trace; a case may be ended or cancelled while
calls are out; signals come from outside; and a run in which something still waits when nothing more can happen is
stuck, and says who waits for what.
"""

from __future__ import annotations

import time
from queue import Empty
from typing import TYPE_CHECKING, Any

from solvent.engine.reaction import Stopped
from solvent.errors import Misuse, nearest
from solvent.lang.molecule import Molecule, Symbol
from solvent.lang.solution import Solution
from solvent.runs.choosing import Chooser
from solvent.runs.report import Event, Failed, held_text
from solvent.runs.stuck import waiting_in
from solvent.runs.workflow import LOOK_EVERY, WorkflowRun
from solvent.services import Failure
from solvent.workflows.rule_functions import Unpassable, molecule_of, value_of
from solvent.workflows.translate import task_symbol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from solvent.engine.reaction import Flight
    from solvent.runs.invoking import Call
    from solvent.runs.report import Report
    from solvent.services import Caller
    from solvent.workflows.model import Workflow

_GATE, _LAST, _ERR = Symbol("GATE"), Symbol("LAST"), Symbol("ERR")
_FROM, _PART, _RUNS, _SIGNAL, _ARMED, _ARG = map(Symbol, ("FROM", "PART", "RUNS", "SIGNAL", "ARMED", "ARG"))

Signal = tuple[float, str, Any]
"""When it comes, in seconds from the start of the run; its name; what comes with it."""


class ControlledRun(WorkflowRun):
    """One run of a controlled workflow."""

    def __init__(
        self,
        workflow: Workflow,
        inputs: Mapping[str, Any] | None = None,
        *,
        signals: Sequence[Signal] = (),
        **options: Any,
    ) -> None:
        super().__init__(workflow, inputs, **options)
        self.chooser = Chooser(workflow, options.get("folder"))
        self._trace: list[Event] = []
        self.report.trace = self._trace
        self._listeners: dict[str, list[str]] = {}
        for task in workflow.tasks:
            if task.control is not None and task.control.signal is not None:
                self._listeners.setdefault(task.control.signal, []).append(task.name)
        for _, name, value in signals:
            self._check_signal(name)
            try:
                molecule_of(value)
            except Unpassable as error:
                raise Misuse("H316", f"the signal `{name}` cannot be sent: {error.message}") from None
        self._signals = sorted(signals, key=lambda signal: signal[0])
        self._stood_in_for: set[str] = set()
        # Of a task that stands in for another, the one whose instance it is called in.
        self._stands_for = {new: old for one in workflow.alternatives for old, new in one.exits.items()}
        # The calls that are out, by the task in whose instance they are made.
        self._calls: dict[str, dict[Flight, None]] = {}
        # How far each task is cancelled, and which of its cases: what is older is not called any more.
        self._void: dict[str, int] = {}
        self._void_parts: set[tuple[str, int]] = set()

    def _check_signal(self, name: str) -> None:
        if name not in self._listeners:
            known = ", ".join(self._listeners)
            raise Misuse(
                "H316",
                f"no task of `{self.workflow.name}` waits for the signal `{name}`",
                hint=nearest(name, self._listeners) or (f"signals: {known}" if known else "it has no signals"),
            )

    # --- The loop.

    def _go_on(self, caller: Caller) -> None:
        while not self.report.ended_by:
            flights, self.reactor.flights = self.reactor.flights, []
            for flight in flights:
                self._take_off(caller, flight)
            if self._catch_up(caller):
                continue
            if not self._out and not (self._signals and self._is_listening()):
                return
            if self._must_stop():
                raise Stopped
            self._wait()

    def _is_listening(self) -> bool:
        """Tell whether a task can start as soon as a signal comes: if none can, nothing will ever happen again."""
        waiting = {task_symbol(task) for _, name, _value in self._signals for task in self._listeners[name]}
        return any(
            type(one) is tuple
            and one[0] is _GATE
            and one[1] in waiting
            and any(part[0] is _ARMED for part in _tuples(one[2]))
            for one in self.solution
        )

    def _bring_back(self) -> None:
        for name, _ in self._out.values():
            self._note(Event("cancelled", name, time.perf_counter() - self._began))
        super()._bring_back()

    def _wait(self) -> None:
        """Take the answers that have come, or wait a moment for one, or for the next signal."""
        patience = LOOK_EVERY
        if self._signals:
            due, name, value = self._signals[0]
            rest = due - (time.perf_counter() - self._began)
            if rest <= 0:
                self._signals.pop(0)
                self._send(name, value)
                return
            patience = min(rest, patience)
        try:
            self._take(self._answers.get(timeout=patience))
        except Empty:
            return
        while not (self.report.ended_by or self.reactor.flights or self._answers.empty()):
            self._take(self._answers.get())

    def _send(self, name: str, value: Any) -> None:
        self._note(Event("signal", name, time.perf_counter() - self._began))
        for task in self._listeners[name]:
            self.solution.add((_SIGNAL, task_symbol(task), molecule_of(value)))
        self.reactor.go_on(self.solution)

    def _note(self, event: Event) -> None:
        self._trace.append(event)
        super()._note(event)

    def _end_of(self, failure: Failure | None) -> str:
        return "cancelled" if failure is not None and failure.kind == "CANCELLED" else super()._end_of(failure)

    def _take_off(self, caller: Caller, flight: Flight) -> None:
        super()._take_off(caller, flight)
        self._calls.setdefault(self._original(self._out[flight][0]), {})[flight] = None

    def _land(self, flight: Flight, call: Call, value: Any, failure: Failure | None, attempts: int) -> None:
        self._calls[self._original(self._names[call.task])].pop(flight, None)
        super()._land(flight, call, value, failure, attempts)

    def _refusal(self, flight: Flight, call: Call, values: list[Any]) -> Failure | None:
        if self._is_void(flight.solution, self._original(self._names[call.task])):
            return Failure("CANCELLED", "it was cancelled before it was called")
        return super()._refusal(flight, call, values)

    def _original(self, name: str) -> str:
        """Give the task in whose instance a task is called."""
        while name in self._stands_for:
            name = self._stands_for[name]
        return name

    def _is_void(self, instance: Solution, name: str) -> bool:
        """Tell whether the instance that makes a call is cancelled."""
        if name not in self._void and not self._void_parts:
            return False
        parts = {part[0]: part[1] for part in instance if type(part) is tuple}
        return parts[_FROM] < self._void.get(name, 0) or (name, parts.get(_PART)) in self._void_parts

    # --- What rules ask.

    def note_adaptation(self, alternative: str, task: Molecule, kind: Molecule, what: Molecule) -> None:
        """Note that an alternative applies, for this instance of its task."""
        super().note_adaptation(alternative, task, kind, what)
        self._stood_in_for.add(self._names[task])
        self._replaced.clear()

    def call_off(self, task: Molecule, number: Molecule) -> None:
        """End the calls of a task that is cancelled, and those that are about to be made."""
        name = self._names[task]
        self._void[name] = number
        self._cancel_calls(name)

    def call_off_parts(self, task: Molecule, case: Molecule) -> None:
        """End the calls of one case of a task that has several instances."""
        name = self._names[task]
        self._void_parts.add((name, case))
        self._cancel_calls(name)

    def _cancel_calls(self, name: str) -> None:
        # The newest first: those that still wait for a worker must not get one that an older call sets free.
        for flight in reversed(list(self._calls.get(name, ()))):
            if flight not in self._called_off and self._is_void(flight.solution, name):
                self._called_off.add(flight)
                self._out[flight][1].cancel()

    def end(self, task: Molecule, how: Molecule) -> None:
        """End the case: no further call is made, and those that are out are ended."""
        self.report.ended_by = self._names[task]
        self.report.is_cancelled = how is Symbol("CANCELLED")

    # --- The end.

    def _finish(self) -> Report:
        report = self.report
        report.reactions = self.reactor.reactions
        report.seconds = time.perf_counter() - self._began
        runs: dict[str, int] = {}
        values: dict[str, tuple[int, Any]] = {}
        failed: set[str] = set()
        for molecule in self.solution:
            if type(molecule) is not tuple:
                continue
            if molecule[0] is _GATE:
                runs[self._names[molecule[1]]] = next(part[1] for part in _tuples(molecule[2]) if part[0] is _RUNS)
            elif molecule[0] is _LAST:
                self._keep(values, self._names[molecule[1]], molecule[2], molecule[3])
            elif type(molecule[1]) is Solution and molecule[0] in self._names:
                self._read_instance(self._names[molecule[0]], molecule[1], values, failed)
        last = {event.task: event.kind for event in self._trace if event.kind in ("done", "failed", "cancelled")}
        for name in self._tasks:
            if name in failed:
                report.states[name] = "failed"
            elif name in self._stood_in_for and last.get(name) == "failed":
                report.states[name] = "replaced"
            elif name in values:
                report.states[name] = "done"
            elif last.get(name) == "done":
                # It stood in for another, which has the result.
                report.states[name] = "done"
            elif runs.get(name) and name not in last and self._is_spread(name):
                # It was to be called for each of none.
                report.states[name] = "done"
            else:
                report.states[name] = "cancelled" if runs.get(name) or name in last else "unused"
        for name in self.workflow.outcomes:
            if name in values:
                report.results[name] = values[name][1]
        report.failures += [self._faults[name] for name in self._tasks if name in failed]
        if not report.ended_by and report.error is None and not failed:
            report.stuck = waiting_in(self.solution, self.workflow)
        return report

    def _is_spread(self, name: str) -> bool:
        control = self._tasks[name].control
        return control is not None and control.many is not None and name not in self._void

    @staticmethod
    def _keep(values: dict[str, tuple[int, Any]], name: str, number: int, result: Molecule) -> None:
        """Keep the result of a task's last run."""
        if name not in values or values[name][0] <= number:
            values[name] = number, value_of(result)

    def _read_instance(self, name: str, inside: Solution, values: dict[str, tuple[int, Any]], failed: set[str]) -> None:
        parts = {part[0]: part for part in inside if type(part) is tuple}
        if _ERR in parts:
            fault = parts[_ERR]
            if fault[1] is Symbol("CANCELLED") and self.report.ended_by:
                return
            # Where a stand-in has failed too, that is the one to tell of.
            name = self._names[parts[_ARG][1]] if _ARG in parts else name
            failed.add(name)
            found = self._faults.setdefault(name, Failed(name, "", str(fault[2])))
            found.kind = "CONDITION" if type(fault[1]) is tuple else fault[1].name
            if fault[1] is Symbol("UNROUTED"):
                trouble = self.chooser.troubles.get(name)
                found.cause = str(fault[2]) + (f": {trouble}" if trouble else "")
            found.molecules = held_text(inside)
        elif Symbol("RES") in parts:
            self._keep(values, name, parts[Symbol("RUN")][1], parts[Symbol("RES")][1])


def _tuples(solution: Solution) -> Iterator[Molecule]:
    return (part for part in solution if type(part) is tuple)


__all__ = ["ControlledRun", "Signal"]
