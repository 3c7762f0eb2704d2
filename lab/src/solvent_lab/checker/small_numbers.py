"""Numbers that count without end, made small again.

Many machines number their attempts, gifts or rounds. They compare these numbers and never calculate with them, but
each retry takes a new one, so that a world with a retry would have states without end. A `Renumbering` is a
`Model.canonical` that replaces such numbers: by 1, 2, ... for each node that counts, in the order they had. It needs to
know where they stand. `ranked` is simpler: one sequence of numbers for the whole world.

    canonical = Renumbering({
        State: {"attempts": Numbers("attempt", is_last=True)},       # how many attempts this node has begun
        Waiting: {"attempt": Numbers("attempt")},                    # one of this node's own attempts
        Promise: {"attempt": Numbers("attempt", of="requester")},    # one of the node named in the field `requester`
        Take: {"attempt": Numbers("attempt", of=SENDER)},            # one of the node that sent the message
        Given: {"attempt": Numbers("attempt", of=RECIPIENT)},        # one of the node it is sent to
        Holder: {"done": Numbers("attempt", of=PAIRS, is_weak=True)} # remembered, to know them if they come again
    })

It looks into states, questions, effects not yet carried out, saved records, messages and the ghost: into every
record, tuple, set and mapping. Numbers below 1 stay as they are. Renamed worlds must behave like the world itself; the
checker cannot see whether that is so.

The checker renames very many worlds whose parts are few. It therefore uses `on_rows`, which looks at each part once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from solvent.protocols.machine import Send
from solvent.protocols.maps import Map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from solvent_lab.checker.packed_worlds import Packing, Row
    from solvent_lab.checker.world import Local, World

SELF, SENDER, RECIPIENT, PAIRS = "(self)", "(sender)", "(recipient)", "(pairs)"
"""Which node counts: the one where the value is; the sender or recipient of the message; the first of each pair."""


class Numbers(NamedTuple):
    """What a field holds: a number, or numbers (the items of a tuple or set, the keys of a mapping), of one kind.

    Numbers of different kinds have nothing to do with each other, nor have those of different nodes that count.
    """

    kind: str
    #: `SELF`, `SENDER`, `RECIPIENT`, `PAIRS`, or the name of a field beside this one.
    of: str = SELF
    #: Not a number that was given, but where the counting is: it becomes the greatest number still known anywhere,
    #: so that numbers which nobody knows any more are given again.
    is_last: bool = False
    #: Remembered only to recognise the number if it comes again. Where it is not known otherwise, it is taken out of
    #: its collection, or the record that holds it out of that record's.
    is_weak: bool = False


_Number: TypeAlias = tuple[str, int, int]
"""A kind, the node that counts, and a number of it."""
_NOTHING: frozenset[_Number] = frozenset()
_LAST = -1
"""Stands for the last number given."""
_Place: TypeAlias = tuple[int, int, int]
"""Where a value is: the node, the sender, the recipient; -1 where there is none."""
_Visit: TypeAlias = "Callable[[_Number, bool], int | None]"
"""Gives the number for a number, told whether it is weak; None: take it out."""


class _TakenOutType:
    """What stands for a value that is taken out."""


_TAKEN_OUT = _TakenOutType()


class Renumbering:
    """Gives a world's numbers anew; `simplified(node, local)` may first make a node simpler without changing it."""

    def __init__(
        self, places: Mapping[type, Mapping[str, Numbers]], *, simplified: Callable[[int, Local], Local] | None = None
    ) -> None:
        self._places = places
        self._simplified = simplified
        self._fields: dict[type, dict[str, Numbers]] = {}

    def __call__(self, world: World) -> World:
        """Return the world with new numbers."""
        count = len(world.nodes)
        nodes = [self.simple(node, local) for node, local in enumerate(world.nodes)]
        parts = (*nodes, *world.channels, world.ghost)
        places = list(places_of(count))
        strong = _NOTHING.union(*(self.numbers_in(part, place)[0] for part, place in zip(parts, places, strict=True)))
        change = changes(strong)
        renamed = [self.renamed(part, place, change) for part, place in zip(parts, places, strict=True)]
        return msgspec.structs.replace(
            world, nodes=tuple(renamed[:count]), channels=tuple(renamed[count:-1]), ghost=renamed[-1]
        )

    def on_rows(self, packing: Packing) -> Callable[[Row], Row]:
        """Return the same for worlds as rows of numbers."""
        return _OnRows(self, packing)

    def simple(self, node: int, local: Local) -> Local:
        """Return a node as simple as can be."""
        return local if self._simplified is None else self._simplified(node, local)

    def numbers_in(self, part: Any, place: _Place) -> tuple[frozenset[_Number], tuple[_Number, ...]]:
        """Return the numbers that a part of a world keeps known, and all that it holds."""
        strong: set[_Number] = set()
        found: set[_Number] = set()

        def visit(number: _Number, is_weak: bool) -> int:  # noqa: FBT001 - a visitor, called by place
            found.add(number)
            if not is_weak and number[2] != _LAST:
                strong.add(number)
            return number[2]

        self._walk(part, place, visit)
        return frozenset(strong), tuple(sorted(found))

    def renamed(self, part: Any, place: _Place, change: Mapping[_Number, int]) -> Any:
        """Return a part of a world with new numbers."""

        def visit(number: _Number, is_weak: bool) -> int | None:  # noqa: FBT001 - a visitor, called by place
            if number[2] == _LAST:
                return change.get(number, 0)
            return change.get(number) if is_weak else change[number]

        return self._walk(part, place, visit)

    # ------------------------------------------------------------------------------------------ going through

    def _walk(self, value: Any, place: _Place, visit: _Visit) -> Any:
        """Go through a value and give it back with the numbers that `visit` gives."""
        if isinstance(value, msgspec.Struct):
            if isinstance(value, Send):
                place = (place[0], place[0], value.to)
            changed = self._changed(value, value.__struct_fields__, place, visit)
            if changed is None:
                return _TAKEN_OUT
            return msgspec.structs.replace(value, **changed) if changed else value
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            record: Any = value
            changed = self._changed(record, record._fields, place, visit)
            return _TAKEN_OUT if changed is None else record._replace(**changed)
        if isinstance(value, tuple | frozenset):
            return type(value)(_kept(self._walk(one, place, visit) for one in value))
        if isinstance(value, Map):
            walked = (
                (self._walk(key, place, visit), self._walk(one, place, visit)) for key, one in sorted(value.items())
            )
            return Map([(key, one) for key, one in walked if key is not _TAKEN_OUT and one is not _TAKEN_OUT])
        return value

    def _changed(self, value: Any, fields: tuple[str, ...], place: _Place, visit: _Visit) -> dict[str, Any] | None:
        """Return the fields of a record that differ with the numbers that `visit` returns; None: take it out."""
        known = self._fields.get(type(value))
        if known is None:
            known = self._fields[type(value)] = {
                name: numbers
                for kind in reversed(type(value).__mro__)
                for name, numbers in self._places.get(kind, {}).items()
            }
        changed = {}
        for name in fields:
            before = getattr(value, name)
            numbers = known.get(name)
            if numbers is None:
                after = self._walk(before, place, visit)
            else:
                after = _renumbered(before, numbers, _owner(value, numbers.of, place), visit)
            if after is _TAKEN_OUT:
                return None
            if after != before:
                changed[name] = after
        return changed


