"""Capture by moving: how an attempt begins and ends, and what the program hears."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from solvent.protocols.capture.moving import (
    Attempt,
    Confirmed,
    Given,
    Kept,
    Reacting,
    Take,
    moving_node,
)
from solvent.protocols.capture.vocabulary import (
    Arrived,
    Combination,
    Products,
    React,
    Rewrite,
)
from solvent.protocols.machine import Answered, Ask, Chosen, Received, Report, Requested, Send
from tests.unit.protocols.capture.workshop import (
    AGAIN,
    ANN,
    COAL,
    CONFIG,
    FRESH,
    HERE,
    IRON,
    MACHINE,
    ME,
    ORE,
    QUIET,
)

# ------------------------------------------------------------------------------------------------------- start


def test_a_restarted_node_counts_from_its_life() -> None:
    """Numbers of attempts, gifts and molecules are never given twice; the program hears what is left."""
    state, effects = MACHINE.start((), 2)
    assert (state.attempts, state.given, state.made) == (2 << 28, 2 << 28, 2 << 28)
    told = {Report(Arrived(molecule, value)) for molecule, value in HERE}
    assert (set(effects[:-1]), effects[-1]) == (told, AGAIN)
    assert set(MACHINE.start((Kept((), (), 0),), 0)[1][:-1]) == told
    assert QUIET.start((), 2)[1] == (AGAIN,)


# --------------------------------------------------------------------------------------------------- capturing


def test_a_node_may_have_to_ask_itself() -> None:
    """Where the paper's costs are to be compared with, what lies here altogether is asked for like anything else."""
    machine = moving_node(replace(CONFIG, is_local=False, tell=False))
    state, effects = machine.step(FRESH, Answered(Combination(0, ((IRON, ME), (COAL, ME)))))
    assert (state.phase, effects) == (Attempt(1, 0, (), (ME,)), (Send(ME, Take(1, (IRON, COAL), (), 0)),))
    state, effects = machine.step(state, Received(ME, effects[0].message))
    assert effects == (Send(ME, Given(1, 1, HERE)),)
    assert machine.step(state, Received(ME, effects[0].message))[1] == (Ask(React(0, HERE)),)
    # With others in it, its own part costs nothing in either case.
    state, effects = machine.step(FRESH, Answered(Combination(0, ((IRON, ME), (ORE, ANN)))))
    assert (state.phase.own, effects) == ((IRON,), (Send(ANN, Take(1, (ORE,), (), 0)),))


def test_products_are_given_only_for_a_reaction() -> None:
    """A program that answers what was not asked is at fault."""
    with pytest.raises(AssertionError, match="asked for"):
        MACHINE.step(FRESH, Answered(Products(())))


# ----------------------------------------------------------------------------------------- late, or not understood


@pytest.mark.parametrize(
    "event",
    [
        Received(ANN, Confirmed(1)),
        Requested("nonsense"),
        Answered("nonsense"),
        Chosen(0),
    ],
    ids=["confirmed", "request", "answer", "choice"],
)
def test_what_means_nothing_changes_nothing(event: Any) -> None:
    """A machine drops what is not for it."""
    assert MACHINE.step(FRESH, event) == (FRESH, ())


# ----------------------------------------------------------------------------------------------------- the program


def test_the_program_takes_only_what_is_here() -> None:
    """A program that takes away what has left is at fault."""
    with pytest.raises(AssertionError, match="told of"):
        MACHINE.step(FRESH, Answered(Rewrite((ORE,), ())))


def test_the_program_does_not_take_what_reacts() -> None:
    """A program that takes away what it was asked to react on is at fault, and hears so at once."""
    state = replace(FRESH, phase=Reacting(1, 0, HERE), attempts=1)
    with pytest.raises(AssertionError):
        MACHINE.step(state, Requested(Rewrite((IRON,), ())))
