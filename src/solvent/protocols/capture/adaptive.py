"""The paper's protocol: one node that is both requester and holder, optimistic or pessimistic as it goes best.

This is M. Bertier, M. Obrovac and C. Tedeschi, "Adaptive atomic capture of multiple molecules" (2013), sections 3.1 to
3.5, with the repairs that safety needs (C1, C2, C3 and C6 in docs/explanation/capture.md); `waiting` adds those that
liveness needs (C4, C5). Read `holder` and `requester` first; this module only dispatches.
"""

from __future__ import annotations

from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.errors import Misuse
from solvent.protocols.capture.changing import SLEEP, sleep_until
from solvent.protocols.capture.holder import Holder
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
from solvent.protocols.capture.moving import LIFE_SHIFT
from solvent.protocols.capture.records import Rewritten
from solvent.protocols.capture.recovery import recovered
from solvent.protocols.capture.requester import Requester
from solvent.protocols.capture.state import (
    RESTING,
    SEARCHING,
    CaptureConfig,
    CaptureState,
    CaptureStep,
    Committing,
    Fetching,
    Querying,
)
from solvent.protocols.capture.success import heard
from solvent.protocols.capture.vocabulary import (
    Arrived,
    Combination,
    Discover,
    Gone,
    MoleculeId,
    Products,
    Rewrite,
    RuleId,
    Wake,
    Withheld,
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
    TimerFired,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_OWN = 255
"""How long a history may be: a rate travels and is kept as one byte."""


class Adaptive(Holder, Requester):
    """One node of the paper's protocol."""

    __slots__ = ("config", "discover", "node")

    def __init__(self, config: CaptureConfig) -> None:
        if config.max_own > MAX_OWN:
            raise Misuse("P302", f"a history of {config.max_own} entries is too long", hint=f"at most {MAX_OWN}")
        self.config = config
        self.node = config.node
        self.discover = _discoveries(len(config.arities))

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> CaptureStep:
        """Begin with the molecules given, or with what the records say is left of them."""
        count = life << LIFE_SHIFT
        state = replace(recovered(self.config, saved), attempts=count, made=count)
        told = self._arrivals(state) if saved or life else ()
        return state, (*told, *self.doubts(state), *self.discover_for(state))

    def step(self, state: CaptureState, event: Event) -> CaptureStep:
        """Take one event."""
        if type(event) is Received:
            message = event.message
            handler = _HANDLERS.get(type(message))
            if handler is None or not 0 <= message.rule < len(state.success):
                return state, ()
            config = self.config
            rates = heard(state.success, message.rule, message.rate, config, event.at)
            if config.ageing and state.now != event.at:
                state = replace(state, now=event.at)
            return handler(self, state, rates, event.sender, message)
        return self._on_other(state, event)

    def _on_other(self, state: CaptureState, event: Event) -> CaptureStep:
        # Answers come as often as messages, so they are looked at first.
        if type(event) is Answered:
            answer = event.answer
            if type(answer) is Combination:
                return self.on_combination(state, answer)
            if type(answer) is Products:
                return self.on_products(state, answer.values)
            if type(answer) is Rewrite:
                # The search is over, and begins anew with what there is now.
                return self._on_rewrite(replace(state, phase=RESTING), answer.removed, answer.added)
            return state, ()
        match event:
            case Chosen(option):
                return sleep_until(self.config, state, option)
            case TimerFired(name, at):
                if state.mode == "dormant" and name != SLEEP:
                    # Set before it fell asleep.
                    return state, ()
                return self._on_wake(replace(state, now=at))
            case Requested(Wake()):
                return self._on_wake(state) if state.mode != "dormant" else (state, ())
            case Requested(Rewrite(removed, added)):
                return self._on_rewrite(state, removed, added)
            case PeerRestarted(peer):
                return self._on_peer_restarted(state, peer)
        return state, ()

    def _on_wake(self, state: CaptureState) -> CaptureStep:
        if state.phase != RESTING:
            return replace(state, is_woken=True), ()
        return replace(state, phase=SEARCHING, is_woken=False), self.discover_for(state)

    def _on_rewrite(self, state: CaptureState, removed: tuple[MoleculeId, ...], added: tuple[Any, ...]) -> CaptureStep:
        molecules = state.molecules
        effects: list[Effect] = []
        for molecule in removed:
            holding = molecules[molecule]
            assert holding.hold is None, "a program does not react on what is promised or lent"
            effects += self._turned_away(state, state.success, molecule, holding)
            molecules = molecules.delete(molecule)
        reactions = state.reactions + 1 if removed else state.reactions
        state, named = self.named(replace(state, molecules=molecules, reactions=reactions), added)
        if self.config.confirm:
            effects.insert(0, Save(Rewritten(removed, named, reactions)))
        if self.config.tell:
            effects += [Report(Gone(molecule)) for molecule in removed]
            effects += [Report(Arrived(molecule, value)) for molecule, value in named]
        state, more = self._on_wake(state)
        return state, (*effects, *more)

    # --------------------------------------------------------------------------------------------- crashes

    def _arrivals(self, state: CaptureState) -> tuple[Effect, ...]:
        """Tell the program of all molecules that survived, and which of them are lent."""
        if not self.config.tell:
            return ()
        held = sorted(state.molecules.items(), key=itemgetter(0))
        return (
            *(Report(Arrived(molecule, holding.value)) for molecule, holding in held),
            *(Report(Withheld(molecule)) for molecule, holding in held if holding.hold is not None),
        )

    def on_doubt(self, state: CaptureState, rates: Any, sender: NodeId, doubt: Doubt) -> CaptureStep:
        """Tell a holder what became of an attempt; one that is neither decided nor under way is given up."""
        state = replace(state, success=rates)
        rule, rate = state.rule, rates[state.rule].rate
        if doubt.attempt in state.reacted:
            return state, (Send(sender, Reaction(doubt.molecule, doubt.attempt, rule, rate)),)
        if getattr(state.phase, "number", None) == doubt.attempt:
            return state, ()
        return state, (Send(sender, GiveUp(doubt.molecule, doubt.attempt, rule, rate)),)

    def _on_peer_restarted(self, state: CaptureState, peer: NodeId) -> CaptureStep:
        """Forget what a restarted requester wanted, ask what it did; give up what a restarted holder forgot."""
        state, freed = self.forget(state, peer)
        effects = (*freed, *self.doubts(state, of=peer))
        phase = state.phase
        if isinstance(phase, Fetching | Querying | Committing) and any(holder == peer for _, holder in phase.places):
            # What it had answered is void, and what it has not answered it never will.
            state, more = self.abandon(state, state.success, phase)
            return state, effects + more
        return state, effects


_HANDLERS: dict[type, Callable[..., CaptureStep]] = {
    Query: Adaptive.on_query,
    Commitment: Adaptive.on_commitment,
    Fetch: Adaptive.on_fetch,
    GiveUp: Adaptive.on_give_up,
    Reaction: Adaptive.on_reaction,
    RespOk: Adaptive.on_ok,
    RespTaken: Adaptive.on_refusal,
    RespRemoved: Adaptive.on_refusal,
    RespMolecule: Adaptive.on_molecule,
    Doubt: Adaptive.on_doubt,
}


@cache
def _discoveries(count: int) -> tuple[Ask, ...]:
    """Give the questions for each rule; the same objects to all nodes, for they stay in the processor's cache."""
    return tuple(Ask(Discover(RuleId(rule))) for rule in range(count))
