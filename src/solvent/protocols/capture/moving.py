"""Capture by moving: a holder hands its molecules over in one exchange, and only ever to one node.

This is Solvent's own protocol (`better`), not the paper's. A reaction happens only among molecules that lie at one
node, so nothing is ever locked at two places. A requester sends each holder one `Take` that lists all it wants from
there; the holder moves them over with `Given`, all or none, or answers `Refused`. Two messages instead of the
paper's three per molecule, two steps instead of six, and nothing to give back: molecules that arrive for an attempt
that failed elsewhere simply live at the requester from now on.

Why it makes progress. Two rules. A combination that lies at several nodes is for those who have a part of it. And a
node with an attempt out keeps its own part from requesters that come after it in the total order (reactions done, then
id) and yields it to those before it; its own attempt then fails. So of all nodes that want something, the first in the
order cannot be robbed, and nobody may refuse it what it asks for; it fails only if somebody else got there before, and
molecules that are wanted move only towards nodes earlier in the order.

Why nothing is used twice. A molecule is in exactly one place: a node's molecules, or one gift under way. With
`confirm`, gifts are saved by the giver until the receiver has saved them, and are sent again after a crash of either;
the receiver knows a gift it already has by giver and number.

Equal molecules are interchangeable in a solution, so a holder that no longer has the molecule named may give an
equal one instead of refusing.
"""

from __future__ import annotations

from typing import Any, assert_never

from msgspec.structs import replace

from solvent.protocols.capture.moving_state import (
    IDLE,
    LIFE_SHIFT,
    NODE_SHIFT,
    SEARCHING,
    Attempt,
    Closed,
    Confirmed,
    Gave,
    Given,
    Got,
    Kept,
    Molecules,
    MovingConfig,
    MovingState,
    MovingStep,
    Reacting,
    Refused,
    Take,
)
from solvent.protocols.capture.vocabulary import (
    Abandoned,
    Arrived,
    AttemptId,
    Combination,
    Discover,
    Gone,
    MoleculeId,
    Products,
    React,
    Reacted,
    Rewrite,
    Switched,
    Wake,
)
from solvent.protocols.machine import (
    Answered,
    Ask,
    Chosen,
    Effect,
    Event,
    NodeId,
    PeerRestarted,
    Received,
    Report,
    Requested,
    Save,
    Send,
    SetTimer,
    TimerFired,
)

LOOK = "look"
"""The timer by which a node that found nothing looks again."""


