"""Small worlds of a space: processes with users, who come, claim, hold for a while, go, and die.

A process that has died is started again by the checker, and does nothing any more; the others hear of it, each some
time. That somebody *seems* dead they hear at any time, rightly or not: channels may be slow for as long as they like,
which is what a cut network looks like.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from solvent.protocols.elmp.process import seated, seats
from solvent.protocols.elmp.state import ElmpState, Idle, Out, Place
from solvent.protocols.elmp.vocabulary import (
    Claim,
    Data,
    Dropped,
    Entrusted,
    Fetched,
    Granted,
    Leave,
    Left,
    Release,
    Request,
    Withdraw,
)
from solvent.protocols.handover.invariants import SAFETY, Scene, epochs_follow_each_other
from solvent.protocols.handover.machine import SpaceMachine
from solvent.protocols.handover.state import Role, SpaceConfig, SpaceState
from solvent.protocols.handover.vocabulary import (
    Astray,
    Ballot,
    Departed,
    Died,
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
    Stays,
)
from solvent.protocols.machine import Answered, Ask, Effect, NodeId, Report, Requested, Value
from solvent.protocols.maps import Map
from solvent_lab.checker.model import Asking, Crashes, Model
from solvent_lab.checker.world import invariants_over

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from solvent.protocols.handover.state import SpaceStep
    from solvent.protocols.machine import Event
    from solvent_lab.checker.world import World

USUAL = SpaceConfig(asks_inventory=False)
R, S = "r", "s"
"""The resource, and the other one where there are two."""
READ = Claim(is_shared=True)
DEAD = SpaceState(Role.OVER, has_resigned=True)
"""A process that has died: the checker starts it again, and it does nothing any more."""


class Use(Value, frozen=True, gc=False):
    """Asked of the world around: use what was granted; the answer comes when that is done."""

    resource: str
    handle: int
    data: Data | None


class Fetch(Value, frozen=True, gc=False):
    """Asked of the world around: fetch the data; the answer comes when it is here."""

    resource: str
    data: Data
    use: int


class Wrote(Value, frozen=True, gc=False):
    """Reported by the user: it has released this version of the data, which is in the memory of its host."""

    resource: str
    version: int


class Tenant(SpaceMachine):
    """A process with a user.

    A user that comes opens the resource and requests it. If whom it turned to cannot help, it turns to the next.
    """

    contacts: tuple[NodeId, ...] = ()
    #: Where it begins, if it takes part from the beginning.
    begins: SpaceState | None = None
    #: Whether the user needs no time.
    is_instant = False
    #: Whether it fetches the data only when it uses it, and whether it comes back to a resource that it has left.
    is_late = False
    is_returning = False

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> SpaceStep:
        """Begin; after its death it does nothing."""
        if life:
            return DEAD, ()
        state, effects = super().start(saved, life)
        return (state if self.begins is None else self.begins), effects

    def step(self, state: SpaceState, event: Event) -> SpaceStep:
        """Take one event; what the user does at once belongs to it."""
        if state == DEAD:
            return state, ()
        wanted: list[Any] = []
        todo: list[Effect] = []
        if isinstance(event, Answered) and not isinstance(event.answer, Map):
            # What was withdrawn meanwhile is not changed.
            wanted = [one for one in event.answer if not isinstance(one.wanted, Release) or _is_held(state, one)]
            released = [(one.resource, one.wanted.data) for one in wanted if isinstance(one.wanted, Release)]
            todo = [Report(Wrote(resource, data.version)) for resource, data in released if data is not None]
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
        """Return what the user does when it is told something: at once, or by an answer."""
        match outcome:
            case Entered() if self.contacts:
                return [Open(R)]
            case Astray(contact):
                place = self.contacts.index(contact) if contact in self.contacts else -1
                return [Enter(self.contacts[(place + 1) % len(self.contacts)])]
            case Of(resource, Left()) if self.is_returning:
                return [Open(resource)]
            case Of(resource, Stays()) if self.is_returning:
                return [In(resource, Request())]
            case Opened(resource) if self.contacts or self.is_returning:
                return [In(resource, Request())]
            case Of(resource, Entrusted(data, use)):
                done.append(Ask(Fetch(resource, data, use)))
            case Of(resource, Granted() as granted):
                return self._uses(resource, granted, done)
        return []

    def _uses(self, resource: str, granted: Granted, done: list[Effect]) -> list[Any]:
        """Return what the user does when it is granted what it wants."""
        data, handle = granted.data, granted.handle
        fetched = [] if data is None or self.is_late else [In(resource, Fetched(data.version, use=granted.use))]
        if self.is_instant:
            return [*fetched, In(resource, Release(handle))]
        here = Data(data.version, self.node) if data is not None and fetched else data
        done.append(Ask(Use(resource, handle, here)))
        return fetched


def _is_held(state: SpaceState, release: In) -> bool:
    """Whether what is to be released is held, and was not given up while a repair is under way."""
    part = state.resources.get(release.resource)
    given_up = (In(release.resource, Leave()), In(release.resource, Withdraw(release.wanted.handle)))
    if part is None or any(wish.request in given_up for wish in state.wishes if isinstance(wish, Requested)):
        return False
    return any(use.is_held and use.handle == release.wanted.handle for use in part.uses)


# ---------------------------------------------------------------------------------------------------------- wishes


def wants(*nodes: int, resource: str = R, patience: int = 0) -> list[tuple[int, In]]:
    """Let each of some users request a resource, and wait for a while only if told."""
    return [(node, In(resource, Request(patience=patience))) for node in nodes]


def leaves(*nodes: int) -> list[tuple[int, In]]:
    """Let each of some users leave the resource."""
    return [(node, In(R, Leave())) for node in nodes]


def withdraws(*nodes: int) -> list[tuple[int, In]]:
    """Let each of some users think better of it."""
    return [(node, In(R, Withdraw())) for node in nodes]


def suspects(*pairs: tuple[int, int]) -> list[tuple[int, Died]]:
    """Let each of some hosts say of a process that it seems to be dead."""
    return [(node, Died(NodeId(peer), is_certain=False)) for node, peer in pairs]


# ------------------------------------------------------------------------------------------------ what they have seen


class Seen(Value, frozen=True, gc=False):
    """What users have been told."""

    #: Who has been granted what it requested, or refused; and who has left a resource, or stays as the founder.
    served: frozenset[tuple[NodeId, str]] = frozenset()
    left: frozenset[tuple[NodeId, str]] = frozenset()
    #: Who has gone, was expelled, or has died.
    gone: frozenset[NodeId] = frozenset()
    #: The epochs that have begun, and which ones each follows.
    after: Map[Ballot, tuple[Ballot, ...]] = Map()
    #: The last turn of each resource that was granted, and who got a turn that is not later.
    turns: Map[str, int] = Map()
    overtaken: NodeId | None = None
    #: The last version of each resource that was released.
    versions: Map[str, int] = Map()
    #: Who has waited in vain, for a while only; and who of these was granted what it wanted all the same.
    given_up: frozenset[tuple[NodeId, str]] = frozenset()
    startled: NodeId | None = None


def _observe(seen: Seen, node: NodeId, outcome: Any) -> Seen:
    match outcome:
        case Of(_, Dropped()) if node in seen.gone:
            return seen
        case Of(resource, Granted(turn=turn)):
            last = seen.turns.get(resource, 0)
            overtaken = node if turn < last and seen.overtaken is None else seen.overtaken
            turns = seen.turns.set(resource, max(turn, last))
            return replace(seen, served=seen.served | {(node, resource)}, turns=turns, overtaken=overtaken)
        case Of(resource, Dropped()):
            return replace(seen, served=seen.served | {(node, resource)})
        case Of(resource, Left() | Stays()):
            return replace(seen, left=seen.left | {(node, resource)})
        case Expelled():
            return _lost(seen, node)
        case Departed():
            return replace(seen, gone=seen.gone | {node})
        case Wrote(resource, version):
            return replace(seen, versions=seen.versions.set(resource, max(version, seen.versions.get(resource, 0))))
        case Repaired(epoch, after):
            return replace(seen, after=seen.after.set(epoch, after))
    return seen


def _observer(patient: frozenset[tuple[NodeId, str]]) -> Callable[[Seen, NodeId, Any], Seen]:
    """Note what users are told, and of those who wait for a while only that they have given up."""

    def observe(seen: Seen, node: NodeId, outcome: Any) -> Seen:
        seen = _observe(seen, node, outcome)
        if not isinstance(outcome, Of) or (node, outcome.resource) not in patient:
            return seen
        if isinstance(outcome.told, Dropped):
            return replace(seen, given_up=seen.given_up | {(node, outcome.resource)})
        if isinstance(outcome.told, Granted) and (node, outcome.resource) in seen.given_up:
            return replace(seen, startled=node)
        return seen

    return observe


def _lost(seen: Seen, node: NodeId) -> Seen:
    """Ask no more what the user of a process that is dead, or was expelled, has been told."""
    served = frozenset(one for one in seen.served if one[0] != node)
    return replace(
        seen, served=served, left=frozenset(one for one in seen.left if one[0] != node), gone=seen.gone | {node}
    )


def scene_of(world: World, config: SpaceConfig = USUAL) -> Scene:
    """Return the processes that live, and what is under way between them."""
    living = {NodeId(node): state for node, state in enumerate(world.states) if state is not None and state != DEAD}
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
    return f"{node} was granted an earlier turn after a later one" if node in scene.counting else None


def who_has_given_up_is_granted_nothing(world: World) -> str | None:
    """A claim that was dropped is over, also if a repair was under way."""
    node = world.ghost.startled
    return None if node is None else f"{node} has given up, and is granted what it wanted"


def what_was_released_is_there(world: World) -> str | None:
    """Where nobody is dead and no repair is under way, the token names the last version that was released."""
    scene = scene_of(world)
    if not scene.is_at_peace():
        return None
    for resource in scene.resources():
        version = world.ghost.versions.get(resource, 0)
        parts = [state.resources[resource] for state in scene.counting.values() if resource in state.resources]
        for data in [place.data for part in parts for place in part.places if place.has_token]:
            named = 0 if data is None else data.version
            if named != version:
                return f"version {version} of {resource} was released, and the token names {named}"
    return None


def what_is_there_counts(world: World) -> str | None:
    """Where nobody is dead and no repair is under way, the token names the last version that anybody has."""
    scene = scene_of(world)
    if not scene.is_at_peace():
        return None
    parts = [state.resources[R] for state in scene.counting.values() if R in state.resources]
    named = [
        place.data.version for part in parts for place in part.places if place.has_token and place.data is not None
    ]
    stored = [part.stored.version for part in parts if part.stored is not None]
    if named and stored and max(stored) > max(named):
        return f"version {max(stored)} is there, and the token names {max(named)}"
    return None


class Wishes(NamedTuple):
    """What users want that live and are not expelled: to be granted resources, to leave them, to go."""

    claims: frozenset[tuple[NodeId, str]]
    leaving: frozenset[tuple[NodeId, str]]
    going: frozenset[NodeId]

    def are_met(self, seen: Seen) -> bool:
        """Whether everybody has got what it wanted."""
        left = {one for one in self.claims - seen.served | self.leaving - seen.left if one[0] not in seen.gone}
        return not left and seen.gone >= self.going


def is_whole(world: World, wishes: Wishes) -> bool:
    """Whether everybody that lives has got what it wanted, and all are in one epoch, at rest."""
    if world.requests or any(world.channels) or not wishes.are_met(world.ghost):
        return False
    if any(isinstance(one.question, Use | Fetch | Inventory) for node in world.nodes for one in node.questions):
        return False
    scene = scene_of(world)
    standings = [one for one in scene.states.values() if one.role is not Role.OVER]
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


def settled(
    count: int, opened: Sequence[int], config: SpaceConfig, data: Data | None = None, second: Sequence[int] = ()
) -> list[SpaceState]:
    """Return processes that have been in a space for long; some have opened the resource, as the founder, 0, has.

    Some may have opened the second one, which has no data.
    """
    nodes = [NodeId(node) for node in range(count)]
    members, epoch = {node: f"a{node}" for node in nodes}, (0, nodes[0])
    parts = {R: _parts(opened, config, data), **({S: _parts(second, config)} if second else {})}
    states = []
    for node in nodes:
        circle = [*nodes[node + 1 :], *nodes[:node]]
        watched = tuple(sorted(circle[: config.watched]))
        resources = {name: part[node] for name, part in parts.items() if node in part}
        states.append(SpaceState(Role.INSIDE, epoch, epoch, members, watched=watched, resources=resources))
    return states


def _parts(opened: Sequence[int], config: SpaceConfig, data: Data | None = None) -> dict[NodeId, ElmpState]:
    """Return each process's part of a resource; the founder has the token."""
    inside = tuple(NodeId(node) for node in sorted({0, *opened}))
    found = {}
    for rank, (node, seat) in enumerate(seats(inside, config.locks.order).items(), 1):
        places = (Place(1, None, has_token=True, data=data),) if node == 0 else ()
        kept = data if data is not None and data.holder == node else None
        keeps = None if kept is None else kept.version
        found[node] = seated(seat, rank, places=places, keeps=keeps, stored=kept)
    return found


