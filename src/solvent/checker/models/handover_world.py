"""Small worlds of a space: processes with users, who come, claim, hold for a while, go, and die.

A process that has died is started again by the checker, and does nothing any more; the others hear of it, each some
time. That somebody *seems* dead they hear at any time, rightly or not: channels may be slow for as long as they like,
which is what a cut network looks like.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from immutables import Map
from msgspec.structs import replace

from solvent.checker.model import Asking, Crashes, Model
from solvent.protocols.elmp.process import seats
from solvent.protocols.elmp.state import ElmpState, Idle, Out, Place
from solvent.protocols.elmp.vocabulary import Data, Dropped, Entrusted, Fetched, Granted, Left, Release, Request
from solvent.protocols.handover.invariants import SAFETY, Scene, epochs_follow_each_other
from solvent.protocols.handover.machine import Process, SpaceMachine
from solvent.protocols.handover.state import Role, SpaceConfig, SpaceState, Standing
from solvent.protocols.handover.vocabulary import (
    Astray,
    Ballot,
    Departed,
    Enter,
    Entered,
    Expelled,
    Go,
    In,
    Inventory,
    Of,
    Open,
    Opened,
    Repaired,
)
from solvent.protocols.machine import Answered, Ask, Effect, NodeId, Report, Requested, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent.checker.world import World
    from solvent.protocols.handover.state import SpaceStep
    from solvent.protocols.machine import Event

R = "r"
"""The resource."""
_DEAD = SpaceState(Standing(Role.OVER, has_resigned=True))
USUAL = SpaceConfig(asks_inventory=False)


# ---------------------------------------------------------------------------------------------------------- users


class Use(Value, frozen=True, gc=False):
    """Asked of the world around: use what was granted; the answer comes when that is done."""

    resource: str
    handle: int
    data: Data | None


class Fetch(Value, frozen=True, gc=False):
    """Asked of the world around: fetch the data; the answer comes when it is here."""

    resource: str
    data: Data


class Wrote(Value, frozen=True, gc=False):
    """Reported by the user: it has released this version of the data, which is in the memory of its host."""

    version: int


class Tenant(SpaceMachine):
    """A process with a user.

    A user that comes opens the resource and requests it. If whom it turned to cannot help, it turns to the next.
    """

    contacts: tuple[NodeId, ...] = ()
    #: Where it begins, if it takes part from the beginning.
    begins: SpaceState | None = None
    #: Whether the user needs no time, and whether it goes when it has been served.
    is_instant = False
    is_fleeting = False

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> SpaceStep:
        """Begin; after its death it does nothing."""
        if life:
            return _DEAD, ()
        state, effects = super().start(saved, life)
        return (state if self.begins is None else self.begins), effects

    def step(self, state: SpaceState, event: Event) -> SpaceStep:
        """Take one event; what the user does at once belongs to it."""
        if state == _DEAD:
            return state, ()
        wanted: list[Any] = []
        todo: list[Effect] = []
        if isinstance(event, Answered) and not isinstance(event.answer, Map):
            wanted = list(event.answer)
            written = [one.wanted.data for one in wanted if isinstance(one.wanted, Release)]
            todo = [Report(Wrote(data.version)) for data in written if data is not None]
        else:
            state, effects = super().step(state, event)
            todo = list(effects)
        done: list[Effect] = []
        while todo or wanted:
            if wanted:
                state, effects = super().step(state, Requested(wanted.pop(0)))
                todo += effects
                continue
            effect = todo.pop(0)
            done.append(effect)
            if isinstance(effect, Report):
                wanted = self._wants(effect.outcome, done)
        return state, tuple(done)

    def _wants(self, outcome: Any, done: list[Effect]) -> list[Any]:
        """Say what the user does when it is told something: at once, or by an answer."""
        match outcome:
            case Entered() if self.contacts:
                return [Open(R)]
            case Astray(contact):
                place = self.contacts.index(contact) if contact in self.contacts else -1
                return [Enter(self.contacts[(place + 1) % len(self.contacts)])]
            case Opened(resource) if self.contacts:
                return [In(resource, Request())]
            case Of(resource, Entrusted(data)):
                done.append(Ask(Fetch(resource, data)))
            case Of(resource, Granted(handle, _, data)):
                fetched = [] if data is None else [In(resource, Fetched(data.version))]
                if self.is_instant:
                    return [*fetched, In(resource, Release(handle)), *([Go()] if self.is_fleeting else [])]
                done.append(Ask(Use(resource, handle, data)))
                return fetched
        return []


# ------------------------------------------------------------------------------------------------ what they have seen


class Seen(Value, frozen=True, gc=False):
    """What users have been told."""

    #: Who has been granted what it requested, or refused, or expelled, or has died.
    served: frozenset[NodeId] = frozenset()
    #: Who has gone, or cannot.
    gone: frozenset[NodeId] = frozenset()
    #: The epochs that have begun, and which ones each follows.
    after: Map[Ballot, tuple[Ballot, ...]] = Map()
    #: The last turn that was granted, and who got a turn that is not later.
    turn: int = 0
    overtaken: NodeId | None = None
    #: The last version that was released.
    version: int = 0


def _observe(seen: Seen, node: NodeId, outcome: Any) -> Seen:
    match outcome:
        case Of(_, Granted(turn=turn)):
            overtaken = node if turn < seen.turn and seen.overtaken is None else seen.overtaken
            return replace(seen, served=seen.served | {node}, turn=max(turn, seen.turn), overtaken=overtaken)
        case Of(_, Dropped()):
            return replace(seen, served=seen.served | {node})
        case Expelled():
            return replace(seen, served=seen.served | {node}, gone=seen.gone | {node})
        case Departed():
            return replace(seen, gone=seen.gone | {node})
        case Wrote(version):
            return replace(seen, version=max(version, seen.version))
        case Repaired(epoch, after):
            return replace(seen, after=seen.after.set(epoch, after))
    return seen


def scene_of(world: World, config: SpaceConfig = USUAL) -> Scene:
    """Give the processes that live, and what is under way between them."""
    living = {NodeId(node): state for node, state in enumerate(world.states) if state is not None and state != _DEAD}
    return Scene(living, tuple(world.messages()), config.locks)


def the_space_is_one(world: World) -> str | None:
    """Of any two epochs the later one knows the earlier."""
    return epochs_follow_each_other(world.ghost.after)


def turns_come_in_order(world: World) -> str | None:
    """Turns only ever grow, also where tokens get lost: a claim of who is taken for dead can be told from others."""
    node = world.ghost.overtaken
    if node is None:
        return None
    scene = scene_of(world)
    return f"{node} was granted an earlier turn after a later one" if node in scene.counting() else None


def what_was_released_is_there(world: World) -> str | None:
    """Where nobody is dead and no repair is under way, the token names the last version that was released."""
    scene, version = scene_of(world), world.ghost.version
    if not scene.is_at_peace():
        return None
    parts = [state.resources[R] for state in scene.counting().values() if R in state.resources]
    for data in [place.data for part in parts for place in part.places if place.has_token]:
        named = 0 if data is None else data.version
        if named != version:
            return f"version {version} was released, and the token names {named}"
    return None


def what_is_there_counts(world: World) -> str | None:
    """Where nobody is dead and no repair is under way, the token names the last version that anybody has."""
    scene = scene_of(world)
    if not scene.is_at_peace():
        return None
    parts = [state.resources[R] for state in scene.counting().values() if R in state.resources]
    named = [
        place.data.version for part in parts for place in part.places if place.has_token and place.data is not None
    ]
    stored = [part.stored.version for part in parts if part.stored is not None]
    if named and stored and max(stored) > max(named):
        return f"version {max(stored)} is there, and the token names {max(named)}"
    return None


def is_whole(world: World, wanting: frozenset[NodeId], going: frozenset[NodeId]) -> bool:
    """Whether everybody that lives has got what it wanted, and all are in one epoch, at rest."""
    if world.requests or any(world.channels) or not (world.ghost.served >= wanting and world.ghost.gone >= going):
        return False
    if any(isinstance(one.question, Use | Fetch | Inventory) for node in world.nodes for one in node.questions):
        return False
    scene = scene_of(world)
    standings = [one.standing for one in scene.states.values() if one.standing.role is not Role.OVER]
    parts = [part for one in scene.states.values() for part in one.resources.values()]
    return (
        all(one.is_running and not one.wishes and not one.noting and not one.knocks for one in standings)
        and len({one.epoch for one in standings}) <= 1
        and scene.is_at_peace()
        and all(type(part.phase) in (Idle, Out) and part.departure is None for part in parts)
        and not any(place.handle is not None for part in parts for place in part.places)
        and not any(use.handle is not None for part in parts for use in part.uses)
    )


# ---------------------------------------------------------------------------------------------------------- worlds


def settled(count: int, opened: Sequence[int], config: SpaceConfig, data: Data | None = None) -> list[SpaceState]:
    """Give processes that have been in a space for long; some have opened the resource, as the founder, 0, has."""
    nodes = [NodeId(node) for node in range(count)]
    inside = tuple(NodeId(node) for node in sorted({0, *opened}))
    found = seats(inside, config.locks.order)
    members, epoch = Map((node, f"a{node}") for node in nodes), (0, nodes[0])
    states = []
    for node in nodes:
        circle = [*nodes[node + 1 :], *nodes[:node]]
        watched = tuple(sorted(circle[: config.watched]))
        resources: dict[str, ElmpState] = {}
        if node in found:
            places = (Place(1, None, has_token=True, data=data),) if node == 0 else ()
            is_holder = data is not None and data.holder == node
            resources[R] = ElmpState(
                Idle(),
                found[node],
                inside.index(node) + 1,
                places=places,
                keeps=data.version if data is not None and is_holder else None,
                stored=data if is_holder else None,
            )
        states.append(SpaceState(Standing(Role.INSIDE, epoch, epoch, members, watched=watched), Map(resources)))
    return states


def space(
    count: int,
    requests: Sequence[tuple[int, Any]],
    *,
    newcomers: Sequence[Sequence[int]] = (),
    opened: Sequence[int] | None = None,
    deaths: int = 0,
    victims: tuple[int, ...] | None = None,
    has_data: bool = False,
    has_memory: bool = False,
    is_in_order: bool = True,
    is_instant: bool = False,
    is_fleeting: bool = False,
    desk: type[Process] = Process,
    config: SpaceConfig = USUAL,
    title: str = "",
) -> Model:
    """Build a world of so many processes that have been in it for long, and of newcomers with those that they know.

    The resource has been opened by all of the former, unless it is said by whom. So many die, of these if told. With
    data there is a version 1 of it at the founder; with memory all are on one host, which has the last version.
    """
    data = Data(1, NodeId(0)) if has_data else None
    config = replace(config, asks_inventory=has_memory)
    begins = settled(count, range(count) if opened is None else opened, config, data)
    machines = [Tenant(NodeId(node), f"a{node}", config, is_first=False) for node in range(count + len(newcomers))]
    for node, one in enumerate(machines):
        one.desk, one.is_instant, one.is_fleeting = desk, is_instant, is_fleeting
        one.begins = begins[node] if node < count else None
        one.contacts = () if node < count else tuple(map(NodeId, newcomers[node - count]))
    entering = tuple((count + node, Enter(NodeId(known[0]))) for node, known in enumerate(newcomers))
    wanting = frozenset(
        NodeId(node)
        for node, request in (*requests, *entering)
        if isinstance(request, Enter) or (isinstance(request, In) and isinstance(request.wanted, Request))
    )
    going = frozenset(NodeId(node) for node, request in requests if isinstance(request, Go))

    return Model(
        machines=tuple(machines),
        title=title,
        answers=_answer,
        asking=Asking.MEANWHILE,
        requests=(*requests, *entering),
        crashes=Crashes(count=deaths, nodes=victims),
        ghost=Seen(version=1 if has_data else 0),
        observe=_observe,
        observe_crash=lambda seen, node: replace(seen, served=seen.served | {node}, gone=seen.gone | {node}),
        invariants=(
            *(_invariant(check, config) for check in SAFETY),
            the_space_is_one,
            *([what_is_there_counts] if has_data else []),
            *([what_was_released_is_there] if has_memory else []),
            *([turns_come_in_order] if is_in_order else []),
        ),
        goal=lambda world: is_whole(world, wanting, going),
    )


def _answer(world: World, node: NodeId, question: Any) -> tuple[Any, ...]:
    """Use what was granted, fetch what was entrusted, find what is in the memory of the host."""
    match question:
        case Inventory():
            version = world.ghost.version
            return (Map({R: Data(version, node)}) if version else Map(),)
        case Fetch(resource, data):
            return ((In(resource, Fetched(data.version)),),)
        case Use(resource, handle, old):
            new = None if old is None else Data(old.version + 1, node)
            return ((In(resource, Release(handle, new)),),)
    return ()


def _invariant(check: Callable[[Scene], str | None], config: SpaceConfig) -> Callable[[World], str | None]:
    def holds(world: World) -> str | None:
        return check(scene_of(world, config))

    holds.__name__ = check.__name__
    return holds


__all__ = ["USUAL", "Left", "R", "Seen", "Tenant", "is_whole", "scene_of", "settled", "space"]
