"""The requester's side of the paper's protocol: one attempt from the combination found to its end."""

from __future__ import annotations

from typing import Any

import pytest
from immutables import Map
from msgspec.structs import replace

from solvent.protocols.capture.adaptive import Adaptive
from solvent.protocols.capture.changing import LOOK
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
from solvent.protocols.capture.records import Consumed
from solvent.protocols.capture.state import (
    RESTING,
    SEARCHING,
    CaptureConfig,
    CaptureState,
    Committing,
    Fetching,
    Holding,
    Querying,
    Reacting,
    Success,
)
from solvent.protocols.capture.vocabulary import (
    Abandoned,
    Combination,
    Discover,
    Products,
    React,
    Reacted,
    Switched,
)
from solvent.protocols.machine import Answered, Ask, PeerRestarted, Received, Report, Save, Send, SetTimer

IRON, COAL = 7, 8
ANN, BEN = 1, 2
"""Who holds the iron, and who holds the coal."""
PLACES = ((IRON, ANN), (COAL, BEN))
FOUND = Answered(Combination(0, PLACES))
BOTH = ((IRON, "iron"), (COAL, "coal"))
AGAIN = Ask(Discover(0))

# The rates of others are not listened to, so that only the node's own history counts.
CONFIG = CaptureConfig(0, max_own=4, max_remote=0, protocol="optimistic")
OPTIMIST = Adaptive(CONFIG)
PESSIMIST = Adaptive(replace(CONFIG, protocol="pessimistic"))
SAFE_OPTIMIST = Adaptive(replace(CONFIG, confirm=True))
SAFE_PESSIMIST = Adaptive(replace(CONFIG, protocol="pessimistic", confirm=True))
HOPEFUL = OPTIMIST.start()[0]
CAREFUL = PESSIMIST.start()[0]


def in_phase(state: CaptureState, phase: Any, own: bytes = b"\1\1\1\1") -> CaptureState:
    """Give the node in its first attempt, with a history of its own."""
    return replace(state, phase=phase, attempts=1, success=(Success(own, own.count(1)),))


def heard(sender: int, kind: type, molecule: int, *more: Any, attempt: int = 1) -> Received:
    """Let a holder answer."""
    return Received(sender, kind(molecule, attempt, 0, 4, *more))


def to_all(kind: type, *more: Any, rate: int = 4) -> tuple[Send, ...]:
    """Say the same of every molecule to its holder."""
    return tuple(Send(holder, kind(molecule, 1, 0, rate, *more)) for molecule, holder in PLACES)


# --------------------------------------------------------------------------------------------------- beginning


def test_an_optimist_fetches_at_once() -> None:
    """It asks every holder for its molecule."""
    assert OPTIMIST.step(HOPEFUL, FOUND) == (
        in_phase(HOPEFUL, Fetching(1, 0, PLACES, True)),
        to_all(Fetch, True),
    )


def test_a_pessimist_asks_first() -> None:
    """It tells its place in the total order: how many reactions it has done."""
    state = replace(CAREFUL, reactions=3)
    assert PESSIMIST.step(state, FOUND) == (
        in_phase(state, Querying(1, 0, PLACES)),
        to_all(Query, 3),
    )


def test_a_change_of_mind_is_reported() -> None:
    """A node that goes about its attempt in another way than its last says so."""
    careful = replace(HOPEFUL, mode="pessimistic", aborts=3)
    assert OPTIMIST.step(careful, FOUND) == (
        in_phase(HOPEFUL, Fetching(1, 0, PLACES, True)),
        (Report(Switched("optimistic", 0)), *to_all(Fetch, True)),
    )


@pytest.mark.parametrize("mode, aborts", [("optimistic", 0), ("dormant", 3)])
def test_failures_count_from_becoming_pessimistic(mode: str, aborts: int) -> None:
    """Who was an optimist begins to count its failures; who slept goes on counting."""
    after, effects = PESSIMIST.step(replace(CAREFUL, mode=mode, aborts=3), FOUND)
    assert effects[0] == Report(Switched("pessimistic", 0))
    assert (after.mode, after.aborts) == ("pessimistic", aborts)


