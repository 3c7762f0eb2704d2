"""Numbers that count without end are made small again."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from solvent.errors import Misuse
from solvent.protocols.machine import (
    Event,
    Message,
    NodeId,
    Received,
    Report,
    Send,
    SetTimer,
    Step,
    TimerFired,
    Value,
)
from solvent_lab.checker import Model, Network, Timers, Verdict, World, check
from solvent_lab.checker.moves import Moves
from solvent_lab.checker.small_numbers import RECIPIENT, SENDER, Numbers, Renumbering
from solvent_lab.checker.world import Budget


class Try(Message, frozen=True, gc=False):
    """An attempt."""

    attempt: int


class Done(Message, frozen=True, gc=False):
    """The answer to an attempt."""

    attempt: int


class Trying(Value, frozen=True, gc=False):
    """What a requester knows: how many attempts it has made, and which one is out."""

    attempts: int
    out: int = 0


PLACES = {
    Try: {"attempt": Numbers("attempt", SENDER)},
    Done: {"attempt": Numbers("attempt", RECIPIENT)},
    Trying: {"attempts": Numbers("attempt", is_last=True), "out": Numbers("attempt")},
}


class Trier:
    """Tries again, under a new number, until the answer to the last number comes."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[Trying]:
        """Begin with the first attempt."""
        del saved, life
        return self._tried(Trying(0))

    def step(self, state: Trying, event: Event) -> Step[Trying]:
        """Take one event."""
        match event:
            case Received(_, Done(attempt)) if attempt == state.out:
                return replace(state, out=0), (Report("done"),)
            case TimerFired() if state.out:
                return self._tried(state)
        return state, ()

    @staticmethod
    def _tried(state: Trying) -> Step[Trying]:
        number = state.attempts + 1
        return Trying(number, number), (Send(NodeId(1), Try(number)), SetTimer("again", 1))


class Echo:
    """Answers every attempt."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[None]:
        """Begin."""
        del saved, life
        return None, ()

    def step(self, state: None, event: Event) -> Step[None]:
        """Take one event."""
        match event:
            case Received(sender, Try(attempt)):
                return state, (Send(sender, Done(attempt)),)
        return state, ()


def _trying(**options: Any) -> Model:
    return Model(
        machines=(Trier(), Echo()),
        network=Network(losses=2),
        goal=lambda world: world.states[0].out == 0,
        **options,
    )


def test_retries_have_finitely_many_states_under_standard_names() -> None:
    """A machine that numbers its attempts for ever has few states once numbers are given anew.

    With 2, 1 or 0 losses left: an attempt is under way, or its answer, or it is done and the timer is running or not;
    and with 1 or 0 left: all is lost and the timer is running.
    """
    patient = {"timers": Timers.WHEN_QUIET, "canonical": Renumbering(PLACES)}
    result = check(_trying(**patient))
    assert (result.verdict, result.states) == (Verdict.HOLDS, 3 * 4 + 2)


def test_rows_are_renumbered_like_worlds() -> None:
    """The checker's fast way gives what the plain one gives."""
    renumbering = Renumbering(PLACES)
    model = _trying()
    moves = Moves(model)
    fast = renumbering.on_rows(moves.packing)
    rows = [moves.first()[0]]
    for row in rows:
        if len(rows) < 200:
            rows += [tuple(move.row) for move in moves.moves(row)]
        assert moves.packing.world(fast(row)) == renumbering(moves.packing.world(row))


def test_violation_under_standard_names_is_shown_in_real_ones() -> None:
    """A counterexample names attempts as they were numbered, not as they are stored."""

    def nothing_was_lost_twice(world: World) -> bool:
        return world.budget.losses > 0

    names = Renumbering(PLACES)
    model = _trying(timers=Timers.WHEN_QUIET, canonical=names, invariants=(nothing_was_lost_twice,))
    (violation,) = check(model).violations
    assert violation.property == "nothing was lost twice"
    assert violation.trace.drawn(width=60).split("\n") == [
        "   n0                          n1",
        " 1 |-------Try(attempt=1)-----x|",
        " 2 * timer again               |",
        " 3 |-------Try(attempt=2)-----x|",
    ]


def test_names_that_hide_a_difference_are_told() -> None:
    """Worlds that are taken for the same and do not behave alike make the way to a violation disappear."""

    def is_forgetful(world: World) -> World:
        return replace(world, budget=Budget(losses=2))

    def at_most_two_are_lost(world: World) -> bool:
        return world.nodes[0].state.attempts < 5

    wrong = _trying(timers=Timers.WHEN_QUIET, canonical=is_forgetful, invariants=(at_most_two_are_lost,))
    with pytest.raises(Misuse, match="do not behave alike"):
        check(wrong)
