"""The one model of a workflow, whichever way it was written.

A workflow has services (what can be called), tasks (calls of services, and where their arguments come from) and
alternatives (tasks that take the place of others when something goes wrong). It says *what* is to be done; rules
that make it happen are added by `concrete`.

    T1 ─┬─ T2 ─┬─ T4        Task("T4", service="s4", arguments=(Result("T2"), Result("T3")))
        └─ T3 ─┘            Alternative("fallback", exits={"T2": "T5"})

A value may be anything that Python can pass; only what a file can say survives being written to a file.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import msgspec

from solvent.workflow.control import Control  # noqa: TC001 - msgspec looks at the types
from solvent.workflow.resources import Resource
from solvent.workflow.slots import Argument, Arrived, Claim, Input, Result, Signalled, Value


class Each(msgspec.Struct, frozen=True):
    """Call a task once for each combination of the items of some arguments, which are lists.

    `over` names arguments by position (from 0, keywords after the positional ones in their order), or nests. `dot`
    combines first with first, second with second, as long as all have one; `cross` combines each with each, the last
    one changing fastest. Arguments that are not named stay the same in every call.
    """

    how: Literal["dot", "cross"]
    over: tuple[int | Each, ...]


class Policy(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a service is called: limits of time, number and pace, and what is tried before a call counts as failed."""

    timeout: float | None = None
    """Seconds after which an attempt is given up."""
    retries: int = 0
    """Further attempts after the first."""
    backoff: float = 0.1
    """Seconds before the first retry; doubled before each further one."""
    backoff_max: float = 30.0
    """The longest of these waits."""
    concurrency: int | None = None
    """Calls of the service that may run at the same time."""
    rate: float | None = None
    """Calls of the service that may begin in one second."""
    heartbeat: float | None = None
    """Seconds within which a running call must give a sign of life."""
    losses: int = 10
    """How often a call may be lost with the agent that makes it, and be made again by another."""


