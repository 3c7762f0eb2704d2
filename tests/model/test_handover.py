"""Small worlds of a space, every order of events; the counts are pinned."""

from __future__ import annotations

import pytest

from solvent_lab.broken.handover import BROKEN
from solvent_lab.checker.explore import GOAL, NO_FAILURE, Verdict, check
from solvent_lab.models.handover import LARGE, MODELS

COUNTS = {
    "enter-2": 139,
    "enter-both": 498,
    "go-founder-3": 899,
    "go-all-2": 94,
    "die-2": 202,
    "die-twice-3": 7_848,
    "die-entering": 1_354,
    "die-going-3": 406,
    "die-going-founder-3": 2_669,
    "die-with-data-2": 433,
    "suspect-2": 730,
    "suspect-3": 3_772,
    "suspect-each-other-3": 4_721,
    "suspect-entering": 1_771,
    "suspect-dying-3": 457,
    "enter-and-go-3": 326,
    "leave-3": 305,
    "leave-with-data-3": 4_622,
    "leave-entering": 534,
    "leave-going-founder-3": 521,
    "die-leaving-3": 1_159,
    "die-leaving-with-data-2": 1_684,
    "suspect-leaving-3": 525,
    "die-withdrawing-3": 3_745,
    "die-patient-3": 7_630,
    "die-patient-reading-3": 9_451,
    "suspect-patient-2": 935,
    "die-two-resources-2": 1_429,
    "die-two-resources-3": 3_497,
    "die-two-with-data-2": 262,
    "die-before-fetching-3": 801,
    "die-twice-with-data-3": 13_495,
}
CAUGHT = {
    "makes-its-own": "locks are whole",
    "lets-in-at-once": "who takes part is known",
    "takes-what-is-over": NO_FAILURE,
    "needs-no-majority": "the space is one",
    "waits-for-no-agreement": "the space is one",
    "forgets-what-it-agreed-to": "the space is one",
    "answers-twice": GOAL,
    "asks-for-no-data": "what was released is there",
    "makes-a-token-always": "locks are whole",
    "counts-on": "turns come in order",
    "grants-nothing-again": GOAL,
    "forgets-patience": GOAL,
    "grants-who-gave-up": "who has given up is granted nothing",
    "forgets-who-leaves": GOAL,
    "hides-from-newcomers": GOAL,
    "asks-nobody-again": "what was released is there",
    "takes-one-for-another": "what was released is there",
}
CAUGHT_LONG = {
    "goers-vote": "the space is one",
    "says-no-goodbye": "locks are whole",
    "forgets-who-waits": GOAL,
    "waits-for-the-dead": "locks are whole",
}


def test_every_model_is_counted() -> None:
    """No model is left out."""
    assert COUNTS.keys() == MODELS.keys()
    assert (CAUGHT | CAUGHT_LONG).keys() == BROKEN.keys()


@pytest.mark.parametrize("name", COUNTS)
def test_a_small_world_is_sound(name: str) -> None:
    """One space, whole locks, turns that grow; and all that live get what they want, whoever comes, goes or dies."""
    result = check(MODELS[name]())
    assert (result.verdict, result.states) == (Verdict.HOLDS, COUNTS[name])


@pytest.mark.soak
@pytest.mark.parametrize("name", LARGE)
def test_a_large_world_is_sound(name: str) -> None:
    """The same with more of everything."""
    assert check(LARGE[name](), max_states=5_000_000).verdict is Verdict.HOLDS


@pytest.mark.parametrize("name", CAUGHT)
def test_a_broken_space_is_caught(name: str) -> None:
    """Each part of it is there for something."""
    assert [violation.property for violation in check(BROKEN[name]()).violations] == [CAUGHT[name]]


@pytest.mark.soak
@pytest.mark.parametrize("name", CAUGHT_LONG)
def test_a_broken_space_is_caught_in_time(name: str) -> None:
    """The same for what shows in larger worlds only."""
    assert [violation.property for violation in check(BROKEN[name]()).violations] == [CAUGHT_LONG[name]]
