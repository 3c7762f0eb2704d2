"""The paper's machine as a whole: what wakes it, what the program may do meanwhile, and what a crash leaves."""

from __future__ import annotations

from typing import Any

import pytest
from immutables import Map
from msgspec.structs import replace

from solvent.protocols.capture.vocabulary import Arrived, Combination, Discover, Gone, Products, Rewrite
from solvent.protocols.machine import (
    Answered,
    Ask,
    Draft,
    Received,
    Report,
    Requested,
    Save,
    Send,
)
from solvent_lab.papers.capture import capture_node
from solvent_lab.papers.capture.messages import (
    Commitment,
    Doubt,
    Fetch,
    Freed,
    GiveUp,
    Lent,
    Query,
    Reaction,
    RespMolecule,
    RespOk,
    RespRemoved,
    RespTaken,
    Rewritten,
    Withheld,
)
from solvent_lab.papers.capture.requester import add
from solvent_lab.papers.capture.state import (
    SEARCHING,
    CaptureConfig,
    Claim,
    Committing,
    Fetching,
    Hold,
    Holding,
    Querying,
    Success,
)

IRON, COAL = 7, 8
ANN, BEN = 1, 2
AGAIN = Ask(Discover(0))
NEW = 1 << 40
"""The names of molecules made at node 0 are above this number."""

CONFIG = CaptureConfig(0, molecules=((IRON, "iron"), (COAL, "coal")), max_own=4, max_remote=0)
PLAIN = capture_node(CONFIG)
SAFE = capture_node(replace(CONFIG, confirm=True, tell=True))
FRESH = PLAIN.start()[0]


def holding(**molecules: Holding) -> Any:
    """Give the molecules of a node."""
    names = {"iron": IRON, "coal": COAL}
    return Map({names[name]: held for name, held in molecules.items()})


# ------------------------------------------------------------------------------------------------------- start


def test_a_restarted_node_counts_from_its_life() -> None:
    """Attempts and molecules of a new life have numbers that no former life has given."""
    state, effects = PLAIN.start((), 3)
    assert (state.attempts, state.made) == (3 << 28, 3 << 28)
    assert effects == (AGAIN,)
    state, _ = PLAIN.step(state, Answered(Combination(0, ((9, ANN),))))
    assert state.phase == Fetching((3 << 28) + 1, 0, ((9, ANN),), True)
    assert add(Draft(PLAIN.config, state), ("steel",)) == ((NEW + (3 << 28) + 1, "steel"),)


def test_a_restarted_node_tells_what_is_left_and_asks_about_loans() -> None:
    """The program hears of all molecules in order, and which are lent; every requester is asked once for each."""
    saved = (Rewritten((), ((NEW + 1, "steel"),), 0), Lent(COAL, BEN, 4), Lent(IRON, ANN, 9))
    _, effects = SAFE.start(saved, 1)
    assert effects == (
        Report(Arrived(IRON, "iron")),
        Report(Arrived(COAL, "coal")),
        Report(Arrived(NEW + 1, "steel")),
        Report(Withheld(IRON)),
        Report(Withheld(COAL)),
        Send(ANN, Doubt(IRON, 9, 0, 4)),
        Send(BEN, Doubt(COAL, 4, 0, 4)),
        AGAIN,
    )


def test_a_node_that_was_there_before_tells_what_it_has() -> None:
    """The program of a new life knows nothing, whether records or only the number of the life show that it is new."""
    told = (Report(Arrived(IRON, "iron")), Report(Arrived(COAL, "coal")), AGAIN)
    assert SAFE.start((), 1)[1] == told
    assert SAFE.start((Lent(IRON, ANN, 3), Freed(IRON)), 0)[1] == told
    assert PLAIN.start((), 1)[1] == (AGAIN,)


# -------------------------------------------------------------------------------------------------------- step


