"""What must be true of all processes together at every moment: functions over their states and what is under way.

Each gives None where all is well, or says what is wrong. A `Scene` is what the checker, the simulator and tests put
together. The tree is looked at as a whole where no exchange of seats and no rebuilding is under way; while one is, it
must hang together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from solvent.protocols.elmp.messages import (
    Agreed,
    Done,
    Given,
    Link,
    Lower,
    Ref,
    Relink,
    Relinked,
    Rise,
    Seat,
    Seated,
    Token,
    Unlinked,
    Upper,
    Welcome,
    Won,
)
from solvent.protocols.elmp.state import ElmpConfig, ElmpState, Joining, Out, Place
from solvent.protocols.elmp.tree import is_too_high, size_of
from solvent.protocols.machine import NodeId


@dataclass(frozen=True, eq=False)
class Scene:
    """All processes at one moment."""

    states: tuple[ElmpState, ...]
    #: Sender, recipient, message.
    messages: tuple[tuple[NodeId, NodeId, Any], ...]
    config: ElmpConfig

    @cached_property
    def members(self) -> list[NodeId]:
        """The processes that take part; one that has been let go, and is about to hear it, does not."""
        gone = {to for _, to, message in self.messages if isinstance(message, Agreed)}
        return [
            NodeId(node)
            for node, state in enumerate(self.states)
            if type(state.phase) not in (Out, Joining)
            and not (node in gone and state.departure is not None and state.departure.heir is None)
        ]

    @cached_property
    def under_way(self) -> list[tuple[NodeId, Any]]:
        """Recipients and messages that were not taken: those on their way, and those that came too early."""
        found = [(to, message) for _, to, message in self.messages]
        for node, state in enumerate(self.states):
            found += [(NodeId(node), message) for _, message in state.early]
            if state.swap is not None and state.swap.upper is not None:
                found.append((NodeId(node), state.swap.upper))
        return found

    @cached_property
    def is_tree_at_rest(self) -> bool:
        """Whether nobody is changing seats, or has been told that it may."""
        if any(state.swap is not None or state.gathering is not None for state in self.states):
            return False
        under_way = self.under_way
        heirs = [state.departure.heir if state.departure is not None else None for state in self.states]
        return not any(
            isinstance(message, Upper | Lower | Rise) or (isinstance(message, Agreed) and heirs[to] is not None)
            for to, message in under_way
        )


# ----------------------------------------------------------------------------------------------------- the token


def tokens(scene: Scene) -> list[str]:
    """Say where tokens are."""
    found = [f"at {node}" for node, state in enumerate(scene.states) for place in state.places if place.has_token]
    return found + [f"on its way to {to}" for to, message in scene.under_way if isinstance(message, Token)]


def there_is_one_token(scene: Scene) -> str | None:
    """The paper's safety (Theorem 2): one token, as long as anybody takes part."""
    found = tokens(scene)
    if len(found) > 1:
        return f"there are tokens {', '.join(found)}"
    return None if found or not scene.members else "the token is lost"


def what_excludes_each_other_is_not_held_together(scene: Scene) -> str | None:
    """Two claims are held at the same time only if both are shared, or of different parts."""
    held = [(node, use) for node, state in enumerate(scene.states) for use in state.uses if use.is_held]
    for place, (one, use) in enumerate(held):
        for other, another in held[place + 1 :]:
            if use.claim.excludes(another.claim):
                return f"{one} and {other} hold {use.claim} and {another.claim}"
    return None


def nobody_is_overtaken_by_what_it_excludes(scene: Scene) -> str | None:
    """A claim that was let in is not held while an earlier one that excludes it still waits."""
    uses = [(node, use) for node, state in enumerate(scene.states) for use in state.uses]
    for one, use in uses:
        for other, later in uses:
            if later.is_held and not use.is_held and use.turn < later.turn and use.claim.excludes(later.claim):
                return f"{other} holds turn {later.turn}, and {one} waits with turn {use.turn}"
    return None


def who_is_asked_takes_part(scene: Scene) -> str | None:
    """Claims that others wait for, or of which the token tells, are of processes that can answer."""
    done = [(to, one) for _, to, one in scene.messages if isinstance(one, Done)]
    answered = {(to, one.use, (one.holder, over)) for to, one in done for over in one.over}
    asked = {
        over[0]
        for node, state in enumerate(scene.states)
        for use in state.uses
        for over in use.awaits
        if (node, use.number, over) not in answered
    }
    asked |= {node for state in scene.states for place in state.places for node, *_ in place.active}
    asked |= {node for _, one in scene.under_way if isinstance(one, Token) for node, *_ in one.active}
    gone = asked.difference(scene.members)
    return f"{sorted(gone)} have left and cannot say whether their claims are over" if gone else None


