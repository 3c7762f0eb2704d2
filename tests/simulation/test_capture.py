"""Capture under all faults at once: nothing lost, nothing twice, and it ends."""

from __future__ import annotations

import pytest

from tests.simulation.capture_storm import KINDS, storm


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_a_storm_does_no_harm(kind: str, seed: int) -> None:
    """Whatever messages and nodes suffer, each molecule is used once, and the sum comes out."""
    storm(seed, kind)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_thousand_storms_do_no_harm() -> None:
    """A million simulated steps with faults, over a thousand seeds, without a violation."""
    events = crashes = 0
    for seed in range(1_000):
        counts = storm(seed, KINDS[seed % len(KINDS)]).counts
        events += counts.events
        crashes += counts.crashes
    print(f"{events:,} steps, {crashes:,} crashes")
    assert events >= 1_000_000
