"""Small worlds of ELMP, every order of events; the counts are pinned so that a change of the protocol shows."""

from __future__ import annotations

import pytest

from solvent_lab.broken.elmp import BROKEN
from solvent_lab.checker.explore import GOAL, PROGRESS, Verdict, check
from solvent_lab.models.elmp import LARGE, MODELS
from tests.model.elmp_counts import COUNTS, COUNTS_LARGE, COUNTS_LONG
from tests.model.test_elmp_usual import WORLDS

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
    "merges-first": "what the token names is there",
    "fetches-on": "everybody finds what it was told of",
    "takes-any-word": "what the token names is there",
}


def test_every_model_is_counted() -> None:
    """No model is left out."""
    assert (COUNTS | COUNTS_LONG).keys() == MODELS.keys()
    assert COUNTS_LARGE.keys() == LARGE.keys()
    assert CAUGHT.keys() == BROKEN.keys()


@pytest.mark.parametrize("name", [name for name in COUNTS if name not in WORLDS])
def test_a_small_world_holds(name: str) -> None:
    """One token, tree and queue whole, first come, first served, and everybody gets what it wants, in every order.

    Worlds in which steps are compared as well are exhausted in `test_elmp_usual`.
    """
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
    result = check(LARGE[name](), max_states=5_000_000)
    assert (result.verdict, result.states) == (Verdict.HOLDS, COUNTS_LARGE[name])


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_one_is_caught(name: str) -> None:
    """Each flaw of the paper, and each thing left out of our repairs, breaks what it is there for."""
    result = check(BROKEN[name]())
    assert [violation.property for violation in result.violations] == [CAUGHT[name]]
