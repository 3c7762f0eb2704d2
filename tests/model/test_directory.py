"""The directory in small worlds, exhausted; and broken ones, which must be caught."""

from __future__ import annotations

import pytest

from solvent_lab.broken.directory import BROKEN
from solvent_lab.checker import Verdict, check
from solvent_lab.models.directory import MODELS

STATES = {
    "coming and going": 2_895,
    "moving": 2_837,
    "moving, a crash": 476,
    "within bounds": 36,
    "a crash": 406,
    "two crashes": 110,
    "three nodes, a crash": 5_420,
}


@pytest.mark.parametrize("name", MODELS)
def test_at_rest_every_view_is_true(name: str) -> None:
    """Whatever the order of events: slots list, and watchers see, exactly what there is once all is at rest."""
    result = check(MODELS[name]())
    assert (result.verdict, result.states, result.violations) == (Verdict.HOLDS, STATES[name], ())


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_directory_is_caught(name: str) -> None:
    """Each thing that is said again after a crash must be, and a withdrawal is its holder's alone."""
    result = check(BROKEN[name]())
    assert [violation.property for violation in result.violations] == ["at rest the directory shows what there is"]
