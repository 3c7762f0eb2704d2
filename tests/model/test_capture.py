"""Small worlds of capture, every order of events; the counts are pinned so that a change of the protocol shows."""

from __future__ import annotations

import pytest

from solvent_lab.broken.capture import BROKEN
from solvent_lab.checker.explore import Verdict, check
from solvent_lab.models.capture import MODELS, RING, paper

SMALL = {
    "optimists-2x2": 1145,
    "pessimists-2x2": 1025,
    "mixed-2x2": 591,
    "adaptive-2x2": 4934,
    "pessimists-crash": 12243,
    "mixed-crash": 10525,
    "mixed-3x3": 28968,
    "moving-2x2": 15,
    "moving-products": 128,
    "moving-3x3": 89,
    "moving-crash": 123,
    "moving-free": 1488,
    "moving-spectator": 130,
    "moving-trio": 2223,
    "moving-crash-3x3": 9403,
}
LARGE = {
    "products": 27977,
    "optimists-3x3": 38435,
    "pessimists-3x3": 67128,
    "optimists-crash": 22741,
}
TRAP, LIVELOCK = "a goal can always be reached", "every fair run makes progress or reaches a goal"
CAUGHT = {
    "anybody-gives-up": "what is lent is lent once",
    "no-attempt-numbers": "what is lent is lent once",
    "no-attempt-numbers-p": "no molecule is lost",
    "head-is-locked": TRAP,
    "pessimists-do-not-wait": LIVELOCK,
    "nobody-waits": LIVELOCK,
    "ghosts-in-the-list": TRAP,
    "only-optimists": LIVELOCK,
    "lends-twice": "what is lent is lent once",
    "unsaved-loans": "what is consumed is not free",
    "keeps-a-copy": "a molecule is at one node at most",
    "never-yields": TRAP,
    "always-yields": LIVELOCK,
    "takes-without-a-part": LIVELOCK,
    "forgets-gifts": "no molecule is lost",
    "accepts-twice": "what is consumed is not free",
    "unsaved-arrivals": "what is consumed is not free",
}


@pytest.mark.parametrize("name", SMALL)
def test_a_small_world_holds(name: str) -> None:
    """Nothing is used twice or lost, promises end, and reactions that are possible happen, in every order."""
    result = check(MODELS[name]())
    assert (result.verdict, result.states) == (Verdict.HOLDS, SMALL[name])


@pytest.mark.soak
@pytest.mark.parametrize("name", LARGE)
def test_a_larger_world_holds(name: str) -> None:
    """The same with three nodes, with products that react again, and with crashes at any moment."""
    result = check(MODELS[name]())
    assert (result.verdict, result.states) == (Verdict.HOLDS, LARGE[name])


@pytest.mark.soak
def test_a_mixed_ring_with_a_crash_holds() -> None:
    """An optimist and two pessimists in a ring, one of which crashes at any moment: one and a half million states."""
    result = check(paper(RING, "opp", crashes=1), max_states=2_000_000)
    assert (result.verdict, result.states) == (Verdict.HOLDS, 1_477_620)


@pytest.mark.parametrize("name", CAUGHT)
def test_a_broken_variant_is_caught(name: str) -> None:
    """Each known fault, the paper's C1 to C6 among them, is found and named."""
    result = check(BROKEN[name]())
    assert [violation.property for violation in result.violations] == [CAUGHT[name]]


def test_every_model_is_tested() -> None:
    """No model is left out of the lists above."""
    assert {*SMALL, *LARGE} == set(MODELS)
    assert set(CAUGHT) == set(BROKEN)
