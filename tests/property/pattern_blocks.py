"""Random workflows nested of patterns, and what they mean without molecules.

A block has one way in and one way out. `wire` makes its tasks; `mean` says what it does with one token: it calls its
tasks, one after the other, and gives what comes out. Tokens do not know each other: where several of them meet and may
be mixed, the join does not look at their numbers, so that each can be followed by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from solvent.workflows.model import Alternative, Arrived, Control, Route, Test, Value
from tests.property.pattern_parts import EVEN, After, Unit, digit

if TYPE_CHECKING:
    from tests.property.pattern_parts import Builder, Meaning

Ends = tuple[str, str]
"""The first and the last task of a block."""


class Block:
    """A part of a nesting; it is wired once before its meaning is asked for."""

    builder: Builder

    def wire(self, builder: Builder, sources: tuple[str, ...]) -> Ends:
        """Make the tasks, and remember them."""
        self.builder = builder
        return self._wire(builder, sources)

    def _wire(self, builder: Builder, sources: tuple[str, ...]) -> Ends:
        raise NotImplementedError

    def mean(self, meaning: Meaning, value: Any) -> list[Any]:
        """Say what comes out for one token."""
        raise NotImplementedError

    def call(self, meaning: Meaning, name: str, arrived: Any, *, is_start: bool = True) -> Any:
        """Let a task of this block be called, as it was made."""
        label, how = (one.value for one in self.builder.tasks[name].arguments[:2] if isinstance(one, Value))
        return meaning.call(name, label, how, arrived, is_start=is_start)


@dataclass
class Step(Block):
    """One task."""

    how: str = ""
    at: str = ""

    def _wire(self, builder: Builder, sources: tuple[str, ...]) -> Ends:
        self.at = builder.step(sources, self.how)
        return self.at, self.at

    def mean(self, meaning: Meaning, value: Any) -> list[Any]:
        """Call it."""
        return [self.call(meaning, self.at, value)]


@dataclass
class Replaced(Block):
    """A task that fails for some numbers, or whose result is rejected for some; another takes its place then."""

    is_rejected: bool = False
    at: str = ""
    other: str = ""

    def _wire(self, builder: Builder, sources: tuple[str, ...]) -> Ends:
        self.at = builder.step(sources, "" if self.is_rejected else "fails", letter="F")
        self.other = builder.step((), slots=(Arrived("all"),), letter="A")
        when = "result % 2 == 1" if self.is_rejected else None
        on: Any = ("condition",) if self.is_rejected else ("failure",)
        builder.alternatives.append(Alternative(f"instead of {self.at}", {self.at: self.other}, on=on, when=when))
        builder.units[self.at] = Unit(others=(self.other,))
        return self.at, self.at

    def mean(self, meaning: Meaning, value: Any) -> list[Any]:
        """Call it, and perhaps the other."""
        try:
            found = self.call(meaning, self.at, value)
            is_bad = self.is_rejected and found % 2 == 1
        except ValueError:
            is_bad = True
        return [self.call(meaning, self.other, value) if is_bad else found]


@dataclass
class Row(Block):
    """One block after the other."""

    blocks: list[Block]

    def _wire(self, builder: Builder, sources: tuple[str, ...]) -> Ends:
        first = ""
        for block in self.blocks:
            entry, last = block.wire(builder, sources)
            first, sources = first or entry, (last,)
        return first, sources[0]

    def mean(self, meaning: Meaning, value: Any) -> list[Any]:
        """Follow every token through all."""
        values = [value]
        for block in self.blocks:
            values = [out for one in values for out in block.mean(meaning, one)]
        return values


@dataclass
class Parallel(Block):
    """All blocks at the same time; `join` is `all`, `first` so many, or `cancel`: first so many, and end the others."""

    blocks: list[Block]
    join: str = "all"
    need: int = 1
    how: str = ""
    ends: Ends = ("", "")

    def _wire(self, builder: Builder, sources: tuple[str, ...]) -> Ends:
        split = builder.step(sources)
        last = tuple(block.wire(builder, (split,))[1] for block in self.blocks)
        control = None
        if self.join != "all":
            control = Control(join="first", need=self.need, cancels_rest=self.join == "cancel")
        self.ends = split, builder.step(last, self.how, control, order=self.join, need=self.need)
        return self.ends

    def mean(self, meaning: Meaning, value: Any) -> list[Any]:
        """Follow all; those that may be cancelled run at most as often."""
        value = self.call(meaning, self.ends[0], value)
        meaning.is_loose += self.join == "cancel"
        values = [out for block in self.blocks for out in block.mean(meaning, value)]
        meaning.is_loose -= self.join == "cancel"
        return [self.call(meaning, self.ends[1], values)]


@dataclass
class Choice(Block):
    """One block of several (`is_some`: one or more) by a condition; none is a way past them all."""

    blocks: list[Block | None]
    is_some: bool = False
    first: str = ""
    how: str = ""
    ends: Ends = ("", "")

    def _wire(self, builder: Builder, sources: tuple[str, ...]) -> Ends:
        choice = builder.step(sources, self.first, letter="C")
        ways = [None if block is None else block.wire(builder, (choice,)) for block in self.blocks]
        last = tuple(choice if way is None else way[1] for way in ways)
        join = Control(join="active" if self.is_some else "any")
        end = builder.step(last, self.how, join, order="any")
        tests = [Test(f"result % {at + 2} == 0") for at in range(len(ways) - 1)]
        if builder.chance.random() < 0.3:
            tests[0] = Test(predicate=EVEN)
        routes = [Route(end if way is None else way[0], test) for way, test in zip(ways, [*tests, None], strict=True)]
        builder.control(choice, split="some" if self.is_some else "one", routes=tuple(routes))
        self.ends = choice, end
        return self.ends

    def mean(self, meaning: Meaning, value: Any) -> list[Any]:
        """Follow those that are chosen."""
        value = self.call(meaning, self.ends[0], value)
        held = [at for at in range(len(self.blocks) - 1) if value % (at + 2) == 0] or [len(self.blocks) - 1]
        values: list[Any] = []
        for at in held if self.is_some else held[:1]:
            block = self.blocks[at]
            values += [value] if block is None else block.mean(meaning, value)
        if self.is_some:
            return [self.call(meaning, self.ends[1], values)]
        return [self.call(meaning, self.ends[1], one) for one in values]


@dataclass
class Merged(Block):
    """All blocks at the same time, each of which starts what follows; in the end all are one again, if it is closed."""

    blocks: list[Block]
    body: Block
    is_closed: bool = True
    split: str = ""
    merge: str = ""
    end: str = ""

    def _wire(self, builder: Builder, sources: tuple[str, ...]) -> Ends:
        self.split = builder.step(sources)
        last = tuple(block.wire(builder, (self.split,))[1] for block in self.blocks)
        self.merge = builder.step(last, "", Control(join="any"), order="any", letter="M")
        end = self.body.wire(builder, (self.merge,))[1]
        if self.is_closed:
            count = len(self.blocks)
            end = self.end = builder.step((end,), "blind", Control(threads=count), threads=count)
        return self.split, end

    def mean(self, meaning: Meaning, value: Any) -> list[Any]:
        """Follow all."""
        value = self.call(meaning, self.split, value)
        values = [self.call(meaning, self.merge, out) for block in self.blocks for out in block.mean(meaning, value)]
        values = [out for one in values for out in self.body.mean(meaning, one)]
        return [self.call(meaning, self.end, values)] if self.is_closed else values


@dataclass
class Threads(Block):
    """So many tokens at once on one way."""

    body: Block
    count: int = 2
    ends: Ends = ("", "")

    def _wire(self, builder: Builder, sources: tuple[str, ...]) -> Ends:
        split = builder.step(sources, "", Control(copies=self.count))
        builder.units[split] = Unit(copies=self.count)
        last = self.body.wire(builder, (split,))[1]
        self.ends = split, builder.step((last,), "blind", Control(threads=self.count), threads=self.count)
        return self.ends

    def mean(self, meaning: Meaning, value: Any) -> list[Any]:
        """Follow each of them."""
        value = self.call(meaning, self.ends[0], value)
        values = [out for _ in range(self.count) for out in self.body.mean(meaning, value)]
        return [self.call(meaning, self.ends[1], values)]


@dataclass
class Loop(Block):
    """A block so many times, counted by the data: `is_while` asks before, otherwise behind."""

    body: Block
    count: int
    depth: int
    is_while: bool = False
    names: tuple[str, str, str] = ("", "", "")

    def _wire(self, builder: Builder, sources: tuple[str, ...]) -> Ends:
        place = digit(self.depth)
        test = Test(f"result % {place * 10} < {place * self.count}")
        entry = builder.step(sources, "", Control(join="any"), letter="L", slots=(Arrived("all"),))
        first, last = self.body.wire(builder, (entry,))
        back = builder.step((last,), f"up{self.depth}")
        end = builder.step((entry if self.is_while else back,), f"reset{self.depth}")
        if self.is_while:
            builder.control(entry, split="one", routes=(Route(first, test), Route(end)))
            builder.control(back, routes=(Route(entry),))
        else:
            builder.control(back, again=Route(entry, test))
        # What comes back starts the loop as well as what comes in.
        builder.orders[:] = [
            order if order.task != entry else After(entry, (*order.sources, back), "any") for order in builder.orders
        ]
        self.names = entry, back, end
        return entry, end

    def mean(self, meaning: Meaning, value: Any) -> list[Any]:
        """Go round as long as the counter says."""
        todo, found = [value], []
        place = digit(self.depth)
        while todo:
            value = self.call(meaning, self.names[0], todo.pop())
            if self.is_while and value % (place * 10) >= place * self.count:
                found.append(value)
                continue
            for out in self.body.mean(meaning, value):
                value = self.call(meaning, self.names[1], out)
                is_again = self.is_while or value % (place * 10) < place * self.count
                (todo if is_again else found).append(value)
        return [self.call(meaning, self.names[2], one) for one in found]
