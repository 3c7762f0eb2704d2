"""Workflows for tests of agents: random ones, with failures and alternatives, and such as real traces have."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.workflows.formats.files import load
from solvent.workflows.model import (
    Alternative,
    Arrived,
    Control,
    Many,
    Result,
    Route,
    Signalled,
    Task,
    Test,
    Value,
    Workflow,
)
from tests.live.agents_services import SERVICES, is_odd
from tests.repo.project import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.workflows.model import Argument

NESTED = 0.05
"""How many tasks of a random workflow are sub-workflows."""
TRACES = sorted((ROOT.parent / "shared" / "data" / "wfinstances").glob("*.json"))


def random_workflow(seed: int, tasks_count: int, *, failing: float = 0.15, back: int = 30) -> Workflow:
    """Make a random workflow: tasks that fail or whose results are rejected, some with others that replace them."""
    rnd = random.Random(seed)
    tasks, alternatives = list[Task](), list[Alternative]()
    for number in range(tasks_count):
        first = max(0, number - back)
        chosen = sorted(rnd.sample(range(first, number), min(number - first, rnd.randrange(4))))
        arguments = tuple(Result(f"T{one}") for one in chosen) or (Value(number),)
        name, luck = f"T{number}", rnd.random()
        if luck > 1 - NESTED:
            tasks.append(Task(name, "whole" if luck > 1 - NESTED / 2 else "part", arguments[:1]))
            continue
        tasks.append(Task(name, "refuse" if luck < failing else "work", arguments))
        if luck < failing * 0.8:
            tasks.append(Task(f"A{number}", "refuse" if rnd.random() < 0.1 else "work", arguments))
            alternatives.append(Alternative(f"instead{number}", {name: f"A{number}"}))
        elif failing <= luck < failing + 0.1:
            tasks.append(Task(f"A{number}", "work", (*arguments, Value(1))))
            asked = {"predicate": is_odd} if rnd.random() < 0.5 else {"when": "result % 3 == 0"}
            alternatives.append(Alternative(f"else{number}", {name: f"A{number}"}, on=("condition",), **asked))
    return Workflow(f"random {seed}", tuple(tasks), SERVICES, tuple(alternatives))


def adaptive_workflow(seed: int, tasks_count: int, *, back: int = 12) -> Workflow:
    """Make a random workflow whose alternatives reach over places, and call off what was used already.

    What comes of it depends on no order: every task has a result in the end, and what decides by a value (a condition)
    gets none that may be called off.
    """
    made = _Adaptive(random.Random(seed), back)
    while len(made.tasks) < tasks_count:
        made.add()
    alternatives, results = tuple(made.alternatives), tuple(made.names)
    return Workflow(f"adaptive {seed}", tuple(made.tasks), SERVICES, alternatives, results=results)


class _Adaptive:
    """Adds tasks, one after the other, with what replaces them."""

    def __init__(self, rnd: random.Random, back: int) -> None:
        self.tasks = list[Task]()
        self.alternatives = list[Alternative]()
        self._rnd = rnd
        self._back = back
        #: The tasks that others may use, and whether their results may be called off.
        self.names: dict[str, bool] = {}

    def add(self) -> None:
        """Add one more task, or some that belong together."""
        ways = (
            self._sure,
            self._sure,
            self._sure,
            self._nested,
            self._failing,
            self._rejected,
            self._together,
            self._late,
        )
        self._rnd.choice(ways)()

    def _sources(self) -> tuple[str, ...]:
        known = list(self.names)[-self._back :]
        return tuple(self._rnd.sample(known, min(len(known), self._rnd.randrange(3))))

    def _task(self, service: str, sources: tuple[str, ...], *, is_late: bool = False) -> str:
        name = f"T{len(self.tasks)}"
        self.tasks.append(Task(name, service, (*map(Result, sources), Value(len(self.tasks)))))
        self.names[name] = is_late or any(self.names[one] for one in sources)
        return name

    def _spare(self, name: str, sources: tuple[str, ...]) -> str:
        self.tasks.append(Task(f"A{name}", "work", (*map(Result, sources), Value(7))))
        return f"A{name}"

    def _sure(self) -> None:
        self._task("work", self._sources())

    def _nested(self) -> None:
        """Add a sub-workflow; what it takes may be called off while it is open."""
        sources = self._sources()[:1]
        name = f"T{len(self.tasks)}"
        self.tasks.append(Task(name, self._rnd.choice(("part", "whole")), tuple(map(Result, sources)) or (Value(5),)))
        self.names[name] = any(self.names[one] for one in sources)

    def _failing(self) -> None:
        sources = self._sources()
        name = self._task("refuse", sources)
        self.alternatives.append(Alternative(f"for {name}", {name: self._spare(name, sources)}))

    def _rejected(self) -> None:
        sources = tuple(one for one in self._sources() if not self.names[one])
        name = self._task("work", sources)
        exits = {name: self._spare(name, sources)}
        self.alternatives.append(Alternative(f"for {name}", exits, on=("condition",), when="result % 2 == 0"))

    def _together(self) -> None:
        """Add a task that fails, and with which others are given up: one that is replaced, and one that is not."""
        sources, others = self._sources(), self._sources()
        bad, long = self._task("refuse", sources), self._task("work", others, is_late=True)
        exits = {bad: self._spare(bad, sources), long: self._spare(long, others)}
        unused = f"U{bad}"
        self.tasks.append(Task(unused, "work", (Value(3),)))
        self.alternatives.append(Alternative(f"for {bad}", exits, also=(unused,), watch=(bad,)))

    def _late(self) -> None:
        """Add a task whose result others use until something fails two steps later."""
        sources = self._sources()
        first = self._task("work", sources, is_late=True)
        second = self._task("work", (first,))
        bad = self._task("refuse", (second,))
        exits = {first: self._spare(first, sources), bad: self._spare(bad, sources)}
        self.alternatives.append(Alternative(f"for {bad}", exits, watch=(bad,)))


def patterned_workflow(seed: int, tasks_count: int) -> Workflow:
    """Make a random workflow of patterns, one block behind the other, whose outcome depends on no order."""
    made = _Patterned(random.Random(seed))
    while len(made.tasks) < tasks_count:
        made.add()
    return Workflow(f"patterned {seed}", tuple(made.tasks), SERVICES, tuple(made.alternatives))


class _Patterned:
    """Adds blocks; each begins behind the last task of the one before."""

    def __init__(self, rnd: random.Random) -> None:
        self.tasks = [Task("begin", "work", (Value(rnd.randrange(1000)),))]
        self.alternatives = list[Alternative]()
        self._rnd = rnd

    def add(self) -> None:
        """Add one more block."""
        ways = (
            self._parallel, self._choice, self._several, self._loop, self._section, self._many, self._first,
            self._signal, self._failing,
        )  # fmt: skip
        self._rnd.choice(ways)()

    @property
    def _last(self) -> str:
        return self.tasks[-1].name

    def _task(self, *taken: Argument, service: str = "work", after: tuple[str, ...] = (), **words: Any) -> str:
        name = f"P{len(self.tasks)}"
        self.tasks.append(Task(name, service, taken, after=after, control=Control(**words) if words else None))
        return name

    def _branches(self, source: str, **words: Any) -> tuple[str, ...]:
        return tuple(self._task(Result(source), Value(number), **words) for number in range(self._rnd.randrange(2, 5)))

    def _parallel(self) -> None:
        self._task(*map(Result, self._branches(self._last)))

    def _choice(self) -> None:
        """Add a choice by a result, and what merges behind it."""
        last, first = self._last, len(self.tasks)
        one, other = f"P{first + 1}", f"P{first + 2}"
        choice = self._task(Result(last), split="one", routes=(Route(one, Test("result % 2 == 0")), Route(other)))
        self._task(Result(choice))
        self._task(Result(choice), Value(1))
        self._task(Arrived("one"), after=(one, other), join="any")

    def _several(self) -> None:
        """Add a choice of several ways, and what waits for those that were taken."""
        last, first = self._last, len(self.tasks)
        names = tuple(f"P{first + number}" for number in (1, 2, 3))
        tests = (Test("result % 2 == 0"), Test("result % 3 == 0"), None)
        routes = tuple(map(Route, names, tests))
        choice = self._task(Result(last), split="some", routes=routes)
        for number in range(3):
            self._task(Result(choice), Value(number))
        self._task(Arrived("all"), after=names, join="active")

    def _loop(self) -> None:
        """Add a task that is repeated until its result is divisible: each is greater by an odd number."""
        again = Route(f"P{len(self.tasks)}", Test(f"result % {self._rnd.choice((2, 4))} != 0"))
        self._task(Arrived("one"), after=(self._last,), join="any", again=again)

    def _section(self) -> None:
        """Add tasks that take a lock in turn."""
        self._task(*map(Result, self._branches(self._last, takes=("lock",), gives=("lock",))))

    def _many(self) -> None:
        self._task(Result(self._last), many=Many(Value(self._rnd.randrange(1, 4))))

    def _first(self) -> None:
        """Add a task that the first of several starts; it takes nothing of them."""
        self._task(Value(5), after=self._branches(self._last), join="first")

    def _signal(self) -> None:
        """Add a task that waits for a signal of another."""
        last, name = self._last, f"go {len(self.tasks)}"
        self._task(Result(last), sends=(name,))
        self._task(Result(last), Signalled(), signal=name)

    def _failing(self) -> None:
        """Add a task that fails in every round of a loop, and what stands in for it."""
        last = self._last
        bad = self._task(Arrived("one"), service="refuse", after=(last,), join="any")
        # It takes what has arrived, so that it changes from round to round.
        spare = f"A{bad}"
        again = Route(bad, Test("result % 2 != 0"))
        self.tasks.append(Task(spare, "work", (Arrived("one"),), after=(last,)))
        self.alternatives.append(Alternative(f"for {bad}", {bad: spare}))
        # With the value each round changes whether the result is odd; else thousands of rounds would not.
        self._task(Result(bad), Value(1), again=again)


def chain(length: int, width: int = 1, service: str = "work") -> Workflow:
    """Make chains beside each other, which meet at the end: each has something to do until the end."""
    tasks = [
        Task(f"C{line}.{step}", service, (Result(f"C{line}.{step - 1}") if step else Value(line),))
        for line in range(width)
        for step in range(length)
    ]
    last = Task("last", service, tuple(Result(f"C{line}.{length - 1}") for line in range(width)))
    return Workflow("chains", (*tasks, last), SERVICES)


def trace(path: Path, seed: int = 0, failing: float = 0.1) -> Workflow:
    """Give the shape of a recorded workflow, with services that count their calls; some fail and are replaced."""
    return _revised(load(path).workflow, seed, failing)


def like_a_trace(seed: int) -> Workflow:
    """Make a workflow of the shape that recorded ones have: it fans out, works in lines and comes together."""
    rnd = random.Random(seed)
    tasks, before = [Task("begin", "work", (Value(seed),))], ["begin"]
    for stage in range(rnd.randrange(2, 5)):
        lines = rnd.randrange(3, 12)
        ends = []
        for line in range(lines):
            source = rnd.choice(before)
            for step in range(rnd.randrange(1, 4)):
                name = f"S{stage}.{line}.{step}"
                tasks.append(Task(name, "work", (Result(source),)))
                source = name
            ends.append(source)
        tasks.append(Task(f"join{stage}", "work", tuple(map(Result, ends))))
        before = [f"join{stage}", *rnd.sample(ends, min(2, lines))]
    return _revised(Workflow(f"like a trace {seed}", tuple(tasks)), seed, 0.1)


def _revised(workflow: Workflow, seed: int, failing: float) -> Workflow:
    rnd = random.Random(seed)
    tasks, alternatives = list[Task](), list[Alternative]()
    for task in workflow.tasks:
        fails = rnd.random() < failing
        tasks.append(replace(task, service="refuse" if fails else "work"))
        if fails:
            other = f"instead of {task.name}"
            tasks.append(replace(task, name=other, service="work"))
            alternatives.append(Alternative(f"for {task.name}", {task.name: other}))
    return Workflow(workflow.name, tuple(tasks), SERVICES, tuple(alternatives))