class Service(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that can be called. Which fields count depends on `kind`.

    python    `target` is `module:function`, or `function` holds the function itself
    shell     `target` is the command; `{0}`, `{name}` stand for arguments (see `solvent.services.shell`)
    http      `target` is the address, `method` the verb
    hocl      `target` is the path of a program
    workflow  `target` is the path of a workflow file, or `function` holds a `Workflow`
    replay    waits `options["seconds"]` and answers with nothing (imported traces)
    """

    name: str
    kind: Literal["python", "shell", "http", "hocl", "workflow", "replay"] = "python"
    target: str = ""
    method: str = "POST"
    options: dict[str, Any] = {}
    policy: Policy = Policy()
    function: Any = None


class Task(msgspec.Struct, frozen=True, omit_defaults=True, dict=True):
    """One step: a service and the arguments it is called with."""

    name: str
    service: str
    arguments: tuple[Argument, ...] = ()
    keywords: dict[str, Argument] = {}
    each: Each | None = None
    after: tuple[str, ...] = ()
    """Tasks that must be done before this one although it takes nothing from them."""
    control: Control | None = None
    """How it joins, splits, repeats, waits and cancels, where that is more than waiting for all and passing to all."""

    @property
    def slots(self) -> tuple[Argument, ...]:
        """All arguments: the positional ones, then the keywords in their order."""
        return (*self.arguments, *self.keywords.values())

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The resources that a call of it has while it runs."""
        return tuple(slot for slot in self.slots if isinstance(slot, Claim))

    @property
    def back(self) -> str | None:
        """The task that it goes back to, if it does."""
        return None if self.control is None or self.control.again is None else self.control.again.task

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The tasks it waits for, each once, in the order in which they are first named."""
        named = [slot.task for slot in self.slots if isinstance(slot, Result)]
        if self.control is not None and self.control.many is not None and isinstance(self.control.many.count, Result):
            named.append(self.control.many.count.task)
        return tuple(dict.fromkeys([*named, *self.after]))


class Alternative(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tasks that take the place of others.

    `exits` says which task's result is used instead of which: `{"T2": "T5"}`. All tasks that lead only to an exit wait
    until the alternative applies. `also` names further tasks that are given up with those it replaces.
    """

    name: str
    exits: dict[str, str]
    also: tuple[str, ...] = ()
    on: tuple[Literal["failure", "timeout", "condition"], ...] = ("failure",)
    """When it applies: a failed call (a time-out is one too), a time-out only, or a result that `when` rejects."""
    when: str | None = None
    """A HOCL condition on the watched task's result, which it calls `result`; true means the result is rejected."""
    predicate: Any = None
    """The same as a Python function of the result."""
    watch: tuple[str, ...] = ()
    """The tasks whose outcome decides; those it replaces if none are named."""

    @property
    def replaced(self) -> tuple[str, ...]:
        """The tasks that are given up."""
        return tuple(dict.fromkeys([*self.exits, *self.also]))

    @property
    def watched(self) -> tuple[str, ...]:
        """The tasks whose outcome decides."""
        return self.watch or self.replaced


_OF_CONTROL = frozenset((Arrived, Signalled))


class Workflow(msgspec.Struct, frozen=True, omit_defaults=True, dict=True):
    """A whole workflow."""

    name: str
    tasks: tuple[Task, ...]
    services: tuple[Service, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    inputs: dict[str, Any] = {}
    """The inputs it takes, with their defaults; `REQUIRED` for those without."""
    results: tuple[str, ...] = ()
    """The tasks whose results are the workflow's; if none are named, those that no other task uses."""
    locks: dict[str, int] = {}
    """How many tasks may hold a lock at the same time; one if it is not named here."""
    patterns: dict[str, str] = {}
    """Rule libraries of the user's own, by the names that tasks join by: `{"majority": "majority.hocl"}`."""
    resources: tuple[Resource, ...] = ()
    """Data that tasks change in place, one after the other, instead of passing it on as results."""

    def _repr_svg_(self) -> str:
        """Show it in a notebook; tasks that do the same are one box where there are many."""
        from solvent.pictures import drawn, group, svg
        from solvent.workflow.drawing import graph_of

        return svg(drawn(group(graph_of(self)).graph))

    def task(self, name: str) -> Task:
        """Give the task of a name."""
        return next(task for task in self.tasks if task.name == name)

    @cached_property
    def by_name(self) -> dict[str, Task]:
        """All tasks by their names; not to be changed."""
        return {task.name: task for task in self.tasks}

    def resource(self, name: str) -> Resource | None:
        """Give the resource of a name."""
        return next((resource for resource in self.resources if resource.name == name), None)

    def service(self, name: str) -> Service | None:
        """Give the service of a name."""
        return next((service for service in self.services if service.name == name), None)

    @cached_property
    def is_controlled(self) -> bool:
        """Whether any task does more than wait for all its sources and pass to all its destinations."""
        return any(task.control is not None or not _OF_CONTROL.isdisjoint(map(type, task.slots)) for task in self.tasks)

    @cached_property
    def destinations(self) -> dict[str, list[str]]:
        """For each task, the tasks that wait for it."""
        found: dict[str, dict[str, None]] = {task.name: {} for task in self.tasks}
        for task in self.tasks:
            for source in task.sources:
                found.setdefault(source, {})[task.name] = None
            if task.control is not None:
                found[task.name] |= dict.fromkeys(task.control.named)
        return {name: [*later] for name, later in found.items()}

    @cached_property
    def dormant(self) -> dict[str, str]:
        """The tasks that wait for an alternative to apply, with its name: those that lead only to exits."""
        return {name: alternatives[0] for name, alternatives in self.wakers.items()}

    @cached_property
    def wakers(self) -> dict[str, tuple[str, ...]]:
        """The tasks that wait for an alternative to apply, with all that need them, any of which wakes them."""
        return wakers_of(self)

    @cached_property
    def outcomes(self) -> tuple[str, ...]:
        """The tasks whose results are the workflow's."""
        if self.results:
            return self.results
        asleep, onward = self.dormant, self.destinations
        return tuple(
            task.name
            for task in self.tasks
            if task.name not in asleep and all(later == task.back for later in onward[task.name])
        )


REQUIRED = "<required>"
"""Stands for the default of an input that has none."""


def wakers_of(workflow: Workflow) -> dict[str, tuple[str, ...]]:
    """Find the tasks of each alternative: its exits, and backwards all that lead only to exits, be they of several."""
    onward = workflow.destinations
    known = {task.name: task for task in workflow.tasks}
    asleep: dict[str, list[str]] = {}
    todo = [name for one in workflow.alternatives for name in one.exits.values() if name in known]
    while todo:
        name = todo.pop()
        if name in asleep:
            continue
        asleep[name] = []
        todo += [one for one in known[name].sources if one in known and all(later in asleep for later in onward[one])]
    for alternative in workflow.alternatives:
        todo = [name for name in alternative.exits.values() if name in known]
        while todo:
            name = todo.pop()
            if name in asleep and alternative.name not in asleep[name]:
                asleep[name].append(alternative.name)
                todo += known[name].sources
    return {name: tuple(alternatives) for name, alternatives in asleep.items()}


__all__ = [
    "REQUIRED", "Alternative", "Argument", "Arrived", "Claim", "Each", "Input", "Policy", "Resource", "Result",
    "Service", "Signalled", "Task", "Value", "Workflow", "wakers_of",
]  # fmt: skip
