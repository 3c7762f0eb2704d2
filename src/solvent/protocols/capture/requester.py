"""The requester's side of both sub-protocols (the paper's algorithms 1 and 3), repaired.

An optimist fetches at once and tells the holders when it has reacted. A pessimist asks in three rounds: is it there,
will you promise it, send it. An attempt with a refusal ends when all holders have answered, and then every one of
them is told (C6: telling only those that said yes leaves ghosts in the lists of the others). The paper ends it with
the first refusal; in its model all answers of a round come in the same step, so nothing is slower here, and a node
never has more under way than one round. Answers carry the number of their attempt, so those that a crash makes late
cannot be taken for answers to the next (C2).

The next attempt starts in the step in which the last one ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.capture.changing import after_abort
from solvent.protocols.capture.messages import (
    Commitment,
    Fetch,
    GiveUp,
    Query,
    Reaction,
    RespMolecule,
    RespOk,
    RespRemoved,
    RespTaken,
)
from solvent.protocols.capture.moving import NODE_SHIFT
from solvent.protocols.capture.records import Consumed
from solvent.protocols.capture.state import (
    SEARCHING,
    CaptureConfig,
    CaptureState,
    CaptureStep,
    Committing,
    Fetching,
    Holding,
    Querying,
    Reacting,
)
from solvent.protocols.capture.success import is_optimistic, noted
from solvent.protocols.capture.vocabulary import (
    Abandoned,
    AttemptId,
    Combination,
    MoleculeId,
    Place,
    React,
    Reacted,
    Switched,
)
from solvent.protocols.machine import Ask, Effect, Effects, NodeId, Report, Save, Send

if TYPE_CHECKING:
    from solvent.protocols.capture.success import Rates

YES, NO = b"\1", b"\0"


class Requester:
    """Captures molecules for one node."""

    __slots__ = ()

    config: CaptureConfig
    node: NodeId
    discover: tuple[Ask, ...]

    # --------------------------------------------------------------------------------------------- begin

    def on_combination(self, state: CaptureState, combination: Combination) -> CaptureStep:
        """Start an attempt on the molecules found, in the way the success rate advises."""
        places = combination.places
        rule = combination.rule
        if not places:
            return after_abort(self, state, self._nothing(state), has_found=False)
        number = AttemptId(state.attempts + 1)
        rates = state.success
        rate = rates[rule].rate
        optimist = is_optimistic(rates[rule], self.config, self.config.arities[rule], state.now)
        effects: Effects
        if optimist:
            phase: Any = Fetching(number, rule, places, True)
            effects = tuple([Send(holder, Fetch(item, number, rule, rate, True)) for item, holder in places])
        else:
            phase = Querying(number, rule, places)
            reactions = state.reactions
            effects = tuple([Send(holder, Query(item, number, rule, rate, reactions)) for item, holder in places])
        mode = "optimistic" if optimist else "pessimistic"
        if mode != state.mode:
            effects = (Report(Switched(mode, rule)), *effects)
            aborts = 0 if optimist or state.mode == "optimistic" else state.aborts
            return replace(state, phase=phase, attempts=number, mode=mode, aborts=aborts), effects
        return replace(state, phase=phase, attempts=number), effects

    def _nothing(self, state: CaptureState) -> Rates:
        """Finding nothing counts like an attempt in which every molecule was refused."""
        return noted(state.success, state.rule, NO * self.config.arities[state.rule])

    # ------------------------------------------------------------------------------------------- answers

    def on_ok(self, state: CaptureState, rates: Rates, _sender: NodeId, message: RespOk) -> CaptureStep:
        """Count a yes; the last answer decides."""
        phase = state.phase
        kind = type(phase)
        if kind is Querying and phase.number == message.attempt:  # type: ignore[union-attr]
            assert isinstance(phase, Querying)
            rates = noted(rates, phase.rule, YES)
            granted, refused = phase.granted + 1, phase.refused
            if granted + refused < len(phase.places):
                asked = Querying(phase.number, phase.rule, phase.places, granted, refused)
                return replace(state, phase=asked, success=rates), ()
            return self.abandon(state, rates, phase) if refused else self._commit(state, rates, phase)
        if kind is Committing and phase.number == message.attempt:  # type: ignore[union-attr]
            assert isinstance(phase, Committing)
            granted, refused = phase.granted + 1, phase.refused
            if granted + refused < len(phase.places):
                promised = Committing(phase.number, phase.rule, phase.places, granted, refused)
                return replace(state, phase=promised, success=rates), ()
            return self.abandon(state, rates, phase) if refused else self._fetch(state, rates, phase)
        return replace(state, success=rates), ()

    def _commit(self, state: CaptureState, rates: Rates, phase: Querying) -> CaptureStep:
        number, rule, places = phase.number, phase.rule, phase.places
        rate = rates[rule].rate
        return replace(state, phase=Committing(number, rule, places), success=rates), tuple(
            [Send(holder, Commitment(item, number, rule, rate)) for item, holder in places]
        )

    def _fetch(self, state: CaptureState, rates: Rates, phase: Committing) -> CaptureStep:
        number, rule, places = phase.number, phase.rule, phase.places
        rate = rates[rule].rate
        return replace(state, phase=Fetching(number, rule, places, False), success=rates), tuple(
            [Send(holder, Fetch(item, number, rule, rate, False)) for item, holder in places]
        )

    def on_molecule(self, state: CaptureState, rates: Rates, _sender: NodeId, message: RespMolecule) -> CaptureStep:
        """Keep a molecule that has come; the last answer decides, and with all molecules the reaction happens."""
        phase = state.phase
        if type(phase) is not Fetching or phase.number != message.attempt:
            return replace(state, success=rates), ()
        number, rule, places, refused = phase.number, phase.rule, phase.places, phase.refused
        if phase.is_optimistic:
            rates = noted(rates, rule, YES)
        got = (*phase.got, (message.molecule, message.value))
        if len(got) + refused < len(places):
            fetching = Fetching(number, rule, places, phase.is_optimistic, got, refused)
            return replace(state, phase=fetching, success=rates), ()
        if refused:
            return self.abandon(state, rates, phase)
        reacting = Reacting(number, rule, places, phase.is_optimistic, got)
        return replace(state, phase=reacting, success=rates), (Ask(React(rule, got)),)

    def on_refusal(
        self, state: CaptureState, rates: Rates, _sender: NodeId, message: RespTaken | RespRemoved
    ) -> CaptureStep:
        """Note a no; the last answer ends the attempt."""
        phase = state.phase
        if not isinstance(phase, Fetching | Querying | Committing) or phase.number != message.attempt:
            return replace(state, success=rates), ()
        return self.without(state, noted(rates, phase.rule, NO), phase, 1)

    def without(
        self, state: CaptureState, rates: Rates, phase: Fetching | Querying | Committing, count: int
    ) -> CaptureStep:
        """Go on with an attempt that some molecules were refused to."""
        refused = phase.refused + count
        granted = len(phase.got) if isinstance(phase, Fetching) else phase.granted
        if granted + refused < len(phase.places):
            return replace(state, phase=replace(phase, refused=refused), success=rates), ()
        return self.abandon(state, rates, phase)

    # ----------------------------------------------------------------------------------------------- end

    def abandon(self, state: CaptureState, rates: Rates, phase: Fetching | Querying | Committing) -> CaptureStep:
        """End an attempt without a reaction."""
        number, rule = phase.number, phase.rule
        gone = self._give_up(phase.places, number, rule, rates[rule].rate)
        after, more = after_abort(self, state, rates, has_found=True)
        return after, (*gone, Report(Abandoned(rule, number)), *more)

    def _give_up(self, places: tuple[Place, ...], number: AttemptId, rule: int, rate: int) -> Effects:
        return tuple([Send(holder, GiveUp(item, number, rule, rate)) for item, holder in places])  # type: ignore[arg-type]

    def on_products(self, state: CaptureState, values: tuple[Any, ...]) -> CaptureStep:
        """Take the products in, tell the holders, and start over."""
        phase = state.phase
        assert type(phase) is Reacting, "products answer a reaction that was asked for"
        number, rule, config = phase.number, phase.rule, self.config
        reactions = state.reactions + 1
        consumed = tuple([item for item, _ in phase.got])
        added: tuple[tuple[MoleculeId, Any], ...] = ()
        if values:
            state, added = self.named(state, values)
        reacted = Report(Reacted(rule, number, consumed, added))
        told: tuple[Effect, ...] = ()
        if phase.is_optimistic or config.confirm:
            rate = state.success[rule].rate
            told = tuple([Send(holder, Reaction(item, number, rule, rate)) for item, holder in phase.places])
        if config.confirm:
            saved = Save(Consumed(number, consumed, added, reactions))
            known = state.reacted.set(number, None)
            state = replace(state, phase=SEARCHING, reactions=reactions, aborts=0, is_woken=False, reacted=known)
            return state, (saved, reacted, *told, self.discover[state.rule])
        state = replace(state, phase=SEARCHING, reactions=reactions, aborts=0, is_woken=False)
        return state, (reacted, *told, self.discover[state.rule])

    def named(
        self, state: CaptureState, values: tuple[Any, ...]
    ) -> tuple[CaptureState, tuple[tuple[MoleculeId, Any], ...]]:
        """Put new molecules in, each under a number never given before."""
        if not values:
            return state, ()
        base = (self.node + 1) << NODE_SHIFT
        added = tuple((MoleculeId(base + number), value) for number, value in enumerate(values, state.made + 1))
        molecules = state.molecules
        for molecule, value in added:
            molecules = molecules.set(molecule, Holding(value))
        return replace(state, molecules=molecules, made=state.made + len(values)), added

    def discover_for(self, state: CaptureState) -> tuple[Ask, ...]:
        """Ask for a combination for the active rule."""
        return (self.discover[state.rule],)