def _renumbered(value: Any, numbers: Numbers, owner: int, visit: _Visit) -> Any:
    """Return what a field that holds numbers holds with new ones."""
    if value is None:
        return None
    if numbers.is_last:
        return visit((numbers.kind, owner, _LAST), False)
    if isinstance(value, int):
        return _visited(value, numbers, owner, visit)
    if numbers.of == PAIRS and isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], int):
        after = _visited(value[1], numbers, value[0], visit)
        return after if after is _TAKEN_OUT else (value[0], after)
    if isinstance(value, Map):
        pairs = ((_renumbered(key, numbers, owner, visit), one) for key, one in sorted(value.items()))
        return Map([(key, one) for key, one in pairs if key is not _TAKEN_OUT])
    return type(value)(_kept(_renumbered(one, numbers, owner, visit) for one in value))


def _visited(number: int, numbers: Numbers, owner: int, visit: _Visit) -> Any:
    if number < 1:
        return number
    after = visit((numbers.kind, owner, number), numbers.is_weak)
    return _TAKEN_OUT if after is None else after


def _kept(values: Iterable[Any]) -> Iterator[Any]:
    return (one for one in values if one is not _TAKEN_OUT)


def _owner(value: Any, of: str, place: _Place) -> int:
    if of == SELF:
        return place[0]
    if of == SENDER:
        return place[1]
    if of == RECIPIENT:
        return place[2]
    return -1 if of == PAIRS else int(getattr(value, of))


def changes(strong: frozenset[_Number]) -> dict[_Number, int]:
    """Return the new numbers for those that are known, and for the last of each node that counts."""
    change: dict[_Number, int] = {}
    for kind, node, number in sorted(strong):
        last = change.get((kind, node, _LAST), 0) + 1
        change[kind, node, number] = change[kind, node, _LAST] = last
    return change


