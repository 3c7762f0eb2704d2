"""Small worlds of the token, every order of events; the counts are pinned so that a change of the protocol shows."""

from __future__ import annotations

import pytest

from solvent.checker.explore import Verdict, check
from solvent.checker.models.token import BROKEN, MODELS

COUNTS = {
    "ring-2": 22,
    "ring-3": 101,
    "binary-2": 49,
    "binary-3": 306,
    "binary-4": 1139,
    "inverse-4": 1491,
    "no-clean-up-4": 1557,
    "directed-4": 2817,
    "one-search-4": 1203,
}


@pytest.mark.parametrize("name", MODELS)
def test_a_small_ring_holds(name: str) -> None:
    """There is one token at every moment, and whoever wants it gets it, in every order."""
    result = check(MODELS[name]())
    assert (result.verdict, result.states) == (Verdict.HOLDS, COUNTS[name])


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_ring_is_caught(name: str) -> None:
    """Two tokens, or none, are found at once."""
    result = check(BROKEN[name]())
    assert [violation.property for violation in result.violations] == ["there is one token"]
