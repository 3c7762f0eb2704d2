"""A run under a seed ends where nothing can react any more."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st

import solvent
from tests.property.amounts import examples
from tests.property.strategies import programs

MAX_REACTIONS = 200


def check_inert(text: str, seed: int) -> bool:
    """Run a program under a seed, and its result again without one; say whether the first run has ended."""
    solution = solvent.hocl.parse(text).solution()
    try:
        outcome = solvent.hocl.react(solution, seed=seed, max_reactions=MAX_REACTIONS)
    except (solvent.LimitReached, solvent.ReactionFailed):
        return False
    assert outcome.inert
    # A copy holds what the solution holds, and nothing of what the first run knew about it.
    again = solution.copied()
    assert solvent.hocl.react(again, max_reactions=MAX_REACTIONS).reactions == 0, solvent.hocl.show(solution)
    return True


@examples(100)
@given(programs(), st.lists(st.integers(0, 10**6), min_size=3, max_size=3))
def test_the_result_of_a_seeded_run_is_inert(text: str, seeds: list[int]) -> None:
    """Without the seed, the engine finds no reaction in what a run under a seed leaves."""
    note(text)
    ended = [check_inert(text, seed) for seed in seeds]
    assume(any(ended))


@pytest.mark.parametrize("seed", range(21))
@pytest.mark.parametrize(
    "text",
    [
        "<<5>, <5>, (replace x, x by x)>",
        "<A, 2, (replace-one A by 2), (replace x, x by x)>",
        "<(replace A:<x::int, ?w> by x, A:<w>), (replace 2, 2 by 4), A:<2,3>, A:<2,3>, 2>",
    ],
)
def test_molecules_that_meet_late_react_under_every_seed(text: str, seed: int) -> None:
    """Equal molecules, some of them made during the run, do not stay side by side."""
    assert check_inert(text, seed)