def test_an_attempt_is_for_the_rule_of_the_combination() -> None:
    """Messages carry the rate for the rule that the molecules are wanted for."""
    machine = Adaptive(replace(CONFIG, arities=(2, 1), rule=1))
    state = machine.start()[0]
    state = replace(state, success=(state.success[0], Success(b"\0\1\1\1", 3)))
    after, effects = machine.step(state, Answered(Combination(1, ((IRON, ANN),))))
    assert after.phase == Fetching(1, 1, ((IRON, ANN),), True)
    assert effects == (Send(ANN, Fetch(IRON, 1, 1, 3, True)),)


# ----------------------------------------------------------------------------------------------------- optimist


def test_an_optimist_reacts_when_all_molecules_are_there() -> None:
    """The program is asked what they become, in the order in which they came."""
    state = in_phase(HOPEFUL, Fetching(1, 0, PLACES, True))
    state, effects = OPTIMIST.step(state, heard(BEN, RespMolecule, COAL, "coal"))
    assert (state, effects) == (in_phase(HOPEFUL, Fetching(1, 0, PLACES, True, BOTH[1:])), ())
    assert OPTIMIST.step(state, heard(ANN, RespMolecule, IRON, "iron")) == (
        in_phase(HOPEFUL, Reacting(1, 0, PLACES, True, BOTH[::-1])),
        (Ask(React(0, BOTH[::-1])),),
    )


def test_an_optimist_tells_the_holders_of_its_reaction() -> None:
    """Products are the requester's, under new names, and the next search begins in the same step."""
    state = in_phase(HOPEFUL, Reacting(1, 0, PLACES, True, BOTH))
    state = replace(state, aborts=2, is_woken=True)
    steel, slag = (1 << 40) + 1, (1 << 40) + 2
    after = replace(
        in_phase(HOPEFUL, SEARCHING),
        molecules=Map({steel: Holding("steel"), slag: Holding("slag")}),
        made=2,
        reactions=1,
    )
    reacted = Report(Reacted(0, 1, (IRON, COAL), ((steel, "steel"), (slag, "slag"))))
    assert OPTIMIST.step(state, Answered(Products(("steel", "slag")))) == (after, (reacted, *to_all(Reaction), AGAIN))


def test_a_reaction_may_leave_nothing() -> None:
    """Without products only the number of reactions changes."""
    state = in_phase(HOPEFUL, Reacting(1, 0, PLACES, True, BOTH))
    after, effects = OPTIMIST.step(state, Answered(Products(())))
    assert after == replace(in_phase(HOPEFUL, SEARCHING), reactions=1)
    assert effects == (Report(Reacted(0, 1, (IRON, COAL), ())), *to_all(Reaction), AGAIN)


@pytest.mark.parametrize("kind", [RespTaken, RespRemoved])
def test_an_attempt_with_a_refusal_ends_with_the_last_answer(kind: type) -> None:
    """All holders are told then, those that refused among them, and the next search begins (C6)."""
    state = in_phase(HOPEFUL, Fetching(1, 0, PLACES, True))
    state, effects = OPTIMIST.step(state, heard(ANN, kind, IRON))
    assert (state, effects) == (in_phase(HOPEFUL, Fetching(1, 0, PLACES, True, refused=1), b"\1\1\1\0"), ())
    assert OPTIMIST.step(state, heard(BEN, RespMolecule, COAL, "coal")) == (
        in_phase(HOPEFUL, SEARCHING, b"\1\1\0\1"),
        (*to_all(GiveUp, rate=3), Report(Abandoned(0, 1)), AGAIN),
    )


