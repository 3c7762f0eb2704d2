"""Links under loss, duplication, reordering, partitions and crashes, from fixed seeds."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from solvent.protocols.link import Linked
from solvent.protocols.machine import NodeId
from solvent_lab.models.talker import TALK_INVARIANTS, Heard, Say, Talker, everything_is_heard
from solvent_lab.simulator.environment import Ending, Environment
from solvent_lab.simulator.network import Faults
from solvent_lab.simulator.timed import TimedRun
from tests.soak_size import fresh_seeds

STORM = Faults(
    min_latency_ms=1,
    max_latency_ms=40,
    may_reorder=True,
    loss=0.2,
    duplication=0.2,
    partitions_every_ms=700,
    max_partition_ms=600,
    crashes_every_ms=500,
    max_downtime_ms=400,
    until_ms=5_000,
)
CALM = Faults(min_latency_ms=1, max_latency_ms=40, may_reorder=True)


def _run(seed: int, faults: Faults, *, nodes_count: int = 4, words_count: int = 200) -> TimedRun:
    nodes = tuple(NodeId(number) for number in range(nodes_count))
    machines: list[Any] = [Linked(Talker(echoes=True), me=me, peers=nodes, tells_all_taken=True) for me in nodes]
    run = TimedRun(machines, Environment(), seed=seed, faults=faults, invariants=TALK_INVARIANTS, check_every=7)
    chance = Random(seed)
    for _ in range(words_count):
        say = Say(NodeId(chance.randrange(nodes_count)), is_cheap=chance.random() < 0.2)
        run.request(NodeId(chance.randrange(nodes_count)), say, after_ms=chance.uniform(0, 6_000))
    return run


@pytest.mark.parametrize("seed", range(6))
def test_words_come_through_every_fault(seed: int) -> None:
    """After a storm everything that was said since the last restart is heard, and the links fall silent."""
    run = _run(seed, STORM)
    assert run.run(max_ms=60_000) is Ending.QUIET
    assert run.counts.crashes > 0
    assert everything_is_heard(run.world)


def test_nothing_is_sent_again_where_nothing_is_lost() -> None:
    """Messages that overtake each other are put in order and never sent again."""
    run = _run(1, CALM)
    assert run.run(max_ms=60_000) is Ending.QUIET
    heard = [record for node in run.nodes for record in node.saved if isinstance(record, Heard)]
    numbered = sum(line.next for state in run.world.states for line in state.lines.values())
    own = sum(record.speaker == number for number, node in enumerate(run.nodes) for record in node.saved)
    assert len(heard) == numbered + own
    # Cheap words and acknowledgements are all that comes on top.
    assert run.counts.sent < 2.2 * numbered


@pytest.mark.soak
def test_words_come_through_every_fault_for_many_seeds() -> None:
    """The same for hundreds of seeds."""
    for seed in fresh_seeds(300):
        run = _run(seed, STORM)
        assert run.run(max_ms=60_000) is Ending.QUIET, seed
        assert everything_is_heard(run.world), seed
