"""What `explore` says of a program agrees with the oracle, and with every way of running it."""

from __future__ import annotations

from hypothesis import assume, given, note
from hypothesis import strategies as st

import solvent
from solvent.engine.explore import Exploration, explore
from tests.property.amounts import examples
from tests.property.oracle import TooMany, search, state_key
from tests.property.strategies import programs

MAX_STATES = 80


def explored(text: str) -> Exploration:
    """Explore a program, or drop the example where it fails or has too many states."""
    note(text)
    try:
        found = explore(solvent.hocl.parse(text).solution(), max_states=MAX_STATES)
    except solvent.ReactionFailed:
        assume(condition=False)
        raise
    assume(found.is_complete)
    return found


@examples(50)
@given(programs())
def test_finals_are_those_of_the_oracle(text: str) -> None:
    """The final states that an exploration finds are exactly the oracle's, but for the order of a rest in a list."""
    found = explored(text)
    try:
        outcomes = search(solvent.hocl.parse(text).solution(), max_states=300)
    except TooMany:
        assume(condition=False)
        return
    assume(not outcomes.failures)
    finals = {state_key(found.states[at]) for at in found.finals}
    if outcomes.has_orders:
        # An exploration lets a rest enter a list in one order only.
        assert finals <= set(outcomes.finals)
    else:
        assert finals == set(outcomes.finals)
        assert found.terminates == outcomes.always_ends()


@examples(50)
@given(programs(), st.lists(st.integers(0, 10**6), min_size=3, max_size=3))
def test_all_strategies_agree_on_confluent_programs(text: str, seeds: list[int]) -> None:
    """Where exploration says confluent and ending, the default run and every seed end in the one final state."""
    found = explored(text)
    assume(found.confluent and found.terminates)
    (final,) = [state_key(found.states[at]) for at in found.finals]
    for seed in [None, *seeds]:
        solution = solvent.hocl.parse(text).solution()
        solvent.hocl.react(solution, seed=seed)
        assert state_key(solution) == final, solvent.hocl.show(solution)
