"""More blocks: several instances, locks, deferred choices, inner workflows, and one call for each item."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.workflows.model import Control, Each, Many, Result, Service, Test, Value
from tests.property.pattern_blocks import Block, Step
from tests.property.pattern_parts import NUMBER, Builder, Unit

if TYPE_CHECKING:
    from solvent.workflows.model import Argument
    from tests.property.pattern_blocks import Ends
    from tests.property.pattern_parts import Meaning

ITEMS = 3
"""How many items a list has."""


@dataclass
class Instances(Block):
    """Several instances of a task; how many is a constant, a result (`counted`), or a list says it (`listed`).

    `until` says when they are done: `all`, so many as are `need`ed, `cancel` (the others are ended), `more` (some
    results ask for another), `enough` (a condition on the list), `enough cancel`.
    """

    number: str = "constant"
    count: int = 2
    until: str = "all"
    need: int = 1
    names: list[str] = field(default_factory=list)

    def _wire(self, builder: Builder, sources: tuple[str, ...]) -> Ends:
        how = "list" if self.number == "listed" else ""
        first = builder.step(sources, how)
        words: dict[str, Any] = {"over": 3} if how else {"count": Value(self.count)}
        before: tuple[str, ...] = (first,)
        if self.number == "counted":
            before = (first, builder.step((first,), "count"))
            words["count"] = Result(before[1])
        if "need" in self.until or self.until == "cancel":
            words["need"] = self.need
        if "cancel" in self.until:
            words["cancels"] = True
        if self.until == "more":
            words["more"] = Test("result % 1000 > 400")
        if "enough" in self.until:
            words["enough"] = Test(f"length(result) >= {self.need}")
        slots: tuple[Argument, ...] = (Result(first),)
        control = Control(many=Many(**words))
        many = builder.step(before, "halve" if self.until == "more" else "", control, slots=slots, letter="I")
        if before[1:]:
            builder.tasks[many] = replace(builder.tasks[many], after=())
        exact = {"constant": self.count, "counted": 1, "listed": ITEMS}[self.number]
        least = exact if self.until in ("all", "more") else min(self.need, exact)
        builder.units[many] = Unit(calls=least, most=12)
        end = builder.step((many,), "" if self.until == "all" else "blind")
        self.names = [*before, many, end]
        return first, end

    def mean(self, meaning: Meaning, value: Any) -> list[Any]:
        """Call all of them."""
        *before, many, end = self.names
        value = self.call(meaning, before[0], value)
        count = self.call(meaning, before[1], value) if before[1:] else self.count
        todo = value if self.number == "listed" else [value] * count
        meaning.is_loose += "cancel" in self.until
        found = []
        is_start = True
        for one in todo:
            found.append(self.call(meaning, many, one, is_start=is_start))
            is_start = False
            while self.until == "more" and found[-1] % NUMBER > 400:
                found.append(self.call(meaning, many, found[-1], is_start=False))
        meaning.is_loose -= "cancel" in self.until
        return [self.call(meaning, end, found)]


@dataclass
class Apart(Block):
    """Several instances, each of which passes on its result by itself; in the end all are one again."""

    body: Block
    is_listed: bool = False
    names: list[str] = field(default_factory=list)

    def _wire(self, builder: Builder, sources: tuple[str, ...]) -> Ends:
        first = builder.step(sources, "list" if self.is_listed else "")
        many = Many(over=3, apart=True) if self.is_listed else Many(Value(ITEMS), apart=True)
        one = builder.step((first,), "", Control(many=many), slots=(Result(first),), letter="I")
        builder.units[one] = Unit(most=ITEMS, passes=ITEMS)
        last = self.body.wire(builder, (one,))[1]
        end = builder.step((last,), "blind", Control(threads=ITEMS), threads=ITEMS)
        self.names = [first, one, end]
        return first, end

    def mean(self, meaning: Meaning, value: Any) -> list[Any]:
        """Follow each of them."""
        first, many, end = self.names
        value = self.call(meaning, first, value)
        found = []
        for at in range(ITEMS):
            item = value[at] if self.is_listed else value
            found += self.body.mean(meaning, self.call(meaning, many, item, is_start=at == 0))
        return [self.call(meaning, end, found)]


@dataclass
class ForEach(Block):
    """A plain call for each item of a list."""

    names: list[str] = field(default_factory=list)

    def _wire(self, builder: Builder, sources: tuple[str, ...]) -> Ends:
        first = builder.step(sources, "list")
        each = builder.step((first,), slots=(Result(first),), letter="E")
        builder.tasks[each] = replace(builder.tasks[each], each=Each("dot", (3,)))
        builder.units[each] = Unit(calls=ITEMS, most=ITEMS)
        self.names = [first, each, builder.step((each,))]
        return first, self.names[2]

    def mean(self, meaning: Meaning, value: Any) -> list[Any]:
        """Call it for each item."""
        first, each, end = self.names
        items = self.call(meaning, first, value)
        found = [self.call(meaning, each, one, is_start=at == 0) for at, one in enumerate(items)]
        return [self.call(meaning, end, found)]


@dataclass
class Locked(Block):
    """Steps in any order, but one at a time; with a body, the lock is taken before it and given back behind it."""

    count: int = 2
    body: Block | None = None
    how: str = ""
    ends: Ends = ("", "")
    blocks: list[list[Block]] = field(default_factory=list)

    def _wire(self, builder: Builder, sources: tuple[str, ...]) -> Ends:
        split = builder.step(sources)
        lock = builder.name("lock")
        last = []
        locked: list[tuple[str, str]] = []
        for at in range(self.count):
            blocks: list[Block] = [Step()]
            first = end = blocks[0].wire(builder, (split,))[1]
            if at == 0 and self.body is not None:
                blocks += [self.body, Step()]
                middle = self.body.wire(builder, (first,))[1]
                end = blocks[2].wire(builder, (middle,))[1]
            builder.control(first, takes=(lock,))
            builder.control(end, gives=(lock,))
            self.blocks.append(blocks)
            locked.append((first, end))
            last.append(end)
        builder.apart.append(tuple(locked))
        self.ends = split, builder.step(tuple(last), self.how)
        return self.ends

    def mean(self, meaning: Meaning, value: Any) -> list[Any]:
        """Follow all; which comes first does not matter."""
        value = self.call(meaning, self.ends[0], value)
        found = []
        for blocks in self.blocks:
            one = value
            for block in blocks:
                (one,) = block.mean(meaning, one)
            found.append(one)
        return [self.call(meaning, self.ends[1], found)]


@dataclass
class Deferred(Block):
    """A choice that is made by the signal which comes: a step beside it sends one."""

    blocks: list[Block]
    chosen: int = 0
    how: str = ""
    names: list[str] = field(default_factory=list)

    def _wire(self, builder: Builder, sources: tuple[str, ...]) -> Ends:
        split = builder.step(sources)
        offer = builder.step((split,), "", Control(split="deferred"), letter="D")
        signals = [builder.name("signal") for _ in self.blocks]
        first = [builder.step((offer,), "", Control(signal=signal), letter="W") for signal in signals]
        last = tuple(block.wire(builder, (one,))[1] for block, one in zip(self.blocks, first, strict=True))
        merge = builder.step(last, "", Control(join="any"), order="any")
        sender = builder.step((split,), "", Control(sends=(signals[self.chosen],)), letter="Z")
        self.names = [split, offer, first[self.chosen], merge, sender, builder.step((merge, sender), self.how)]
        return split, self.names[-1]

    def mean(self, meaning: Meaning, value: Any) -> list[Any]:
        """Follow the one whose signal comes."""
        split, offer, first, merge, sender, end = self.names
        value = self.call(meaning, split, value)
        sent = self.call(meaning, sender, value)
        value = self.call(meaning, first, self.call(meaning, offer, value))
        (value,) = self.blocks[self.chosen].mean(meaning, value)
        return [self.call(meaning, end, [self.call(meaning, merge, value), sent])]


@dataclass
class Inner(Block):
    """A workflow in place of a task."""

    body: Block
    first: Step = field(default_factory=Step)
    at: str = ""

    def _wire(self, builder: Builder, sources: tuple[str, ...]) -> Ends:
        inside = Builder(builder.seed, builder.chance, builder.sleeps, numbers=builder.numbers, takes_input=True)
        last = self.body.wire(inside, self.first.wire(inside, ())[1:])[1]
        name = self.at = builder.step(sources, slots=tuple(map(Result, sources)), letter="S")
        task = builder.tasks[name]
        builder.tasks[name] = replace(task, service=f"inner {name}", arguments=task.arguments[3:])
        function = inside.workflow((last,))
        builder.services.append(Service(f"inner {name}", "workflow", function=function))
        builder.inner[name] = inside
        return name, name

    def mean(self, meaning: Meaning, value: Any) -> list[Any]:
        """Follow what is inside."""
        meaning.calls[self.at] += 1
        meaning.starts[self.at] += 1
        if meaning.is_loose:
            meaning.loose.add(self.at)
        return self.body.mean(meaning, self.first.mean(meaning, value)[0])


__all__ = ["Apart", "Deferred", "ForEach", "Inner", "Instances", "Locked"]
