"""Small worlds of a group around a token: two to four nodes, locks and broadcasts, crashes and elections.

In *patient* worlds a token is given up for lost only when nothing else can happen: then it is lost, and at no moment
two nodes have the lock. In *hasty* worlds a node may do so at any moment, however wrongly: then an old holder may
believe for a while that it has the lock, and its fence gives it away; the common order holds all the same. Numbers
of epochs end somewhere, so that worlds are finite.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.machine import Answered, Ask, Cheap, NodeId, Report, Requested, Send, Value
from solvent.protocols.token.group import GroupConfig, electing, group_node
from solvent.protocols.token.group.invariants import SAFETY
from solvent.protocols.token.group.messages import (
    Broadcast,
    Delivered,
    Fence,
    Leave,
    Lock,
    Locked,
    MemberChanged,
    Passed,
    Search,
    Unlock,
)
from solvent.protocols.token.group.order import has_token
from solvent.protocols.token.messages import Gimme, NotHere
from solvent.protocols.token.node import TokenConfig
from solvent_lab.checker.model import Asking, Crashes, Model, Timers
from solvent_lab.checker.world import invariants_over
from solvent_lab.variants import variant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent.protocols.machine import Effects, Event, Step
    from solvent.protocols.token.group import GroupState
    from solvent.protocols.token.group.state import Now
    from solvent_lab.checker.world import World
    from solvent_lab.variants import Variant


class Small:
    """A node without a link under it, and a user that has the lock for a while."""

    def __init__(self, config: GroupConfig, *, are_hints_lost: bool) -> None:
        self.node = group_node(config)
        self.are_hints_lost = are_hints_lost

    def start(self, saved: tuple[Any, ...] = (), life: int = 0, /) -> Step[GroupState]:
        """Begin."""
        state, effects = self.node.start(saved, life)
        return state, self._carried(effects)

    def step(self, state: GroupState, event: Event, /) -> Step[GroupState]:
        """Take one event; the answer to whether the user is done is that it is."""
        after, effects = self.node.step(state, Requested(Unlock()) if isinstance(event, Answered) else event)
        return after, self._carried(effects)

    def _carried(self, effects: Effects) -> Effects:
        carried: list[Any] = []
        for effect in effects:
            if isinstance(effect, Send) and isinstance(effect.message, Cheap):
                if not self.are_hints_lost:
                    carried.append(Send(effect.to, effect.message.message))
                continue
            carried.append(effect)
            if isinstance(effect, Report) and isinstance(effect.outcome, Locked):
                carried.append(Ask("is the user done?"))
        return tuple(carried)


def _impatient(max_epochs: Mapping[int, int]) -> Variant:
    """Make worlds end: for each node the greatest number of an epoch that it begins."""

    @variant(electing, "on_patience")
    def on_patience(_on_patience: Any, now: Now) -> None:
        """Nodes take the token for lost, unless it is here."""
        electing.set_patience(now)
        me, state = now.config.node, now.state
        if state.is_gone or has_token(state) or state.election is not None:
            return
        if me not in state.log.members:
            if now.config.contacts:
                electing.say_hello(now, now.config.contacts[0])
        elif max(state.heard, state.promised).number < max_epochs[me]:
            electing.start_election(now)

    return on_patience


# ------------------------------------------------------------------------------------------------------- ghost


class Heard(Value, frozen=True, gc=False):
    """What users have heard, all together."""

    #: Places and what was delivered there, by whoever heard of it first.
    order: tuple[tuple[int, Any], ...] = ()
    #: By node, how many of these it has heard of in this life; None: nothing yet, and it may have come late.
    heard: tuple[int | None, ...] = ()
    #: All fences that were given.
    fences: tuple[Fence, ...] = ()
    #: How often each user had the lock.
    locks: tuple[int, ...] = ()
    wrong: str = ""


def _observe(ghost: Heard, node: NodeId, outcome: Any) -> Heard:
    match outcome:
        case Delivered(place, origin, number):
            return _delivered(ghost, node, place, (origin, number))
        case MemberChanged(place, who, _, is_member):
            return _delivered(ghost, node, place, ("member", who, is_member))
        case Locked(fence):
            if fence in ghost.fences:
                return replace(ghost, wrong=f"node {node} has the lock with a fence that was given before")
            locks = tuple(times + (number == node) for number, times in enumerate(ghost.locks))
            return replace(ghost, fences=(*ghost.fences, fence), locks=locks)
    return ghost


def _delivered(ghost: Heard, node: NodeId, place: int, what: Any) -> Heard:
    at = ghost.heard[node]
    if at is None:
        at = sum(known < place for known, _ in ghost.order)
    if at == len(ghost.order):
        if ghost.order and place <= ghost.order[-1][0]:
            return replace(ghost, wrong=f"node {node} hears {what} at place {place}, and others went past it")
        ghost = replace(ghost, order=(*ghost.order, (place, what)))
    elif ghost.order[at] != (place, what):
        return replace(ghost, wrong=f"node {node} hears {what} at place {place}, and others {ghost.order[at]}")
    return replace(ghost, heard=_put(ghost.heard, node, at + 1))


def _put(items: tuple[Any, ...], at: int, item: Any) -> tuple[Any, ...]:
    return (*items[:at], item, *items[at + 1 :])


def _crashed(ghost: Heard, node: NodeId) -> Heard:
    return replace(ghost, heard=_put(ghost.heard, node, 0))


# -------------------------------------------------------------------------------------------------- invariants


def all_hear_the_same_in_the_same_order(world: World) -> str | None:
    """And every fence is given once."""
    return world.ghost.wrong or None


def one_user_has_the_lock(world: World) -> str | None:
    """At most."""
    holders = [node for node, state in enumerate(world.states) if state is not None and state.fence is not None]
    return f"users of nodes {holders} have it" if len(holders) > 1 else None


def _seen(world: World) -> tuple[tuple[Any, ...], list[Any]]:
    return world.states, [message for _, _, message in world.messages()]


def _is_done(max_epochs: int, world: World) -> bool:
    """Everybody is up, nobody wants anything, and all have heard all; or the numbers of epochs are used up."""
    if any(state is not None and state.promised.number >= max_epochs for state in world.states):
        return True
    if world.requests or not all(local.is_up for local in world.nodes):
        return False
    for node, state in enumerate(world.states):
        if state.is_lock_wanted or state.fence is not None or state.outbox or state.changes or state.is_appending:
            return False
        if state.is_gone:
            continue
        if (
            node not in state.log.members
            or state.inner is None
            or (world.ghost.heard[node] or 0) < len(world.ghost.order)
        ):
            return False
    return True


# ------------------------------------------------------------------------------------------------------- names


def _standard(world: World) -> World:
    """Replace the stamps of each epoch by their ranks: only which came first matters, and tokens count for ever."""
    seen: set[tuple[Any, int]] = set()

    def note(epoch: Any, stamp: int) -> int:
        seen.add((epoch, stamp))
        return stamp

    _stamped(world, note)
    ranks: dict[tuple[Any, int], int] = {}
    counts: dict[Any, int] = {}
    for epoch, stamp in sorted(pair for pair in seen if pair[1] >= 0):
        ranks[epoch, stamp] = counts.get(epoch, 0)
        counts[epoch] = ranks[epoch, stamp] + 1
    if all(stamp == rank for (_, stamp), rank in ranks.items()):
        return world
    return _stamped(world, lambda epoch, stamp: ranks.get((epoch, stamp), stamp))


def _stamped(world: World, name: Callable[[Any, int], int]) -> World:
    nodes = tuple(
        local if local.state is None else replace(local, state=_state(local.state, name)) for local in world.nodes
    )
    channels = tuple(tuple(_message(item, name) for item in items) for items in world.channels)
    return replace(world, nodes=nodes, channels=channels)


def _state(state: GroupState, name: Callable[[Any, int], int]) -> GroupState:
    if state.early is not None:
        state = replace(state, early=(state.early[0], _message(state.early[1], name)))
    inner = state.inner
    if inner is None:
        return state
    epoch = state.epoch
    inner = replace(inner, stamp=name(epoch, inner.stamp))
    if inner.token is not None:
        inner = replace(inner, token=replace(inner.token, visits=name(epoch, inner.token.visits)))
    return replace(state, inner=inner)


def _message(item: Any, name: Callable[[Any, int], int]) -> Any:
    if isinstance(item, Passed):
        return replace(item, token=replace(item.token, visits=name(item.epoch, item.token.visits)))
    if isinstance(item, Search) and isinstance(item.message, Gimme | NotHere):
        return replace(item, message=replace(item.message, stamp=name(item.epoch, item.message.stamp)))
    return item


# ------------------------------------------------------------------------------------------------------ models


def group(
    size: int,
    *,
    title: str = "",
    locks: tuple[int, ...] = (),
    says: tuple[int, ...] = (),
    leaves: tuple[int, ...] = (),
    joins: bool = False,
    crashes: int = 0,
    crashing: tuple[int, ...] | None = None,
    max_epochs: int = 3,
    is_hasty: bool = False,
    impatient: tuple[int, ...] | None = None,
    has_hints: bool = False,
) -> Model:
    """Build a model of so many nodes: who locks, who broadcasts, who leaves; the last may join later."""
    ring = TokenConfig(NodeId(0), 1, is_instant=False, protocol="binary" if has_hints else "ring")
    members = tuple(NodeId(node) for node in range(size - joins))
    configs = [GroupConfig(node, members, ring=ring) for node in members]
    if joins:
        configs.append(GroupConfig(NodeId(size - 1), contacts=(NodeId(0),), ring=ring))
    wishes: list[tuple[int, Any]] = [(node, Lock()) for node in locks]
    wishes += [(node, Broadcast(f"from {node}")) for node in says]
    wishes += [(node, Leave()) for node in leaves]
    once = () if is_hasty else (one_user_has_the_lock,)
    return Model(
        machines=tuple(Small(config, are_hints_lost=not has_hints) for config in configs),
        variants=(
            _impatient({node: max_epochs if impatient is None or node in impatient else 0 for node in range(size)}),
        ),
        title=title,
        answers=lambda _world, _node, _question: ("done",),
        asking=Asking.MEANWHILE,
        requests=tuple(wishes),
        timers=Timers.ANY_TIME if is_hasty else Timers.WHEN_QUIET,
        crashes=Crashes(count=crashes, nodes=crashing),
        ghost=Heard(heard=(0,) * len(members) + (None,) * joins, locks=(0,) * size),
        observe=_observe,
        observe_crash=_crashed,
        invariants=(*invariants_over(_seen, SAFETY), all_hear_the_same_in_the_same_order, *once),
        goal=None if is_hasty else partial(_is_done, max_epochs),
        canonical=_standard,
    )


MODELS: dict[str, Callable[[], Model]] = {
    "group-2": partial(group, 2, locks=(0, 1), says=(1,), title="two nodes, locks and a broadcast"),
    "group-3": partial(group, 3, locks=(0, 1), says=(2,), title="three nodes, locks and a broadcast"),
    "group-4": partial(group, 4, locks=(3,), says=(1,), title="four nodes, a lock and a broadcast"),
    "search-3": partial(group, 3, locks=(1,), says=(2,), has_hints=True, title="searches and all hints arrive"),
    "crash-2": partial(group, 2, locks=(0,), says=(1,), crashes=1, title="a crash, both are needed for a new token"),
    "crash-3": partial(group, 3, locks=(2,), crashes=1, title="a crash, two make a new token"),
    "order-3": partial(group, 3, says=(1,), crashes=1, crashing=(0,), title="a broadcast while a holder crashes"),
    "crash-4": partial(group, 4, locks=(3,), crashes=1, crashing=(0,), max_epochs=1, title="the first of four crashes"),
    "join-3": partial(group, 3, says=(0,), joins=True, title="a third node comes"),
    "leave-3": partial(group, 3, locks=(0,), leaves=(1,), title="a node leaves"),
    "leave-all": partial(group, 2, leaves=(0, 1), title="all leave"),
    "hasty-2": partial(
        group,
        2,
        locks=(0,),
        says=(1,),
        is_hasty=True,
        max_epochs=2,
        title="two nodes that take it for lost at any time",
    ),
    "hasty-3": partial(group, 3, locks=(2,), is_hasty=True, max_epochs=1, title="three nodes that do"),
}


LARGE: dict[str, Callable[[], Model]] = {
    "group-4-full": partial(group, 4, locks=(1, 3), says=(2,), title="four nodes, two locks and a broadcast"),
    "crash-3-again": partial(group, 3, locks=(2,), crashes=1, max_epochs=4, title="a crash, and up to four epochs"),
    "search-3-full": partial(group, 3, locks=(0, 1), says=(2,), has_hints=True, title="searches, hints, two locks"),
}
"""Worlds that take long."""

__all__ = ["LARGE", "MODELS", "group"]