def test_a_refusal_may_come_last() -> None:
    """What has come by then is given up."""
    state = in_phase(HOPEFUL, Fetching(1, 0, PLACES, True, BOTH[:1]))
    assert OPTIMIST.step(state, heard(BEN, RespTaken, COAL)) == (
        in_phase(HOPEFUL, SEARCHING, b"\1\1\1\0"),
        (*to_all(GiveUp, rate=3), Report(Abandoned(0, 1)), AGAIN),
    )


def test_a_node_may_wait_before_it_tries_again() -> None:
    """Where messages to oneself take no time, it would else never hear of anybody."""
    machine = Adaptive(replace(CONFIG, retry_after=6))
    state = in_phase(HOPEFUL, Fetching(1, 0, PLACES, True, refused=1))
    after, effects = machine.step(state, heard(BEN, RespTaken, COAL))
    assert after.phase == RESTING
    assert effects == (*to_all(GiveUp, rate=3), Report(Abandoned(0, 1)), SetTimer(LOOK, 6))


# ---------------------------------------------------------------------------------------------------- pessimist


def test_a_pessimist_commits_when_all_have_said_yes() -> None:
    """Every yes is a success; the last one starts the second round."""
    state = in_phase(CAREFUL, Querying(1, 0, PLACES), b"\0\0\1\1")
    state, effects = PESSIMIST.step(state, heard(ANN, RespOk, IRON))
    assert (state, effects) == (in_phase(CAREFUL, Querying(1, 0, PLACES, 1), b"\0\1\1\1"), ())
    assert PESSIMIST.step(state, heard(BEN, RespOk, COAL)) == (
        in_phase(CAREFUL, Committing(1, 0, PLACES)),
        to_all(Commitment),
    )


def test_a_pessimist_fetches_when_all_have_promised() -> None:
    """The second round is no success of its own; its last yes starts the third."""
    state = in_phase(CAREFUL, Committing(1, 0, PLACES), b"\0\0\0\0")
    state, effects = PESSIMIST.step(state, heard(ANN, RespOk, IRON))
    assert (state, effects) == (in_phase(CAREFUL, Committing(1, 0, PLACES, 1), b"\0\0\0\0"), ())
    assert PESSIMIST.step(state, heard(BEN, RespOk, COAL)) == (
        in_phase(CAREFUL, Fetching(1, 0, PLACES, False), b"\0\0\0\0"),
        to_all(Fetch, False, rate=0),
    )


def test_a_pessimist_reacts_without_telling_the_holders() -> None:
    """They know that a pessimist who fetches reacts; what it gets was counted in the first round."""
    state = in_phase(CAREFUL, Fetching(1, 0, PLACES, False, BOTH[:1]), b"\0\0\0\0")
    state, effects = PESSIMIST.step(state, heard(BEN, RespMolecule, COAL, "coal"))
    assert state == in_phase(CAREFUL, Reacting(1, 0, PLACES, False, BOTH), b"\0\0\0\0")
    assert effects == (Ask(React(0, BOTH)),)
    after, effects = PESSIMIST.step(state, Answered(Products(())))
    assert after == replace(in_phase(CAREFUL, SEARCHING, b"\0\0\0\0"), reactions=1)
    assert effects == (Report(Reacted(0, 1, (IRON, COAL), ())), AGAIN)


@pytest.mark.parametrize("phase", [Querying(1, 0, PLACES), Committing(1, 0, PLACES)])
def test_a_round_with_a_refusal_ends_the_attempt(phase: Any) -> None:
    """It ends with the last answer of the round, yes or no, and every holder is told."""
    state = in_phase(CAREFUL, phase, b"\0\0\0\0")
    refused, effects = PESSIMIST.step(state, heard(ANN, RespTaken, IRON))
    assert (refused, effects) == (in_phase(CAREFUL, replace(phase, refused=1), b"\0\0\0\0"), ())
    for last in (RespOk, RespRemoved):
        after, effects = PESSIMIST.step(refused, heard(BEN, last, COAL))
        rate = after.success[0].rate
        assert effects == (*to_all(GiveUp, rate=rate), Report(Abandoned(0, 1)), AGAIN)
        assert after.phase == SEARCHING


