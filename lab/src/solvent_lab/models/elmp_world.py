"""Small worlds of ELMP: processes with users, and what users have seen.

A user releases what it was granted at some time. In most worlds each user wants something once; the goal is that every
user has got what it wanted, and that everything is at rest. In an endless world some users request again and again, and
the goal is what one other process wants: it must not starve.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from solvent.protocols.elmp.invariants import SAFETY, Scene
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
from solvent.protocols.elmp.process import Elmp
from solvent.protocols.elmp.state import Busy, ElmpConfig, ElmpState, Idle, Out, Place, Requesting
from solvent.protocols.elmp.state import Use as HeldUse
from solvent.protocols.elmp.vocabulary import (
    Astray,
    Claim,
    Data,
    Dropped,
    Entrusted,
    Fetched,
    Granted,
    Join,
    Joined,
    Leave,
    Left,
    Release,
    Request,
)
from solvent.protocols.machine import Answered, Ask, Effect, Effects, NodeId, Report, Requested, Value
from solvent_lab.checker.model import Asking as AskingMode
from solvent_lab.checker.model import Model
from solvent_lab.checker.small_numbers import ranked
from solvent_lab.checker.world import invariants_over

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent.protocols.machine import Event
    from solvent_lab.checker.world import World

USUAL = ElmpConfig()
LAZY, STRICT = ElmpConfig(is_lazy=True), ElmpConfig(is_lazy=True, exchange_every=100, slack=1.1)
SELDOM = ElmpConfig(exchange_every=100)
STAR_SELDOM, STAR_FOURTH = ElmpConfig(order=3, exchange_every=100), ElmpConfig(order=3, exchange_every=4)
THREE, FOUR, FIVE = (None, 0, 0), (None, 0, 0, 1), (None, 0, 0, 1, 1)
STAR, THREAD = (None, 0, 0, 0), (None, 0, 1)
"""Trees: the parent of each process."""
_MAX_TURNS = 3
"""Who leaves may need the token first, and its places are given up when there are others behind them."""


# --------------------------------------------------------------------------------------------------------- wishes


def all_want(count: int, wanted: object) -> list[tuple[int, object]]:
    """Return the wishes of so many processes that all want the same."""
    return [(node, wanted) for node in range(count)]


def join_at(known: int) -> Join:
    """Return the wish to join at a process."""
    return Join(NodeId(known))


def part_of(node: int) -> Request:
    """Return a claim of a part that overlaps the parts of the next processes."""
    return Request(claim=Claim(first=5 * node, length=8))


READS = Request(claim=Claim(is_shared=True))
PARTS = [(node, part_of(node)) for node in range(3)]
ONCE = all_want(3, Request())
ALL = all_want(4, Request())
TWICE = [*ONCE, (1, Request(1)), (2, Request(1))]

# ---------------------------------------------------------------------------------------------------------- users


class Use(Value, frozen=True, gc=False):
    """Asked of the world around: use what was granted; the answer comes when that is done."""

    handle: int
    data: Data | None
    is_changing: bool


class Fetch(Value, frozen=True, gc=False):
    """Asked of the world around: fetch the data; the answer comes when it is here."""

    data: Data
    use: int


class User(Elmp):
    """A process with a user that fetches the data, changes it, and at some time releases what it was granted."""

    #: Whether the user needs no time.
    is_instant = False
    #: Whether it does not say when it has fetched the data.
    is_late = False
    #: Whether it requests again what it has released.
    is_endless = False

    def step(self, state: Any, event: Event) -> tuple[Any, Effects]:
        """Take one event; what the user does at once belongs to it."""
        if isinstance(event, Answered):
            event = Requested(event.answer)
        take = super().step
        state, effects = take(state, event)
        todo, done = list(effects), list[Effect]()
        if self.is_endless and isinstance(event, Requested) and isinstance(event.request, Release):
            state, effects = take(state, Requested(Request()))
            todo += effects
        while todo:
            effect = todo.pop(0)
            done.append(effect)
            for wanted in self._wants(effect, state):
                if isinstance(wanted, Ask):
                    done.append(wanted)
                else:
                    state, effects = take(state, Requested(wanted))
                    todo += effects
        return state, tuple(done)

    def _wants(self, effect: Effect, state: Any) -> list[Any]:
        """Return what the user does when it is told something: at once, or by an answer."""
        outcome = effect.outcome if isinstance(effect, Report) else None
        if isinstance(outcome, Entrusted):
            return [Ask(Fetch(outcome.data, outcome.use))]
        if not isinstance(outcome, Granted):
            return []
        data = outcome.data
        fetched = [Fetched(data.version, use=outcome.use)] if data is not None and not self.is_late else []
        if self.is_instant:
            return [*fetched, Release(outcome.handle)]
        is_shared = any(use.claim.is_shared for use in state.uses if use.number == outcome.use)
        return [*fetched, Ask(Use(outcome.handle, data, is_changing=not is_shared))]


class Instant(User):
    """A process with a user that needs no time."""

    is_instant = True


class Late(User):
    """A process with a user that says that it has the data only when it has changed it."""

    is_late = True


class Endless(User):
    """A process with a user that requests again and again."""

    is_endless = True


def _answer(_world: World, node: NodeId, question: Use | Fetch) -> tuple[Any, ...]:
    if isinstance(question, Fetch):
        return (Fetched(question.data.version, use=question.use),)
    data = question.data
    is_changed = data is not None and question.is_changing
    return (Release(question.handle, Data(data.version + 1, node) if data is not None and is_changed else None),)


# ------------------------------------------------------------------------------------------------ what they have seen


class Seen(Value, frozen=True, gc=False):
    """What users have been told."""

    #: The last turn that was granted, and whether a later one was granted before an earlier one.
    turn: int = 0
    is_overtaken: bool = False
    #: How many claims were granted or dropped, and how many processes have joined, or failed to, and left.
    settled: int = 0
    joined: int = 0
    left: int = 0


def observe(seen: Seen, _node: NodeId, outcome: Any) -> Seen:
    """Note what a user is told."""
    match outcome:
        case Granted(turn=turn):
            is_overtaken = seen.is_overtaken or turn < seen.turn
            return replace(seen, turn=turn, is_overtaken=is_overtaken, settled=seen.settled + 1)
        case Dropped():
            return replace(seen, settled=seen.settled + 1)
        case Joined() | Astray():
            return replace(seen, joined=seen.joined + 1)
        case Left():
            return replace(seen, left=seen.left + 1)
    return seen


def turns_come_in_order(world: World) -> str | None:
    """First come, first served: turns are granted in the order in which the root gave them."""
    return "a later turn was granted first" if world.ghost.is_overtaken else None


def nobody_asks_again_and_again(limit: int) -> Callable[[World], str | None]:
    """Whoever wants something takes a few turns for it at most, however long others take."""

    def nobody_asks_again_and_again(world: World) -> str | None:
        turns = max(state.turns for state in world.states)
        return f"there are {turns} turns" if turns > limit else None

    return nobody_asks_again_and_again


def is_settled(world: World) -> bool:
    """Everybody has got what it wanted, and nothing is under way."""
    return (
        world.is_quiet
        and not world.requests
        and all(is_idle(state) and state.departure is None and not state.early for state in world.states)
        and not any(one.handle is not None for state in world.states for one in (*state.places, *state.uses))
    )


def is_satisfied(seen: Seen, requests: Sequence[tuple[int, Any]]) -> bool:
    """Whether everybody was told of what it wanted: no claim, departure or insertion got lost."""
    wanted = [type(request) for _, request in requests]
    return (
        seen.settled >= wanted.count(Request) and seen.left == wanted.count(Leave) and seen.joined == wanted.count(Join)
    )


def is_idle(state: ElmpState) -> bool:
    """Whether a process has nothing to do; one that need not know its place may never hear of it."""
    return type(state.phase) in (Idle, Out) or (type(state.phase) is Requesting and state.phase.can_wait)


# --------------------------------------------------------------------------------------------------- standard names
# Worlds without end: turns and numbers of requests that only grow are made small again. All claims in these worlds are
# of the whole resource, so that a process has no more than one let in at a time.

_MAX_NUMBERS = 3
"""At most two requests of a process are known anywhere."""
_TURNS: dict[type, tuple[str, ...]] = {
    **dict.fromkeys((Place, HeldUse, Given, Token, Link, Unlink, Unlinked, Relink, Relinked, Requesting), ("turn",)),
    Seat: ("turns",),
    ElmpState: ("turns", "latest"),
}
_REFS: dict[type, tuple[str, ...]] = {
    Place: ("predecessor", "next"),
    Given: ("predecessor", "next"),
    Link: ("next",),
    Unlink: ("gone", "next"),
    Relink: ("predecessor",),
    Seat: ("tail",),
    ElmpState: ("tail",),
    Surrender: ("place",),
}
_NUMBERS: dict[type, tuple[str, int]] = {
    ElmpState: ("asks", _MAX_NUMBERS),
    **dict.fromkeys((Requesting, Asking, Given, Freed), ("number", _MAX_NUMBERS)),
    HeldUse: ("number", 1),
}


def _renamed(value: Any, rename: Callable[[int], int]) -> Any:
    if isinstance(value, tuple):
        return tuple(_renamed(one, rename) for one in value)
    if not isinstance(value, msgspec.Struct):
        return value
    kind = type(value)
    changed: dict[str, Any] = {}
    for name in _TURNS.get(kind, ()):
        changed[name] = rename(getattr(value, name))
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
    if isinstance(value, Busy):
        changed["requests"] = tuple((requester, number % _MAX_NUMBERS) for requester, number in value.requests)
    for name in kind.__struct_fields__:
        if name not in changed:
            changed[name] = _renamed(getattr(value, name), rename)
    return replace(value, **changed)


standard = ranked(_renamed, known=frozenset({0}))
"""Gives turns their ranks, and requests numbers from a few: only which came first matters, or which is the same."""


# ---------------------------------------------------------------------------------------------------------- worlds


def elmp(
    parents: Sequence[int | None],
    requests: Sequence[tuple[int, Any]],
    *,
    config: ElmpConfig = USUAL,
    user: type[User] = Instant,
    has_data: bool = False,
    holder: int = 0,
    is_endless: bool = False,
    is_in_order: bool = True,
    title: str = "",
) -> Model:
    """Build a world: a tree given by each process's parent, the first being the root; and processes that join it.

    An endless one has turns without number and no requests, whose turns are remembered. Where claims may be held
    together they need not be granted in order. If there is data, one process has it, the root unless told otherwise.
    """
    data = Data(1, NodeId(holder)) if has_data else None
    outside = sum(isinstance(wanted, Join) for _, wanted in requests)
    machines = _machines(parents, outside, config=config, data=data)
    return Model(
        machines=tuple(_with(one, user) for one in machines),
        title=title,
        answers=_answer,
        asking=AskingMode.MEANWHILE,
        requests=tuple(requests),
        ghost=Seen(),
        observe=observe,
        invariants=(
            *_safety(config),
            *([turns_come_in_order] if is_in_order else []),
            *([] if is_endless else [nobody_asks_again_and_again(1 + _MAX_TURNS * len(requests))]),
        ),
        goal=lambda world: is_settled(world) and (is_endless or is_satisfied(world.ghost, requests)),
        canonical=standard if is_endless else None,
    )


timed = partial(elmp, user=User)
"""Builds a world whose users need time."""
together = partial(timed, is_in_order=False)
"""Builds a world of claims that may be held together."""
with_data = partial(timed, has_data=True)
"""Builds a world with data."""


def endless(
    parents: Sequence[int | None],
    request: tuple[int, Any],
    *,
    wanting: Sequence[int],
    outcome: type,
    config: ElmpConfig = USUAL,
    title: str = "",
) -> Model:
    """Build a world in which some request again and again, and one process wants something else: it must get it."""
    node, wanted = request
    machines = _machines(parents, int(isinstance(wanted, Join)), config=config)
    return Model(
        machines=tuple(_with(one, Endless if one.node in wanting else User) for one in machines),
        title=title,
        answers=_answer,
        asking=AskingMode.MEANWHILE,
        requests=(*((one, Request()) for one in wanting), request),
        ghost=False,
        observe=lambda ghost, who, told: ghost or (who == node and isinstance(told, outcome)),
        invariants=_safety(config),
        goal=lambda world: bool(world.ghost),
        canonical=standard,
    )


def _machines(
    parents: Sequence[int | None], outside: int, *, config: ElmpConfig, data: Data | None = None
) -> list[Elmp]:
    found = [
        Elmp(NodeId(node), config, seat=seat, rank=node + 1, data=data) for node, seat in enumerate(seats_of(parents))
    ]
    return found + [Elmp(NodeId(len(parents) + node), config) for node in range(outside)]


def _with(process: Elmp, user: type[User]) -> Elmp:
    """Return a process with a user."""
    return user(process.node, process.config, seat=process.seat, rank=process.rank, data=process.data)


def _safety(config: ElmpConfig) -> tuple[Callable[[World], str | None], ...]:
    return invariants_over(lambda world: (Scene(world.states, tuple(world.messages()), config),), SAFETY)


def seats_of(parents: Sequence[int | None]) -> list[Seat]:
    """Return the seats of a tree that is given by its parents."""
    below: list[list[int]] = [[] for _ in parents]
    for child, parent in enumerate(parents):
        if parent is not None:
            below[parent].append(child)

    def size(node: int) -> tuple[int, int]:
        sizes = [size(child) for child in below[node]]
        return 1 + max([one[0] for one in sizes], default=-1), 1 + sum(one[1] for one in sizes)

    return [
        Seat(
            None if parent is None else NodeId(parent),
            tuple((NodeId(child), *size(child)) for child in below[node]),
            size(node),
            (),
            *((len(parents), 1, (NodeId(node), 1)) if parent is None else (0, 0, None)),
        )
        for node, parent in enumerate(parents)
    ]
