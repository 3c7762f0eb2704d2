"""Capture by moving: how an attempt begins and ends, and what the program hears."""

from __future__ import annotations

from typing import Any

import pytest
from immutables import Map
from msgspec.structs import replace

from solvent.protocols.capture.messages import GiveUp
from solvent.protocols.capture.moving import LOOK, Moving
from solvent.protocols.capture.moving_state import (
    IDLE,
    SEARCHING,
    Attempt,
    Confirmed,
    Given,
    Kept,
    MovingState,
    Reacting,
    Refused,
    Take,
)
from solvent.protocols.capture.vocabulary import (
    Abandoned,
    Arrived,
    Combination,
    Gone,
    Products,
    React,
    Reacted,
    Rewrite,
    Switched,
    Wake,
)
from solvent.protocols.machine import Answered, Ask, Chosen, Received, Report, Requested, Send, SetTimer, TimerFired
from tests.unit.protocols.capture.workshop import (
    AGAIN,
    ANN,
    BEN,
    CHALK,
    COAL,
    CONFIG,
    FRESH,
    HERE,
    IRON,
    MACHINE,
    ME,
    NEW,
    ORE,
    QUIET,
    having,
)

# ------------------------------------------------------------------------------------------------------- start


def test_a_node_begins_by_looking_for_a_reaction() -> None:
    """It has its molecules, and the program knows of them."""
    assert MACHINE.start() == (MovingState(Map(HERE), SEARCHING), (AGAIN,))


def test_a_restarted_node_counts_from_its_life() -> None:
    """Numbers of attempts, gifts and molecules are never given twice; the program hears what is left."""
    state, effects = MACHINE.start((), 2)
    assert (state.attempts, state.given, state.made) == (2 << 28, 2 << 28, 2 << 28)
    told = {Report(Arrived(molecule, value)) for molecule, value in HERE}
    assert (set(effects[:-1]), effects[-1]) == (told, AGAIN)
    assert set(MACHINE.start((Kept((), (), 0),), 0)[1][:-1]) == told
    assert QUIET.start((), 2)[1] == (AGAIN,)


# --------------------------------------------------------------------------------------------------- capturing


def test_a_node_reacts_with_its_own_molecules_at_once() -> None:
    """What lies here needs no messages."""
    state, effects = MACHINE.step(FRESH, Answered(Combination(0, ((IRON, ME), (COAL, ME)))))
    assert (state, effects) == (replace(FRESH, phase=Reacting(1, 0, HERE), attempts=1), (Ask(React(0, HERE)),))
    assert MACHINE.step(replace(state, is_woken=True), Answered(Products(("steel",)))) == (
        having((NEW + 1, "steel"), attempts=1, reactions=1, made=1),
        (Report(Reacted(0, 1, (IRON, COAL), ((NEW + 1, "steel"),))), AGAIN),
    )


def test_one_message_goes_to_each_holder() -> None:
    """It lists all that is wanted from there, and the values if they are known."""
    places = ((ORE, ANN), (IRON, ME), (CHALK, BEN), (22, ANN))
    attempt = Attempt(1, 0, (IRON,), (ANN, BEN))
    state = replace(FRESH, reactions=3)
    after, effects = MACHINE.step(state, Answered(Combination(0, places, ("ore", "iron", "chalk", "ore"))))
    assert after == replace(state, phase=attempt, attempts=1)
    assert effects == (Send(ANN, Take(1, (ORE, 22), ("ore", "ore"), 3)), Send(BEN, Take(1, (CHALK,), ("chalk",), 3)))
    _, effects = MACHINE.step(state, Answered(Combination(0, places)))
    assert effects == (Send(ANN, Take(1, (ORE, 22), (), 3)), Send(BEN, Take(1, (CHALK,), (), 3)))


