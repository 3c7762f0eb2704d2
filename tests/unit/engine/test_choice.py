"""Random choice: every enabled reaction has a chance, and one that stays enabled happens."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

import solvent
from solvent.engine.choice import Stepper
from solvent.engine.reaction import Stopped
from tests.growth import executed_lines
from tests.unit.engine.soup import finals


def test_a_rule_that_never_ends_starves_no_other() -> None:
    """A rule that can always react does not keep another from reacting, in the long run."""
    text = "<0, (up = replace x::int by x + 1), (stop = replace-one up = u by Stopped)>"
    assert {one.split(", ")[-1] for one in finals(text, seeds=10) if "Stopped" in one} == {"Stopped>"}


def test_the_work_with_a_seed_grows_as_without_one() -> None:
    """A rule that has no match is not tried again with all that it was tried with before.

    Numbers arrive one by one, and a sieve removes the multiples: how often its condition is asked grows at most
    with the square of how many they are.
    """
    asked = [_asked_by_a_sieve(number) for number in (120, 240, 480)]
    assert asked[1] < 4.5 * asked[0]
    assert asked[2] < 4.5 * asked[1]


def _asked_by_a_sieve(number: int) -> int:
    asked = 0

    def divides(one: int, other: int) -> bool:
        nonlocal asked
        asked += 1
        return other % one == 0

    functions = solvent.hocl.Functions()
    functions.register(divides)
    text = (
        "let halve = replace a::int : b::int by a : (a + b) / 2, (a + b) / 2 + 1 : b if a < b in\n"
        "let number = replace a::int : a by a in\n"
        "let sieve = replace x::int, y::int by x if divides(x, y) in\n"
        f"<2 : {number}, halve, number, sieve>"
    )
    solution = solvent.hocl.parse(text, functions=functions).solution()
    solvent.hocl.react(solution, seed=3)
    return asked


def test_steps_among_many_solutions_cost_as_much_as_there_is_to_do() -> None:
    """Whether a solution is open already is known without going through all that are."""

    def settled(count: int) -> int:
        solution = solvent.hocl.Solution([solvent.hocl.Solution([1]) for _ in range(count)])
        return executed_lines(lambda: Stepper(solution))

    assert settled(1000) < 20 * settled(100)


@pytest.mark.parametrize("looks", range(30))
def test_run_that_was_stopped_anywhere_goes_on(looks: int) -> None:
    """A stepper looks whether to stop while it settles as well; nothing is lost, and it can go on from there."""
    inner = "<1, <2, 3, sum>, sum, (out = replace <x::int, sum = s> by x)>"
    text = f"<{inner}, <4, 5, sum>, sum, (take = replace <x::int, ?w> by x)>"
    solution = solvent.hocl.parse(f"let sum = replace x::int, y::int by x + y in {text}").solution()
    left = iter(range(looks))
    stepper = Stepper(solution, chance=random.Random(0))
    stepper.poll_mask = 0
    stepper.should_stop = lambda: next(left, None) is None
    with suppress(Stopped):
        stepper.run(solution)
    stepper.should_stop = None
    stepper.run(solution)
    assert (solution.inert, solvent.hocl.show(solution)) == (True, "<15, sum, take>")
