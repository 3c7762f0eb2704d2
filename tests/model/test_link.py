"""Small worlds of the link, exhausted."""

from __future__ import annotations

import pytest

from solvent_lab.broken.link import BROKEN
from solvent_lab.checker import Verdict, check
from solvent_lab.models.link import MODELS

STATES = {
    "unreliable": 19_694,
    "gathering": 8_197,
    "crash": 16_851,
    "late": 13_811,
    "two-crashes": 5_809,
    "three": 1_710,
}
CAUGHT = {
    "takes-whatever-comes": "no machine fails",
    "acknowledges-before-it-is-safe": "what was acknowledged is saved",
    "no-lives": "no machine fails",
    "only-the-senders-life": "each side counts as the other",
    "announces-itself-once": "a goal can always be reached",
}


@pytest.mark.parametrize("name", MODELS)
def test_every_order_of_events_keeps_the_links_promises(name: str) -> None:
    """Whatever gets lost, doubled or late and whoever crashes, words are heard once, in order, or told as lost."""
    result = check(MODELS[name]())
    assert (result.verdict, result.states) == (Verdict.HOLDS, STATES[name])


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_link_is_caught(name: str) -> None:
    """A link with one fault breaks a promise in a small world."""
    result = check(BROKEN[name]())
    assert [violation.property for violation in result.violations] == [CAUGHT[name]]
