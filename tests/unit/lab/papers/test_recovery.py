"""What the records of the paper's machine say after a crash."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from solvent.protocols.capture.vocabulary import Combination, Discover, Products, Wake
from solvent.protocols.machine import Answered, PeerRestarted, Received, Requested, TimerFired
from solvent.protocols.maps import Map
from solvent_lab.papers.capture import capture_node
from solvent_lab.papers.capture.messages import (
    Commitment,
    Consumed,
    Doubt,
    Fetch,
    Freed,
    GiveUp,
    Lent,
    Query,
    Reaction,
    Removed,
    RespMolecule,
    RespOk,
    RespRemoved,
    RespTaken,
    Rewritten,
)
from solvent_lab.papers.capture.recovery import compacted, recovered
from solvent_lab.papers.capture.state import CaptureConfig, CaptureState, Hold, Holding
from tests.unit.protocols.capture.workshop import Life, check_crashes

IRON, COAL, STEEL = 7, 8, (1 << 40) + 1
ANN, BEN = 1, 2
CONFIG = CaptureConfig(0, molecules=((IRON, "iron"), (COAL, "coal")), confirm=True, waiting=True)


# ----------------------------------------------------------------------------------------------- record by record


@pytest.mark.parametrize(
    "saved, fewest",
    [
        ((), ()),
        ((Lent(IRON, ANN, 3), Freed(IRON)), ()),
        ((Lent(IRON, ANN, 3), Removed(IRON)), (Rewritten((IRON,), (), 0),)),
        ((Rewritten((), ((STEEL, "steel"),), 0),), (Rewritten((), ((STEEL, "steel"),), 0),)),
        ((Rewritten((), ((STEEL, "steel"),), 1), Rewritten((STEEL,), (), 2)), (Rewritten((), (), 2),)),
        (
            (Rewritten((), ((STEEL, "steel"),), 0), Lent(STEEL, ANN, 3), Lent(STEEL, ANN, 3), Consumed(1, (), (), 1)),
            (Rewritten((), ((STEEL, "steel"),), 1), Consumed(1, (), (), 1), Lent(STEEL, ANN, 3)),
        ),
    ],
    ids=["none", "came back", "consumed", "put in", "put in and consumed", "all kinds"],
)
def test_records_can_be_fewer(saved: Any, fewest: Any) -> None:
    """What came to nothing need not be kept."""
    assert compacted(CONFIG, saved) == fewest


# ---------------------------------------------------------------------------------------------------- random lives


def surviving(state: CaptureState) -> Any:
    """Give what of a state must outlive a crash: molecules, loans, and which attempts reacted."""
    held = {}
    for molecule, holding in state.molecules.items():
        hold = holding.hold
        loan = Hold(hold.requester, hold.attempt, True) if hold is not None and hold.is_lent else None
        held[molecule] = Holding(holding.value, loan)
    return Map(held), state.reacted, state.reactions


class AdaptiveLife(Life):
    """A life of the paper's machine."""

    def kinds(self) -> tuple[str, ...]:
        """Give what may happen next."""
        waiting = ("self",) * 6 if self.to_itself else ("answer",) * 6 if self.question else ("reply",) * 6
        return (*waiting, "other", "other", "decision", "decision", "program", "answer")

    def molecule(self) -> int:
        """Pick a molecule, most often one that is here."""
        return self.chance.choice((*sorted(self.state.molecules), 99))

    def from_self(self) -> Any:
        """Deliver the next message to itself."""
        return Received(0, self.to_itself.pop(0)) if self.to_itself else None

    def from_other(self) -> Any:
        """Let another node want something, or restart."""
        peer, attempt = self.chance.choice((ANN, BEN)), self.chance.choice((1, 2))
        kind = self.chance.choice((Query, Commitment, Fetch, Fetch, GiveUp, Reaction, Doubt, PeerRestarted))
        if kind is PeerRestarted:
            return PeerRestarted(peer)
        more = {Query: (attempt,), Fetch: (self.chance.random() < 0.5,)}.get(kind, ())
        return Received(peer, kind(self.molecule(), attempt, 0, 3, *more))

    def from_decision(self) -> Any:
        """Let somebody decide about a molecule that is promised or lent to it, or ask for it again."""
        holds = [(molecule, held.hold) for molecule, held in sorted(self.state.molecules.items()) if held.hold]
        if not holds:
            return None
        molecule, hold = self.chance.choice(holds)
        kind = self.chance.choice((GiveUp, Reaction, Fetch))
        more = (hold.claim is None,) if kind is Fetch else ()
        return Received(hold.requester, kind(molecule, hold.attempt, 0, 3, *more)) if hold.requester else None

    def from_reply(self) -> Any:
        """Let another node answer the attempt that is out."""
        phase = self.state.phase
        places = [place for place in getattr(phase, "places", ()) if place[1] != 0]
        if not places:
            return None
        molecule, holder = self.chance.choice(places)
        kind = self.chance.choice((RespOk, RespOk, RespMolecule, RespMolecule, RespTaken, RespRemoved))
        return Received(holder, kind(molecule, phase.number, 0, 3, *(("ore",) if kind is RespMolecule else ())))

    def from_answer(self) -> Any:
        """Answer the question that is open."""
        question, self.question = self.question, None
        if question is None:
            return TimerFired("look", 0)
        if not isinstance(question, Discover):
            return Answered(Products(("steel",) * self.chance.randint(0, 2)))
        own = [(molecule, 0) for molecule in sorted(self.state.molecules)]
        places = self.shuffled([*own[:3], (98, ANN)])
        return Answered(Combination(0, tuple(places[: self.chance.choice((0, 1, 2, 2))])))

    def from_program(self) -> Any:
        """Let the program call."""
        return Requested(Wake())


@given(seed=st.integers(0, 1 << 32), protocol=st.sampled_from(("optimistic", "pessimistic", "adaptive")))
def test_a_crash_at_any_moment_loses_nothing_that_matters(seed: int, protocol: str) -> None:
    """Whatever happened, the records give the molecules, loans and reactions of the state that wrote them."""
    config = replace(CONFIG, protocol=protocol, max_own=4)
    check_crashes(AdaptiveLife(seed, capture_node(config)), seed, surviving, recovered, compacted)
