"""The holder's side of the paper's protocol: one molecule, and everybody who wants it."""

from __future__ import annotations

from typing import Any

import pytest
from immutables import Map
from msgspec.structs import replace

from solvent.protocols.capture.adaptive import Adaptive
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
from solvent.protocols.capture.state import CaptureConfig, CaptureState, Claim, Hold, Holding
from solvent.protocols.capture.vocabulary import Gone, Returned, Withheld
from solvent.protocols.machine import PeerRestarted, Received, Report, Save, Send

IRON, GONE = 7, 8
"""The molecule of the node looked at, and one that is no longer there."""
ANN, BEN, CAT = 1, 2, 3

# The rates of others are not listened to, so that nothing but the molecule changes.
CONFIG = CaptureConfig(0, molecules=((IRON, "iron"),), max_own=4, max_remote=0)
PLAIN = Adaptive(CONFIG)
WAITING = Adaptive(replace(CONFIG, waiting=True))
SAFE = Adaptive(replace(CONFIG, waiting=True, confirm=True))
TELLING = Adaptive(replace(CONFIG, waiting=True, tell=True))
FREE = PLAIN.start()[0]

ANNS = Claim(0, ANN, 1)
BENS = Claim(5, BEN, 1)
CATS = Claim(9, CAT, 1)


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


# --------------------------------------------------------------------------------------------------- optimists


def test_an_optimist_gets_what_is_free() -> None:
    """A free molecule is lent to the first optimist who asks."""
    after = PLAIN.step(FREE, said(ANN, Fetch, True))
    assert after == (with_iron(lent(ANN)), (reply(ANN, RespMolecule, "iron"),))


@pytest.mark.parametrize(
    "taken",
    [with_iron(lent(ANN)), with_iron(promised(ANNS)), with_iron(queue=[ANNS], first=ANNS)],
    ids=["lent", "promised", "claimed"],
)
def test_an_optimist_comes_last(taken: CaptureState) -> None:
    """What another has, was promised or is only interested in as a pessimist is refused to an optimist."""
    assert PLAIN.step(taken, said(BEN, Fetch, True)) == (taken, (reply(BEN, RespTaken),))


def test_an_optimist_that_has_reacted_has_consumed_the_molecule() -> None:
    """The holder keeps a lent molecule until it hears of the reaction."""
    after = PLAIN.step(with_iron(lent(ANN)), said(ANN, Reaction))
    assert after == (replace(FREE, molecules=Map()), ())


def test_an_optimist_may_give_up_what_it_was_lent() -> None:
    """A molecule that was given up is free again."""
    assert PLAIN.step(with_iron(lent(ANN)), said(ANN, GiveUp)) == (FREE, ())


@pytest.mark.parametrize("kind", [GiveUp, Reaction])
def test_only_the_taker_decides_about_the_molecule(kind: type) -> None:
    """Another requester, or another attempt of the taker, neither frees nor removes what was lent (C1)."""
    state = with_iron(lent(ANN))
    assert PLAIN.step(state, said(BEN, kind)) == (state, ())
    assert PLAIN.step(state, said(ANN, kind, attempt=2)) == (state, ())


@pytest.mark.parametrize("kind", [GiveUp, Reaction])
def test_what_is_said_of_a_free_molecule_changes_nothing(kind: type) -> None:
    """Words about an attempt that has nothing here are without effect."""
    assert PLAIN.step(FREE, said(ANN, kind)) == (FREE, ())


@pytest.mark.parametrize("kind", [GiveUp, Reaction])
def test_what_is_said_again_of_a_molecule_that_is_gone_changes_nothing(kind: type) -> None:
    """After a crash an outcome may be told twice."""
    assert PLAIN.step(FREE, said(ANN, kind, molecule=GONE)) == (FREE, ())


# -------------------------------------------------------------------------------------------------- pessimists


def test_a_pessimist_is_told_that_a_free_molecule_is_available() -> None:
    """A query for a free molecule is granted, and remembered."""
    assert PLAIN.step(FREE, query(BENS)) == (with_iron(queue=[BENS], first=BENS), (reply(BEN, RespOk),))


@pytest.mark.parametrize("claim, first", [(ANNS, ANNS), (CATS, BENS)], ids=["earlier", "later"])
def test_several_pessimists_may_be_interested(claim: Claim, first: Claim) -> None:
    """Queries are granted while nothing is promised, and the first in the total order is known."""
    state = with_iron(queue=[BENS], first=BENS)
    after = PLAIN.step(state, query(claim))
    assert after == (with_iron(queue=[BENS, claim], first=first), (reply(claim.requester, RespOk),))


