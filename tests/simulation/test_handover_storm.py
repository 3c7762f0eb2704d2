"""A space in bad weather, over links, from seeds: deaths, cuts, wrong suspicions, and processes that come and go."""

from __future__ import annotations

import pytest

from tests.simulation.handover_storm import storm
from tests.soak_size import fresh_seeds


@pytest.mark.parametrize("seed", range(6))
def test_a_space_comes_through_a_storm(seed: int) -> None:
    """One space, nothing held twice, nothing released lost, and in the end all that live are served."""
    weather = storm(seed, 8, during_ms=6_000)
    assert weather.granted >= 10
    assert weather.entered >= 4
    assert weather.left >= 1
    assert weather.dropped >= 1
    assert weather.repairs >= 1


@pytest.mark.soak
@pytest.mark.parametrize("seed", fresh_seeds(40))
def test_a_space_comes_through_many_storms(seed: int) -> None:
    """The same for longer, with more processes, unless too few are left to be sure of the others, or nobody is."""
    weather = storm(seed, 6 + seed % 15)
    assert weather.granted > 10 or weather.is_stuck() or weather.is_gone()