# ------------------------------------------------------------------------------------------------- late answers


@pytest.mark.parametrize(
    "answer",
    [
        heard(ANN, RespOk, IRON),
        heard(ANN, RespTaken, IRON),
        heard(ANN, RespRemoved, IRON),
        heard(ANN, RespMolecule, IRON, "iron"),
    ],
    ids=["ok", "taken", "removed", "molecule"],
)
@pytest.mark.parametrize(
    "phase",
    [
        Querying(2, 0, PLACES),
        Committing(2, 0, PLACES),
        Fetching(2, 0, PLACES, True),
        Reacting(1, 0, PLACES, True, BOTH),
        SEARCHING,
        RESTING,
    ],
    ids=["querying", "committing", "fetching", "reacting", "searching", "resting"],
)
def test_a_late_answer_is_not_counted(phase: Any, answer: Received) -> None:
    """Answers to an attempt that a crash ended are no answers to the next, nor to a reaction (C2)."""
    state = in_phase(CAREFUL, phase)
    assert PESSIMIST.step(state, answer) == (state, ())


def test_a_yes_is_no_answer_to_a_fetch() -> None:
    """What cannot be said in a phase is not counted in it."""
    state = in_phase(HOPEFUL, Fetching(1, 0, PLACES, True))
    assert OPTIMIST.step(state, heard(ANN, RespOk, IRON)) == (state, ())


# ------------------------------------------------------------------------------------------------------ crashes


@pytest.mark.parametrize("machine, start", [(SAFE_OPTIMIST, HOPEFUL), (SAFE_PESSIMIST, CAREFUL)])
def test_a_reaction_is_saved_before_it_is_told(machine: Adaptive, start: CaptureState) -> None:
    """Where crashes are survived, all holders are told, and that the attempt reacted is remembered."""
    state = in_phase(start, Reacting(1, 0, PLACES, machine is SAFE_OPTIMIST, BOTH))
    state = replace(state, aborts=2, is_woken=True)
    after, effects = machine.step(state, Answered(Products(("steel",))))
    added = (((1 << 40) + 1, "steel"),)
    assert effects == (
        Save(Consumed(1, (IRON, COAL), added, 1)),
        Report(Reacted(0, 1, (IRON, COAL), added)),
        *to_all(Reaction),
        AGAIN,
    )
    assert after == replace(
        in_phase(start, SEARCHING),
        molecules=Map({added[0][0]: Holding("steel")}),
        made=1,
        reactions=1,
        reacted=Map({1: None}),
    )


@pytest.mark.parametrize(
    "phase",
    [Querying(1, 0, PLACES, 1), Committing(1, 0, PLACES, 1), Fetching(1, 0, PLACES, False, BOTH[:1])],
    ids=["querying", "committing", "fetching"],
)
def test_an_attempt_ends_when_one_of_its_holders_restarts(phase: Any) -> None:
    """What the holder had answered is void, and what it has not answered it never will."""
    state = in_phase(CAREFUL, phase)
    ended = (in_phase(CAREFUL, SEARCHING), (*to_all(GiveUp), Report(Abandoned(0, 1)), AGAIN))
    assert SAFE_PESSIMIST.step(state, PeerRestarted(ANN)) == ended
    assert SAFE_PESSIMIST.step(state, PeerRestarted(BEN)) == ended
    assert SAFE_PESSIMIST.step(state, PeerRestarted(3)) == (state, ())


@pytest.mark.parametrize("phase", [Reacting(1, 0, PLACES, False, BOTH), SEARCHING, RESTING])
def test_who_has_all_it_needs_goes_on_when_a_holder_restarts(phase: Any) -> None:
    """A reaction under way is not undone, and a node without an attempt has nothing to end."""
    state = in_phase(CAREFUL, phase)
    assert SAFE_PESSIMIST.step(state, PeerRestarted(ANN)) == (state, ())