def test_the_total_order_is_by_reactions_and_then_by_number() -> None:
    """Who has reacted less comes first; of equals, the one with the smaller number."""
    assert sorted([Claim(1, ANN, 9), Claim(0, CAT, 2), Claim(0, BEN, 5)]) == [
        Claim(0, BEN, 5),
        Claim(0, CAT, 2),
        Claim(1, ANN, 9),
    ]


def test_the_first_is_not_guessed_where_it_is_unknown() -> None:
    """When the first has left, a new claim does not become the first unless it is the only one."""
    state = with_iron(queue=[BENS])
    assert PLAIN.step(state, query(CATS)) == (with_iron(queue=[BENS, CATS]), (reply(CAT, RespOk),))


def test_the_first_in_the_order_is_promised_the_molecule() -> None:
    """A commitment is granted to the first of those interested; the others stay interested."""
    state = with_iron(queue=[ANNS, BENS], first=ANNS)
    after = PLAIN.step(state, said(ANN, Commitment))
    assert after == (with_iron(promised(ANNS), queue=[BENS]), (reply(ANN, RespOk),))


def test_the_first_is_found_where_it_is_not_known() -> None:
    """After the first has left, the next one is worked out from all."""
    state = with_iron(queue=[CATS, BENS])
    assert PLAIN.step(state, said(CAT, Commitment)) == (
        with_iron(queue=[CATS, BENS], first=BENS),
        (reply(CAT, RespTaken),),
    )
    assert PLAIN.step(state, said(BEN, Commitment))[0] == with_iron(promised(BENS), queue=[CATS])


def test_nobody_else_is_promised_the_molecule() -> None:
    """A commitment of one who is not the first, or of another attempt of the first, is refused."""
    state = with_iron(queue=[ANNS, BENS], first=ANNS)
    assert PLAIN.step(state, said(BEN, Commitment)) == (state, (reply(BEN, RespTaken),))
    assert PLAIN.step(state, said(ANN, Commitment, attempt=2)) == (state, (reply(ANN, RespTaken, attempt=2),))


def test_a_commitment_without_a_query_is_refused() -> None:
    """Only who is known to be interested can be promised anything."""
    assert PLAIN.step(FREE, said(ANN, Commitment)) == (FREE, (reply(ANN, RespTaken),))


def test_a_molecule_is_promised_once() -> None:
    """While it is promised or lent, a commitment is refused to everybody, also to who comes first in the order."""
    state = with_iron(promised(BENS), queue=[ANNS], first=ANNS)
    assert PLAIN.step(state, said(ANN, Commitment)) == (state, (reply(ANN, RespTaken),))


def test_a_promised_molecule_is_handed_over_for_good() -> None:
    """As in the paper a pessimist who fetches will react, so the holder keeps nothing."""
    after = PLAIN.step(with_iron(promised(ANNS)), said(ANN, Fetch, False))
    assert after == (replace(FREE, molecules=Map()), (reply(ANN, RespMolecule, "iron"),))


def test_only_the_promised_attempt_may_fetch() -> None:
    """A pessimist without a promise, or with one for another attempt, gets nothing (C2)."""
    state = with_iron(promised(ANNS))
    assert PLAIN.step(state, said(BEN, Fetch, False)) == (state, (reply(BEN, RespTaken),))
    assert PLAIN.step(state, said(ANN, Fetch, False, attempt=2)) == (state, (reply(ANN, RespTaken, attempt=2),))
    assert PLAIN.step(FREE, said(ANN, Fetch, False)) == (FREE, (reply(ANN, RespTaken),))


def test_a_promise_ends_when_its_owner_gives_up() -> None:
    """Then the others that are interested may try (C3)."""
    state = with_iron(promised(ANNS), queue=[BENS])
    assert PLAIN.step(state, said(ANN, GiveUp)) == (with_iron(queue=[BENS]), ())


def test_who_gives_up_is_no_longer_interested() -> None:
    """A claim ends with its attempt; the first is forgotten only if it was that one (C6)."""
    state = with_iron(queue=[ANNS, BENS], first=ANNS)
    assert PLAIN.step(state, said(ANN, GiveUp)) == (with_iron(queue=[BENS]), ())
    assert PLAIN.step(state, said(BEN, GiveUp)) == (with_iron(queue=[ANNS], first=ANNS), ())
    assert PLAIN.step(state, said(ANN, GiveUp, attempt=2)) == (state, ())


