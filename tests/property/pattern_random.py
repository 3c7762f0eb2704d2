"""Random nestings, and whether what was seen of one is what it means."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from solvent.runs.embedded import run_workflow
from tests.property.pattern_blocks import Choice, Loop, Merged, Parallel, Replaced, Row, Step, Threads
from tests.property.pattern_instances import Apart, Deferred, ForEach, Inner, Instances, Locked
from tests.property.pattern_parts import LOG, Builder, Meaning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.runs.exploration import Orders
    from solvent.runs.report import Report
    from solvent.workflows.model import Workflow
    from tests.property.pattern_blocks import Block

MAX_SECONDS = 200
MAX_CALLS = 150
SMALL = 8
"""Nestings of no more tasks are kept small in every way."""
LEFT_OUT = {
    "skips of several": "several tokens that choose before such a join make it hear of skips that are none",
}
"""What the generator leaves out, since the product does not do yet what it means, and what happens instead."""


@dataclass(frozen=True)
class Place:
    """Where a block stands, and hence which blocks can stand there."""

    depth: int = 3
    loops: int = 0
    is_multi: bool = False
    """Several tokens may be inside at once."""
    is_apart: bool = False
    """They may have different counters, so they must not meet."""
    is_open: bool = False
    """Several tokens may come out."""
    is_cancelled: bool = False
    """It may be cancelled at any moment."""
    is_skipped: bool = False
    """Its way may not be chosen, and a merge behind it must hear of it."""

    @property
    def inside(self) -> Place:
        """The place inside a block that stands here."""
        return replace(self, depth=self.depth - 1, is_open=False)

    @property
    def several(self) -> Place:
        """The place inside a block that stands here and in which several tokens go at once."""
        return replace(self.inside, is_multi=True)

    @property
    def how(self) -> str:
        """How a join here looks at what arrived: not at all where tokens may have been mixed."""
        return "blind" if self.is_multi else ""


class Generator:
    """Draws a nesting."""

    def __init__(self, chance: random.Random, budget: int, kinds: frozenset[str] = frozenset()) -> None:
        self.chance = chance
        self.budget = budget
        self.kinds = kinds
        self.most = 3 if budget > SMALL else 2
        # Where branches are cancelled none may lag behind, and the other way round: one would cancel the other.
        self.cancels = chance.random() < 0.5
        self.has_some = chance.random() < 0.5
        self.has_apart = chance.random() < 0.5
        self.grows = chance.random() < 0.5

    def block(self, place: Place) -> Block:
        """Draw a block."""
        known = self._known(place)
        if place.depth <= 0 or self.budget <= 2:
            known = {"step": self._step}
        name = self.chance.choice(sorted(known))
        self.budget -= 2
        return known[name](place)

    def _known(self, place: Place) -> dict[str, Callable[[Place], Block]]:
        """Give the blocks that can stand somewhere."""
        found: dict[str, Callable[[Place], Block]] = {
            "step": self._step, "row": self.row, "choice": self._choice, "loop": self._loop, "replaced": self._replaced,
            "inner": self._inner, "each": lambda _: ForEach(), "instances": self._instances,
        }  # fmt: skip
        if place.is_open:
            found["open"] = self._merged
        if not place.is_apart:
            found |= {
                "all": self._all, "some": self._some, "merged": self._merged, "threads": self._threads,
                "apart": self._apart, "locked": self._locked,
            }  # fmt: skip
            if self.cancels:
                found |= {} if place.is_multi else {"cancel": self._cancel}
            elif not place.is_cancelled:
                found["first"] = self._first
            if not place.is_cancelled:
                found["deferred"] = self._deferred
        left_out = set(LEFT_OUT)
        if not self.has_some:
            left_out.add("some")
        elif "skips of deferred" in LEFT_OUT:
            left_out.add("deferred")
        if not self.has_apart:
            left_out.add("apart")
        if place.is_cancelled and "cancelled loop" in LEFT_OUT:
            left_out.add("loop")
        if place.is_skipped:
            left_out |= {"loop"} if "skipped loop" in LEFT_OUT else set()
            left_out |= {"threads", "merged", "apart"} if "skipped threads" in LEFT_OUT else set()
        if self.has_some and place.is_multi and "skips of several" in LEFT_OUT:
            left_out |= {"choice", "some", "deferred"}
        return {name: one for name, one in found.items() if name not in left_out and self._wants(name)}

    def _wants(self, name: str) -> bool:
        return not self.kinds or name in self.kinds or name == "step"

    def row(self, place: Place) -> Block:
        """Draw blocks one after the other; where one is open there are several tokens from then on."""
        blocks: list[Block] = []
        here = replace(place, depth=place.depth - 1)
        for _ in range(self.chance.randint(2, self.most)):
            one = self.block(here)
            blocks.append(one)
            if is_open(one):
                here = replace(here, is_multi=True)
        return Row(blocks)

    def _blocks(self, place: Place) -> list[Block]:
        return [self.block(place) for _ in range(2 if self.chance.random() < 0.7 else self.most)]

    def _step(self, _: Place) -> Block:
        return Step()

    def _replaced(self, _: Place) -> Block:
        return Replaced(is_rejected=self.chance.random() < 0.5)

    def _choice(self, place: Place) -> Block:
        inside = replace(place, depth=place.depth - 1, is_skipped=place.is_skipped or self.has_some)
        blocks: list[Block | None] = [*self._blocks(inside)]
        if self.chance.random() < 0.3:
            blocks[self.chance.randrange(len(blocks))] = None
        return Choice(blocks)

    def _some(self, place: Place) -> Block:
        blocks: list[Block | None] = [*self._blocks(replace(place.inside, is_skipped=True))]
        if self.chance.random() < 0.2:
            blocks[self.chance.randrange(len(blocks))] = None
        # Tokens that go together must choose alike, or the merge cannot tell whom it waits for.
        return Choice(blocks, is_some=True, first=place.how, how=place.how)

    def _all(self, place: Place) -> Block:
        return Parallel(self._blocks(place.inside), how=place.how)

    def _first(self, place: Place) -> Block:
        if not place.loops:
            blocks = self._blocks(place.inside)
            return Parallel(blocks, "first", self._need(blocks), "blind")
        # A branch that lags behind may meet the next round, so the counters go another way.
        blocks = self._blocks(replace(place.several, is_apart=True))
        lagging = Parallel(blocks, "first", self._need(blocks), "blank")
        return Parallel([Step(), lagging], how=place.how)

    def _cancel(self, place: Place) -> Block:
        blocks = self._blocks(replace(place.inside, is_cancelled=True))
        return Parallel(blocks, "cancel", self._need(blocks), "blind")

    def _need(self, blocks: list[Block]) -> int:
        """Draw how many of them are waited for: rarely all."""
        return self.chance.randint(1, len(blocks) if self.chance.random() < 0.2 else len(blocks) - 1)

    def _merged(self, place: Place) -> Block:
        blocks = self._blocks(place.inside)
        is_closed = not place.is_open or self.chance.random() < 0.3
        return Merged(blocks, self.block(place.several), is_closed=is_closed)

    def _threads(self, place: Place) -> Block:
        return Threads(self.block(place.several), self.chance.randint(2, self.most))

    def _apart(self, place: Place) -> Block:
        return Apart(self.block(place.several), is_listed=self.chance.random() < 0.5)

    def _loop(self, place: Place) -> Block:
        inside = replace(place.inside, loops=place.loops + 1, is_apart=place.is_multi)
        is_while = self.chance.random() < 0.5
        count = self.chance.randint(0 if is_while else 1, self.most)
        return Loop(self.block(inside), count, place.loops, is_while=is_while)

    def _instances(self, place: Place) -> Block:
        # Of several tokens the number of one could meet the value of another.
        number = self.chance.choice(["constant", "listed"] if place.is_multi else ["constant", "counted", "listed"])
        ways = ["all", "all", "cancel", "enough cancel"]
        if not self.cancels:
            ways = ["all", "need", "need", "enough", "cancel"]
        if number == "listed" and self.grows:
            ways += ["more"] * 4
        # So many must be there, or nobody would ever have enough.
        need = 1 if number == "counted" else self.chance.randint(1, 2)
        return Instances(number, self.chance.randint(2, self.most), self.chance.choice(ways), need)

    def _locked(self, place: Place) -> Block:
        has_body = not place.is_cancelled and self.chance.random() < 0.5
        body = self.block(place.inside) if has_body else None
        return Locked(self.chance.randint(2, self.most), body, place.how)

    def _deferred(self, place: Place) -> Block:
        blocks = self._blocks(place.inside)
        return Deferred(blocks, self.chance.randrange(len(blocks)), place.how)

    def _inner(self, place: Place) -> Block:
        return Inner(self.block(replace(place.inside, is_multi=False, is_apart=False, is_cancelled=False,
                                  is_skipped=False)))  # fmt: skip


def is_open(block: Block | None) -> bool:
    """Tell whether several tokens may come out of a block."""
    if isinstance(block, Row):
        return any(map(is_open, block.blocks))
    if isinstance(block, Choice):
        return any(map(is_open, block.blocks))
    return isinstance(block, Merged) and not block.is_closed


@dataclass
class Nesting:
    """A nesting with its workflow and its meaning."""

    seed: str
    block: Block
    builder: Builder
    workflow: Workflow
    meaning: Meaning

    def run(self) -> list[str]:
        """Run it, and say what differs from what it means."""
        LOG.clear()
        report = run_workflow(self.workflow, max_seconds=MAX_SECONDS)
        return self.differences(report, [*LOG])

    def disorders(self, orders: Orders) -> list[str]:
        """Say in which states of all that can be reached it is not what it means."""
        for state in orders.states:
            wrong = self.builder.broken_order(state.started, state.done, is_run=False)
            held = {name: count - state.running[name] for name, count in state.started.items()}
            wrong = wrong or self.builder.broken_lock(state.started, held)
            if wrong:
                return [wrong]
        for state in orders.finals:
            found = [] if state.end == "done" else [f"ends {state.end}: {state.stuck} {state.failed}"]
            for name in self.builder.tasks:
                most = self.meaning.starts[name]
                least = 0 if name in self.meaning.loose else most
                if not least <= state.started[name] <= most:
                    found.append(f"{name} is started {state.started[name]} times, not {least}..{most}")
            if found:
                return found
        return []

    def differences(self, report: Report, log: list[tuple[str, str]]) -> list[str]:
        """Say what a run did that it must not."""
        found = []
        if not report.succeeded:
            found.append(f"failed: {report.error} {report.stuck} {report.failures}")
        for name in self.builder.tasks:
            count, most = report.calls.get(name, 0), self.meaning.calls[name]
            least = 0 if name in self.meaning.loose else most
            if not least <= count <= most:
                found.append(f"{name} is called {count} times, not {least}..{most}")
        called: dict[str, Counter[str]] = {}
        for label, result in log:
            seed, _, name = label.rpartition(".")
            if seed == self.seed:
                called.setdefault(name, Counter())[result] += 1
        for name in {*called, *self.meaning.results}:
            expected, seen = self.meaning.results.get(name, Counter()), called.get(name, Counter())
            if seen - expected or (expected - seen and name not in self.meaning.loose):
                found.append(f"{name} answers {dict(seen)}, not {dict(expected)}")
        for name, value in report.results.items():
            values = self._values(name)
            is_many = name in self.builder.units and self.builder.units[name].most > 1
            items = value if is_many and isinstance(value, list) else [value]
            if values and any(repr(one) not in values for one in items):
                found.append(f"the result of {name} is {value!r}, not of {values}")
        return found + self._disordered(report)

    def _values(self, name: str) -> set[str]:
        """Give what a task may have as its result, or as an item of it; perhaps another stands in for it."""
        unit = self.builder.units.get(name)
        found = set(self.meaning.results.get(name, ()))
        for other in () if unit is None else unit.others:
            found |= set(self.meaning.results.get(other, ()))
        return found

    def _disordered(self, report: Report) -> list[str]:
        started: Counter[str] = Counter()
        done: Counter[str] = Counter()
        over: Counter[str] = Counter()
        for event in report.trace or ():
            if event.kind == "started":
                started[event.task] += 1
            elif event.kind in ("done", "failed", "cancelled"):
                over[event.task] += 1
                done[event.task] += event.kind == "done"
            wrong = self.builder.broken_order(started, done, is_run=True) or self.builder.broken_lock(started, over)
            if wrong:
                return [wrong]
        return []

    def told(self, where: str = "tests/property") -> str:
        """Say how to replay it, and what it is."""
        return f"replay: NESTING_SEEDS={self.seed} .venv/bin/python -m pytest {where} -k nesting\n{self.block}"


def nesting(seed: str, max_tasks: int = 30, *, depth: int = 4, sleeps: float = 0.2, kinds: frozenset[str] = frozenset(),
            ) -> Nesting:  # fmt: skip
    """Give the nesting of a seed; those that would call far too much are drawn again."""
    for attempt in range(100):
        chance = random.Random(f"{seed} {attempt}")
        found = nested(seed, chance, max_tasks, depth=depth, sleeps=sleeps, kinds=kinds)
        if found is not None:
            return found
    raise AssertionError(seed)


def nested(
    seed: str, chance: random.Random, max_tasks: int, *, depth: int, sleeps: float, kinds: frozenset[str]
) -> Nesting | None:
    """Draw a nesting; none where it would be too large."""
    generator = Generator(chance, max_tasks, kinds)
    draw = generator.row if max_tasks > SMALL else generator.block
    block = Row([Step(), draw(Place(depth, is_open=True))])
    builder = Builder(seed, chance, sleeps)
    block.wire(builder, ())
    if builder.numbers[0] > max_tasks * 1.2:
        return None
    meaning = Meaning()
    block.mean(meaning, None)
    if sum(meaning.calls.values()) > MAX_CALLS:
        return None
    return Nesting(seed, block, builder, builder.workflow(), meaning)


def seeds_from(default: range) -> Iterator[str]:
    """Give the seeds to try: those of `NESTING_SEEDS` (`17`, `17,18` or `100:200`), or the usual ones."""
    given = os.environ.get("NESTING_SEEDS", "")
    for part in given.split(",") if given else [f"{default.start}:{default.stop}"]:
        first, colon, last = part.partition(":")
        yield from map(str, range(int(first), int(last))) if colon else (part,)


__all__ = ["Generator", "Nesting", "Place", "nested", "nesting", "seeds_from"]
