"""Capture as it must not be: one known fault each, for the checker to find.

C1 to C6 are what the paper prints, taken literally (docs/explanation/capture.md); C4 and C5 are the sound machine
without `waiting`, and need no class of their own. The others leave out what our own machines do.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from immutables import Map
from msgspec.structs import replace

from solvent.protocols.capture import moving
from solvent.protocols.capture.adaptive import Adaptive
from solvent.protocols.capture.messages import Commitment, Fetch, GiveUp, RespMolecule, RespOk, RespRemoved, RespTaken
from solvent.protocols.capture.moving import Attempt, Got, Now
from solvent.protocols.capture.records import Lent
from solvent.protocols.capture.state import Committing, Fetching, Hold, Holding, Querying
from solvent.protocols.capture.vocabulary import MoleculeId
from solvent.protocols.machine import NodeId, Received, Save, Send
from solvent_lab.checker.registry import Variants
from solvent_lab.models.capture import PAIR, SPECTATOR, THREE, paper
from solvent_lab.models.capture import moving as model
from solvent_lab.variants import variant

if TYPE_CHECKING:
    from solvent.protocols.capture.moving import Given, Take
    from solvent.protocols.capture.state import CaptureState, CaptureStep
    from solvent.protocols.capture.success import Rates
    from solvent.protocols.capture.vocabulary import Combination
    from solvent.protocols.machine import Event

BROKEN = Variants()


class Overriding(Adaptive):
    """Dispatches to overridden methods; the sound machine looks its handlers up once, for speed."""

    def step(self, state: CaptureState, event: Event) -> CaptureStep:
        if isinstance(event, Received):
            rates, sender, message = state.success, event.sender, event.message
            match message:
                case GiveUp():
                    return self.on_give_up(state, rates, sender, message)
                case Commitment():
                    return self.on_commitment(state, rates, sender, message)
                case Fetch():
                    return self.on_fetch(state, rates, sender, message)
                case RespOk():
                    return self.on_ok(state, rates, sender, message)
                case RespMolecule():
                    return self.on_molecule(state, rates, sender, message)
                case RespTaken() | RespRemoved():
                    return self.on_refusal(state, rates, sender, message)
        return super().step(state, event)


@BROKEN.add(paper, PAIR, "oo")
class AnybodyGivesUp(Overriding):
    """C1: a refused requester frees what another has taken."""

    def on_give_up(self, state: CaptureState, rates: Rates, sender: NodeId, message: GiveUp) -> CaptureStep:
        holding = state.molecules.get(message.molecule)
        if holding is not None and holding.hold is not None:
            return self._freed(state, rates, message, holding)
        return super().on_give_up(state, rates, sender, message)


@BROKEN.add(paper, PAIR, "oo")
@BROKEN.add(paper, PAIR, "pp", name="no-attempt-numbers-p")
class NoAttemptNumbers(Overriding):
    """C2: late answers count for the next attempt, and any fetch is served."""

    def on_ok(self, state: CaptureState, rates: Rates, _sender: NodeId, message: RespOk) -> CaptureStep:
        return super().on_ok(state, rates, _sender, self._current(state, message))

    def on_molecule(self, state: CaptureState, rates: Rates, _sender: NodeId, message: RespMolecule) -> CaptureStep:
        return super().on_molecule(state, rates, _sender, self._current(state, message))

    def on_refusal(
        self, state: CaptureState, rates: Rates, _sender: NodeId, message: RespTaken | RespRemoved
    ) -> CaptureStep:
        phase = state.phase
        if isinstance(phase, Fetching | Querying | Committing):
            return self.abandon(state, rates, phase)
        return super().on_refusal(state, rates, _sender, message)

    def _current(self, state: CaptureState, message: Any) -> Any:
        return replace(message, attempt=getattr(state.phase, "number", message.attempt))

    def _may_fetch(self, holding: Holding, sender: NodeId, fetch: Fetch) -> bool:
        return not fetch.is_optimistic or super()._may_fetch(holding, sender, fetch)


@BROKEN.add(paper, PAIR, "pp")
class HeadIsLocked(Overriding):
    """C3: a commitment locks for the first in the list, whichever node asked, for ever."""

    def on_commitment(self, state: CaptureState, rates: Rates, sender: NodeId, message: Commitment) -> CaptureStep:
        holding = state.molecules.get(message.molecule)
        if holding is not None and holding.hold is None and holding.queue:
            first = min(holding.queue.values())
            if first.requester != sender:
                hold = Hold(first.requester, first.attempt, False, first)
                locked = state.molecules.set(message.molecule, replace(holding, hold=hold, first=None))
                state = replace(state, molecules=locked)
        return super().on_commitment(state, rates, sender, message)

    def on_give_up(self, state: CaptureState, rates: Rates, sender: NodeId, message: GiveUp) -> CaptureStep:
        holding = state.molecules.get(message.molecule)
        if holding is not None and holding.hold is not None and not holding.hold.is_lent:
            return state, ()
        return super().on_give_up(state, rates, sender, message)


@BROKEN.add(paper, THREE, "pp")
class GhostsInTheList(Overriding):
    """C6: a holder that refused is not told that the attempt is over, and keeps it on its list."""

    def on_refusal(
        self, state: CaptureState, rates: Rates, _sender: NodeId, message: RespTaken | RespRemoved
    ) -> CaptureStep:
        state, effects = super().on_refusal(state, rates, _sender, message)
        return state, tuple(
            effect
            for effect in effects
            if not (isinstance(effect, Send) and isinstance(effect.message, GiveUp) and effect.to == _sender)
        )


@BROKEN.add(paper, PAIR, "oo")
class LendsTwice(Overriding):
    """An optimist's molecule is not marked as taken."""

    def on_fetch(self, state: CaptureState, rates: Rates, sender: NodeId, fetch: Fetch) -> CaptureStep:
        before = state.molecules
        state, effects = super().on_fetch(state, rates, sender, fetch)
        return replace(state, molecules=before), effects


