"""Long runs, by hand: `make soak`. Many more random programs than the tests try, and large solutions."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, given, note

import solvent
from tests.property.oracle import TooMany, search, state_key
from tests.property.strategies import programs
from tests.property.test_fast_paths import flat_programs, pair_programs

pytestmark = pytest.mark.soak


def check(text: str) -> None:
    """Run a program that always ends, unwatched and under a seed, and compare with the oracle."""
    note(text)
    try:
        outcomes = search(solvent.hocl.parse(text).solution(), max_states=120)
    except TooMany:
        assume(condition=False)
        return
    assume(outcomes.always_ends())
    for seed in (None, 1):
        solution = solvent.hocl.parse(text).solution()
        try:
            solvent.hocl.react(solution, seed=seed)
        except solvent.ReactionFailed:
            assert state_key(solution) in outcomes.failures
        else:
            assert state_key(solution) in outcomes.finals


@given(programs())
def test_many_programs(text: str) -> None:
    """Random programs end where the oracle can."""
    check(text)


@given(flat_programs())
def test_many_joins(text: str) -> None:
    """Random joins of tuples end where the oracle can."""
    check(text)


@given(pair_programs())
def test_many_pairs(text: str) -> None:
    """Random rules over pairs end where the oracle can."""
    check(text)


@pytest.mark.parametrize("size", [10_000, 100_000, 1_000_000])
def test_large_sums(size: int) -> None:
    """A large solution adds up, one reaction for each molecule but one."""
    numbers = [random.Random(size).randrange(1000) for _ in range(1)] * size
    solution = solvent.hocl.parse("let add = replace x::int, y::int by x + y in <add>").solution()
    solution.extend(numbers)
    outcome = solvent.hocl.react(solution)
    assert outcome.reactions == size - 1
    assert sum(numbers) in solution
