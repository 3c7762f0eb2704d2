"""Processes under ELMP that die, in small worlds, every order of events; the counts are pinned."""

from __future__ import annotations

import pytest

from solvent.checker.explore import GOAL, NO_FAILURE, Verdict, check
from solvent.checker.models.elmp_repair import BROKEN, LARGE, MODELS

COUNTS = {
    "death-2": 425,
    "death-3": 12_392,
    "death-for-good-3": 12_309,
    "death-leaving-3": 9_838,
    "deaths-2": 2_148,
}
COUNTS_LONG = {
    "death-readers-3": 13_252,
    "death-data-3": 17_705,
    "deaths-3": 46_734,
}
CAUGHT = {
    "goes-on-meanwhile": NO_FAILURE,
    "makes-a-token-always": "what excludes each other is not held",
    "forgets-who-waits": GOAL,
    "waits-for-the-dead": GOAL,
    "counts-on": "turns come in order",
}
CAUGHT_LONG = {
    "takes-what-is-over": "what excludes each other is not held",
    "answers-twice": GOAL,
    "counts-the-dead": GOAL,
}


def test_every_model_is_counted() -> None:
    """No model is left out."""
    assert (COUNTS | COUNTS_LONG).keys() == MODELS.keys()
    assert (CAUGHT | CAUGHT_LONG).keys() == BROKEN.keys()


@pytest.mark.parametrize("name", COUNTS)
def test_a_small_world_survives(name: str) -> None:
    """Nobody holds what another holds, turns only grow, and all that live get what they want, whoever dies when."""
    result = check(MODELS[name]())
    assert (result.verdict, result.states) == (Verdict.HOLDS, COUNTS[name])


@pytest.mark.soak
@pytest.mark.parametrize("name", COUNTS_LONG)
def test_a_larger_world_survives(name: str) -> None:
    """The same with more of everything."""
    result = check(MODELS[name]())
    assert (result.verdict, result.states) == (Verdict.HOLDS, COUNTS_LONG[name])


@pytest.mark.soak
@pytest.mark.parametrize("name", LARGE)
def test_a_large_world_survives(name: str) -> None:
    """The same with still more."""
    assert check(LARGE[name](), states_max=5_000_000).verdict is Verdict.HOLDS


@pytest.mark.parametrize("name", CAUGHT)
def test_a_broken_repair_is_caught(name: str) -> None:
    """Each part of a repair is there for something."""
    assert [violation.property for violation in check(BROKEN[name]()).violations] == [CAUGHT[name]]


@pytest.mark.soak
@pytest.mark.parametrize("name", CAUGHT_LONG)
def test_a_broken_repair_is_caught_in_time(name: str) -> None:
    """The same for what shows in larger worlds only."""
    assert [violation.property for violation in check(BROKEN[name]()).violations] == [CAUGHT_LONG[name]]
