"""Small worlds of ELMP, every order of events; the counts are pinned so that a change of the protocol shows."""

from __future__ import annotations

import pytest

from solvent.checker.explore import GOAL, PROGRESS, Verdict, check
from solvent.checker.models.elmp import BROKEN, LARGE, MODELS

COUNTS = {
    "requests-4": 8_221,
    "requests-seldom-4": 1_871,
    "use-takes-time": 3_883,
    "departures-4": 10_067,
    "insertions-4": 1_396,
    "rebuilding": 1_713,
    "data": 8_849,
    "data-root": 4_357,
    "data-late": 615,
    "readers": 2_062,
    "readers-leaving": 2_857,
    "readers-leaving-seldom": 749,
    "parts": 2_692,
    "parts-data": 713,
    "mixed-star-4": 6_581,
    "mixed-star-leaf-4": 2_028,
    "mixed-rebuilding": 2_515,
    "endless-request": 3_100,
    "endless-departure": 1_816,
    "endless-insertion": 454,
    "endless-request-seldom": 240,
    "endless-departure-seldom": 1_632,
    "endless-insertion-seldom": 322,
}
COUNTS_LONG = {
    "requests-5": 18_101,
    "requests-again": 6_131,
    "departures-5": 20_368,
    "rebuilding-leaving": 28_495,
    "withdrawals": 20_603,
    "patience": 5_583,
    "leaving-the-queue": 8_785,
    "parts-data-leaving": 7_290,
    "mixed-4": 149_517,
    "mixed-seldom-4": 98_372,
    "mixed-middle-4": 7_931,
    "mixed-lazy-4": 69_398,
    "mixed-lazy-second-4": 52_084,
    "mixed-star-second-4": 18_142,
    "mixed-patience-4": 14_698,
    "mixed-parts-4": 9_223,
    "mixed-data-4": 10_103,
}
COUNTS_LARGE = {
    "requests-6": 199_843,
    "mixed-patience-exchange-4": 32_490,
    "mixed-data-exchange-4": 83_068,
    "endless-request-4": 16_607,
    "endless-departure-4": 8_187,
}
CAUGHT = {
    "hands-over-no-children": "the tree is whole",
    "circle-of-parents": "the tree is whole",
    "keeps-the-old-child": "the tree is whole",
    "knows-its-neighbours-once": "the tree is whole",
    "holds-itself-first": GOAL,
    "only-idle-ones-follow": GOAL,
    "refuses": PROGRESS,
    "leaves-with-the-data": "the data is where it is said to be",
    "withdraws-at-once": "who waits is in the queue",
    "does-not-wait-for-children": "the tree is whole",
    "never-rebuilds": "at rest sizes are known",
    "gives-way-to-nobody": GOAL,
    "takes-the-newest-first": PROGRESS,
    "last-come-first-served": "who waits is in the queue",
    "keeps-the-token": "there is one token",
    "loses-the-token": "there is one token",
    "waits-for-nobody": "what excludes each other is not held together",
    "waits-for-those-that-hold": "nobody is overtaken by what it excludes",
    "leaves-while-listed": "who is asked takes part",
    "forgets-the-predecessor": "the queue is a doubly linked list",
    "forgets-the-end": "the root knows the last",
    "stays-root": "there is one root",
    "tells-only-the-requester": "who waits is in the queue",
    "ignores-impatience": "at rest sizes are known",
    "gathers-in-silence": "who waits is in the queue",
    "gives-up-the-token": "nobody asks again and again",
}


def test_every_model_is_counted() -> None:
    """No model is left out."""
    assert (COUNTS | COUNTS_LONG).keys() == MODELS.keys()
    assert COUNTS_LARGE.keys() == LARGE.keys()
    assert CAUGHT.keys() == BROKEN.keys()


@pytest.mark.parametrize("name", COUNTS)
def test_a_small_world_holds(name: str) -> None:
    """One token, tree and queue whole, first come, first served, and everybody gets what it wants, in every order."""
    result = check(MODELS[name]())
    assert (result.verdict, result.states) == (Verdict.HOLDS, COUNTS[name])


@pytest.mark.soak
@pytest.mark.parametrize("name", COUNTS_LONG)
def test_a_larger_world_holds(name: str) -> None:
    """The same with more of everything."""
    result = check(MODELS[name]())
    assert (result.verdict, result.states) == (Verdict.HOLDS, COUNTS_LONG[name])


@pytest.mark.soak
@pytest.mark.parametrize("name", COUNTS_LARGE)
def test_a_large_world_holds(name: str) -> None:
    """The same with still more."""
    result = check(LARGE[name](), states_max=5_000_000)
    assert (result.verdict, result.states) == (Verdict.HOLDS, COUNTS_LARGE[name])


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_one_is_caught(name: str) -> None:
    """Each flaw of the paper, and each thing left out of our repairs, breaks what it is there for."""
    result = check(BROKEN[name]())
    assert [violation.property for violation in result.violations] == [CAUGHT[name]]
