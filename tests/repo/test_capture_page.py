"""The figures and names on the page about capture are those of the models and of the simulation."""

from __future__ import annotations

from statistics import mean

import pytest

from solvent_lab.broken.capture import BROKEN
from solvent_lab.models.capture import MODELS
from solvent_lab.simulator import capture
from solvent_lab.simulator.capture import NearWorld, Setup, World, simulate
from tests.model import pinned
from tests.repo.project import ROOT

CAUGHT, COUNTED = pinned.CAUGHT["capture"], pinned.STATES["capture"] | pinned.STATES_SOAK["capture"]
PAGE = (ROOT / "docs" / "explanation" / "capture.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MODELS)
def test_the_page_says_how_many_states_a_model_has(name: str) -> None:
    """The table of models names each with what it is and its states, as other tests pin them."""
    assert f"| `{name}` | {MODELS[name]().title} | {COUNTED[name]:,} |" in PAGE


@pytest.mark.parametrize("name", BROKEN)
def test_the_page_says_how_a_broken_model_is_caught(name: str) -> None:
    """Each broken model is on the page, with what the checker says of it."""
    assert f"`{name}`: {CAUGHT[name]}" in PAGE


@pytest.mark.parametrize(
    "protocol,discovery,words",
    [
        ("adaptive", World, "the paper's, any molecules"),
        ("adaptive", NearWorld, "the paper's, near ones first"),
        ("better", NearWorld, "by moving, near ones first"),
    ],
)
def test_the_page_says_what_discovery_is_worth(
    protocol: str, discovery: type[World], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps and messages of both protocols with both ways of discovery are those of the table."""
    monkeypatch.setattr(capture, "NearWorld" if protocol == "better" else "World", discovery)
    runs = [simulate(Setup(nodes=50, molecules=(3_000,), protocol=protocol), seed) for seed in range(3)]
    assert all(run.is_finished for run in runs)
    row = f"| {words} | {mean(run.steps for run in runs):.0f} | {mean(run.messages for run in runs):,.0f} |"
    assert row in PAGE, row
