"""Small worlds of ELMP, every order of events; the counts are pinned so that a change of the protocol shows."""

from __future__ import annotations

import pytest

from solvent.checker.explore import GOAL, PROGRESS, Verdict, check
from solvent.checker.models.elmp import BROKEN, LARGE, MODELS

COUNTS = {
    "requests-4": 8_308,
    "requests-seldom-4": 1_911,
    "use-takes-time": 3_883,
    "departures-4": 10_357,
    "insertions-4": 1_396,
    "rebuilding": 1_713,
    "data": 8_897,
    "data-root": 4_357,
    "data-late": 666,
    "readers": 2_062,
    "readers-leaving": 2_857,
    "readers-leaving-seldom": 866,
    "parts": 2_692,
    "parts-data": 713,
    "mixed-star-4": 7_727,
    "mixed-star-leaf-4": 2_467,
    "mixed-rebuilding": 2_563,
    "endless-request": 3_369,
    "endless-departure": 1_892,
    "endless-insertion": 474,
    "endless-request-seldom": 321,
    "endless-departure-seldom": 1_808,
    "endless-insertion-seldom": 384,
    "trail": 1_464,
    "trail-short": 1_428,
    "trail-root": 4_518,
    "trail-leaving": 3_662,
    "trail-joining": 1_224,
    "trail-parts": 357,
}
COUNTS_LONG = {
    "requests-5": 18_101,
    "requests-again": 6_325,
    "departures-5": 20_386,
    "rebuilding-leaving": 28_495,
    "withdrawals": 20_651,
    "patience": 5_591,
    "leaving-the-queue": 8_875,
    "parts-data-leaving": 7_315,
    "mixed-4": 149_517,
    "mixed-seldom-4": 101_646,
    "mixed-middle-4": 7_931,
    "mixed-lazy-4": 69_398,
    "mixed-lazy-second-4": 58_691,
    "mixed-star-second-4": 18_768,
    "mixed-patience-4": 17_257,
    "mixed-parts-4": 10_791,
    "mixed-data-4": 10_766,
    "trail-again": 25_813,
    "trail-exchange": 52_011,
    "trail-withdrawals": 24_204,
    "trail-patience": 11_047,
    "trail-handles": 7_935,
}
COUNTS_LARGE = {
    "requests-6": 199_843,
    "mixed-patience-exchange-4": 32_490,
    "mixed-data-exchange-4": 83_602,
    "endless-request-4": 17_872,
    "endless-departure-4": 8_532,
    "trail-leaving-4": 52_380,
    "trail-leaving-root-4": 139_558,
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
    "takes-old-news": "who waits is in the queue",
    "keeps-the-trail-to-itself": GOAL,
    "trusts-the-trail": "who waits is in the queue",
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
