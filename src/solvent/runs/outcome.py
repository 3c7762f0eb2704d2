"""How the tasks of a workflow are, read out of its solution: their states, their results, and what failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.engine.index import Store
from solvent.lang.molecule import Symbol
from solvent.lang.solution import Solution
from solvent.runs.conditions import cause
from solvent.runs.report import Failed, held_text
from solvent.workflows.forms import task_of
from solvent.workflows.rule_functions import value_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from solvent.lang.molecule import Molecule
    from solvent.runs.report import TaskEvent
    from solvent.workflows.model import Task

_RES, _ERR, _ARG, _RUN, _RUNS, _GATE, _LAST, _CANCELLED = map(
    Symbol, ("RES", "ERR", "ARG", "RUN", "RUNS", "GATE", "LAST", "CANCELLED")
)
_WAIT, _PAR = Symbol("WAIT"), Symbol("PAR")
_ENDS = ("done", "failed", "cancelled", "adapted")
_STATES = {Symbol("OPEN"): "waiting", Symbol("GONE"): "replaced"}


class Outcome:
    """How tasks are; `faults` knows how calls have failed, and learns what else has.

    A gate's task may run several times: `trace` tells what has happened to it.
    """

    def __init__(
        self,
        names: Mapping[Molecule, str],
        faults: dict[str, Failed],
        trace: Iterable[TaskEvent] = (),
        *,
        is_ended: bool = False,
    ) -> None:
        #: The states of tasks that are no gates.
        self.states: dict[str, str] = {}
        #: The results of tasks; of a gate's that of its last run.
        self.values: dict[str, Any] = {}
        #: The tasks of gates, and those that stand in for them, that have failed.
        self.failed: set[str] = set()
        self._names = names
        self._faults = faults
        self._runs: dict[str, int] = {}
        self._last_run: dict[str, int] = {}
        self._last = {event.task: event.kind for event in trace if event.kind in _ENDS}
        # Those whose calls were ended, with the case or before it.
        self._called: set[str] = set()
        self._is_ended = is_ended

    def read(
        self,
        solution: Solution,
        gates: Container[str] = (),
        *,
        unjudged: Mapping[str, str],
        unrouted: Mapping[str, str],
    ) -> None:
        """Read all tasks.

        `unjudged` says why alternatives could not judge a result, and `unrouted` why conditions of tasks could not be
        computed.
        """
        for molecule in solution:
            if type(molecule) is not tuple:
                continue
            if molecule[0] is _GATE:
                name = self._names[molecule[1]]
                self._runs[name] = next(part[1] for part in _tuples(molecule[2]) if part[0] is _RUNS)
                continue
            if molecule[0] is _LAST:
                self._keep(self._names[molecule[1]], molecule[2], molecule[3])
                continue
            task = task_of(molecule)
            if task is None or task not in self._names:
                continue
            name = self._names[task]
            if name in gates:
                self._read_instance(name, molecule[1], unrouted)
            elif type(molecule[1]) is Solution:
                self._read_task(name, molecule[1], unjudged)
            elif molecule[0] is _RES:
                self.values[name] = value_of(molecule[2])
                self.states[name] = "done"
            elif molecule[0] is _ERR:
                self._fail(name, molecule[2], molecule[3], (molecule,), unjudged)
                self.states[name] = "failed"
            else:
                self.states[name] = "waiting"
                if molecule[0] is not _WAIT:
                    self._called.add(name)

    def _read_task(self, name: str, inside: Solution, troubles: Mapping[str, str]) -> None:
        state = "waiting"
        for part in inside:
            kind = type(part)
            if kind is tuple and part[0] is _RES:
                self.values[name] = value_of(part[1])
                state = "done"
            elif kind is tuple and part[0] is _ERR:
                self._fail(name, part[1], part[2], inside, troubles)
                state = "failed"
            elif kind is tuple and part[0] is _PAR:
                self._called.add(name)
            elif kind is Symbol and part in _STATES:
                state = _STATES[part]
        self.states[name] = state

    def _fail(
        self, name: str, kind: Molecule, what: Molecule, holds: Iterable[Molecule], troubles: Mapping[str, str]
    ) -> None:
        failed = self._faults.setdefault(name, Failed(name, "", str(what)))
        failed.kind = _kind_of(kind)
        if type(kind) is tuple:
            failed.cause = cause(kind, what, troubles)
        failed.molecules = held_text(holds)

    def state(self, name: str) -> str:
        """Return the state of a task that is no gate."""
        state = self.states.get(name, "waiting")
        return "cancelled" if state == "waiting" and name in self._called and name in self._last else state

    def gate_state(self, name: str, task: Task, void: Container[str]) -> str:
        """Return the state of a gate's task, or of one that stands in for it; `void` ones were cancelled."""
        last = self._last.get(name)
        if name in self.failed:
            return "failed"
        if last == "adapted":
            # Another one was called in the place of its last run.
            return "replaced"
        # One that stood in for another has no result of its own.
        if name in self.values or last == "done":
            return "done"
        is_spread = task.control is not None and task.control.many is not None and name not in void
        if self._runs.get(name) and last is None and is_spread:
            # It was to be called for each of none.
            return "done"
        return "cancelled" if self._runs.get(name) or last is not None else "unused"

    def _keep(self, name: str, number: int, result: Molecule) -> None:
        """Keep the result of a task's last run."""
        if self._last_run.get(name, number) <= number:
            self._last_run[name] = number
            self.values[name] = value_of(result)

    def _read_instance(self, name: str, inside: Solution, troubles: Mapping[str, str]) -> None:
        parts = {part[0]: part for part in _tuples(inside)}
        if _ERR in parts:
            fault = parts[_ERR]
            if fault[1] is _CANCELLED and self._is_ended:
                return
            # Where a stand-in has failed too, that is the one to tell of.
            name = self._names[parts[_ARG][1]] if _ARG in parts else name
            self.failed.add(name)
            found = self._faults.setdefault(name, Failed(name, "", str(fault[2])))
            found.kind = _kind_of(fault[1])
            if fault[1] is Symbol("UNROUTED"):
                trouble = troubles.get(name)
                found.cause = str(fault[2]) + (f": {trouble}" if trouble else "")
            found.molecules = held_text(inside)
        elif _RES in parts:
            self._keep(name, parts[_RUN][1], parts[_RES][1])


def has_waiting(solution: Solution) -> bool:
    """Return whether a flat task waits for a result, in a solution that has reacted; asks the engine's index."""
    store = solution.settled
    return isinstance(store, Store) and store.has_shape((5, _WAIT))


def _kind_of(kind: Molecule) -> str:
    return "CONDITION" if type(kind) is tuple else str(kind.name)


def _tuples(solution: Solution) -> Iterator[Molecule]:
    return (part for part in solution if type(part) is tuple)


__all__ = ["Outcome", "has_waiting"]
