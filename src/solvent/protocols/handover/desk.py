"""One step of a process of a space while it is being made: the state taken apart, and the effects so far.

What a process does is divided over classes that build on each other: resources (here), members (who comes and goes),
repair (what is done when somebody dies). Messages of locks, which come most, do not come by here unless something else
is under way: see `machine`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.elmp.lock import PATIENCE
from solvent.protocols.elmp.messages import Hello, Own
from solvent.protocols.elmp.process import seated, seats
from solvent.protocols.elmp.state import ENTRUSTED, ElmpState, Joining, Out, Place
from solvent.protocols.elmp.vocabulary import Dropped, Join, Joined, Leave, Left, Request, Withdraw
from solvent.protocols.handover.messages import Exists, Within
from solvent.protocols.handover.plan import NUMBERS_BITS
from solvent.protocols.handover.state import Role, SpaceState, Standing
from solvent.protocols.handover.vocabulary import In, Of, Opened, Stays, Watch
from solvent.protocols.machine import CancelTimer, Effect, Effects, Event, NodeId, Received, Report, Requested, Send
from solvent.protocols.machine import SetTimer as Set

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.protocols.handover.machine import SpaceMachine
    from solvent.protocols.handover.messages import Renewal
    from solvent.protocols.handover.vocabulary import Ballot

ABSENT = ElmpState(Out())
"""What a process knows of a resource that it has nothing to do with."""
OF_RESOURCE = "@"
"""Between the name of a lock's timer and that of its resource."""


class Gate(IntEnum):
    """What to do with a message of an epoch."""

    TAKE = 0
    #: It belongs to the epoch that is about to begin.
    KEEP = 1
    DROP = 2


def wrapped(effects: Effects, epoch: Ballot, resource: str) -> Effects:
    """Give the effects of a lock as those of the process."""
    if not effects:
        return effects
    first = effects[0]
    if type(first) is Send and len(effects) == 1:
        # Nearly always: what is wanted, or the token.
        return (Send(first.to, Within(epoch, resource, first.message)),)
    found: list[Effect] = []
    for effect in effects:
        kind = type(effect)
        if kind is Send:
            found.append(Send(effect.to, Within(epoch, resource, effect.message)))  # type: ignore[union-attr]
        elif kind is Report:
            outcome = effect.outcome  # type: ignore[union-attr]
            found.append(Report(Opened(resource) if type(outcome) is Joined else Of(resource, outcome)))
        elif kind is Set:
            found.append(Set(f"{effect.name}{OF_RESOURCE}{resource}", effect.after))  # type: ignore[union-attr]
        elif kind is CancelTimer:
            found.append(CancelTimer(f"{effect.name}{OF_RESOURCE}{resource}"))  # type: ignore[union-attr]
        else:
            found.append(effect)
    return tuple(found)


