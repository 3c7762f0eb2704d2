"""What must be true of all processes of a space together at every moment: functions over their states.

Each gives None where all is well, or says what is wrong. A `Scene` is what the checker, the simulator and tests put
together.

A process that was taken for dead and has not heard of it goes on in its old epoch for a while; what it believes to hold
is void. So what counts is what those have that the last epoch knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from solvent.protocols.elmp import invariants as elmp
from solvent.protocols.elmp.state import ElmpConfig, ElmpState, Joining, Out
from solvent.protocols.handover.messages import Within
from solvent.protocols.handover.state import ABSENT, NOBODY, Role, SpaceState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from solvent.protocols.handover.vocabulary import Ballot
    from solvent.protocols.machine import NodeId


@dataclass(frozen=True, eq=False)
class Scene:
    """All processes that live, at one moment."""

    states: dict[NodeId, SpaceState]
    #: Sender, recipient, message: what is under way, where that is known.
    messages: tuple[tuple[NodeId, NodeId, Any], ...]
    config: ElmpConfig

    @cached_property
    def epoch(self) -> Ballot:
        """The last epoch that has begun anywhere."""
        return max((one.epoch for one in self.states.values()), default=NOBODY)

    @cached_property
    def counting(self) -> dict[NodeId, SpaceState]:
        """The processes that the last epoch knows."""
        known = {node for one in self.states.values() if one.epoch == self.epoch for node in one.members}
        return {node: state for node, state in self.states.items() if node in known and state.role is Role.INSIDE}

    def is_at_peace(self) -> bool:
        """Whether all that the last epoch knows live in it, and no repair is under way."""
        counting = self.counting
        return all(
            one.is_running and one.epoch == self.epoch and counting.keys() >= set(_expected(one))
            for one in counting.values()
        )

    def resources(self) -> list[str]:
        """Give the names of all resources."""
        return sorted({name for one in self.states.values() for name in one.resources})

    def lock(self, resource: str) -> elmp.Scene:
        """Give the processes that count as processes of one lock, which are numbered from zero there."""
        counting, epoch = self.counting, self.epoch
        top = max((*self.states, *(to for _, to, _ in self.messages)), default=-1)
        states = [_part(counting.get(node), resource) for node in range(top + 1)]  # type: ignore[call-overload]
        under_way = tuple(
            (sender, to, message.message)
            for sender, to, message in self.messages
            if isinstance(message, Within) and message.epoch == epoch and message.resource == resource
        )
        return elmp.Scene(tuple(states), under_way, self.config)


def _part(state: SpaceState | None, resource: str) -> ElmpState:
    return ABSENT if state is None else state.resources.get(resource, ABSENT)


def _expected(state: SpaceState) -> Iterable[NodeId]:
    """Give those that a process counts on: all but newcomers and goers, of whom not everybody knows."""
    return (node for node in state.members if node not in state.noting)


# ------------------------------------------------------------------------------------------------------------ locks


def what_excludes_each_other_is_not_held_together(scene: Scene) -> str | None:
    """No two processes that count hold claims that exclude each other, whatever their epochs."""
    for resource in scene.resources():
        held = [
            (node, use)
            for node, state in sorted(scene.counting.items())
            for use in _part(state, resource).uses
            if use.is_held
        ]
        for place, (one, use) in enumerate(held):
            for other, another in held[place + 1 :]:
                if use.claim.excludes(another.claim):
                    return f"{one} and {other} hold {resource}: {use.claim} and {another.claim}"
    return None


def locks_are_whole(scene: Scene) -> str | None:
    """Where nobody is dead and no repair is under way, all that must hold of each lock does."""
    if not scene.is_at_peace():
        return None
    for resource in scene.resources():
        lock = scene.lock(resource)
        for check in elmp.SAFETY:
            wrong = check(lock)
            if wrong:
                return f"{resource}: {wrong}"
    return None


def the_founder_takes_part_in_all_resources(scene: Scene) -> str | None:
    """Whatever anybody has to do with, the founder knows; so it is not made twice."""
    founder = scene.states.get(scene.epoch[1])
    if founder is None or not scene.is_at_peace():
        return None
    for node, state in scene.counting.items():
        for name, part in state.resources.items():
            if type(part.phase) not in (Out, Joining) and type(_part(founder, name).phase) is Out:
                return f"{node} takes part in {name}, and the founder does not"
    return None


# ---------------------------------------------------------------------------------------------------------- members


def who_takes_part_is_known(scene: Scene) -> str | None:
    """Whoever is in is known to all that are in the same epoch; but for those that wait to be let go."""
    inside = {
        node: one
        for node, one in scene.states.items()
        if one.role is Role.INSIDE and not (one.has_resigned and one.founder != node)
    }
    for node, one in inside.items():
        for other, another in inside.items():
            is_same = one.epoch == another.epoch and one.promised == one.epoch
            if is_same and node not in another.members:
                return f"{other} does not know {node}"
    return None


def epochs_follow_each_other(
    after: Mapping[Ballot, tuple[Ballot, ...]], living: Collection[Ballot] | None = None
) -> str | None:
    """Say whether of any two epochs the later one knows the earlier: the space has not become two.

    If all that were in one are dead, others need not know of it; so it may be said in which ones somebody lives.
    """
    known: dict[Ballot, set[Ballot]] = {}
    begun = sorted(after)
    for epoch in begun:
        known[epoch] = {one for base in after[epoch] for one in (base, *known.get(base, ()))}
    counting = begun if living is None else [epoch for epoch in begun if epoch in living]
    for place, earlier in enumerate(counting):
        for later in counting[place + 1 :]:
            if earlier not in known[later]:
                return f"epoch {later} does not follow {earlier}"
    return None


SAFETY = (
    what_excludes_each_other_is_not_held_together,
    locks_are_whole,
    the_founder_takes_part_in_all_resources,
    who_takes_part_is_known,
)

__all__ = [
    "SAFETY",
    "Scene",
    "epochs_follow_each_other",
    "locks_are_whole",
    "the_founder_takes_part_in_all_resources",
    "what_excludes_each_other_is_not_held_together",
    "who_takes_part_is_known",
]