@pytest.mark.parametrize("message", [query(ANNS, GONE), said(ANN, Commitment, molecule=GONE)])
def test_a_pessimist_learns_that_a_molecule_is_gone(message: Received) -> None:
    """What has been consumed is refused as removed."""
    assert PLAIN.step(FREE, message) == (FREE, (reply(ANN, RespRemoved, molecule=GONE),))


@pytest.mark.parametrize("is_optimistic", [True, False])
def test_what_is_gone_cannot_be_fetched(is_optimistic: bool) -> None:  # noqa: FBT001
    """Optimists and pessimists alike learn that it is gone."""
    after = PLAIN.step(FREE, said(ANN, Fetch, is_optimistic, molecule=GONE))
    assert after == (FREE, (reply(ANN, RespRemoved, molecule=GONE),))


def test_answers_carry_the_rate_of_the_holders_own_rule() -> None:
    """The holder tells how it fares with the rule it executes, whichever the requester is after."""
    machine = Adaptive(replace(CONFIG, arities=(2, 2), rule=1))
    _, effects = machine.step(machine.start()[0], query(ANNS))
    assert effects == (Send(ANN, RespOk(IRON, 1, 1, 4)),)


def test_a_later_claim_of_one_requester_takes_the_place_of_the_earlier() -> None:
    """Where an attempt ends unheard, the next one's commitment is not refused because of it."""
    state, _ = PLAIN.step(FREE, query(ANNS))
    state, _ = PLAIN.step(state, query(Claim(0, ANN, 2)))
    assert PLAIN.step(state, said(ANN, Commitment, attempt=2))[1] == (reply(ANN, RespOk, attempt=2),)


# ----------------------------------------------------------------------------------------------------- waiting


@pytest.mark.parametrize("hold", [promised(BENS), lent(BEN, BENS)], ids=["promised", "lent"])
def test_a_query_waits_for_a_hold_of_lower_priority(hold: Hold) -> None:
    """With the repair of C4, who comes first in the order is not refused but answered later."""
    assert WAITING.step(with_iron(hold), query(ANNS)) == (with_iron(hold, waiting=[ANNS]), ())


def test_a_query_waits_for_an_optimist() -> None:
    """With the repair of C5, an optimist's hold is of the lowest priority."""
    assert WAITING.step(with_iron(lent(BEN)), query(CATS)) == (with_iron(lent(BEN), waiting=[CATS]), ())


def test_nobody_waits_for_a_hold_of_higher_priority() -> None:
    """Else two could wait for each other."""
    state = with_iron(promised(ANNS))
    assert WAITING.step(state, query(BENS)) == (state, (reply(BEN, RespTaken),))


def test_without_waiting_every_hold_is_refused() -> None:
    """The paper's holder refuses whoever comes too late, whatever the order."""
    state = with_iron(promised(BENS))
    assert PLAIN.step(state, query(ANNS)) == (state, (reply(ANN, RespTaken),))


def test_those_who_waited_are_told_when_the_molecule_is_free() -> None:
    """They are interested from then on, like those who asked before, and hear of it in their order."""
    state = with_iron(lent(BEN), queue=[CATS], waiting=[Claim(3, 4, 1), ANNS], first=CATS)
    assert WAITING.step(state, said(BEN, GiveUp)) == (
        with_iron(queue=[CATS, Claim(3, 4, 1), ANNS]),
        (reply(ANN, RespOk), reply(4, RespOk)),
    )


def test_those_who_waited_are_told_when_the_molecule_is_consumed() -> None:
    """Waiting ends with a refusal if the one before was successful."""
    state = with_iron(lent(CAT), waiting=[BENS, ANNS])
    gone = replace(FREE, molecules=Map())
    assert WAITING.step(state, said(CAT, Reaction)) == (gone, (reply(ANN, RespRemoved), reply(BEN, RespRemoved)))


def test_those_who_waited_are_told_when_the_molecule_is_fetched() -> None:
    """A pessimist that fetches takes the molecule away for good, so nobody need wait any longer."""
    state = with_iron(promised(BENS), waiting=[ANNS])
    gone = replace(FREE, molecules=Map())
    assert WAITING.step(state, said(BEN, Fetch, False)) == (
        gone,
        (reply(BEN, RespMolecule, "iron"), reply(ANN, RespRemoved)),
    )