@BROKEN.add(paper, PAIR, "oo", crashes=1)
class UnsavedLoans(Adaptive):
    """A loan is forgotten in a crash, and made again."""

    def step(self, state: CaptureState, event: Event) -> CaptureStep:
        state, effects = super().step(state, event)
        return state, tuple(
            effect for effect in effects if not (isinstance(effect, Save) and isinstance(effect.record, Lent))
        )


# ------------------------------------------------------------------------------------------------- by moving


@BROKEN.add(model, PAIR)
@variant(moving, "on_take")
def keeps_a_copy(on_take: Any, now: Now, requester: NodeId, take: Take) -> None:
    """A holder gives a molecule away and keeps it."""
    before = now.state.molecules
    on_take(now, requester, take)
    now.state.molecules = before


@BROKEN.add(model, PAIR)
@variant(moving, "may_give")
def never_yields(may_give: Any, now: Now, requester: NodeId, _reactions: int, chosen: tuple[MoleculeId, ...]) -> bool:
    """Nodes never give away what their own attempts need."""
    return bool(may_give(now, requester, 1 << 60, chosen))


@BROKEN.add(model, PAIR)
@variant(moving, "may_give")
def always_yields(may_give: Any, now: Now, requester: NodeId, _reactions: int, chosen: tuple[MoleculeId, ...]) -> bool:
    """Nodes give away what their own attempts need to any other."""
    return bool(may_give(now, requester, -1, chosen))


@BROKEN.add(model, SPECTATOR)
@variant(moving, "on_combination")
def takes_without_a_part(on_combination: Any, now: Now, combination: Combination) -> None:
    """A node that has no part of a combination takes one that lies at several others."""
    # A part of its own that does not exist makes the sound machine believe that it has one.
    holders = {holder for _, holder in combination.places}
    if len(holders) < 2 or now.config.node in holders:
        on_combination(now, combination)
        return
    places = (*combination.places, (MoleculeId(-1), now.config.node))
    on_combination(now, replace(combination, places=places, values=()))
    if isinstance(now.state.phase, Attempt):
        now.state.phase = replace(now.state.phase, own=())


@BROKEN.add(model, PAIR, crashes=1)
@variant(moving, "on_take")
def forgets_gifts(on_take: Any, now: Now, requester: NodeId, take: Take) -> None:
    """A gift is not kept until it is confirmed, and is lost in a crash."""
    on_take(now, requester, take)
    now.state.gifts = Map()


@BROKEN.add(model, PAIR, crashes=1)
@variant(moving, "on_given")
def accepts_twice(on_given: Any, now: Now, giver: NodeId, given: Given) -> None:
    """A gift that is sent again after a crash is taken for a new one."""
    now.state.got = Map()
    on_given(now, giver, given)


@BROKEN.add(model, PAIR, crashes=1)
@variant(moving, "on_given")
def unsaved_arrivals(on_given: Any, now: Now, giver: NodeId, given: Given) -> None:
    """A gift is confirmed without having been saved."""
    on_given(now, giver, given)
    now.effects[:] = [one for one in now.effects if not (isinstance(one, Save) and isinstance(one.record, Got))]


BROKEN |= {
    "pessimists-do-not-wait": partial(
        paper, PAIR, "pp", waiting=False, title="C4: pessimists refuse each other for ever"
    ),
    "nobody-waits": partial(
        paper, PAIR, "op", waiting=False, title="C5: an optimist and a pessimist refuse each other for ever"
    ),
    "only-optimists": partial(paper, PAIR, "oo", title="the optimistic sub-protocol alone is not live"),
}

__all__ = ["BROKEN"]
