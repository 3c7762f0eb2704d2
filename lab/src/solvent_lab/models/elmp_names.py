"""Standard names for worlds of ELMP without end: turns and numbers of requests that only grow, made small again.

All claims in these worlds are of the whole resource, so that a process has no more than one let in at a time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from solvent.protocols.elmp.messages import (
    Asking,
    Freed,
    Given,
    Link,
    Relink,
    Relinked,
    Seat,
    Surrender,
    Token,
    Unlink,
    Unlinked,
)
from solvent.protocols.elmp.state import Busy, ElmpState, Place, Requesting, Use
from solvent.protocols.elmp.vocabulary import Data

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent_lab.checker.world import World

_PARTS_KEPT = 2**16
"""How many parts of worlds are remembered: worlds are very many, their parts few."""
_MAX_NUMBERS = 3
"""At most two requests of a process are known anywhere."""
_TURNS: dict[type, str] = {
    **dict.fromkeys((Place, Use, Given, Token, Link, Unlink, Unlinked, Relink, Relinked), "turn"),
    Seat: "turns",
    Requesting: "turn",
    ElmpState: "latest",
}
_REFS: dict[type, tuple[str, ...]] = {
    Place: ("predecessor", "next"),
    Given: ("predecessor", "next"),
    Link: ("next",),
    Unlink: ("gone", "next"),
    Relink: ("predecessor",),
    Seat: ("tail",),
    Surrender: ("place",),
}
_NUMBERS: dict[type, tuple[str, int]] = {
    ElmpState: ("asks", _MAX_NUMBERS),
    **dict.fromkeys((Requesting, Asking, Given, Freed), ("number", _MAX_NUMBERS)),
    Use: ("number", 1),
}


def standard(world: World) -> World:
    """Give turns their ranks, and requests numbers from a few: only which came first matters, or which is the same."""
    parts = (*world.nodes, *world.channels, world.ghost, world.requests)
    turns = [*map(_turns_in, parts)]
    ranks = {turn: rank for rank, turn in enumerate(sorted({0}.union(*turns)))}
    renamed = [_ranked(part, tuple([ranks[turn] for turn in known])) for part, known in zip(parts, turns, strict=True)]
    count = len(world.nodes)
    return replace(
        world,
        nodes=tuple(renamed[:count]),
        channels=tuple(renamed[count:-2]),
        ghost=renamed[-2],
        requests=renamed[-1],
    )


@lru_cache(_PARTS_KEPT)
def _turns_in(part: Any) -> tuple[int, ...]:
    turns = set[int]()

    def note(turn: int) -> int:
        turns.add(turn)
        return turn

    _renamed(part, note)
    return tuple(sorted(turns))


@lru_cache(_PARTS_KEPT)
def _ranked(part: Any, ranks: tuple[int, ...]) -> Any:
    """Give a part of a world with the ranks of its turns, in their order, instead of them."""
    return _renamed(part, dict(zip(_turns_in(part), ranks, strict=True)).__getitem__)


def _renamed(value: Any, rename: Callable[[int], int]) -> Any:
    if isinstance(value, tuple):
        return tuple(_renamed(one, rename) for one in value)
    if not isinstance(value, msgspec.Struct):
        return value
    kind = type(value)
    changed: dict[str, Any] = {}
    if kind in _TURNS:
        changed[_TURNS[kind]] = rename(getattr(value, _TURNS[kind]))
    for name in _REFS.get(kind, ()):
        ref = getattr(value, name)
        changed[name] = None if ref is None else (ref[0], rename(ref[1]))
    if isinstance(value, Place | Token) and value.trail is not None:
        # Turns follow each other there, and must go on doing so.
        first = value.turn if isinstance(value, Token) else value.next[1] if value.next is not None else 0
        for behind in range(1, len(value.trail) + 1):
            rename(first + behind)
    if kind in _NUMBERS:
        name, numbers = _NUMBERS[kind]
        changed[name] = getattr(value, name) % numbers
    if isinstance(value, ElmpState):
        changed["used"] = 0
    if isinstance(value, Data):
        changed["since"] = (rename(value.since[0]), 0)
    if isinstance(value, Busy):
        changed["requests"] = tuple((requester, number % _MAX_NUMBERS) for requester, number in value.requests)
    for name in kind.__struct_fields__:
        if name not in changed:
            changed[name] = _renamed(getattr(value, name), rename)
    return replace(value, **changed)


__all__ = ["standard"]
