"""Small worlds in which processes under ELMP die: holders, roots, whoever is amid an exchange; once or twice.

In most of them a process that died is started again, knows nothing, and the others hear of it as a link tells them. In
the others it is dead for good, and they hear of that when nothing else can happen.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.checker.model import Asking, Crashes, Model, Timers
from solvent.checker.models.elmp_world import Fetch, Use, WithUser, seats_of
from solvent.protocols.elmp.invariants import SAFETY, Scene, what_excludes_each_other_is_not_held_together
from solvent.protocols.elmp.messages import Seat
from solvent.protocols.elmp.process import Elmp
from solvent.protocols.elmp.repair import Died, Surviving, broken
from solvent.protocols.elmp.state import ElmpConfig, ElmpState, Idle, Out
from solvent.protocols.elmp.vocabulary import Claim, Data, Dropped, Fetched, Granted, Leave, Release, Request
from solvent.protocols.machine import Answered, Ask, NodeId, Requested, SetTimer, TimerFired, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from solvent.checker.world import World
    from solvent.protocols.elmp.repair.state import SurvivingState, SurvivingStep
    from solvent.protocols.machine import Event

_WATCH = "watch"


class Watch(Value, frozen=True, gc=False):
    """Asked of the world around: who has died?"""


class Watched(Value, frozen=True, gc=False):
    """The answer: these; and perhaps nobody else will."""

    dead: tuple[NodeId, ...]
    is_last: bool


class Mortal(WithUser, Surviving):
    """A process with a user, that may die."""


class Watchful(Mortal):
    """One that is told by its host who has died."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> SurvivingStep:
        """Look round now and then."""
        state, effects = super().start(saved, life)
        # Who is dead for good must be started again for the checker, but does nothing.
        return state, (effects if life else (*effects, SetTimer(_WATCH, 1)))

    def step(self, state: SurvivingState, event: Event) -> SurvivingStep:
        """Take one event."""
        if event == TimerFired(_WATCH):
            return state, (Ask(Watch()),)
        if isinstance(event, Answered) and isinstance(event.answer, Watched):
            effects: list[Any] = [] if event.answer.is_last else [SetTimer(_WATCH, 1)]
            for peer in event.answer.dead:
                state, more = super().step(state, Requested(Died(peer)))
                effects += more
            return state, tuple(effects)
        return super().step(state, event)


class Seen(Value, frozen=True, gc=False):
    """What users have been told: the last turn that was granted, and whether an earlier one came after it."""

    turn: int = 0
    is_overtaken: bool = False
    #: Who has been granted what it requested, or refused, or has died.
    served: frozenset[NodeId] = frozenset()


def _observe(seen: Seen, node: NodeId, outcome: Any) -> Seen:
    if isinstance(outcome, Granted):
        is_overtaken = seen.is_overtaken or outcome.turn < seen.turn
        return Seen(outcome.turn, is_overtaken, seen.served | {node})
    return replace(seen, served=seen.served | {node}) if isinstance(outcome, Dropped) else seen


def turns_come_in_order(world: World) -> str | None:
    """Turns only ever grow, also where tokens get lost: a claim of who is believed dead can be told from others."""
    return "a later turn was granted first" if world.ghost.is_overtaken else None


def _inner(world: World) -> tuple[ElmpState, ...]:
    """Give the processes that live, and nothing of those that do not."""
    return tuple(state.inner if state is not None else ElmpState(Out(), Seat(None)) for state in world.states)


def what_excludes_each_other_is_not_held(world: World) -> str | None:
    """No two processes that live hold claims that exclude each other, whatever their epochs."""
    return what_excludes_each_other_is_not_held_together(Scene(_inner(world), (), ElmpConfig()))


def what_survives_counts(world: World) -> str | None:
    """Where all that live are in one epoch, nobody has a later version of the data than the token names."""
    states = [state for state in world.states if state is not None and type(state.inner.phase) is not Out]
    if any(state.is_stopped for state in states) or len({state.epoch for state in states}) > 1:
        return None
    named = [
        place.data for state in states for place in state.inner.places if place.has_token and place.data is not None
    ]
    for state in states:
        stored = state.inner.stored
        for data in named:
            if stored is not None and stored.version > data.version:
                return f"{stored.holder} has version {stored.version}, and the token names {data.version}"
    return None


def is_whole(world: World, config: ElmpConfig) -> bool:
    """Whether everybody that lives has got what it wanted, and there is one token, one tree, one queue."""
    states, inner = [state for state in world.states if state is not None], _inner(world)
    members = [state for state in states if type(state.inner.phase) is not Out]
    return (
        not world.requests
        and not any(one.questions for one in world.nodes)
        and not any(world.channels)
        and not any(state.is_stopped or state.wishes or state.early for state in states)
        and len({state.epoch for state in members}) <= 1
        and all(type(state.phase) in (Idle, Out) and state.departure is None for state in inner)
        and not any(place.handle is not None for state in inner for place in state.places)
        and not any(use.handle is not None for state in inner for use in state.uses)
        and not any(check(Scene(inner, (), config)) for check in SAFETY)
    )


