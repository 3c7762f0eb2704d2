"""Small worlds of ELMP: processes with users, and what users have seen.

A user releases what it was granted, some time. In most worlds each user wants something once; the goal is that
everybody has got what it wanted, and that everything is at rest. In an endless world some users request again and
again, and the goal is what one other process wants, which must come about all the same: nobody starves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.elmp.invariants import SAFETY, Scene
from solvent.protocols.elmp.messages import Seat
from solvent.protocols.elmp.process import Elmp, Process
from solvent.protocols.elmp.state import ElmpConfig, ElmpState, Idle, Out, Requesting
from solvent.protocols.elmp.vocabulary import (
    Astray,
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
    Source,
)
from solvent.protocols.machine import Answered, Ask, Effect, Effects, NodeId, Report, Requested, Value
from solvent_lab.checker.model import Asking as AskingMode
from solvent_lab.checker.model import Model
from solvent_lab.checker.world import seen_once
from solvent_lab.models.elmp_names import standard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent.protocols.machine import Event
    from solvent_lab.checker.world import World

USUAL = ElmpConfig()
_MAX_TURNS = 3
"""Who leaves may need the token first, and its places are given up when there are others behind them."""


# ---------------------------------------------------------------------------------------------------------- users


class Use(Value, frozen=True, gc=False):
    """Asked of the world around: use what was granted; the answer comes when that is done."""

    handle: int
    data: Data | None
    is_changing: bool


class Fetch(Value, frozen=True, gc=False):
    """Asked of the world around: fetch the data; the answer comes when it is here."""

    data: Data
    sources: tuple[Source, ...]
    use: int


class WithUser:
    """A process with a user that fetches the data, changes it, and releases what it was granted, some time."""

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
        take = super().step  # type: ignore[misc]
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
        """Say what the user does when it is told something: at once, or by an answer."""
        outcome = effect.outcome if isinstance(effect, Report) else None
        if isinstance(outcome, Entrusted):
            return [Ask(Fetch(outcome.data, outcome.sources, outcome.use))]
        if not isinstance(outcome, Granted):
            return []
        data = outcome.data
        # Of parts it is said by who was entrusted with all of it only.
        is_said = data is not None and not (self.is_late or data.parts or outcome.sources)
        fetched = [Fetched(data.version, use=outcome.use)] if data is not None and is_said else []
        if self.is_instant:
            return [*fetched, Release(outcome.handle)]
        is_shared = any(use.claim.is_shared for use in getattr(state, "inner", state).uses if use.number == outcome.use)
        return [*fetched, Ask(Use(outcome.handle, data, is_changing=not is_shared))]


class User(WithUser, Elmp):
    """A process with a user."""


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
        turns = max(state.seat.turns for state in world.states)
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


# ---------------------------------------------------------------------------------------------------------- worlds


def elmp(
    parents: Sequence[int | None],
    requests: Sequence[tuple[int, Any]],
    *,
    config: ElmpConfig = USUAL,
    outside: int = 0,
    user: type[User] = Instant,
    desk: type[Process] = Process,
    has_data: bool = False,
    holder: int = 0,
    is_endless: bool = False,
    is_in_order: bool = True,
    title: str = "",
) -> Model:
    """Build a world: a tree given by each process's parent, the first being the root; and processes outside it.

    An endless one has turns without number and no requests, whose turns are remembered. Where claims may be held
    together they need not be granted in order. If there is data, one process has it, the root unless told otherwise.
    """
    data = Data(1, NodeId(holder)) if has_data else None
    machines = _machines(parents, outside, config=config, data=data)
    return Model(
        machines=tuple(_with(kind, user, desk) for kind in machines),
        title=title,
        answers=_answer,
        asking=AskingMode.MEANWHILE,
        requests=tuple(requests),
        ghost=Seen(),
        observe=observe,
        invariants=(
            *_invariants(config),
            *([turns_come_in_order] if is_in_order else []),
            *([] if is_endless else [nobody_asks_again_and_again(1 + _MAX_TURNS * len(requests))]),
        ),
        goal=lambda world: is_settled(world) and (is_endless or is_satisfied(world.ghost, requests)),
        canonical=standard if is_endless else None,
    )


def endless(
    parents: Sequence[int | None],
    request: tuple[int, Any],
    *,
    wanting: Sequence[int],
    outcome: type,
    outside: int = 0,
    config: ElmpConfig = USUAL,
    desk: type[Process] = Process,
    title: str = "",
) -> Model:
    """Build a world in which some request again and again, and one process wants something else: it must get it."""
    node, _ = request
    machines = _machines(parents, outside, config=config)
    return Model(
        machines=tuple(_with(one, Endless if one.node in wanting else User, desk) for one in machines),
        title=title,
        answers=_answer,
        asking=AskingMode.MEANWHILE,
        requests=(*((one, Request()) for one in wanting), request),
        ghost=False,
        observe=lambda ghost, who, told: ghost or (who == node and isinstance(told, outcome)),
        invariants=_invariants(config),
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


def _with(machine: Elmp, user: type[User], desk: type[Process]) -> Elmp:
    """Give a process a user, and a way to do things, perhaps a wrong one."""
    one = user(machine.node, machine.config, seat=machine.seat, rank=machine.rank, data=machine.data)
    one.desk = desk
    return one


def _invariants(config: ElmpConfig) -> tuple[Callable[[World], str | None], ...]:
    scene = seen_once(lambda world: Scene(world.states, tuple(world.messages()), config))
    return tuple(_invariant(check, scene) for check in SAFETY)


def _invariant(check: Callable[[Scene], str | None], scene: Callable[[World], Scene]) -> Callable[[World], str | None]:
    def holds(world: World) -> str | None:
        return check(scene(world))

    holds.__name__ = check.__name__
    return holds


def seats_of(parents: Sequence[int | None]) -> list[Seat]:
    """Give the seats of a tree that is given by its parents."""
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


__all__ = [
    "Endless",
    "Fetch",
    "Instant",
    "Late",
    "Seen",
    "Use",
    "User",
    "elmp",
    "endless",
    "is_idle",
    "is_settled",
    "observe",
    "seats_of",
]
