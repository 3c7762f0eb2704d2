"""What the engine makes of a program is among what a naive oracle says it can become."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given, note
from hypothesis import strategies as st

import solvent
from tests.property.amounts import examples
from tests.property.oracle import Outcomes, TooMany, search, state_key
from tests.property.strategies import programs

MAX_STATES = 120
REST_IN_A_LIST = """let rone = replace-one x by x, x, x in
let rtwo = replace-one <>, 1 by 1, 1 in
let rthree = replace-one <?w0>, x, <1, ?w1>, ?w2 by (x : x), ((w2, x) : x), x in
<1, rone, rtwo, rthree, <1>, <1>>"""


def outcomes_of(text: str) -> Outcomes:
    """Search a program, or drop the example where that takes too long."""
    note(text)
    try:
        return search(solvent.hocl.parse(text).solution(), max_states=MAX_STATES)
    except TooMany:
        assume(condition=False)
        raise


def check(text: str, outcomes: Outcomes, *, seed: int | None = None) -> None:
    """Run a program and compare how it ends with what the oracle knows."""
    solution = solvent.hocl.parse(text).solution()
    try:
        outcome = solvent.hocl.react(solution, seed=seed, max_reactions=len(outcomes.states))
    except solvent.ReactionFailed:
        assert state_key(solution) in outcomes.failures, solvent.hocl.show(solution)
    except solvent.LimitReached:
        assert not outcomes.always_ends()
        assert state_key(solution) in outcomes.states, solvent.hocl.show(solution)
    else:
        assert outcome.inert
        assert state_key(solution) in outcomes.finals, solvent.hocl.show(solution)


@examples(100)
@given(programs())
def test_the_default_run_ends_where_the_oracle_can(text: str) -> None:
    """The default engine ends in a final state of the oracle, or fails where the oracle can fail."""
    check(text, outcomes_of(text))


@examples(50)
@given(programs(), st.lists(st.integers(0, 10**6), min_size=3, max_size=3))
def test_seeded_runs_end_where_the_oracle_can(text: str, seeds: list[int]) -> None:
    """Under any seed the engine ends in a final state of the oracle, or fails where the oracle can fail."""
    outcomes = outcomes_of(text)
    for seed in seeds:
        check(text, outcomes, seed=seed)


@examples(50)
@given(programs(), st.one_of(st.none(), st.integers(0, 10**6)))
@example(REST_IN_A_LIST, None)
def test_each_step_is_a_reaction_the_oracle_knows(text: str, seed: int | None) -> None:
    """A single step leads from a state to one of the states that the oracle says can follow it."""
    outcomes = outcomes_of(text)
    solution = solvent.hocl.parse(text).solution()
    before = state_key(solution)
    for _ in outcomes.states:
        try:
            reaction = solvent.hocl.step(solution, seed=seed)
        except solvent.ReactionFailed:
            assert before in outcomes.failures
            return
        if reaction is None:
            assert before in outcomes.finals
            return
        after = state_key(solution)
        assert after in outcomes.followers[before], solvent.hocl.show(solution)
        before = after


@examples(50)
@given(programs(), st.integers(0, 6))
@example("let rone = inject x with x in\n<rone, 1^inf>", 0)
def test_a_limit_stops_in_a_state_that_can_be_resumed(text: str, max_reactions: int) -> None:
    """A run stopped by its limit stands in a reachable state, and goes on from there to a final one."""
    outcomes = outcomes_of(text)
    assume(outcomes.always_ends() and not outcomes.failures)
    solution = solvent.hocl.parse(text).solution()
    try:
        solvent.hocl.react(solution, max_reactions=max_reactions)
    except solvent.LimitReached:
        assert state_key(solution) in outcomes.states, solvent.hocl.show(solution)
        solvent.hocl.react(solution)
    assert state_key(solution) in outcomes.finals, solvent.hocl.show(solution)


@pytest.mark.parametrize(
    "text",
    [
        "let pair = replace x::int, y::int by x : y in <1, 2, 3, pair>",
        "let up = replace x::int by x + 1 if x < 3 in let stop = replace-one up = u by in <1, up, stop>",
        "let keep = replace x::int, y::int by x in <<1, 2, keep>, replace-one <x::int, ?w> by x>",
        "<(replace-one x by <x>), (replace-one x::int by A), 1, 2>",
    ],
)
def test_many_seeds_find_every_final_state(text: str) -> None:
    """Over many seeds the engine reaches every final state of a small program."""
    wanted = search(solvent.hocl.parse(text).solution()).finals.keys()
    found = set()
    for seed in range(200):
        solution = solvent.hocl.parse(text).solution()
        solvent.hocl.react(solution, seed=seed)
        found.add(state_key(solution))
    assert len(wanted) > 1
    assert found == wanted
