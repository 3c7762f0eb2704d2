"""What random nestings of patterns are made of: their one service, how they become tasks, and what must hold of them.

Every task calls `step` with its own label and what arrived. The result is a number below 1000 made of both, so that a
token that goes astray shows; above it stand the counters of the loops around, one decimal digit each.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from zlib import crc32

from msgspec.structs import replace

from solvent.workflows.model import Alternative, Arrived, Control, Input, Result, Service, Task, Value, Workflow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from random import Random

    from solvent.workflows.model import Argument

NUMBER = 1000
TARGET = "tests.property.pattern_parts:step"
EVEN = "tests.property.pattern_parts:is_even"
LOG: list[tuple[str, str]] = []
"""What was called, by label, and with which result; whoever runs a nesting clears it before."""


def digit(depth: int) -> int:
    """Give the place of the counter of the loop that has so many around it."""
    return NUMBER * int("1" + "0" * depth)


def answer(label: str, how: str, arrived: Any) -> Any:
    """Give what a step answers: the number of its label and of what arrived, with the counters of the first of that."""
    values = list(_numbers(arrived))
    counters = values[0] // NUMBER * NUMBER if values else 0
    seen = [] if how in ("blind", "blank") else [value % NUMBER for value in values]
    number = crc32(f"{label} {seen}".encode()) % 997
    if how == "blank":
        return number
    if how == "fails" and number % 2:
        raise ValueError(label)
    if how == "count":
        return number % 3 + 1
    if how == "list":
        return [(number + at) % 997 + counters for at in range(3)]
    if how == "halve":
        return values[0] % NUMBER // 2 + counters
    if how.startswith("up"):
        counters += digit(int(how[2:]))
    if how.startswith("reset"):
        place = digit(int(how[5:]))
        counters -= counters // place % 10 * place
    return number + counters


def _numbers(given: Any) -> Iterator[int]:
    if isinstance(given, list | tuple):
        for one in given:
            yield from _numbers(one)
    elif given is not None:
        yield given


def is_even(value: int) -> bool:
    """Be the condition of some choices."""
    return value % 2 == 0


def step(label: str, how: str, micros: int, *arrived: Any) -> Any:
    """Be the service of every task."""
    if micros:
        time.sleep(micros / 1e6)
    try:
        result = answer(label, how, arrived)
    except ValueError:
        LOG.append((label, "failed"))
        raise
    LOG.append((label, repr(result)))
    return result


@dataclass(frozen=True)
class After:
    """How often a task can have started, given how often its sources are done.

    `all`: each source as often as it; `any`: the sources together; `first`: `need` of them in this round, and all of
    them in every round before; `cancel`: `need` of them for each start.
    """

    task: str
    sources: tuple[str, ...]
    how: str = "all"
    need: int = 1
    threads: int = 1
    """How many of each source start it once."""

    def holds(self, started: int, done: list[int]) -> bool:
        """Tell whether it can have started so often."""
        if not started:
            return True
        done = [one // self.threads for one in done]
        if self.how == "all":
            return min(done) >= started
        if self.how == "any":
            return sum(done) >= started
        if self.how == "first":
            return sum(min(one, started) for one in done) >= (started - 1) * len(done) + self.need
        return sum(done) >= started * self.need


@dataclass
class Unit:
    """How the runs of a task are counted where it is called several times for each start."""

    calls: int = 1
    """At least so many calls are done before it is."""
    most: int = 1
    """So many calls one start makes at most."""
    passes: int = 1
    """So often it passes something on, when every order is explored; each call by itself does so in a run."""
    copies: int = 1
    """So often it passes its result."""
    others: tuple[str, ...] = ()
    """The tasks that stand in for it."""


@dataclass
class Meaning:
    """What a nesting must do, by the names of its tasks."""

    calls: Counter[str] = field(default_factory=Counter)
    starts: Counter[str] = field(default_factory=Counter)
    results: dict[str, Counter[str]] = field(default_factory=dict)
    is_loose: int = 0
    """Whether what is evaluated may be cancelled at any moment; counted, since such regions nest."""
    loose: set[str] = field(default_factory=set)
    """The tasks that may run less often."""

    def call(self, name: str, label: str, how: str, arrived: Any, *, is_start: bool = True) -> Any:
        """Let a task be called."""
        self.calls[name] += 1
        self.starts[name] += is_start
        if self.is_loose:
            self.loose.add(name)
        found = self.results.setdefault(name, Counter())
        try:
            result = answer(label, how, arrived)
        except ValueError:
            found["failed"] += 1
            raise
        found[repr(result)] += 1
        return result


@dataclass
class Builder:
    """Makes the tasks of a nesting, and notes what must hold of their order."""

    seed: str
    chance: Random
    sleeps: float = 0.0
    """The part of the tasks that take some time."""
    tasks: dict[str, Task] = field(default_factory=dict)
    alternatives: list[Alternative] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)
    orders: list[After] = field(default_factory=list)
    units: dict[str, Unit] = field(default_factory=dict)
    apart: list[tuple[tuple[str, str], ...]] = field(default_factory=list)
    """Ways, each from a first task to a last one, of which only one is gone at a time."""
    numbers: list[int] = field(default_factory=lambda: [0])
    """How many names are given, here and in all inner workflows."""
    takes_input: bool = False
    inner: dict[str, Builder] = field(default_factory=dict)
    """The workflows that stand in place of tasks."""

    def name(self, letter: str = "T") -> str:
        """Give a new name."""
        self.numbers[0] += 1
        return f"{letter}{self.numbers[0]}"

    def label(self, name: str) -> str:
        """Give what a task calls itself: no other nesting has it, so that late calls of others do not count here."""
        return f"{self.seed}.{name}"

    def step(
        self, sources: tuple[str, ...], how: str = "", control: Control | None = None, *, letter: str = "T",
        order: str = "all", slots: tuple[Argument, ...] | None = None, **more: Any,
    ) -> str:  # fmt: skip
        """Add a task behind others, and what its place says about its order."""
        name = self.name(letter)
        micros = self.chance.randrange(2000) if self.chance.random() < self.sleeps else 0
        own: tuple[Argument, ...] = (Value(self.label(name)), Value(how), Value(micros))
        after = sources
        if slots is not None:
            own, after = (*own, *slots), tuple(one for one in sources if Result(one) not in slots)
        elif not sources:
            own = (*own, Input("x")) if self.takes_input else own
        elif self.chance.random() < 0.5:
            own = (*own, *map(Result, sources))
            after = ()
        else:
            is_alone = len(sources) == 1 or (control is not None and control.join == "any")
            is_one = is_alone and self.chance.random() < 0.5
            own = (*own, Arrived("one" if is_one else "all"))
        self.tasks[name] = Task(name, "step", own, after=after, control=control)
        if sources:
            self.orders.append(After(name, sources, order, **more))
        return name

    def control(self, name: str, **words: Any) -> None:
        """Say more about what a task does."""
        task = self.tasks[name]
        self.tasks[name] = replace(task, control=replace(task.control or Control(), **words))

    def workflow(self, results: tuple[str, ...] = ()) -> Workflow:
        """Give the workflow; all results of tasks are its results, if none are named."""
        if all(task.control is None for task in self.tasks.values()):
            # What arrived can be asked only where some task has a control.
            self.control(next(iter(self.tasks)), join="any")
        asleep = {one for alternative in self.alternatives for one in alternative.exits.values()}
        return Workflow(
            f"nesting {self.seed}",
            tuple(self.tasks.values()),
            (Service("step", target=TARGET), *self.services),
            tuple(self.alternatives),
            {"x": 0} if self.takes_input else {},
            results or tuple(name for name in self.tasks if name not in asleep),
        )

    def broken_order(self, started: Mapping[str, int], done: Mapping[str, int], *, is_run: bool) -> str:
        """Say which order does not hold, if one does not; a run shows calls, exploring shows starts."""
        for order in self.orders:
            begun = self.units.get(order.task, Unit())
            starts = -(-started.get(order.task, 0) // (begun.most if is_run else 1))
            ready = []
            for source in order.sources:
                unit = self.units.get(source, Unit())
                count = sum(done.get(one, 0) for one in (source, *unit.others)) // (unit.calls if is_run else 1)
                if unit.passes > 1 and not is_run:
                    # It is done with the last of its instances, but the first has passed something on long before.
                    count = started.get(source, 0) * unit.passes
                ready.append(count * unit.copies)
            if not order.holds(starts, ready):
                return f"{order.task} has started {starts} times, but {order.sources} are done {ready} times: {order}"
        return ""

    def broken_lock(self, started: Mapping[str, int], done: Mapping[str, int]) -> str:
        """Say where a lock is held twice, if it is anywhere."""
        for ways in self.apart:
            held = sum(started.get(first, 0) - done.get(last, 0) for first, last in ways)
            if held > 1:
                return f"{held} of {ways} at the same time"
        return ""


__all__ = ["EVEN", "LOG", "After", "Builder", "Meaning", "Unit", "answer", "digit", "is_even", "step"]