def repair(
    parents: Sequence[int | None],
    requests: Sequence[tuple[int, Any]],
    *,
    crashes: int = 1,
    victims: tuple[int, ...] | None = None,
    is_for_good: bool = False,
    has_data: bool = False,
    is_in_order: bool = True,
    machine: type[Surviving] = Surviving,
    config: ElmpConfig = ElmpConfig(),  # noqa: B008 - a frozen value
    title: str = "",
) -> Model:
    """Build a world in which so many processes die, of these if told."""
    kind = type("_Mortal", (Watchful if is_for_good else Mortal, machine), {})
    nodes = [NodeId(node) for node in range(len(parents))]
    data = Data(1, NodeId(0)) if has_data else None
    machines = [
        kind(Elmp(node, config, seat=seat, rank=node + 1, data=data), peers=nodes)
        for node, seat in zip(nodes, seats_of(parents), strict=True)
    ]

    wanting = {NodeId(node) for node, request in requests if isinstance(request, Request)}

    def answer(world: World, node: NodeId, question: Any) -> tuple[Any, ...]:
        if isinstance(question, Watch):
            dead = tuple(NodeId(peer) for peer, one in enumerate(world.nodes) if one.life or not one.is_up)
            return (Watched(dead, is_last=not world.budget.crashes),)
        if isinstance(question, Fetch):
            return (Fetched(question.data.version),)
        assert isinstance(question, Use)
        changed = question.data is not None and question.is_changing
        return (
            Release(question.handle, replace(question.data, version=question.data.version + 1, holder=node))
            if changed and question.data is not None
            else Release(question.handle),
        )

    return Model(
        machines=tuple(machines),
        title=title,
        answers=answer,
        asking=Asking.MEANWHILE,
        requests=tuple(requests),
        timers=Timers.WHEN_QUIET,
        crashes=Crashes(count=crashes, nodes=victims, are_noticed=not is_for_good),
        ghost=Seen(),
        observe=_observe,
        invariants=(
            what_excludes_each_other_is_not_held,
            what_survives_counts,
            *([turns_come_in_order] if is_in_order else []),
        ),
        observe_crash=lambda seen, node: replace(seen, served=seen.served | {node}),
        goal=lambda world: world.ghost.served >= wanting and is_whole(world, config),
    )


_ROOT = None
_TWO, _THREE, _FOUR = (_ROOT, 0), (_ROOT, 0, 0), (_ROOT, 0, 0, 1)

_READ = Claim(is_shared=True)

MODELS: Mapping[str, Callable[[], Model]] = {
    "death-2": partial(repair, _TWO, [(0, Request()), (1, Request())], title="two request, and one dies"),
    "death-3": partial(repair, _THREE, [(1, Request()), (2, Request())], title="two of three request, anybody dies"),
    "death-for-good-3": partial(
        repair, _THREE, [(1, Request()), (2, Request())], is_for_good=True, title="the same, and the dead stay dead"
    ),
    "death-leaving-3": partial(
        repair, _THREE, [(0, Leave()), (2, Request())], title="the root leaves, one requests, and anybody dies"
    ),
    "death-readers-3": partial(
        repair,
        _THREE,
        [(1, Request(claim=_READ)), (2, Request())],
        is_in_order=False,
        title="one reads, one writes, and anybody dies",
    ),
    "death-data-3": partial(
        repair, _THREE, [(1, Request()), (2, Request())], has_data=True, title="data is changed, and anybody dies"
    ),
    "deaths-2": partial(repair, _TWO, [(0, Request()), (1, Request())], crashes=2, title="two request, two deaths"),
    "deaths-3": partial(repair, _THREE, [(1, Request())], crashes=2, title="one of three requests, two deaths"),
}

LARGE: Mapping[str, Callable[[], Model]] = {
    "death-4": partial(repair, _FOUR, [(2, Request()), (3, Request())], title="two of four request, and anybody dies"),
    "deaths-3-requests": partial(
        repair, _THREE, [(1, Request()), (2, Request())], crashes=2, title="two of three request, two deaths"
    ),
}

BROKEN: Mapping[str, Callable[[], Model]] = {
    "takes-what-is-over": partial(
        repair,
        (_ROOT, 0, 0, 0),
        [(1, Request()), (2, Request())],
        victims=(3,),
        config=ElmpConfig(order=3),
        machine=broken.TakesWhatIsOver,
        title="the old token is back",
    ),
    "goes-on-meanwhile": partial(
        repair,
        _THREE,
        [(1, Request()), (2, Request())],
        machine=broken.GoesOnMeanwhile,
        title="who has said what it has gets something else",
    ),
    "answers-twice": partial(
        repair, _THREE, [(1, Request())], crashes=2, machine=broken.AnswersTwice, title="two repairs are made"
    ),
    "counts-the-dead": partial(
        repair, _THREE, [(1, Request())], crashes=2, machine=broken.CountsTheDead, title="who died gets a seat"
    ),
    "makes-a-token-always": partial(
        repair,
        _THREE,
        [(1, Request()), (2, Request())],
        machine=broken.MakesATokenAlways,
        title="who holds lives",
    ),
    "forgets-who-waits": partial(
        repair,
        _THREE,
        [(1, Request()), (2, Request())],
        machine=broken.ForgetsWhoWaits,
        title="who waits is left out",
    ),
    "waits-for-the-dead": partial(
        repair,
        _THREE,
        [(1, Request(claim=_READ)), (2, Request())],
        is_in_order=False,
        machine=broken.WaitsForTheDead,
        title="a writer waits for a reader that died",
    ),
    "counts-on": partial(
        repair, _TWO, [(0, Request()), (1, Request())], machine=broken.CountsOn, title="a turn is given twice"
    ),
}

__all__ = ["BROKEN", "LARGE", "MODELS", "Mortal", "Watchful", "is_whole", "repair"]