# ------------------------------------------------------------------------------------------------------ the queue


def _places(scene: Scene) -> dict[Ref, Place]:
    """Give all places; also of who has not been told of it, as far as the root knows it."""
    places = {(NodeId(node), place.turn): place for node, state in enumerate(scene.states) for place in state.places}
    for one in [one for state in scene.states for one in state.untold]:
        ref = one.requester, one.turn
        if (one.requester, 0) in places and scene.states[one.requester].asks == one.number:
            place = places.pop((one.requester, 0))
            places[ref] = replace(place, turn=one.turn, predecessor=one.predecessor)
        if ref in places:
            place = places[ref]
            places[ref] = replace(place, predecessor=place.predecessor or one.predecessor, next=place.next or one.next)
    return places


def _first(scene: Scene) -> Ref | None:
    """Give the place where the token is, or to which it is on its way."""
    for node, state in enumerate(scene.states):
        for place in state.places:
            if place.has_token:
                return NodeId(node), place.turn
    return next(((to, message.turn) for _, to, message in scene.messages if isinstance(message, Token)), None)


def _given(scene: Scene) -> list[Given]:
    """Give places of which their processes have not heard."""
    found: list[Given] = []
    for _, message in scene.under_way:
        if isinstance(message, Won):
            found += message.places
        elif isinstance(message, Rise):
            found.append(message.place)
    return found


def _trails(scene: Scene) -> list[tuple[Ref, ...]]:
    """Give places that come after each other, as the root has put them together and the token tells."""
    found = [
        (place.next, *_behind(place.next[1], place.trail))
        for state in scene.states
        for place in state.places
        if place.trail is not None and place.next is not None
    ]
    tokens = [(to, one) for to, one in scene.under_way if isinstance(one, Token) and one.trail is not None]
    return found + [((to, one.turn), *_behind(one.turn, one.trail)) for to, one in tokens if one.trail is not None]


def _behind(turn: int, trail: tuple[NodeId, ...]) -> list[Ref]:
    return [(node, turn + number) for number, node in enumerate(trail, 1)]


def who_waits_is_in_the_queue(scene: Scene) -> str | None:
    """From the token on, `next` leads to everybody who waits, once and in the order of their turns."""
    places, messages = _places(scene), scene.messages
    # What was said, and its reader has not heard yet.
    given = _given(scene)
    told = {(one.requester, one.turn): one.next for one in given if one.next is not None}
    told |= {(to, one.turn): one.next for _, to, one in messages if isinstance(one, Link)}
    for trail in _trails(scene):
        for before, after in pairwise(trail):
            told.setdefault(before, after)
    named = {(one.requester, one.turn) for one in given}
    seen: list[Ref] = []
    here = _first(scene)
    while here is not None:
        if seen and here[1] <= seen[-1][1]:
            return f"turn {here[1]} comes after turn {seen[-1][1]}"
        seen.append(here)
        place = places.get(here)
        if place is None and here not in named:
            return f"nobody has place {here}"
        here = place.next if place is not None and place.next is not None else told.get(here)
    # Who has been passed over is about to hear it.
    seen += [(to, message.turn) for _, to, message in messages if isinstance(message, Unlinked)]
    missing = [ref for ref in places if ref[1] and ref not in seen]
    return f"the token will not come to {missing}" if missing else None


def the_queue_is_a_doubly_linked_list(scene: Scene) -> str | None:
    """Who comes next knows who comes before (Lemma 3), unless word of it is on its way."""
    if any(isinstance(message, Token | Won | Rise | Link | Relink | Relinked) for _, _, message in scene.messages):
        return None
    places = _places(scene)
    for ref, place in places.items():
        if place.next is None or place.is_unlinking or place.is_linking:
            continue
        after = places.get(place.next)
        if after is None:
            return f"{place.next} comes after {ref}, and is nobody's"
        if after.predecessor != ref:
            return f"{place.next} comes after {ref} and knows {after.predecessor} for its predecessor"
    return None


def the_root_knows_the_last(scene: Scene) -> str | None:
    """The paper's Invariant 1: the root is the end of the queue; or, if it changes seats seldom, knows it."""
    if not scene.is_tree_at_rest or scene.messages:
        return None
    last = [ref for ref, place in _places(scene).items() if place.is_last]
    for node, state in enumerate(scene.states):
        if not state.ranks:
            continue
        if [state.tail] != last:
            return f"{node} is the root and believes {state.tail} to be the last, and that is {last}"
    return None


def there_is_one_root(scene: Scene) -> str | None:
    """One process, or one seat on its way, gives ranks and turns."""
    roots = [node for node, state in enumerate(scene.states) if state.ranks]
    roots += [to for to, message in scene.under_way if isinstance(message, Upper) and message.seat.ranks]
    if len(roots) > 1:
        return f"there are roots {roots}"
    return "there is no root" if not roots and scene.members else None