def space(
    count: int,
    requests: Sequence[tuple[int, Any]],
    *,
    newcomers: Sequence[Sequence[int]] = (),
    opened: Sequence[int] | None = None,
    second: Sequence[int] = (),
    deaths: int = 0,
    victims: tuple[int, ...] | None = None,
    keepers: Sequence[int] = (),
    has_data: bool = False,
    has_memory: bool = False,
    is_in_order: bool = True,
    is_instant: bool = False,
    is_late: bool = False,
    config: SpaceConfig = USUAL,
    title: str = "",
) -> Model:
    """Build a world of so many processes that have been in it for long, and of newcomers with those that they know.

    The resource has been opened by all of the former, unless it is said by whom; a second one by nobody, unless it is.
    So many die, of these if told. Keepers hold what they are granted until those who wait with patience only have given
    up. Who leaves a resource comes back to it. With data there is a version 1 of it at the founder; with memory all are
    on one host, which has the last version.
    """
    data = Data(1, NodeId(0)) if has_data else None
    config = replace(config, asks_inventory=has_memory)
    begins = settled(count, range(count) if opened is None else opened, config, data, second)
    machines = [Tenant(NodeId(node), f"a{node}", config, is_first=False) for node in range(count + len(newcomers))]
    leaving = {node for node, _ in _of(requests, Leave)}
    for node, one in enumerate(machines):
        one.is_instant, one.is_late = is_instant, is_late
        one.begins = begins[node] if node < count else None
        one.contacts = () if node < count else tuple(map(NodeId, newcomers[node - count]))
        one.is_returning = node in leaving
    entering = tuple((count + node, Enter(NodeId(known[0]))) for node, known in enumerate(newcomers))
    wishes, patient = _wishes(requests, entering), _of(requests, Request, is_patient=True)
    return Model(
        machines=tuple(machines),
        title=title,
        answers=_answers(frozenset(map(NodeId, keepers)), Wishes(patient, frozenset(), frozenset())),
        asking=Asking.MEANWHILE,
        requests=(*requests, *entering),
        crashes=Crashes(count=deaths, nodes=victims),
        ghost=Seen(versions=Map({R: 1}) if has_data else Map()),
        observe=_observer(patient),
        observe_crash=_lost,
        invariants=(
            *invariants_over(lambda world: (scene_of(world, config),), SAFETY),
            the_space_is_one,
            *([who_has_given_up_is_granted_nothing] if patient else []),
            *([what_is_there_counts] if has_data else []),
            *([what_was_released_is_there] if has_memory else []),
            *([turns_come_in_order] if is_in_order else []),
        ),
        goal=lambda world: is_whole(world, wishes),
    )