SAID = (
    Query(IRON, 1, 1, 2, 0),
    Commitment(IRON, 1, 1, 2),
    Fetch(IRON, 1, 1, 2, True),
    Fetch(IRON, 1, 1, 2, False),
    GiveUp(IRON, 1, 1, 2),
    Reaction(IRON, 1, 1, 2),
    RespOk(IRON, 1, 1, 2),
    RespTaken(IRON, 1, 1, 2),
    RespRemoved(IRON, 1, 1, 2),
    RespMolecule(IRON, 1, 1, 2, "iron"),
    Doubt(IRON, 1, 1, 2),
)
ANNS, BENS = Claim(0, ANN, 1), Claim(0, BEN, 1)
HELD = (
    Holding("iron"),
    Holding("iron", queue=Map({ANN: ANNS}), first=ANNS),
    Holding("iron", queue=Map({BEN: BENS}), first=BENS),
    Holding("iron", Hold(ANN, 1, False, ANNS)),
    Holding("iron", Hold(BEN, 1, False, BENS)),
    Holding("iron", Hold(ANN, 1, True)),
)
ONE, TWO = ((IRON, ANN),), ((IRON, ANN), (COAL, BEN))
PHASES = (
    SEARCHING,
    *(kind(1, 0, places) for kind in (Querying, Committing) for places in (ONE, TWO)),
    *(Fetching(1, 0, places, mode) for places in (ONE, TWO) for mode in (True, False)),
    Fetching(1, 0, TWO, True, refused=1),
)


@pytest.mark.parametrize("message", SAID, ids=lambda message: type(message).__name__)
def test_rates_come_with_every_message(message: Any) -> None:
    """What a sender says of its rate is noted for its rule, whatever else the message does or does not do."""
    for waiting in (True, False):
        machine = capture_node(replace(CONFIG, arities=(2, 2), max_remote=3, waiting=waiting))
        state = machine.start()[0]
        held = [state.molecules.delete(IRON), *(state.molecules.set(IRON, holding) for holding in HELD)]
        for molecules in held:
            for phase in PHASES:
                after, _ = machine.step(replace(state, molecules=molecules, phase=phase), Received(ANN, message))
                assert after.success[1].remote == b"\2"


def test_time_is_noted_where_rates_age() -> None:
    """Elsewhere the state does not depend on when a message came."""
    event = Received(ANN, GiveUp(9, 1, 0, 2), 33)
    ageing = capture_node(replace(CONFIG, max_remote=3, ageing=20))
    after, _ = ageing.step(ageing.start()[0], event)
    assert (after.now, after.success[0]) == (33, Success(b"\1\1\1\1", 4, b"\2", (33,)))
    assert ageing.step(after, Received(ANN, RespOk(9, 1, 0, 2), 33))[0].now == 33
    assert PLAIN.step(FRESH, event)[0].now == 0


@pytest.mark.parametrize(
    "event",
    [
        Answered("nonsense"),
        Requested("nonsense"),
    ],
    ids=["answer", "request"],
)
def test_what_is_not_understood_changes_nothing(event: Any) -> None:
    """A machine drops what is not of its language."""
    assert PLAIN.step(FRESH, event) == (FRESH, ())


def test_a_message_about_an_unknown_rule_does_not_stop_the_node() -> None:
    """Whatever a peer says, it does not stop the node."""
    machine = capture_node(replace(CONFIG, max_remote=3))
    state = machine.start()[0]
    assert machine.step(state, Received(ANN, GiveUp(IRON, 1, 7, 4))) == (state, ())


# ----------------------------------------------------------------------------------------------------- rewrite


def test_a_rewrite_is_saved_before_it_is_told() -> None:
    """The record comes first, then what went and what came."""
    after, effects = SAFE.step(FRESH, Requested(Rewrite((IRON, COAL), ("steel",))))
    assert effects == (
        Save(Rewritten((IRON, COAL), ((NEW + 1, "steel"),), 1)),
        Report(Gone(IRON)),
        Report(Gone(COAL)),
        Report(Arrived(NEW + 1, "steel")),
    )
    assert after.molecules == Map({NEW + 1: Holding("steel")})


def test_the_program_does_not_react_on_what_is_promised_or_lent() -> None:
    """It has been told that these are withheld."""
    for is_lent in (True, False):
        state = replace(FRESH, molecules=FRESH.molecules.set(IRON, Holding("iron", Hold(ANN, 1, is_lent))))
        with pytest.raises(AssertionError, match="promised or lent"):
            PLAIN.step(state, Requested(Rewrite((IRON,), ())))


# ----------------------------------------------------------------------------------------------------- crashes


def test_products_are_given_only_for_a_reaction() -> None:
    """A program that answers what was not asked is at fault."""
    with pytest.raises(AssertionError, match="asked for"):
        PLAIN.step(FRESH, Answered(Products(())))
