"""Worlds that differ in names only: numbers that count without end made small again, nodes that change places.

Many machines number their attempts, gifts or rounds. They compare these numbers and never calculate with them, but
each retry takes a new one, so that a world with a retry would have states without end. `Renumbering` is a
`Model.canonical` that gives such numbers anew, from 1 for each node that counts, in the same order: it needs to know
where they stand.

    canonical = Renumbering({
        State: {"attempts": Numbers("attempt", is_last=True)},  # how many attempts this node has begun
        Waiting: {"attempt": Numbers("attempt")},               # one of this node's own attempts
        Promise: {"attempt": Numbers("attempt", "requester")},  # those of the node named in the field `requester`
        Take: {"attempt": Numbers("attempt", SENDER)},          # those of the node that sent the message
        Given: {"attempt": Numbers("attempt", RECIPIENT)},      # those of the node it is sent to
    })

`permuted` gives the world in which nodes have changed places, for a `Model.variants`. It is right only where no
machine compares nodes.

A renaming must be such that renamed worlds behave like the world itself; the checker cannot see whether that is so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec
from immutables import Map

from solvent.checker.world import Local, World
from solvent.protocols.machine import NodeId, PeerRestarted, Send

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SELF, SENDER, RECIPIENT, PAIRS = "(self)", "(sender)", "(recipient)", "(pairs)"
"""Who counts: the node where the value is; the sender or the recipient of the message; the first of each pair."""


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


_Place: TypeAlias = tuple[int, int, int]
"""Where a value is: the node, the sender, the recipient; -1 where there is none."""
_Number: TypeAlias = tuple[str, int, int]
"""A kind, the node that counts, and a number of it."""
_NOTHING: frozenset[_Number] = frozenset()
_LAST = -1
_Visit: TypeAlias = "Callable[[str, int, int], int]"


class Renumbering:
    """Gives a world's numbers anew: 1, 2, ... in the order they had. Numbers below 1 stay, as they mean something."""

    def __init__(self, places: Mapping[type, Mapping[str, Numbers]]) -> None:
        self._places = places
        self._fields: dict[type, dict[str, Numbers]] = {}
        # Parts of worlds come back many thousand times. Each is kept, so that it can be known by its identity.
        self._found: dict[tuple[int, _Place], tuple[Any, frozenset[_Number]]] = {}
        self._renamed: dict[tuple[int, _Place, tuple[tuple[_Number, int], ...]], Any] = {}
        self._same: dict[Any, Any] = {}

    def __call__(self, world: World) -> World:
        """Give the world with new numbers."""
        parts = self._parts(world)
        found_in = [self._numbers_in(part, place) if part else _NOTHING for part, place in parts]
        used = frozenset[_Number]().union(*found_in)
        if not used:
            return world
        numbers: dict[tuple[str, int], list[int]] = {}
        for kind, node, number in used:
            known = numbers.setdefault((kind, node), [])
            if number != _LAST:
                known.append(number)
        change = {
            (kind, node, number): place
            for (kind, node), found in numbers.items()
            for place, number in enumerate(sorted(found), 1)
        }
        change |= {(kind, node, _LAST): len(found) for (kind, node), found in numbers.items()}
        renamed = [
            self._rename(part, place, found, change) if found else part
            for (part, place), found in zip(parts, found_in, strict=True)
        ]
        count = len(world.nodes)
        return msgspec.structs.replace(
            world, nodes=tuple(renamed[:count]), channels=tuple(renamed[count:-1]), ghost=renamed[-1]
        )

    @staticmethod
    def _parts(world: World) -> list[tuple[Any, _Place]]:
        count = len(world.nodes)
        parts: list[tuple[Any, _Place]] = [(one, (node, node, -1)) for node, one in enumerate(world.nodes)]
        parts += [(items, (slot // count, slot // count, slot % count)) for slot, items in enumerate(world.channels)]
        parts.append((world.ghost, (-1, -1, -1)))
        return parts

    def _numbers_in(self, part: Any, place: _Place) -> frozenset[_Number]:
        known = self._found.get((id(part), place))
        if known is None:
            found: set[_Number] = set()

            def visit(kind: str, node: int, number: int) -> int:
                found.add((kind, node, number))
                return number

            self._walk(part, place, visit)
            known = self._found[id(part), place] = part, frozenset(found)
            self._same.setdefault(part, part)
        return known[1]

    def _rename(self, part: Any, place: _Place, found: frozenset[_Number], change: Mapping[_Number, int]) -> Any:
        used = [(one, change[one]) for one in found]
        key = (id(part), place, tuple(sorted(used)))
        known = self._renamed.get(key)
        if known is None:
            renamed = self._walk(part, place, lambda kind, node, number: change[kind, node, number])
            known = self._renamed[key] = self._same.setdefault(renamed, renamed)
        return known

    # ------------------------------------------------------------------------------------------ going through

    def _walk(self, value: Any, place: _Place, visit: _Visit) -> Any:
        """Go through a value and give it back with the numbers that `visit` gives."""
        if isinstance(value, Send):
            place = (place[0], place[0], value.to)
        if isinstance(value, msgspec.Struct):
            changed = self._changed(value, value.__struct_fields__, place, visit)
            return msgspec.structs.replace(value, **changed) if changed else value
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            record: Any = value
            return record._replace(**self._changed(record, record._fields, place, visit))
        if isinstance(value, tuple | frozenset):
            return type(value)(self._walk(one, place, visit) for one in value)
        if isinstance(value, Map):
            walked = [(self._walk(key, place, visit), self._walk(one, place, visit)) for key, one in value.items()]
            return Map(walked)
        return value

    def _changed(self, value: Any, fields: tuple[str, ...], place: _Place, visit: _Visit) -> dict[str, Any]:
        """Give the fields of a record that are different with the numbers that `visit` gives."""
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
                after = self._walk_numbers(before, numbers, _owner(value, numbers.of, place), visit)
            if after != before:
                changed[name] = after
        return changed

    def _walk_numbers(self, value: Any, numbers: Numbers, owner: int, visit: _Visit) -> Any:
        if value is None:
            return None
        if numbers.is_last:
            return visit(numbers.kind, owner, _LAST)
        if isinstance(value, int):
            return visit(numbers.kind, owner, value) if value > 0 else value
        if numbers.of == PAIRS and isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], int):
            return (value[0], visit(numbers.kind, value[0], value[1]) if value[1] > 0 else value[1])
        if isinstance(value, Map):
            keys = ((self._walk_numbers(key, numbers, owner, visit), one) for key, one in value.items())
            return Map(list(keys))
        return type(value)(self._walk_numbers(one, numbers, owner, visit) for one in value)


def _owner(value: Any, of: str, place: _Place) -> int:
    if of == SELF:
        return place[0]
    if of == SENDER:
        return place[1]
    if of == RECIPIENT:
        return place[2]
    return -1 if of == PAIRS else int(getattr(value, of))


# ------------------------------------------------------------------------------------------------ changing places


def permuted(world: World, places: Sequence[int], rename: Callable[[Any], Any]) -> World:
    """Give the world in which node n is at place `places[n]`; `rename` does the same to nodes named inside a value."""
    nodes = range(len(world.nodes))
    origin = [places.index(place) for place in nodes]

    def renamed(items: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            type(one)(NodeId(places[one.peer])) if isinstance(one, PeerRestarted) else rename(one) for one in items
        )

    def moved(local: Local) -> Local:
        return msgspec.structs.replace(
            local,
            state=rename(local.state),
            questions=renamed(local.questions),
            unfinished=renamed(local.unfinished),
            saved=renamed(local.saved),
        )

    return World(
        nodes=tuple(moved(world.nodes[origin[place]]) for place in nodes),
        channels=tuple(renamed(world.channel(origin[sender], origin[to])) for sender in nodes for to in nodes),
        ghost=rename(world.ghost),
        requests=tuple((NodeId(places[node]), rename(request)) for node, request in world.requests),
        budget=world.budget,
    )


__all__ = ["PAIRS", "RECIPIENT", "SELF", "SENDER", "Numbers", "Renumbering", "permuted"]
