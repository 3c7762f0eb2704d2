"""The holder's side of the paper's protocol: one molecule, and everybody who wants it."""

from __future__ import annotations

from typing import Any

from immutables import Map
from msgspec.structs import replace

from solvent.protocols.capture.vocabulary import Gone
from solvent.protocols.machine import Received, Report, Save, Send
from solvent_lab.papers.capture import capture_node
from solvent_lab.papers.capture.messages import (
    Commitment,
    Fetch,
    GiveUp,
    Lent,
    Query,
    Reaction,
    RespMolecule,
    RespOk,
    Returned,
    Withheld,
)
from solvent_lab.papers.capture.state import CaptureConfig, CaptureState, Claim, Hold, Holding

IRON = 7
"""The molecule of the node looked at, and one that is no longer there."""
ANN = 1

# The rates of others are not listened to, so that nothing but the molecule changes.
CONFIG = CaptureConfig(0, molecules=((IRON, "iron"),), max_own=4, max_remote=0)
PLAIN = capture_node(CONFIG)
TELLING = capture_node(replace(CONFIG, waiting=True, tell=True))
FREE = PLAIN.start()[0]

ANNS = Claim(0, ANN, 1)


def with_iron(hold: Hold | None = None, *, queue: Any = (), waiting: Any = (), first: Any = None) -> CaptureState:
    """Give the node with its molecule in some state."""
    claims = Map({claim.requester: claim for claim in queue}), Map({claim.requester: claim for claim in waiting})
    return replace(FREE, molecules=Map({IRON: Holding("iron", hold, *claims, first)}))


def promised(claim: Claim) -> Hold:
    """Give the hold of a pessimist who may fetch."""
    return Hold(claim.requester, claim.attempt, False, claim)


def lent(requester: int, claim: Claim | None = None) -> Hold:
    """Give the hold of one who has been sent the molecule."""
    return Hold(requester, 1, True, claim)


def query(claim: Claim, molecule: int = IRON) -> Received:
    """Let a pessimist ask whether the molecule is available."""
    return Received(claim.requester, Query(molecule, claim.attempt, 0, 4, claim.reactions))


def said(sender: int, kind: type, *more: Any, molecule: int = IRON, attempt: int = 1) -> Received:
    """Let a requester say anything else."""
    return Received(sender, kind(molecule, attempt, 0, 4, *more))


def reply(to: int, kind: type, *more: Any, molecule: int = IRON, attempt: int = 1) -> Send:
    """Give an answer of the holder."""
    return Send(to, kind(molecule, attempt, 0, 4, *more))


# -------------------------------------------------------------------------------------------------- pessimists


def test_answers_carry_the_rate_of_the_holders_own_rule() -> None:
    """The holder tells how it fares with the rule it executes, whichever the requester is after."""
    machine = capture_node(replace(CONFIG, arities=(2, 2), rule=1))
    _, effects = machine.step(machine.start()[0], query(ANNS))
    assert effects == (Send(ANN, RespOk(IRON, 1, 1, 4)),)


def test_a_later_claim_of_one_requester_takes_the_place_of_the_earlier() -> None:
    """Where an attempt ends unheard, the next one's commitment is not refused because of it."""
    state, _ = PLAIN.step(FREE, query(ANNS))
    state, _ = PLAIN.step(state, query(Claim(0, ANN, 2)))
    assert PLAIN.step(state, said(ANN, Commitment, attempt=2))[1] == (reply(ANN, RespOk, attempt=2),)


# ----------------------------------------------------------------------------------------- telling the program


def test_the_program_hears_of_what_is_promised_lent_and_free() -> None:
    """A molecule is withheld once when it is promised or lent, and comes back when that ends."""
    withheld, returned = Report(Withheld(IRON)), Report(Returned(IRON))
    claimed = with_iron(queue=[ANNS], first=ANNS)
    assert TELLING.step(claimed, said(ANN, Commitment))[1] == (reply(ANN, RespOk), withheld)
    assert TELLING.step(FREE, said(ANN, Fetch, True))[1] == (reply(ANN, RespMolecule, "iron"), withheld)
    assert TELLING.step(with_iron(lent(ANN)), said(ANN, GiveUp))[1] == (returned,)
    assert TELLING.step(claimed, said(ANN, GiveUp))[1] == ()


def test_the_program_hears_of_what_is_gone() -> None:
    """A molecule is gone when it is consumed, or handed over for good."""
    gone = Report(Gone(IRON))
    assert TELLING.step(with_iron(lent(ANN)), said(ANN, Reaction))[1] == (gone,)
    assert TELLING.step(with_iron(promised(ANNS)), said(ANN, Fetch, False))[1] == (
        reply(ANN, RespMolecule, "iron"),
        gone,
    )


def test_what_was_withheld_when_promised_is_not_withheld_again() -> None:
    """Where lent molecules are kept, the program hears of a promised one no second time."""
    both = capture_node(replace(CONFIG, confirm=True, tell=True))
    _, effects = both.step(with_iron(promised(ANNS)), said(ANN, Fetch, False))
    assert effects == (Save(Lent(IRON, ANN, 1)), reply(ANN, RespMolecule, "iron"))
    _, effects = both.step(FREE, said(ANN, Fetch, True))
    assert effects == (Save(Lent(IRON, ANN, 1)), reply(ANN, RespMolecule, "iron"), Report(Withheld(IRON)))