def test_who_gives_up_does_not_wait_any_longer() -> None:
    """A waiting query ends with its attempt, and with no other."""
    state = with_iron(promised(CATS), waiting=[ANNS, BENS])
    assert WAITING.step(state, said(ANN, GiveUp)) == (with_iron(promised(CATS), waiting=[BENS]), ())
    assert WAITING.step(state, said(ANN, GiveUp, attempt=2)) == (state, ())


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
    both = Adaptive(replace(CONFIG, confirm=True, tell=True))
    _, effects = both.step(with_iron(promised(ANNS)), said(ANN, Fetch, False))
    assert effects == (Save(Lent(IRON, ANN, 1)), reply(ANN, RespMolecule, "iron"))
    _, effects = both.step(FREE, said(ANN, Fetch, True))
    assert effects == (Save(Lent(IRON, ANN, 1)), reply(ANN, RespMolecule, "iron"), Report(Withheld(IRON)))


# ----------------------------------------------------------------------------------------------------- crashes


def test_a_loan_is_saved_before_the_molecule_is_sent() -> None:
    """Where crashes are survived, a pessimist's molecule is kept too until its reaction is known."""
    lends = Save(Lent(IRON, ANN, 1)), reply(ANN, RespMolecule, "iron")
    assert SAFE.step(FREE, said(ANN, Fetch, True)) == (with_iron(lent(ANN)), lends)
    state = with_iron(promised(ANNS), waiting=[CATS])
    assert SAFE.step(state, said(ANN, Fetch, False)) == (with_iron(lent(ANN, ANNS), waiting=[CATS]), lends)


@pytest.mark.parametrize("claim, is_optimistic", [(None, True), (ANNS, False)])
def test_an_attempt_may_fetch_what_it_has_again(claim: Claim | None, is_optimistic: bool) -> None:  # noqa: FBT001
    """The answer may have been lost in a crash."""
    state = with_iron(lent(ANN, claim))
    again = (Save(Lent(IRON, ANN, 1)), reply(ANN, RespMolecule, "iron"))
    assert SAFE.step(state, said(ANN, Fetch, is_optimistic)) == (state, again)


def test_the_end_of_a_loan_is_saved_before_anybody_hears_of_it() -> None:
    """Whether the molecule is free or consumed is on record before those who waited are answered."""
    state = with_iron(lent(BEN), waiting=[ANNS])
    assert SAFE.step(state, said(BEN, GiveUp))[1] == (Save(Freed(IRON)), reply(ANN, RespOk))
    assert SAFE.step(state, said(BEN, Reaction))[1] == (Save(Removed(IRON)), reply(ANN, RespRemoved))


def test_the_end_of_a_promise_need_not_be_saved() -> None:
    """Promises do not outlive a crash."""
    assert SAFE.step(with_iron(promised(ANNS)), said(ANN, GiveUp)) == (FREE, ())


def test_a_restarted_requester_is_asked_what_became_of_its_loans() -> None:
    """What was lent to it stays lent until it answers."""
    state = with_iron(lent(ANN), waiting=[BENS])
    assert SAFE.step(state, PeerRestarted(ANN)) == (state, (Send(ANN, Doubt(IRON, 1, 0, 4)),))
    assert SAFE.step(state, PeerRestarted(CAT)) == (state, ())
    # What is only promised is not asked about.
    assert SAFE.doubts(with_iron(promised(ANNS))) == ()


def test_a_promise_to_a_restarted_requester_is_void() -> None:
    """It has forgotten that it asked; those who waited go on."""
    state = with_iron(promised(BENS), queue=[CATS], waiting=[ANNS])
    assert SAFE.step(state, PeerRestarted(BEN)) == (with_iron(queue=[CATS, ANNS]), (reply(ANN, RespOk),))


def test_a_restarted_requester_is_interested_in_nothing() -> None:
    """Its claims are dropped, whether they were granted or waited, and by whichever attempt."""
    state = with_iron(queue=[Claim(0, ANN, 5), BENS], first=Claim(0, ANN, 5))
    assert SAFE.step(state, PeerRestarted(ANN)) == (with_iron(queue=[BENS]), ())
    state = with_iron(promised(CATS), waiting=[Claim(0, ANN, 5), BENS])
    assert SAFE.step(state, PeerRestarted(ANN)) == (with_iron(promised(CATS), waiting=[BENS]), ())