class Moving:
    """One node that captures molecules by having them moved to itself."""

    def __init__(self, config: MovingConfig) -> None:
        self.config = config
        self.node = config.node
        self.discover = Ask(Discover(config.rule))

    # ---------------------------------------------------------------------------------------------- life

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> MovingStep:
        """Begin with the molecules given, or with what the records say is left of them."""
        from solvent.protocols.capture.moving_recovery import recovered

        count = life << LIFE_SHIFT
        state = recovered(self.config, saved)
        state = replace(state, attempts=count, made=count, given=count, phase=SEARCHING)
        resent = tuple(Send(to, Given(AttemptId(-1), gift, items)) for gift, (to, items) in sorted(state.gifts.items()))
        told = self._arrivals(tuple(state.molecules.items())) if saved or life else ()
        return state, (*told, *resent, self.discover)

    def step(self, state: MovingState, event: Event) -> MovingStep:
        """Take one event."""
        match event:
            case Received(sender, message):
                return self._on_message(state, sender, message)
            case Answered(Combination() as combination):
                return self._on_combination(state, combination)
            case Answered(Products(values)):
                return self._on_products(state, values)
            case Requested(Rewrite(removed, added)):
                return self._on_rewrite(state, removed, added)
            case Answered(Rewrite(removed, added)):
                # The search is over, and begins anew with what there is now.
                return self._on_rewrite(replace(state, phase=IDLE), removed, added)
            case Requested(Wake()) | TimerFired():
                return self._on_wake(state)
            case PeerRestarted(peer):
                return self._on_peer_restarted(state, peer)
            case Requested() | Answered() | Chosen():
                return state, ()
            case _:
                assert_never(event)

    def _on_message(self, state: MovingState, sender: NodeId, message: Any) -> MovingStep:
        kind = type(message)
        if kind is Take:
            return self._on_take(state, sender, message)
        if kind is Given:
            return self._on_given(state, sender, message)
        if kind is Refused:
            return self._on_refused(state, sender, message)
        if kind is Confirmed:
            return self._on_confirmed(state, message.gift)
        return state, ()

    # -------------------------------------------------------------------------------------------- holder

    def _on_take(self, state: MovingState, requester: NodeId, take: Take) -> MovingStep:
        molecules = state.molecules
        chosen = take.molecules
        refused = Send(requester, Refused(take.attempt))
        if len(set(chosen)) != len(chosen) or (take.values and len(take.values) != len(chosen)):
            # No machine of ours says this; whoever does gets nothing.
            return state, (refused,)
        for molecule in chosen:
            if molecule not in molecules:
                chosen = self._equals(state, take)
                break
        if not chosen or not self._may_give(state, requester, take.reactions, chosen):
            return state, (refused,)
        items = []
        for molecule in chosen:
            items.append((molecule, molecules[molecule]))
            molecules = molecules.delete(molecule)
        gift = state.given + 1
        given = tuple(items)
        effects: list[Effect] = [Send(requester, Given(take.attempt, gift, given))]
        if self.config.confirm:
            effects.insert(0, Save(Gave(gift, requester, given)))
            state = replace(state, molecules=molecules, given=gift, gifts=state.gifts.set(gift, (requester, given)))
        else:
            state = replace(state, molecules=molecules, given=gift)
        if self.config.tell:
            effects += [Report(Gone(molecule)) for molecule in chosen]
        return state, tuple(effects)

    def _may_give(self, state: MovingState, requester: NodeId, reactions: int, chosen: tuple[MoleculeId, ...]) -> bool:
        """Keep what this node's own attempt needs, unless the requester comes first in the total order."""
        phase = state.phase
        if type(phase) is not Attempt or (requester == self.node):
            if type(phase) is Reacting:
                return all(molecule not in chosen for molecule, _ in phase.molecules)
            return True
        if (reactions, requester) < (state.reactions, self.node):
            return True
        return not any(molecule in chosen for molecule in (*phase.own, *phase.come))

    def _equals(self, state: MovingState, take: Take) -> tuple[MoleculeId, ...]:
        """Find, for those molecules that are no longer here, equal ones; nothing if one is missing."""
        if not take.values:
            return ()
        kept = _needed(state)
        chosen = [molecule for molecule in take.molecules if molecule in state.molecules]
        for molecule, value in zip(take.molecules, take.values, strict=True):
            if molecule not in state.molecules:
                # The least of them, so that equal states choose alike.
                others = [other for other, held in state.molecules.items() if held == value]
                found = min((other for other in others if other not in kept and other not in chosen), default=None)
                if found is None:
                    return ()
                chosen.append(found)
        return tuple(chosen)

    def _on_confirmed(self, state: MovingState, gift: int) -> MovingStep:
        if gift not in state.gifts:
            # Sent again after a crash, it is confirmed again too.
            return state, ()
        return replace(state, gifts=state.gifts.delete(gift)), (Save(Closed(gift)),)

    # ----------------------------------------------------------------------------------------- requester

    def _on_combination(self, state: MovingState, combination: Combination) -> MovingStep:
        holders = {holder for _, holder in combination.places}
        if not holders or (len(holders) > 1 and self.node not in holders):
            return self._rest(state)
        config = self.config
        number = AttemptId(state.attempts + 1)
        own: list[MoleculeId] = []
        wanted: dict[NodeId, tuple[list[MoleculeId], list[Any]]] = {}
        values = combination.values or (None,) * len(combination.places)
        is_own = holders == {self.node}
        for (molecule, holder), value in zip(combination.places, values, strict=True):
            if holder == self.node and (config.is_local or not is_own):
                own.append(molecule)
            else:
                molecules, their = wanted.setdefault(holder, ([], []))
                molecules.append(molecule)
                their.append(value)
        attempt = Attempt(number, combination.rule, tuple(own), tuple(wanted))
        state = replace(state, phase=attempt, attempts=number)
        if not wanted:
            return self._conclude(state, attempt)
        known = bool(combination.values)
        return state, tuple(
            Send(holder, Take(number, tuple(molecules), tuple(their) if known else (), state.reactions))
            for holder, (molecules, their) in wanted.items()
        )

    def _on_given(self, state: MovingState, giver: NodeId, given: Given) -> MovingStep:
        effects: tuple[Effect, ...] = ()
        if self.config.confirm:
            key = (giver, given.gift)
            confirmed = Send(giver, Confirmed(given.gift))
            if key in state.got:
                return state, (confirmed,)
            effects = (Save(Got(giver, given.gift, given.molecules)), confirmed)
            state = replace(state, got=state.got.set(key, None))
        molecules = state.molecules
        for molecule, value in given.molecules:
            molecules = molecules.set(molecule, value)
        phase = state.phase
        if type(phase) is not Attempt or phase.number != given.attempt:
            # For an attempt of an earlier life: they live here from now on.
            state = replace(state, molecules=molecules)
            after, more = self._on_wake(state)
            return after, (*effects, *self._arrivals(given.molecules), *more)
        come = (*phase.come, *[molecule for molecule, _ in given.molecules])
        attempt = replace(phase, asked=tuple(holder for holder in phase.asked if holder != giver), come=come)
        state = replace(state, molecules=molecules, phase=attempt)
        if attempt.asked:
            return state, effects
        after, more = self._conclude(state, attempt)
        return after, effects + more

    def _on_refused(self, state: MovingState, holder: NodeId, refused: Refused) -> MovingStep:
        phase = state.phase
        if type(phase) is not Attempt or phase.number != refused.attempt:
            return state, ()
        return self._without(state, phase, holder)

    def _without(self, state: MovingState, phase: Attempt, holder: NodeId) -> MovingStep:
        """Go on with an attempt to which one holder contributes nothing."""
        attempt = replace(phase, asked=tuple(node for node in phase.asked if node != holder), is_refused=True)
        state = replace(state, phase=attempt)
        return (state, ()) if attempt.asked else self._conclude(state, attempt)

    def _conclude(self, state: MovingState, attempt: Attempt) -> MovingStep:
        """Everybody answered: react if all is here, else search anew."""
        parts = attempt.own + attempt.come
        molecules = state.molecules
        if not attempt.is_refused:
            items: Molecules = tuple((part, molecules[part]) for part in parts if part in molecules)
            if len(items) == len(parts):
                return replace(state, phase=Reacting(attempt.number, attempt.rule, items)), (
                    Ask(React(attempt.rule, items)),
                )
        come = self._arrivals(tuple((part, molecules[part]) for part in attempt.come if part in molecules))
        state = replace(state, phase=SEARCHING, is_woken=False)
        return state, (Report(Abandoned(attempt.rule, attempt.number)), *come, self.discover)

    def _on_products(self, state: MovingState, values: tuple[Any, ...]) -> MovingStep:
        phase = state.phase
        assert type(phase) is Reacting, "products answer a reaction that was asked for"
        consumed = tuple(molecule for molecule, _ in phase.molecules)
        molecules = state.molecules
        for molecule in consumed:
            molecules = molecules.delete(molecule)
        state, added = self._named(replace(state, molecules=molecules), values)
        reactions = state.reactions + 1
        state = replace(state, phase=SEARCHING, is_woken=False, reactions=reactions)
        reacted = Report(Reacted(phase.rule, phase.number, consumed, added))
        if self.config.confirm:
            return state, (Save(Kept(consumed, added, reactions)), reacted, self.discover)
        return state, (reacted, self.discover)

    # -------------------------------------------------------------------------------------------- program

    def _on_rewrite(self, state: MovingState, removed: tuple[MoleculeId, ...], added: tuple[Any, ...]) -> MovingStep:
        molecules = state.molecules
        assert all(molecule in molecules for molecule in removed), "a program rewrites what it was told of"
        if type(state.phase) is Reacting:
            reactants = _needed(state)
            assert not any(molecule in reactants for molecule in removed), "a program leaves alone what reacts"
        for molecule in removed:
            molecules = molecules.delete(molecule)
        reactions = state.reactions + 1 if removed else state.reactions
        state, named = self._named(replace(state, molecules=molecules, reactions=reactions), added)
        effects: list[Effect] = [Save(Kept(removed, named, reactions))] if self.config.confirm else []
        if self.config.tell:
            effects += [Report(Gone(molecule)) for molecule in removed]
        state, more = self._on_wake(state)
        return state, (*effects, *self._arrivals(named), *more)

    def _named(self, state: MovingState, values: tuple[Any, ...]) -> tuple[MovingState, Molecules]:
        """Put new molecules in, each under a number never given before."""
        if not values:
            return state, ()
        first = state.made + 1
        base = (self.node + 1) << NODE_SHIFT
        named = tuple((MoleculeId(base + number), value) for number, value in enumerate(values, first))
        molecules = state.molecules
        for molecule, value in named:
            molecules = molecules.set(molecule, value)
        return replace(state, molecules=molecules, made=state.made + len(values)), named

    def _arrivals(self, molecules: Molecules) -> tuple[Effect, ...]:
        if not self.config.tell:
            return ()
        return tuple(Report(Arrived(molecule, value)) for molecule, value in molecules)

    def _on_wake(self, state: MovingState) -> MovingStep:
        if state.phase is not IDLE and state.phase != IDLE:
            return replace(state, is_woken=True), ()
        return replace(state, phase=SEARCHING, is_woken=False), (self.discover,)

    def _rest(self, state: MovingState) -> MovingStep:
        """Nothing can react as far as the program knows: look again if something changed meanwhile, else rest."""
        if state.is_woken:
            return replace(state, phase=SEARCHING, is_woken=False), (self.discover,)
        state = replace(state, phase=IDLE)
        if self.config.look_again:
            return state, (SetTimer(LOOK, self.config.look_again),)
        return state, (Report(Switched("idle", self.config.rule)),)

    # --------------------------------------------------------------------------------------------- crashes

    def _on_peer_restarted(self, state: MovingState, peer: NodeId) -> MovingStep:
        """Give a restarted node its gifts again, and do not wait for answers it will never send."""
        gifts = sorted((gift, items) for gift, (to, items) in state.gifts.items() if to == peer)
        effects = tuple(Send(peer, Given(AttemptId(-1), gift, items)) for gift, items in gifts)
        phase = state.phase
        if type(phase) is Attempt and peer in phase.asked:
            state, more = self._without(state, phase, peer)
            return state, effects + more
        return state, effects


def _needed(state: MovingState) -> frozenset[MoleculeId]:
    """Give the molecules here that an attempt under way, or a reaction, is about."""
    phase = state.phase
    if type(phase) is Attempt:
        return frozenset((*phase.own, *phase.come))
    if type(phase) is Reacting:
        return frozenset(molecule for molecule, _ in phase.molecules)
    return frozenset()
