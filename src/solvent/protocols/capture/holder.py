"""The holder's side of both sub-protocols (the paper's algorithms 2 and 4), repaired.

A molecule is free, promised to one attempt, or lent to one attempt. Differences from the algorithms as printed:
only the attempt that has a molecule can give it up (C1); a molecule is sent to a pessimist only if it was promised
to that very attempt (C2); a promise is an answer actually given, and only its owner's `GiveUp` ends it (C3). With
`waiting`, a query that meets a hold of lower priority is kept and answered when the hold ends (C4, C5): waiting is
only ever of higher for lower priority, so nobody waits in a circle. An optimist's hold is of the lowest priority.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.capture.messages import (
    Commitment,
    Doubt,
    Fetch,
    GiveUp,
    Query,
    Reaction,
    RespMolecule,
    RespOk,
    RespRemoved,
    RespTaken,
)
from solvent.protocols.capture.records import Freed, Lent, Removed
from solvent.protocols.capture.state import CaptureConfig, CaptureState, CaptureStep, Claim, Hold, Holding
from solvent.protocols.capture.vocabulary import Gone, Returned, Withheld
from solvent.protocols.machine import Effect, NodeId, Report, Save, Send

if TYPE_CHECKING:
    from solvent.protocols.capture.success import Rates


class Holder:
    """Answers requests for the molecules of one node."""

    __slots__ = ()

    config: CaptureConfig

    def on_query(self, state: CaptureState, rates: Rates, sender: NodeId, query: Query) -> CaptureStep:
        """Say whether a molecule is available to a pessimist, or let the query wait."""
        molecule = query.molecule
        holding = state.molecules.get(molecule)
        if holding is None:
            return self._refused(state, rates, sender, query, RespRemoved)
        claim = Claim(query.reactions, sender, query.attempt)
        hold = holding.hold
        if hold is None:
            queue, first = holding.queue, holding.first
            if first is not None and first.requester == sender:
                # Its earlier attempt ended unheard; who is first now must be found out.
                first = None
            if not queue or (first is not None and claim < first):
                first = claim
            changed = Holding(holding.value, None, queue.set(sender, claim), holding.waiting, first)
            reply = RespOk(molecule, query.attempt, state.rule, rates[state.rule].rate)
            return (
                replace(state, molecules=state.molecules.set(molecule, changed), success=rates),
                (Send(sender, reply),),
            )
        if self._waits(hold, claim):
            changed = replace(holding, waiting=holding.waiting.set(sender, claim))
            return replace(state, molecules=state.molecules.set(molecule, changed), success=rates), ()
        return self._refused(state, rates, sender, query, RespTaken)

    def _waits(self, hold: Hold, claim: Claim) -> bool:
        """Tell whether a query may wait for a hold to end: it must come first in the total order."""
        return self.config.waiting and (hold.claim is None or claim < hold.claim)

    def on_commitment(self, state: CaptureState, rates: Rates, sender: NodeId, message: Commitment) -> CaptureStep:
        """Promise the molecule to the first in the total order of those interested, and to nobody else."""
        molecule = message.molecule
        holding = state.molecules.get(molecule)
        if holding is None:
            return self._refused(state, rates, sender, message, RespRemoved)
        if holding.hold is not None or not holding.queue:
            return self._refused(state, rates, sender, message, RespTaken)
        first = holding.first or min(holding.queue.values())
        if first.requester != sender or first.attempt != message.attempt:
            changed = Holding(holding.value, None, holding.queue, holding.waiting, first)
            state = replace(state, molecules=state.molecules.set(molecule, changed))
            return self._refused(state, rates, sender, message, RespTaken)
        hold = Hold(sender, message.attempt, False, first)
        changed = Holding(holding.value, hold, holding.queue.delete(sender), holding.waiting)
        reply = RespOk(molecule, message.attempt, state.rule, rates[state.rule].rate)
        effects: tuple[Effect, ...] = (Send(sender, reply),)
        if self.config.tell:
            effects = (*effects, Report(Withheld(molecule)))
        return replace(state, molecules=state.molecules.set(molecule, changed), success=rates), effects

    def on_fetch(self, state: CaptureState, rates: Rates, sender: NodeId, fetch: Fetch) -> CaptureStep:
        """Send the molecule to an optimist if it is free, to a pessimist if it was promised to this attempt."""
        molecule, attempt = fetch.molecule, fetch.attempt
        molecules = state.molecules
        holding = molecules.get(molecule)
        if holding is None:
            return self._refused(state, rates, sender, fetch, RespRemoved)
        if not self._may_fetch(holding, sender, fetch):
            return self._refused(state, rates, sender, fetch, RespTaken)
        hold = holding.hold
        reply = Send(sender, RespMolecule(molecule, attempt, state.rule, rates[state.rule].rate, holding.value))
        effects: tuple[Effect, ...] = (reply,)
        config = self.config
        if fetch.is_optimistic or config.confirm:
            lent = Hold(sender, attempt, True, hold.claim if hold is not None else None)
            changed = Holding(holding.value, lent, holding.queue, holding.waiting, holding.first)
            molecules = molecules.set(molecule, changed)
            if config.confirm:
                effects = (Save(Lent(molecule, sender, attempt)), reply)
            if config.tell and hold is None:
                effects = (*effects, Report(Withheld(molecule)))
        else:
            # As in the paper a pessimist who fetches is sure to react, so nothing is kept here.
            molecules = molecules.delete(molecule)
            effects = (reply, *self._turned_away(state, rates, molecule, holding))
            if config.tell:
                effects = (*effects, Report(Gone(molecule)))
        return replace(state, molecules=molecules, success=rates), effects

    def _may_fetch(self, holding: Holding, sender: NodeId, fetch: Fetch) -> bool:
        hold = holding.hold
        if hold is not None:
            # An attempt that has it may ask again: the answer may have been lost in a crash.
            return hold.requester == sender and hold.attempt == fetch.attempt
        # A pessimist who is interested comes before every optimist.
        return fetch.is_optimistic and not holding.queue

    def on_give_up(self, state: CaptureState, rates: Rates, sender: NodeId, message: GiveUp) -> CaptureStep:
        """Free what the attempt had, and let those who waited go on."""
        molecule, attempt = message.molecule, message.attempt
        holding = state.molecules.get(molecule)
        if holding is None:
            return replace(state, success=rates), ()
        hold = holding.hold
        if hold is not None and hold.requester == sender and hold.attempt == attempt:
            return self._freed(state, rates, message, holding)
        if holding.queue or holding.waiting:
            changed = _without(holding, sender, attempt)
            return replace(state, molecules=state.molecules.set(molecule, changed), success=rates), ()
        return replace(state, success=rates), ()

    def _freed(self, state: CaptureState, rates: Rates, message: GiveUp, holding: Holding) -> CaptureStep:
        molecule = message.molecule
        queue = holding.queue.update(holding.waiting) if holding.waiting else holding.queue
        changed = Holding(holding.value, None, queue)
        rule, rate = state.rule, rates[state.rule].rate
        effects: tuple[Effect, ...] = tuple(
            Send(claim.requester, RespOk(molecule, claim.attempt, rule, rate))
            for claim in sorted(holding.waiting.values())
        )
        assert holding.hold is not None
        if self.config.confirm and holding.hold.is_lent:
            effects = (Save(Freed(molecule)), *effects)
        if self.config.tell:
            effects = (*effects, Report(Returned(molecule)))
        return replace(state, molecules=state.molecules.set(molecule, changed), success=rates), effects

    def on_reaction(self, state: CaptureState, rates: Rates, sender: NodeId, message: Reaction) -> CaptureStep:
        """Remove a molecule that has been consumed, and turn away those who waited for it."""
        molecule = message.molecule
        holding = state.molecules.get(molecule)
        if (
            holding is None
            or holding.hold is None
            or holding.hold.requester != sender
            or holding.hold.attempt != message.attempt
        ):
            # Said again after a crash; it has been removed already.
            return replace(state, success=rates), ()
        effects = self._turned_away(state, rates, molecule, holding)
        if self.config.confirm:
            effects = (Save(Removed(molecule)), *effects)
        if self.config.tell:
            effects = (*effects, Report(Gone(molecule)))
        return replace(state, molecules=state.molecules.delete(molecule), success=rates), effects

    def _turned_away(self, state: CaptureState, rates: Rates, molecule: int, holding: Holding) -> tuple[Effect, ...]:
        if not holding.waiting:
            return ()
        rule, rate = state.rule, rates[state.rule].rate
        return tuple(
            Send(claim.requester, RespRemoved(molecule, claim.attempt, rule, rate))  # type: ignore[arg-type]
            for claim in sorted(holding.waiting.values())
        )

    def _refused(
        self,
        state: CaptureState,
        rates: Rates,
        sender: NodeId,
        message: Query | Commitment | Fetch,
        reply: type[RespTaken | RespRemoved],
    ) -> CaptureStep:
        answer = reply(message.molecule, message.attempt, state.rule, rates[state.rule].rate)
        return replace(state, success=rates), (Send(sender, answer),)

    # --------------------------------------------------------------------------------------------- crashes

    def doubts(self, state: CaptureState, *, of: NodeId | None = None) -> tuple[Effect, ...]:
        """Ask what became of lent molecules: all of them after an own crash, those of one node after its crash."""
        rule, rate = state.rule, state.success[state.rule].rate
        return tuple(
            Send(holding.hold.requester, Doubt(molecule, holding.hold.attempt, rule, rate))
            for molecule, holding in sorted(state.molecules.items())
            if holding.hold is not None and holding.hold.is_lent and of in (None, holding.hold.requester)
        )

    def forget(self, state: CaptureState, peer: NodeId) -> CaptureStep:
        """Drop what a crashed requester was interested in or promised; what it was lent, it must decide itself."""
        effects: tuple[Effect, ...] = ()
        for molecule, holding in sorted(state.molecules.items()):
            changed = _without(holding, peer)
            hold = holding.hold
            if hold is not None and hold.requester == peer and not hold.is_lent:
                give_up = GiveUp(molecule, hold.attempt, state.rule, 0)
                state, more = self._freed(state, state.success, give_up, changed)
                effects += more
            elif changed is not holding:
                state = replace(state, molecules=state.molecules.set(molecule, changed))
        return state, effects


def _without(holding: Holding, requester: NodeId, attempt: int | None = None) -> Holding:
    """Drop what a requester claims, by this attempt or by any."""
    queue, waiting, first = holding.queue, holding.waiting, holding.first
    claim = queue.get(requester)
    if claim is not None and attempt in (None, claim.attempt):
        queue = queue.delete(requester)
        if claim == first:
            first = None
        holding = Holding(holding.value, holding.hold, queue, waiting, first)
    claim = waiting.get(requester)
    if claim is not None and attempt in (None, claim.attempt):
        holding = Holding(holding.value, holding.hold, queue, waiting.delete(requester), first)
    return holding
