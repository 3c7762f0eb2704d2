"""Faults, how long messages take, which are lost or doubled, when nodes crash and networks part."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.errors import Misuse
from solvent.protocols.machine import NodeId
from solvent_lab.simulator.network import FOREVER, Faults, Network, Outages


@pytest.mark.parametrize(
    "wrong",
    [
        {"loss": 1.1},
        {"loss": float("nan")},
        {"duplication": -0.1},
        {"min_latency_ms": 5.0},
        {"max_latency_ms": FOREVER},
        {"min_latency_ms": -1.0},
        {"min_answer_ms": 1.0},
        {"max_downtime_ms": 0.5},
        {"bandwidth_bytes_per_ms": 0.0},
        {"crashes_every_ms": 0.0},
        {"max_crashes": -1},
        {"partitions_every_ms": -1.0},
        {"max_partition_ms": FOREVER},
    ],
    ids=str,
)
def test_impossible_faults_are_refused(wrong: dict[str, Any]) -> None:
    """What cannot be is said to be so, by its name."""
    with pytest.raises(Misuse) as caught:
        Faults(**wrong)
    assert caught.value.code == "P301"
    assert next(iter(wrong)).removeprefix("min_").removeprefix("max_") in caught.value.message


A, B, C = NodeId(0), NodeId(1), NodeId(2)


def network(seed: int = 1, **faults: float) -> Network:
    """Make a network with faults."""
    return Network(Faults(**faults), Random(seed))


@given(seed=st.integers(), times=st.lists(st.floats(0, 50), min_size=1, max_size=30))
def test_a_channel_keeps_its_order(seed: int, times: list[float]) -> None:
    """Unless the network may reorder, nothing arrives before what was sent earlier, and copies come behind."""
    ordered = network(seed, min_latency_ms=0.0, max_latency_ms=20.0, duplication=0.3)
    arrivals = [arrival for time in sorted(times) for arrival in ordered.arrivals(A, B, "x", time)]
    assert arrivals == sorted(arrivals)


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


def outages(seed: int = 1, **faults: float) -> Outages:
    """Make outages of some faults."""
    return Outages(Faults(**faults), Random(seed))  # type: ignore[arg-type]


@given(nodes=st.integers(2, 9), seed=st.integers())
def test_a_partition_has_two_sides(nodes: int, seed: int) -> None:
    """On neither side is nobody."""
    assert 0 < len(set(outages(seed).one_side(nodes))) < nodes
