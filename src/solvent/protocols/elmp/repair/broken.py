"""Repairs as they must not be: one known fault each, for the checker to find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.elmp.repair.messages import Muster, Present, Renewal, Survivor, Within
from solvent.protocols.elmp.repair.plan import NUMBERS_BITS, Plan, planned
from solvent.protocols.elmp.repair.surviving import Surviving
from solvent.protocols.machine import Effects, NodeId, PeerRestarted, Received, Send

if TYPE_CHECKING:
    from solvent.protocols.elmp.repair.messages import Ballot
    from solvent.protocols.elmp.repair.state import SurvivingState, SurvivingStep
    from solvent.protocols.elmp.state import ElmpState
    from solvent.protocols.machine import Event


class TakesWhatIsOver(Surviving):
    """What was said in an epoch that is over counts: the old token comes back."""

    def _on_within(self, state: SurvivingState, sender: NodeId, within: Within) -> SurvivingStep:
        return super()._on_within(state, sender, replace(within, epoch=max(within.epoch, state.epoch)))


class GoesOnMeanwhile(Surviving):
    """Who has said what it has does not stop."""

    def step(self, state: SurvivingState, event: Event) -> SurvivingStep:
        """Take one event as if no repair were under way."""
        if state.is_stopped and not isinstance(event, Received | PeerRestarted):
            return self._told(state, event)
        if state.is_stopped and isinstance(event, Received) and isinstance(event.message, Within):
            return self._told(state, Received(event.sender, event.message.message))
        return super().step(state, event)


class AnswersTwice(Surviving):
    """Who has answered one muster answers an earlier one as well, and goes on when either is done."""

    def _on_muster(self, state: SurvivingState, sender: NodeId, muster: Muster) -> SurvivingStep:
        if muster.ballot < state.promised:
            survivor = self._survivor(state.inner)
            return replace(state, promised=muster.ballot), (Send(sender, Present(muster.ballot, survivor)),)
        return super()._on_muster(state, sender, muster)


class CountsTheDead(Surviving):
    """Who makes a repair does not begin again when one that has answered dies."""

    def _on_restarted(self, state: SurvivingState, peer: NodeId) -> SurvivingStep:
        if state.mustering is not None and peer not in state.mustering.waiting:
            return state, ()
        return super()._on_restarted(state, peer)


class MakesATokenAlways(Surviving):
    """A new token is made although somebody has the old one."""

    def _plan(self, survivors: tuple[Survivor, ...], ballot: Ballot) -> Plan:
        without = [
            replace(one, places=tuple(place for place in one.places if not place.has_token)) for one in survivors
        ]
        return super()._plan(tuple(without), ballot)

    def _renewed(self, old: ElmpState, renewal: Renewal) -> tuple[ElmpState, Effects]:
        kept = tuple(place for place in old.places if place.has_token)
        return super()._renewed(old, replace(renewal, places=(*kept, *renewal.places)))


class ForgetsWhoWaits(Surviving):
    """Places of those who wait are not carried over."""

    def _plan(self, survivors: tuple[Survivor, ...], ballot: Ballot) -> Plan:
        kept = [replace(one, places=tuple(place for place in one.places if place.has_token)) for one in survivors]
        return super()._plan(tuple(kept), ballot)


class WaitsForTheDead(Surviving):
    """A claim that waits for one of a process that died goes on waiting."""

    def _renewed(self, old: ElmpState, renewal: Renewal) -> tuple[ElmpState, Effects]:
        entries = tuple(one for use in old.uses for one in use.earlier)
        return super()._renewed(old, replace(renewal, entries=(*renewal.entries, *entries)))


class CountsOn(Surviving):
    """Turns go on from what survivors know, and who knew more has died."""

    def _plan(self, survivors: tuple[Survivor, ...], ballot: Ballot) -> Plan:
        turns = max([0, *(place.turn for one in survivors for place in one.places)])
        plan = planned(survivors, self.inner.config.order, ballot[0])
        less = (ballot[0] << NUMBERS_BITS) - turns

        def lower(renewal: Renewal) -> Renewal:
            seat = renewal.seat
            places = tuple(
                replace(place, turn=place.turn - less) if place.turn > turns else place for place in renewal.places
            )
            tail = seat.tail if seat.tail is None or seat.tail[1] <= turns else (seat.tail[0], seat.tail[1] - less)
            return replace(renewal, places=places, seat=replace(seat, turns=max(0, seat.turns - less), tail=tail))

        return Plan({node: lower(one) for node, one in plan.renewals.items()}, plan.is_new_token)


__all__ = [
    "AnswersTwice",
    "CountsOn",
    "CountsTheDead",
    "ForgetsWhoWaits",
    "GoesOnMeanwhile",
    "MakesATokenAlways",
    "TakesWhatIsOver",
    "WaitsForTheDead",
]
