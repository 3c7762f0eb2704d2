"""The detection of inertia in small worlds, exhausted; and broken ones, which must be caught."""

from __future__ import annotations

import pytest

from solvent_lab.broken.inertia import BROKEN
from solvent_lab.checker import Verdict, check
from solvent_lab.models.inertia import MODELS

STATES = {
    "two nodes": 20_063,
    "two nodes, bad probes": 28_291,
    "three nodes": 43_908,
    "three nodes, bad probes": 22_458,
    "four nodes": 6_225,
    "a user": 21_180,
    "a crash": 14_737,
    "the initiator crashes": 12_678,
    "three nodes, a crash": 37_540,
}


@pytest.mark.parametrize("name", MODELS)
def test_what_is_announced_is_true_and_inertia_is_announced(name: str) -> None:
    """Whatever the order of events: nothing false is announced, and the announcement can always be reached."""
    result = check(MODELS[name]())
    assert (result.verdict, result.states, result.violations) == (Verdict.HOLDS, STATES[name], ())


@pytest.mark.parametrize("name", BROKEN)
def test_broken_detection_is_caught(name: str) -> None:
    """Each part of the scheme is needed: without it something false is announced."""
    result = check(BROKEN[name]())
    assert [violation.property for violation in result.violations] == ["what is announced is true"]
