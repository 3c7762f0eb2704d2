"""Workflows evaluated plainly: task by task, by recursion, without molecules; and what a run must agree with.

`evaluate` knows which alternatives have applied. A task's value is its service's answer to the values of its sources;
a replaced task stands for its alternative's exit. `settle` begins with no alternative and lets those apply that an
outcome calls for, until none is left.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from solvent.workflows.model import Each, Input, Result, Task, Value
from tests.property.workflows import Scenario, TooSlow, behave, is_bad

if TYPE_CHECKING:
    from solvent.runs.report import Report
    from solvent.workflows.model import Alternative, Argument

KINDS = {"failure": {"FAILED", "TIMEOUT"}, "timeout": {"TIMEOUT"}, "condition": {"CONDITION"}}


class Unknown(Exception):
    """Raised for the value of a task that has none."""


@dataclass
class Evaluation:
    """The outcomes of tasks under some applied alternatives."""

    scenario: Scenario
    applied: set[str]
    values: dict[str, Any] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    calls: dict[str, list[list[Any]]] = field(default_factory=dict)
    """For each task that is called, the arguments of each call."""
    _seen: set[str] = field(default_factory=set)

    def used(self, name: str) -> str:
        """Give the task that stands for another."""
        for alternative in self.scenario.alternatives:
            if alternative.name in self.applied and name in alternative.exits:
                return self.used(alternative.exits[name])
        return name

    def value(self, name: str) -> Any:
        """Give the result that is used where a task is named."""
        name = self.used(name)
        if name not in self._seen:
            self._seen.add(name)
            self.call(self.scenario.task(name))
        if name not in self.values:
            raise Unknown(name)
        return self.values[name]

    def call(self, task: Task) -> None:
        """Call a task, or note that it cannot be called."""
        sleeps_for = asleep(self.scenario).get(task.name, set())
        if sleeps_for and not sleeps_for & self.applied:
            return
        try:
            for source in task.after:
                self.value(source)
            slots = [self.argument(slot) for slot in task.slots]
        except Unknown:
            return
        rows = [slots] if task.each is None else combined(task.each, slots)
        self.calls[task.name] = rows
        try:
            results = [behave(task.name, self.scenario.fates[task.name], row) for row in rows]
        except ValueError:
            self.faults[task.name] = "FAILED"
            return
        except TooSlow:
            self.faults[task.name] = "TIMEOUT"
            return
        result = results if task.each is not None else results[0]
        judges = [one for one in self.scenario.alternatives if "condition" in one.on and task.name in one.watched]
        if any(is_bad(result) for _ in judges):
            self.faults[task.name] = "CONDITION"
        else:
            self.values[task.name] = result

    def argument(self, slot: Argument) -> Any:
        """Give the value of an argument."""
        match slot:
            case Value(value):
                return value
            case Input():
                return 7
            case Result(task, None):
                return self.value(task)
            case Result(task, item):
                assert item is not None
                return self.value(task)[item - 1]


def combined(each: Each, slots: list[Any]) -> list[list[Any]]:
    """Give the arguments of every call, in order."""

    def rows(part: int | Each) -> list[dict[int, Any]]:
        if isinstance(part, int):
            return [{part: item} for item in slots[part]]
        inside = [rows(one) for one in part.over]
        together = zip(*inside, strict=False) if part.how == "dot" else itertools.product(*inside)
        return [{key: value for one in row for key, value in one.items()} for row in together]

    return [[row.get(at, slot) for at, slot in enumerate(slots)] for row in rows(each)]


def asleep(scenario: Scenario) -> dict[str, set[str]]:
    """Give the tasks that lead only to exits, each with the alternatives that wake it."""
    exits = {name for one in scenario.alternatives for name in one.exits.values()}
    found = set(exits)
    while True:
        more = {
            task.name
            for task in scenario.tasks
            if task.name not in found
            if (later := [one.name for one in scenario.tasks if task.name in one.sources]) and set(later) <= found
        }
        if not more:
            break
        found |= more
    wakers: dict[str, set[str]] = {name: set() for name in found}
    for alternative in scenario.alternatives:
        todo = list(alternative.exits.values())
        while todo:
            name = todo.pop()
            if name in found and alternative.name not in wakers[name]:
                wakers[name].add(alternative.name)
                todo += scenario.task(name).sources
    return wakers


def evaluate(scenario: Scenario, applied: set[str]) -> Evaluation:
    """Evaluate everything that is used when some alternatives have applied."""
    evaluation = Evaluation(scenario, applied)
    for task in scenario.tasks:
        if task.name not in given_up(scenario, applied):
            try:
                evaluation.value(task.name)
            except Unknown:
                continue
    return evaluation


def given_up(scenario: Scenario, applied: set[str]) -> set[str]:
    """Give the tasks that alternatives have replaced."""
    return {name for one in scenario.alternatives if one.name in applied for name in one.replaced}


def called_for(evaluation: Evaluation) -> set[str]:
    """Give the alternatives that have not applied although an outcome calls for them."""

    def calls_for(one: Alternative) -> bool:
        kinds = set[str]().union(*(KINDS[reason] for reason in one.on))
        return any(evaluation.faults.get(name) in kinds for name in one.watched)

    return {one.name for one in evaluation.scenario.alternatives if calls_for(one)} - evaluation.applied


def settle(scenario: Scenario) -> tuple[Evaluation, dict[str, list[list[Any]]]]:
    """Let alternatives apply until none is called for; give the end, and for each task the calls it ever had."""
    applied: set[str] = set()
    calls: dict[str, list[list[Any]]] = {}
    while True:
        evaluation = evaluate(scenario, applied)
        calls = {**calls, **evaluation.calls}
        more = called_for(evaluation)
        if not more:
            return evaluation, calls
        applied |= more


def disagreements(scenario: Scenario, report: Report, calls: list[tuple[str, list[Any]]]) -> list[str]:
    """Say in what a run differs from the plain evaluation, and which calls should not have been."""
    applied = {one["alternative"] for one in report.adaptations}
    end = evaluate(scenario, applied)
    found = [f"{name} should have applied" for name in called_for(end)]
    if len(applied) != len(report.adaptations):
        found.append("an alternative applied twice")
    results = {name: end.values[end.used(name)] for name in _outcomes(scenario) if end.used(name) in end.values}
    if report.results != results:
        found.append(f"results {report.results} instead of {results}")
    counts = {task.name: sum(name == task.name for name, _ in calls) for task in scenario.tasks}
    for name, count in counts.items():
        # A call that was cancelled before its turn came is one of the run's calls, but has not happened.
        reported, may_lack = report.calls.get(name, 0), name in given_up(scenario, applied)
        if not (count <= reported if may_lack else count == reported):
            found.append(f"{reported} calls of {name} reported, {count} happened")
    if not scenario.is_late:
        settled, ever = settle(scenario)
        if settled.applied != applied:
            found.append(f"{applied} applied instead of {settled.applied}")
        return found + [
            f"{name} was called with {had} instead of {rows}"
            for name in counts
            if sorted(had := [given for called, given in calls if called == name], key=repr)
            != sorted(rows := ever.get(name, []), key=repr)
        ]
    return found + _calls_too_many(end, calls)


def _calls_too_many(end: Evaluation, calls: list[tuple[str, list[Any]]]) -> list[str]:
    """Find calls that repeat others, calls of untouched tasks again, and last calls with outdated arguments."""
    scenario, found = end.scenario, []
    gone = given_up(scenario, end.applied)
    for task in scenario.tasks:
        had = [given for name, given in calls if name == task.name]
        rows = end.calls.get(task.name, [])
        upstream = _upstream(scenario, task.name)
        changes = [one for one in scenario.alternatives if one.name in end.applied and upstream & {*one.replaced}]
        if task.name in gone:
            if task.each is None and len(had) > 1 + len(changes):
                found.append(f"{task.name} was replaced and called {len(had)} times")
        elif not changes and sorted(had, key=repr) != sorted(rows, key=repr):
            found.append(f"{task.name} is untouched, and was called with {had} instead of {rows}")
        elif task.each is None and rows and had[-1:] != rows:
            found.append(f"{task.name} was last called with {had[-1:]} instead of {rows}")
        elif task.each is None and len(had) > 1 + len(changes):
            found.append(f"{task.name} was called {len(had)} times after {len(changes)} changes")
        # Arguments tell all they rest on, unless one is part of a result, or a task waits for another's effects only.
        chain = [scenario.task(name) for name in (task.name, *upstream)]
        is_traced = not any(one.after or _takes_a_part(one) for one in chain)
        if is_traced and task.each is None and any(had.count(given) > 1 for given in had):
            found.append(f"{task.name} was called twice with the same arguments")
    return found


def _takes_a_part(task: Task) -> bool:
    return any(isinstance(slot, Result) and slot.item for slot in task.slots)


def _upstream(scenario: Scenario, name: str) -> set[str]:
    """Give what a task takes from, directly or not, whoever stands for it."""
    exits = {old: new for one in scenario.alternatives for old, new in one.exits.items()}
    found: set[str] = set()
    todo = [*scenario.task(name).sources]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += [*scenario.task(one).sources, *([exits[one]] if one in exits else [])]
    return found


def _outcomes(scenario: Scenario) -> list[str]:
    sources = {source for task in scenario.tasks for source in task.sources}
    sleeping = asleep(scenario)
    return [task.name for task in scenario.tasks if task.name not in sources and task.name not in sleeping]