def test_a_node_may_have_to_ask_itself() -> None:
    """Where the paper's costs are to be compared with, what lies here altogether is asked for like anything else."""
    machine = Moving(replace(CONFIG, is_local=False, tell=False))
    state, effects = machine.step(FRESH, Answered(Combination(0, ((IRON, ME), (COAL, ME)))))
    assert (state.phase, effects) == (Attempt(1, 0, (), (ME,)), (Send(ME, Take(1, (IRON, COAL), (), 0)),))
    state, effects = machine.step(state, Received(ME, effects[0].message))
    assert effects == (Send(ME, Given(1, 1, HERE)),)
    assert machine.step(state, Received(ME, effects[0].message))[1] == (Ask(React(0, HERE)),)
    # With others in it, its own part costs nothing in either case.
    state, effects = machine.step(FRESH, Answered(Combination(0, ((IRON, ME), (ORE, ANN)))))
    assert (state.phase.own, effects) == ((IRON,), (Send(ANN, Take(1, (ORE,), (), 0)),))


def test_a_reaction_happens_when_all_has_come() -> None:
    """The last gift completes the combination, with substitutes in place of what was named."""
    state = having(*HERE, phase=Attempt(1, 0, (IRON,), (ANN, BEN)))
    state, effects = MACHINE.step(state, Received(BEN, Given(1, 8, ((CHALK, "chalk"),))))
    assert state == having(*HERE, (CHALK, "chalk"), phase=Attempt(1, 0, (IRON,), (ANN,), (CHALK,)))
    assert effects == ()
    state, effects = MACHINE.step(state, Received(ANN, Given(1, 3, ((22, "ore"),))))
    reactants = ((IRON, "iron"), (CHALK, "chalk"), (22, "ore"))
    assert (state.phase, effects) == (Reacting(1, 0, reactants), (Ask(React(0, reactants)),))


def test_a_refused_attempt_keeps_what_has_come() -> None:
    """It waits for all answers; then the program hears of what came and looks again."""
    state = having(*HERE, phase=Attempt(1, 0, (IRON,), (ANN, BEN)), is_woken=True)
    state, effects = MACHINE.step(state, Received(BEN, Refused(1)))
    assert (state.phase, effects) == (Attempt(1, 0, (IRON,), (ANN,), is_refused=True), ())
    assert MACHINE.step(state, Received(ANN, Given(1, 3, ((ORE, "ore"),)))) == (
        having(*HERE, (ORE, "ore")),
        (Report(Abandoned(0, 1)), Report(Arrived(ORE, "ore")), AGAIN),
    )


def test_the_last_refusal_ends_the_attempt() -> None:
    """A node that is refused everything has what it had."""
    state = having(*HERE, phase=Attempt(1, 0, (IRON,), (ANN,)))
    failed = FRESH
    assert MACHINE.step(state, Received(ANN, Refused(1))) == (failed, (Report(Abandoned(0, 1)), AGAIN))


def test_a_combination_that_is_no_longer_here_is_abandoned() -> None:
    """What the program proposes may have left since it looked."""
    assert MACHINE.step(FRESH, Answered(Combination(0, ((IRON, ME), (ORE, ME))))) == (
        replace(FRESH, attempts=1),
        (Report(Abandoned(0, 1)), AGAIN),
    )


def test_what_lies_at_one_other_node_may_be_asked_for() -> None:
    """All of it comes from there or nothing does, so nobody can be left with half of it."""
    state, effects = MACHINE.step(FRESH, Answered(Combination(0, ((ORE, ANN), (22, ANN)))))
    assert (state.phase, effects) == (Attempt(1, 0, (), (ANN,)), (Send(ANN, Take(1, (ORE, 22), (), 0)),))


def test_what_lies_at_several_nodes_is_for_those_who_have_a_part() -> None:
    """A combination of which this node has nothing, and no single node all, is not asked for."""
    state, effects = MACHINE.step(FRESH, Answered(Combination(0, ((ORE, ANN), (CHALK, BEN)))))
    assert (state.phase, effects) == (IDLE, (Report(Switched("idle", 0)),))


def test_products_are_given_only_for_a_reaction() -> None:
    """A program that answers what was not asked is at fault."""
    with pytest.raises(AssertionError, match="asked for"):
        MACHINE.step(FRESH, Answered(Products(())))


# ----------------------------------------------------------------------------------------- late, or not understood


@pytest.mark.parametrize("phase", [IDLE, SEARCHING, Reacting(2, 0, HERE), Attempt(2, 0, (IRON,), (ANN,))])
def test_a_refusal_of_another_attempt_is_not_counted(phase: Any) -> None:
    """A holder may answer an attempt that a crash ended."""
    state = replace(FRESH, phase=phase)
    assert MACHINE.step(state, Received(ANN, Refused(1))) == (state, ())