remembering = partial(space, has_data=True, has_memory=True)
"""Builds a world with data, on one host whose memory has the last version."""


def _wishes(requests: Sequence[tuple[int, Any]], entering: Iterable[tuple[int, Any]]) -> Wishes:
    """Return what users want; who comes claims the resource, as does who comes back to it."""
    leaving = _of(requests, Leave)
    claims = _of(requests, Request) | leaving | {(NodeId(node), R) for node, _ in entering}
    return Wishes(claims, leaving, frozenset(NodeId(node) for node, request in requests if isinstance(request, Go)))


def _of(
    requests: Iterable[tuple[int, Any]], kind: type[Request | Leave], *, is_patient: bool = False
) -> frozenset[tuple[NodeId, str]]:
    """Return who wants something of one kind of which resource; perhaps only those who wait for a while only."""
    wanted = [(NodeId(node), one.resource, one.wanted) for node, one in requests if isinstance(one, In)]
    return frozenset(
        (node, resource)
        for node, resource, one in wanted
        if isinstance(one, kind) and (not is_patient or (isinstance(one, Request) and one.patience > 0))
    )


def _answers(keepers: frozenset[NodeId], patient: Wishes) -> Callable[[World, NodeId, Any], tuple[Any, ...]]:
    """Use what was granted, fetch what was entrusted, find what is in the memory of the host."""

    def answer(world: World, node: NodeId, question: Any) -> tuple[Any, ...]:
        match question:
            case Inventory():
                found = world.ghost.versions
                return (Map((resource, Data(version, node)) for resource, version in found.items()),)
            case Fetch(resource, data, use):
                return ((In(resource, Fetched(data.version, use=use)),),)
            case Use() if node in keepers and not patient.are_met(world.ghost):
                return ()
            case Use(_, _, data) if data is not None and world.states[data.holder] in (None, DEAD):
                # It cannot be fetched any more: the claim is to be granted again.
                return ((),)
            case Use(resource, handle, old):
                new = None if old is None else Data(old.version + 1, node)
                return ((In(resource, Release(handle, new)),),)
        return ()

    return answer