def places_of(nodes_count: int) -> Iterator[_Place]:
    """Yield the places of the parts of a world, in the order of a row: nodes, channels, ghost."""
    for node in range(nodes_count):
        yield node, node, -1
    for sender in range(nodes_count):
        for to in range(nodes_count):
            yield sender, sender, to
    yield -1, -1, -1


class _OnRows:
    """Renumbers rows; every part is looked at once, and renamed once for each set of new numbers."""

    def __init__(self, renumbering: Renumbering, packing: Packing) -> None:
        self._renumbering = renumbering
        self._packing = packing
        self._places = list(places_of(packing.nodes_count))
        #: For each place, by the number of the part there: the number of the simple part, and its numbers.
        self._found: list[dict[int, tuple[int, frozenset[_Number], tuple[_Number, ...]]]] = [{} for _ in self._places]
        self._changes: dict[frozenset[_Number], dict[_Number, int]] = {}
        self._renamed: list[dict[tuple[int, tuple[int | None, ...]], int]] = [{} for _ in self._places]

    def __call__(self, row: Row) -> Row:
        """Return a row with new numbers."""
        # The allowance, at the end of a row, holds no numbers; `zip` leaves it out.
        found = [
            known.get(part) or self._looked_at(place, part)
            for place, (known, part) in enumerate(zip(self._found, row, strict=False))
        ]
        strong = _NOTHING.union(*[one[1] for one in found if one[1]])
        change = self._changes.get(strong)
        if change is None:
            change = self._changes[strong] = changes(strong)
        after = []
        for place, (part, _, numbers) in enumerate(found):
            if not numbers:
                after.append(part)
                continue
            key = (part, tuple([change.get(number) for number in numbers]))
            renamed = self._renamed[place].get(key)
            after.append(renamed if renamed is not None else self._rename(place, key, change))
        return (*after, row[-1])

    def _looked_at(self, place: int, part: int) -> tuple[int, frozenset[_Number], tuple[_Number, ...]]:
        value = self._value(place, part)
        simple = part
        if place < self._packing.nodes_count:
            value = self._renumbering.simple(place, value)
            simple = self._packing.locals.number(value)
        known = self._found[place][part] = simple, *self._renumbering.numbers_in(value, self._places[place])
        return known

    def _rename(self, place: int, key: tuple[int, tuple[int | None, ...]], change: Mapping[_Number, int]) -> int:
        packing = self._packing
        value = self._renumbering.renamed(self._value(place, key[0]), self._places[place], change)
        if place < packing.nodes_count:
            number = packing.locals.number(value)
        elif place < packing.ghost_at:
            number = packing.queues.number(value)
        else:
            number = packing.ghosts.number(value)
        self._renamed[place][key] = number
        return number

    def _value(self, place: int, part: int) -> Any:
        packing = self._packing
        if place < packing.nodes_count:
            return packing.locals[part]
        return packing.queues.values[part] if place < packing.ghost_at else packing.ghosts[part]


# ------------------------------------------------------------------------------------------------------------ ranks

_PARTS_KEPT = 2**16
"""How many parts of worlds are remembered: worlds are very many, their parts few."""


def ranked(
    rename: Callable[[Any, Callable[[int], int]], Any], *, known: frozenset[int] = frozenset()
) -> Callable[[World], World]:
    """Return a `Model.canonical` that replaces numbers by their ranks, for numbers of which only the order matters.

    `rename(part, name)` applies `name` to every such number in a node, the contents of a channel, the ghost or the
    requests. Numbers below 0 stay; those in `known` have ranks whether they occur or not.
    """

    @lru_cache(_PARTS_KEPT)
    def numbers_in(part: Any) -> tuple[int, ...]:
        found = set[int]()

        def note(number: int) -> int:
            found.add(number)
            return number

        rename(part, note)
        return tuple(sorted(found))

    @lru_cache(_PARTS_KEPT)
    def renamed(part: Any, ranks: tuple[int, ...]) -> Any:
        return rename(part, dict(zip(numbers_in(part), ranks, strict=True)).__getitem__)

    def standard(world: World) -> World:
        parts = (*world.nodes, *world.channels, world.ghost, world.requests)
        numbers = [*map(numbers_in, parts)]
        counted = sorted(one for one in known.union(*numbers) if one >= 0)
        ranks = {number: rank for rank, number in enumerate(counted)}
        after = [
            renamed(part, tuple([ranks.get(one, one) for one in found]))
            for part, found in zip(parts, numbers, strict=True)
        ]
        count = len(world.nodes)
        return msgspec.structs.replace(
            world, nodes=tuple(after[:count]), channels=tuple(after[count:-2]), ghost=after[-2], requests=after[-1]
        )

    return standard


__all__ = ["PAIRS", "RECIPIENT", "SELF", "SENDER", "Numbers", "Renumbering", "ranked"]