def the_tree_hangs_together(scene: Scene) -> str | None:
    """Whoever takes part can be reached from anybody (Lemma 5), over parents, children and seats on their way."""
    members = scene.members
    near: dict[NodeId, set[NodeId]] = {node: set() for node in members}

    def join(one: NodeId, others: set[NodeId]) -> None:
        for other in others:
            if one in near and other in near:
                near[one].add(other)
                near[other].add(one)

    for node in members:
        state = scene.states[node]
        join(node, _named(state) | ({state.swap.other} if state.swap is not None else set()))
    for to, message in scene.under_way:
        if isinstance(message, Upper | Lower):
            join(to, _named(message.seat))
        elif isinstance(message, Seated):
            join(to, {message.parent, *(child[0] for child in message.children)})
    seen, waiting = set[NodeId](), members[:1]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += near[node]
    lost = [node for node in members if node not in seen]
    return f"{lost} cannot be reached from {members[0]}" if lost else None


def _named(seat: ElmpState | Seat) -> set[NodeId]:
    found = {child[0] for child in seat.children}
    return found if seat.parent is None else found | {seat.parent}


def the_tree_is_whole(scene: Scene) -> str | None:
    """Where nobody is changing seats: parents and children know each other, all lead to the root, none has too many."""
    if not scene.is_tree_at_rest:
        return None
    states, members = scene.states, scene.members
    coming = {to for _, to, message in scene.messages if isinstance(message, Welcome)}
    parents: dict[NodeId, NodeId] = {}
    for node in members:
        children = [child[0] for child in states[node].children]
        if len(children) > scene.config.order:
            return f"{node} has {len(children)} children"
        for child in children:
            if child in parents:
                return f"{child} is a child of {parents[child]} and of {node}"
            parents[child] = node
    for node in members:
        if parents.get(node) != states[node].parent:
            return f"{node} has parent {states[node].parent} and is a child of {parents.get(node)}"
    strangers = [child for child in parents if child not in members and child not in coming]
    if strangers:
        return f"{strangers} have a seat and take no part"
    return _cycle(scene, members)


def _cycle(scene: Scene, members: list[NodeId]) -> str | None:
    for node in members:
        seen = {node}
        here = scene.states[node].parent
        while here is not None:
            if here in seen:
                return f"the parents of {node} lead in a circle"
            seen.add(here)
            here = scene.states[here].parent
    return None


def at_rest_sizes_are_known(scene: Scene) -> str | None:
    """Where nothing is under way, heights and weights are what they are said to be, and no tree is too high."""
    if scene.messages or not scene.is_tree_at_rest:
        return None
    states = scene.states
    for node in scene.members:
        state = states[node]
        size = size_of(state.children)
        if is_too_high(*size, scene.config.slack):
            return f"the tree below {node} has height {size[0]} and weight {size[1]}"
        if state.parent is not None:
            known = {child[0]: child[1:] for child in states[state.parent].children}.get(node)
            if known != size:
                return f"{node} has height and weight {size}, and its parent knows {known}"
    return None


# ------------------------------------------------------------------------------------------------------- the data


def the_data_is_where_it_is_said_to_be(scene: Scene) -> str | None:
    """Whoever the token names as the holder of the data takes part (E8)."""
    data = [place.data for state in scene.states for place in state.places if place.has_token]
    data += [use.data for state in scene.states for use in state.uses if use.is_held]
    data += [message.data for _, message in scene.under_way if isinstance(message, Token)]
    members = scene.members
    for one in data:
        if one is not None and one.holder not in members:
            return f"version {one.version} of the data was at {one.holder}, which has left"
    return None


SAFETY = (
    there_is_one_token,
    what_excludes_each_other_is_not_held_together,
    nobody_is_overtaken_by_what_it_excludes,
    who_is_asked_takes_part,
    who_waits_is_in_the_queue,
    the_queue_is_a_doubly_linked_list,
    the_root_knows_the_last,
    there_is_one_root,
    the_tree_hangs_together,
    the_tree_is_whole,
    at_rest_sizes_are_known,
    the_data_is_where_it_is_said_to_be,
)

__all__ = [
    "SAFETY",
    "Scene",
    "at_rest_sizes_are_known",
    "nobody_is_overtaken_by_what_it_excludes",
    "the_data_is_where_it_is_said_to_be",
    "the_queue_is_a_doubly_linked_list",
    "the_root_knows_the_last",
    "the_tree_hangs_together",
    "the_tree_is_whole",
    "there_is_one_root",
    "there_is_one_token",
    "what_excludes_each_other_is_not_held_together",
    "who_is_asked_takes_part",
    "who_waits_is_in_the_queue",
]
