"""How long messages take, and which are lost or doubled."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from solvent.protocols.machine import NodeId
from solvent_lab.simulator.faults import Faults
from solvent_lab.simulator.network import Network, encoded_size
from tests.simulation.machines import Parcel

A, B, C = NodeId(0), NodeId(1), NodeId(2)


def network(seed: int = 1, **faults: float) -> Network:
    """Give a network with faults."""
    return Network(Faults(**faults), Random(seed))


def test_a_message_takes_its_latency() -> None:
    """Without a spread the latency is exact."""
    assert network(min_latency_ms=7.0, max_latency_ms=7.0).arrivals(A, B, "x", 100.0) == (107.0,)


@given(seed=st.integers(), times=st.lists(st.floats(0, 50), min_size=1, max_size=30))
def test_latency_is_within_its_bounds(seed: int, times: list[float]) -> None:
    """Every latency is between the least and the greatest, unless a message waits for the one before it."""
    reordering = network(seed, min_latency_ms=3.0, max_latency_ms=20.0, may_reorder=True)
    for time in sorted(times):
        (arrives_at,) = reordering.arrivals(A, B, "x", time)
        assert 3.0 <= arrives_at - time <= 20.0 + 1e-9


@given(seed=st.integers(), times=st.lists(st.floats(0, 50), min_size=1, max_size=30))
def test_a_channel_keeps_its_order(seed: int, times: list[float]) -> None:
    """Unless the network may reorder, nothing arrives before what was sent earlier, and copies come behind."""
    ordered = network(seed, min_latency_ms=0.0, max_latency_ms=20.0, duplication=0.3)
    arrivals = [arrival for time in sorted(times) for arrival in ordered.arrivals(A, B, "x", time)]
    assert arrivals == sorted(arrivals)


def test_reordering_happens() -> None:
    """A network that may reorder does so."""
    reordering = network(min_latency_ms=0.0, max_latency_ms=20.0, may_reorder=True)
    arrivals = [reordering.arrivals(A, B, "x", float(time))[0] for time in range(50)]
    assert arrivals != sorted(arrivals)


def test_loss_is_as_frequent_as_said() -> None:
    """About so many messages are lost, and those to oneself never."""
    lossy = network(loss=0.2)
    lost = sum(not lossy.arrivals(A, B, "x", 0.0) for _ in range(2_000))
    assert 300 < lost < 500
    assert all(lossy.arrivals(A, A, "x", 0.0) for _ in range(100))


def test_duplication_is_as_frequent_as_said() -> None:
    """About so many messages arrive twice, and none more often."""
    doubling = network(duplication=0.2)
    counts = [len(doubling.arrivals(A, B, "x", 0.0)) for _ in range(2_000)]
    assert set(counts) == {1, 2}
    assert 300 < counts.count(2) < 500


def test_faults_stop_in_time() -> None:
    """Nothing is lost or doubled from the moment on at which faults stop."""
    peaceful = network(loss=0.5, duplication=0.5, until_ms=100.0)
    assert all(len(peaceful.arrivals(A, B, "x", 100.0)) == 1 for _ in range(200))


def test_bandwidth_holds_up_what_is_behind() -> None:
    """A sender's messages leave one after the other, to whomever they go; another sender is not concerned."""
    narrow = Network(Faults(bandwidth_bytes_per_ms=10.0), Random(1), size=len)
    assert narrow.arrivals(A, B, "x" * 100, 0.0) == (11.0,)
    assert narrow.arrivals(A, C, "x" * 50, 0.0) == (16.0,)
    assert narrow.arrivals(C, A, "x" * 50, 0.0) == (6.0,)
    assert narrow.arrivals(A, B, "x" * 10, 100.0) == (102.0,)


def test_a_partition_divides_two_sides_until_it_heals() -> None:
    """Nodes of one side hear each other, those of the other do not, and in the end all do."""
    parted = network()
    parted.part([A, C], 10.0)
    assert parted.is_parted(A, B, 9.9)
    assert parted.is_parted(B, C, 0.0)
    assert not parted.is_parted(A, C, 0.0)
    assert not parted.is_parted(A, B, 10.0)


def test_size_is_that_of_the_encoded_message() -> None:
    """A message is as large as its encoding; larger loads are larger messages."""
    assert 100 < encoded_size(Parcel(1, b"x" * 100)) < 140
    assert encoded_size({1: Random}) > 0