def test_a_gift_for_another_attempt_stays() -> None:
    """Its molecules live here from now on; a node at rest looks what they are good for."""
    gift = Received(ANN, Given(1, 3, ((ORE, "ore"),)))
    arrived, richer = Report(Arrived(ORE, "ore")), (*HERE, (ORE, "ore"))
    assert MACHINE.step(replace(FRESH, phase=IDLE), gift) == (having(*richer), (arrived, AGAIN))
    for phase in (SEARCHING, Reacting(2, 0, HERE), Attempt(2, 0, (IRON,), (ANN,))):
        assert MACHINE.step(replace(FRESH, phase=phase), gift) == (
            having(*richer, phase=phase, is_woken=True),
            (arrived,),
        )


@pytest.mark.parametrize(
    "event",
    [
        Received(ANN, GiveUp(IRON, 1, 0, 0)),
        Received(ANN, Confirmed(1)),
        Requested("nonsense"),
        Answered("nonsense"),
        Chosen(0),
    ],
    ids=["other protocol", "confirmed", "request", "answer", "choice"],
)
def test_what_means_nothing_changes_nothing(event: Any) -> None:
    """A machine drops what is not of its language, or not for it."""
    assert MACHINE.step(FRESH, event) == (FRESH, ())


# ----------------------------------------------------------------------------------------------------- the program


@pytest.mark.parametrize("event", [Requested(Wake()), TimerFired(LOOK)])
def test_news_wake_a_node_that_rests(event: Any) -> None:
    """One that is busy looks again before it rests."""
    assert MACHINE.step(replace(FRESH, phase=IDLE, is_woken=True), event) == (FRESH, (AGAIN,))
    assert MACHINE.step(FRESH, event) == (replace(FRESH, is_woken=True), ())


def test_who_finds_nothing_rests() -> None:
    """Until it is woken, for a while, or not at all if something changed while it looked."""
    nothing = Answered(Combination(0, ()))
    idle = replace(FRESH, phase=IDLE)
    assert MACHINE.step(FRESH, nothing) == (idle, (Report(Switched("idle", 0)),))
    assert Moving(replace(CONFIG, look_again=3)).step(FRESH, nothing) == (idle, (SetTimer(LOOK, 3),))
    assert MACHINE.step(replace(FRESH, is_woken=True), nothing) == (FRESH, (AGAIN,))


def test_the_program_may_react_by_itself() -> None:
    """What it takes away is gone, what it puts in gets new names, and a node at rest looks again."""
    rewrite = Rewrite((COAL, IRON), ("steel",))
    after = having((NEW + 1, "steel"), made=1, reactions=1)
    told = (Report(Gone(COAL)), Report(Gone(IRON)), Report(Arrived(NEW + 1, "steel")))
    assert MACHINE.step(replace(FRESH, phase=IDLE), Requested(rewrite)) == (after, (*told, AGAIN))
    assert MACHINE.step(FRESH, Requested(rewrite)) == (replace(after, is_woken=True), told)
    assert MACHINE.step(FRESH, Answered(rewrite)) == (after, (*told, AGAIN))
    assert QUIET.step(FRESH, Answered(rewrite)) == (after, (AGAIN,))


def test_putting_molecules_in_is_no_reaction() -> None:
    """A program that adds molecules without taking any keeps its place in the total order."""
    after, effects = MACHINE.step(FRESH, Answered(Rewrite((), ("steel",))))
    assert (after.reactions, effects) == (0, (Report(Arrived(NEW + 1, "steel")), AGAIN))


def test_the_program_takes_only_what_is_here() -> None:
    """A program that takes away what has left is at fault."""
    with pytest.raises(AssertionError, match="told of"):
        MACHINE.step(FRESH, Answered(Rewrite((ORE,), ())))


def test_the_program_does_not_take_what_reacts() -> None:
    """A program that takes away what it was asked to react on is at fault, and hears so at once."""
    state = replace(FRESH, phase=Reacting(1, 0, HERE), attempts=1)
    with pytest.raises(AssertionError):
        MACHINE.step(state, Requested(Rewrite((IRON,), ())))
