"""Platforms: ways between hosts."""

from __future__ import annotations

import pytest

from solvent_lab.simulator.handover_platform import PLATFORMS

GRID = PLATFORMS["grid5000"]


def test_hosts_of_one_site_are_near() -> None:
    """Within a site a way has the two hosts' links, between sites also those of the sites, with more latency."""
    near, far = GRID.route(0, 9), GRID.route(0, 1)
    assert (len(near.links), len(far.links)) == (2, 4)
    assert near.latency < far.latency
    assert (near.links[0], near.links[-1] % 2) == (far.links[0], 1)
    assert GRID.capacity(far.links[1]) == 10 * GRID.capacity(far.links[0])


def test_ways_back_take_other_links() -> None:
    """What is sent does not hinder what is received."""
    assert not set(GRID.route(3, 7).links) & set(GRID.route(7, 3).links)


def test_data_takes_as_long_as_the_models_bandwidth_says() -> None:
    """50 MiB over one gigabit a second, of which the model gives 92 %."""
    assert GRID.seconds_for(50 << 20) == pytest.approx(0.4559, abs=1e-4)
