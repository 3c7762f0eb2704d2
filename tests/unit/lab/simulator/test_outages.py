"""When nodes crash and networks part."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from solvent.protocols.machine import NodeId
from solvent_lab.simulator.faults import Faults
from solvent_lab.simulator.outages import Outages
from solvent_lab.simulator.world import Node


def outages(seed: int = 1, **faults: float) -> Outages:
    """Give outages of some faults."""
    return Outages(Faults(**faults), Random(seed))  # type: ignore[arg-type]


def test_without_faults_there_are_none() -> None:
    """By default nothing crashes and nothing parts."""
    assert outages().next_crash(0.0) is None
    assert outages().next_partition(0.0) is None


def test_crashes_come_about_so_often() -> None:
    """The mean time between crashes is the one said."""
    some = outages(crashes_every_ms=100.0)
    waits = [some.next_crash(50.0) or 0.0 for _ in range(1_000)]
    assert 90.0 < sum(waits) / len(waits) - 50.0 < 110.0


def test_crashes_stop() -> None:
    """There are no more than so many crashes, and none after faults stop."""
    few = outages(crashes_every_ms=10.0, max_crashes=2)
    nodes = [Node(NodeId(number)) for number in range(3)]
    assert [few.next_crash(0.0) is None, few.victim(nodes) is None] == [False, False]
    few.victim(nodes)
    assert few.next_crash(0.0) is None
    assert outages(crashes_every_ms=10.0, until_ms=100.0).next_crash(100.0) is None


def test_only_nodes_that_are_up_crash() -> None:
    """The victim is up; where none is, there is no victim."""
    some = outages(crashes_every_ms=10.0)
    nodes = [Node(NodeId(number)) for number in range(3)]
    assert {some.victim(nodes) for _ in range(100)} == {0, 1, 2}
    nodes[0].is_up = nodes[2].is_up = False
    assert {some.victim(nodes) for _ in range(20)} == {1}
    nodes[1].is_up = False
    assert some.victim(nodes) is None


@given(nodes=st.integers(2, 9), seed=st.integers())
def test_a_partition_has_two_sides(nodes: int, seed: int) -> None:
    """On neither side is nobody."""
    assert 0 < len(set(outages(seed).one_side(nodes))) < nodes


@given(seed=st.integers(), now=st.floats(0, 99))
def test_partitions_and_downtimes_are_bounded(seed: int, now: float) -> None:
    """A partition heals in time, at the latest when faults stop; a node comes back in time."""
    some = outages(seed, max_partition_ms=30.0, until_ms=100.0, min_downtime_ms=5.0, max_downtime_ms=6.0)
    assert now <= some.healing(now) <= min(now + 30.0, 100.0)
    assert 5.0 <= some.downtime() <= 6.0


def test_chance_decides_how_a_crash_strikes() -> None:
    """Crashes strike within a step or between steps, and take what was sent or leave it."""
    some = outages()
    assert {some.strikes_within_a_step() for _ in range(30)} == {False, True}
    assert {some.takes_what_was_sent() for _ in range(30)} == {False, True}
