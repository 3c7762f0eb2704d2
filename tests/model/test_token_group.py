"""Small worlds of a group around a token; the counts are pinned so that a change of the protocol shows."""

from __future__ import annotations

import pytest

from solvent_lab.broken.token_group import BROKEN
from solvent_lab.checker.explore import Verdict, check
from solvent_lab.models.token_group import LARGE, MODELS

COUNTS = {
    "group-2": 205,
    "group-3": 1_687,
    "group-4": 1_300,
    "search-3": 2_269,
    "crash-2": 5_289,
    "join-3": 3_229,
    "leave-3": 107,
    "leave-all": 28,
    "hasty-2": 20_435,
}
COUNTS_LONG = {
    "crash-3": 96_522,
    "order-3": 79_554,
    "crash-4": 34_133,
    "hasty-3": 88_798,
}
CAUGHT = {
    "silence-is-assent": "what is safe is never taken back",
    "takes-own-log": "what is safe is never taken back",
    "delivers-too-early": "node 1 hears (1, 0) at place 1",
    "forgets-promises": "line 0 is safe, and there are two of it",
}
CAUGHT_LATE = {
    "heeds-old-tokens": "what is safe is never taken back",
}


def test_every_model_has_its_count() -> None:
    """No model and no broken variant is left out."""
    assert COUNTS.keys() | COUNTS_LONG.keys() == MODELS.keys()
    assert CAUGHT.keys() | CAUGHT_LATE.keys() == BROKEN.keys()


@pytest.mark.parametrize("name", COUNTS)
def test_a_group_keeps_its_promises(name: str) -> None:
    """Everything holds in every order of events."""
    result = check(MODELS[name]())
    assert (result.verdict, result.states) == (Verdict.HOLDS, COUNTS[name]), result.violations


@pytest.mark.soak
@pytest.mark.parametrize("name", COUNTS_LONG)
def test_a_larger_group_keeps_its_promises(name: str) -> None:
    """Everything holds in every order of events."""
    result = check(MODELS[name]())
    assert (result.verdict, result.states) == (Verdict.HOLDS, COUNTS_LONG[name]), result.violations


@pytest.mark.soak
@pytest.mark.parametrize("name", LARGE)
def test_worlds_for_those_who_can_wait(name: str) -> None:
    """Everything holds in every order of events."""
    assert check(LARGE[name]()).verdict is Verdict.HOLDS


@pytest.mark.parametrize("name", CAUGHT)
def test_a_broken_group_is_caught(name: str) -> None:
    """The checker finds the fault that was put in."""
    _must_be_caught(name, CAUGHT[name])


@pytest.mark.soak
@pytest.mark.parametrize("name", CAUGHT_LATE)
def test_a_group_broken_in_rarer_ways_is_caught(name: str) -> None:
    """The checker finds the fault that was put in."""
    _must_be_caught(name, CAUGHT_LATE[name])


def _must_be_caught(name: str, why: str) -> None:
    result = check(BROKEN[name]())
    assert result.verdict is Verdict.VIOLATED
    assert why in result.violations[0].message