class Desk:
    """The parts of a process's state during one step."""

    __slots__ = ("address", "config", "effects", "locks", "me", "resources", "standing")

    def __init__(self, machine: SpaceMachine, state: SpaceState) -> None:
        self.me = machine.node
        self.address = machine.address
        self.config = machine.config
        self.locks = machine.locks
        self.standing = state.standing
        self.resources = state.resources
        self.effects: list[Effect] = []

    def finish(self) -> tuple[SpaceState, Effects]:
        """Give the step that was made; if others are to be watched now, say so."""
        watched = self.to_be_watched()
        if watched != self.standing.watched:
            self.change(watched=watched)
            self.report(Watch(watched))
        return SpaceState(self.standing, self.resources), tuple(self.effects)

    # ------------------------------------------------------------------------------------------------ small steps

    def change(self, **fields: Any) -> None:
        """Know something else of the others."""
        self.standing = replace(self.standing, **fields)

    def send(self, to: NodeId, message: Any) -> None:
        """Say something to a process."""
        self.effects.append(Send(to, message))

    def report(self, outcome: Any) -> None:
        """Tell the user something."""
        self.effects.append(Report(outcome))

    @property
    def is_founder(self) -> bool:
        """Whether this process made the epoch."""
        return self.standing.epoch[1] == self.me

    @property
    def others(self) -> frozenset[NodeId]:
        """All who take part, without this process."""
        return frozenset(self.standing.members) - {self.me}

    def gate(self, sender: NodeId, epoch: Ballot) -> Gate:
        """Say what to do with a message of an epoch."""
        standing = self.standing
        agreed = standing.agreed
        if agreed is not None and agreed.ballot == epoch:
            return Gate.KEEP if standing.is_waiting else Gate.DROP
        if standing.role is not Role.INSIDE:
            return Gate.DROP
        if epoch == standing.epoch:
            return Gate.TAKE if standing.is_running else Gate.DROP
        if any(one.ballot == epoch for one in standing.agreements):
            # It has begun elsewhere, and another repair is under way here.
            return Gate.DROP
        if epoch > standing.epoch:
            # The others are in an epoch that this process was not asked for.
            self.be_expelled()
        elif sender not in standing.members:
            self.fence(sender)
        return Gate.DROP

    def to_be_watched(self) -> tuple[NodeId, ...]:
        """Say whose death this process is to notice."""
        raise NotImplementedError

    def be_expelled(self) -> None:
        """Take no part any more, since the others do not know this process any more."""
        raise NotImplementedError

    def fence(self, node: NodeId) -> None:
        """Tell a process that the others went on without it."""
        raise NotImplementedError

    def consider_going(self) -> None:
        """Go on with going, if that is wanted."""
        raise NotImplementedError

    # -------------------------------------------------------------------------------------------------- resources

    def on_within(self, sender: NodeId, within: Within) -> None:
        """Take a message of a lock."""
        match self.gate(sender, within.epoch):
            case Gate.TAKE:
                self.inside(within.resource, Received(sender, within.message))
            case Gate.KEEP:
                self.change(early=(*self.standing.early, (sender, within)))

    def inside(self, resource: str, event: Event) -> None:
        """Let a lock take an event."""
        before = self.resources.get(resource, ABSENT)
        if self.is_founder and type(event) is Received and type(event.message) is Hello:
            before = self.made(resource)
        after, effects = self.locks.step(before, event)
        if after != ABSENT:
            self.resources = self.resources.set(resource, after)
        self.effects += wrapped(effects, self.standing.epoch, resource)
        if self.standing.is_going and any(type(one) is Report and type(one.outcome) is Left for one in effects):
            self.consider_going()

    def made(self, resource: str) -> ElmpState:
        """Give the founder's part of a resource; it makes it if nobody has wanted it before."""
        state = self.resources.get(resource, ABSENT)
        if type(state.phase) is not Out:
            return state
        # All who had it in an earlier epoch may be gone; its turns are still greater than theirs.
        turn = (self.standing.epoch[0] << NUMBERS_BITS) + 1
        seat = replace(seats((self.me,), self.config.locks.order)[self.me], turns=turn, tail=(self.me, turn))
        state = seated(seat, 1, places=(Place(turn, None, has_token=True),))
        self.resources = self.resources.set(resource, state)
        return state

    def on_open(self, resource: str) -> None:
        """Take part in a resource; the founder does so in all."""
        phase = type(self.resources.get(resource, ABSENT).phase)
        if self.is_founder:
            self.made(resource)
            self.report(Opened(resource))
        elif phase is Out:
            self.inside(resource, Requested(Join(self.standing.founder)))
        elif phase is not Joining:
            self.report(Opened(resource))

    def on_in(self, resource: str, wanted: Any) -> None:
        """Do what the user wants of a resource."""
        if type(wanted) is Leave and self.is_founder:
            self.withdraw_all(resource)
            self.report(Of(resource, Stays()))
        elif type(wanted) is not Join:
            self.inside(resource, Requested(wanted))

    def on_announce(self, resource: str) -> None:
        """Tell all others, once, that data of a resource was released."""
        if resource not in self.standing.released:
            self.note_released((resource,))
            for node in sorted(self.others):
                self.send(node, Exists(resource))

    def on_exists(self, sender: NodeId, resource: str) -> None:
        """Note that data was released; a newcomer may hear it before it hears who takes part."""
        if self.standing.role is Role.ENTERING or sender in self.standing.members:
            self.note_released((resource,))

    def note_released(self, resources: Iterable[str]) -> None:
        """Know from now on that there was data of these resources."""
        self.change(released=self.standing.released.union(resources))

    # ----------------------------------------------------------------------------------------------------- patience

    def wish(self, event: Requested) -> None:
        """Keep what the user wants until a repair is over; who has no patience for that waits for so long only."""
        self.change(wishes=(*self.standing.wishes, event))
        match event.request:
            case In(resource, Request(handle, patience)) if patience:
                self.effects.append(Set(f"{PATIENCE}{handle}{OF_RESOURCE}{resource}", patience))

    def on_impatience(self, name: str) -> None:
        """Give up a claim that has waited long enough while a repair is under way, which may never be over.

        Nobody is told: what this process has answered to a muster counts until the repair is over (`still_wanted`).
        """
        timer, _, resource = name.partition(OF_RESOURCE)
        handle = int(timer.removeprefix(PATIENCE))
        state = self.resources.get(resource, ABSENT)
        if handle in state.timed:
            self.resources = self.resources.set(resource, without(state, handle))
            self.report(Of(resource, Dropped(handle)))
        wishes = tuple(one for one in self.standing.wishes if not _requests(one, resource, handle))
        if len(wishes) < len(self.standing.wishes):
            self.change(wishes=wishes)
            self.report(Of(resource, Dropped(handle)))

    def still_wanted(self, resource: str, renewal: Renewal) -> Renewal:
        """Give what the repair has given, without claims that have been given up since this process answered."""
        handles = {one.turn: one.handle for one in self.resources.get(resource, ABSENT).places}
        places = [replace(one, handle=handles.get(one.turn, one.handle)) for one in renewal.places]
        return replace(renewal, places=tuple(places))

    def withdraw_all(self, resource: str) -> None:
        """Give up all claims of a resource."""
        state = self.resources.get(resource, ABSENT)
        handles = {one.handle for one in state.places} | {one.handle for one in state.uses}
        handles |= {one.handle for _, one in state.queue if type(one) is Own and one.what == "request"}
        for handle in sorted(one for one in handles if one is not None and one != ENTRUSTED):
            self.inside(resource, Requested(Withdraw(handle)))


def without(state: ElmpState, handle: int) -> ElmpState:
    """Give a lock without a claim that waits; its place, and a token that is there, are nobody's from now on."""
    return replace(
        state,
        queue=tuple(one for one in state.queue if not _asks_for(one[1], handle)),
        places=tuple(replace(one, handle=None) if one.handle == handle else one for one in state.places),
        uses=tuple(one for one in state.uses if one.handle != handle),
        timed=tuple(one for one in state.timed if one != handle),
    )


def _asks_for(message: Any, handle: int) -> bool:
    return type(message) is Own and message.what == "request" and message.handle == handle


def _requests(wish: Event, resource: str, handle: int) -> bool:
    """Say whether somebody wishes to make a claim, with some patience."""
    match wish:
        case Requested(In(wanted, Request(number, patience))):
            return wanted == resource and number == handle and patience > 0
    return False


__all__ = ["ABSENT", "OF_RESOURCE", "Desk", "Gate", "Standing", "without", "wrapped"]
