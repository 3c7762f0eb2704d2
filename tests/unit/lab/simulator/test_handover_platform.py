"""Platforms: ways between hosts, and the same for SimGrid."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from solvent_lab.simulator.handover_platform import PLATFORMS, xml_of

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


@pytest.mark.parametrize("name", PLATFORMS)
@pytest.mark.parametrize("hosts", [1, 4, 51])
def test_the_file_for_simgrid_says_the_same(name: str, hosts: int) -> None:
    """All hosts are in it once, and latencies add up to the same."""
    platform = PLATFORMS[name]
    zone = ET.fromstring(xml_of(platform, hosts).split("\n", 2)[2]).find("zone")  # noqa: S314 - our own
    assert zone is not None
    clusters = zone.findall("cluster")
    assert sorted(int(one) for cluster in clusters for one in cluster.attrib["radical"].split(",")) == [*range(hosts)]
    assert len(clusters) == min(platform.sites, hosts)
    within = 2 * float(clusters[0].attrib["lat"].removesuffix("s"))
    assert within == pytest.approx(platform.latency_within)
    between = 2 * float(zone.findall("link")[0].attrib["latency"].removesuffix("s"))
    assert within + between == pytest.approx(platform.latency_between)
    assert len(zone.findall("zoneRoute")) == len(clusters) * (len(clusters) - 1) // 2
