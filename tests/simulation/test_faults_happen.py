"""Every kind of fault really happens, is bounded as said, stops in time, and comes from the seed alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from solvent.protocols.machine import (
    Effects,
    Event,
    Message,
    NodeId,
    Received,
    Save,
    Send,
    SetTimer,
    TimerFired,
)
from solvent_lab.simulator.environment import Ending, Environment
from solvent_lab.simulator.history import Crashed, Healed, Parted, Restarted
from solvent_lab.simulator.network import Faults
from solvent_lab.simulator.timed import TimedRun
from tests.simulation.machines import Sender

if TYPE_CHECKING:
    from collections.abc import Iterator

NODES = 5
KINDS = {
    "latency": Faults(min_latency_ms=2.0, max_latency_ms=30.0),
    "bandwidth": Faults(bandwidth_bytes_per_ms=12.0),
    "reordering": Faults(min_latency_ms=0.0, max_latency_ms=30.0, may_reorder=True),
    "loss": Faults(loss=0.2),
    "duplication": Faults(duplication=0.2),
    "partitions": Faults(partitions_every_ms=50.0, max_partition_ms=40.0, until_ms=1_000.0),
    "kept partitions": Faults(partitions_every_ms=50.0, max_partition_ms=40.0, partitions_lose=False, until_ms=1_000.0),
    "crashes": Faults(crashes_every_ms=60.0, max_downtime_ms=40.0, until_ms=1_000.0),
    "everything": Faults(
        min_latency_ms=1.0,
        max_latency_ms=30.0,
        bandwidth_bytes_per_ms=100.0,
        may_reorder=True,
        loss=0.1,
        duplication=0.1,
        partitions_every_ms=100.0,
        max_partition_ms=50.0,
        crashes_every_ms=100.0,
        max_downtime_ms=50.0,
        until_ms=1_000.0,
    ),
}


def senders(faults: Faults, seed: int = 1, **options: Any) -> TimedRun:
    """Run nodes that send each other parcels for a while."""
    machine = Sender(NODES, 100, size=2, load=b"x" * 50, every=10)
    run = TimedRun([machine] * NODES, Environment(), seed=seed, faults=faults, max_history=None, **options)
    assert run.run(max_ms=5_000.0) is Ending.QUIET
    return run


def kept(run: TimedRun) -> Iterator[tuple[NodeId, NodeId, int, int]]:
    """Go through what arrived at nodes: recipient, sender, number, time."""
    for node in run.nodes:
        for sender, number, at in node.state[1]:
            yield node.number, sender, number, at


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_is_the_run(kind: str) -> None:
    """The same seed gives the same history to the last event, and another seed another one."""
    one, same, other = senders(KINDS[kind]), senders(KINDS[kind]), senders(KINDS[kind], seed=2)
    assert one.history == same.history
    assert (one.now, one.counts) == (same.now, same.counts)
    assert one.history != other.history


def test_latency_spreads_arrivals() -> None:
    """Messages take between the least and the greatest latency, and not all the same."""
    run = senders(KINDS["latency"])
    late = {at % 10 for _, _, _, at in kept(run)}
    assert len(late) > 5
    assert run.counts.received == run.counts.sent
    assert run.now <= 1_010.0 + 30.0


def test_bandwidth_delays() -> None:
    """A batch that takes longer to send than the time between batches piles up."""
    run = senders(KINDS["bandwidth"])
    free = senders(Faults())
    assert run.counts.received == free.counts.received
    assert run.now > free.now * 1.2


def test_reordering_overtakes() -> None:
    """Some parcel overtakes another of its channel, and all arrive."""
    run = senders(KINDS["reordering"])
    channels: dict[tuple[NodeId, NodeId], list[int]] = {}
    for to, sender, number, _ in kept(run):
        channels.setdefault((sender, to), []).append(number)
    assert any(numbers != sorted(numbers) for numbers in channels.values())
    assert run.counts.received == run.counts.sent


def test_loss_loses_about_so_many() -> None:
    """One in five messages between different nodes is lost; the others arrive once."""
    run = senders(KINDS["loss"])
    assert run.counts.received + run.counts.lost == run.counts.sent
    assert 0.1 * run.counts.sent < run.counts.lost < 0.25 * run.counts.sent


def test_duplication_doubles_about_so_many() -> None:
    """One in five messages between different nodes arrives twice."""
    run = senders(KINDS["duplication"])
    assert run.counts.received == run.counts.sent + run.counts.duplicated
    assert 0.1 * run.counts.sent < run.counts.duplicated < 0.25 * run.counts.sent


def test_partitions_come_and_heal() -> None:
    """The network parts several times, heals as often and in time, and loses what crosses meanwhile."""
    run = senders(KINDS["partitions"])
    parted = [one.at for one in run.history if isinstance(one.what, Parted)]
    healed = [one.at for one in run.history if isinstance(one.what, Healed)]
    assert len(parted) == len(healed) == run.counts.partitions > 5
    assert all(0.0 <= end - begin <= 40.0 for begin, end in zip(parted, healed, strict=True))
    assert 0 < run.counts.lost < run.counts.sent / 2
    assert healed[-1] <= 1_000.0


def test_partitions_that_keep_lose_nothing() -> None:
    """Every parcel arrives in order, only later."""
    run = senders(KINDS["kept partitions"])
    assert run.counts.partitions > 5
    assert (run.counts.lost, run.counts.received) == (0, run.counts.sent)
    last: dict[tuple[NodeId, NodeId], int] = {}
    for to, sender, number, _ in kept(run):
        assert last.get((sender, to), -1) < number
        last[sender, to] = number


def test_crashes_come_and_every_node_comes_back() -> None:
    """Nodes crash until faults stop, come back in time, and are all up in the end."""
    run = senders(KINDS["crashes"])
    down: dict[Any, float] = {}
    for one in run.history:
        if isinstance(one.what, Crashed):
            down[one.node] = one.at
        elif isinstance(one.what, Restarted):
            assert 1.0 <= one.at - down.pop(one.node) <= 40.0
    assert run.counts.crashes == run.counts.restarts > 5
    assert not down
    assert sum(node.life for node in run.nodes) == run.counts.crashes
    assert all(node.is_up for node in run.nodes)


# --- A machine that copes.


class News(Message, frozen=True, gc=False):
    """Something everybody should know."""

    number: int


class Thanks(Message, frozen=True, gc=False):
    """The news has arrived, and is saved."""

    number: int


class Herald:
    """Tells everybody its number again and again until all have thanked; saves what it hears and who has thanked."""

    def __init__(self, me: int, nodes: int) -> None:
        self.others = [NodeId(node) for node in range(nodes) if node != me]
        self.news = News(me)

    def start(self, saved: tuple[Any, ...] = (), _life: int = 0) -> tuple[frozenset[Any], Effects]:
        """Begin, or go on."""
        return frozenset(saved), (SetTimer("again", 1),)

    def step(self, state: frozenset[Any], event: Event) -> tuple[frozenset[Any], Effects]:
        """Tell, thank and remember."""
        match event:
            case TimerFired():
                left = [to for to in self.others if ("thanks", to) not in state]
                tell = tuple(Send(to, self.news) for to in left)
                return state, (*tell, SetTimer("again", 20)) if left else ()
            case Received(sender, News(number)):
                record = ("news", number)
                return state | {record}, (*self.saving(state, record), Send(sender, Thanks(number)))
            case Received(sender, Thanks()):
                record = ("thanks", sender)
                return state | {record}, self.saving(state, record)
            case _:
                return state, ()

    @staticmethod
    def saving(state: frozenset[Any], record: Any) -> Effects:
        """Save what is new."""
        return () if record in state else (Save(record),)


def whoever_was_thanked_has_told(world: Any) -> str | None:
    """Nobody thanks for what it will not know after a crash."""
    for node in world.nodes:
        for kind, peer in node.state or ():
            if kind == "thanks" and ("news", node.number) not in world.nodes[peer].saved:
                return f"node {peer} has forgotten the news of node {node.number}"
    return None


@pytest.mark.parametrize("seed", range(10))
def test_a_machine_that_copes_gets_there(seed: int) -> None:
    """After all faults everybody knows all news, whatever was lost, doubled, parted and crashed before."""
    machines = [Herald(node, NODES) for node in range(NODES)]
    invariants = [whoever_was_thanked_has_told]
    run = TimedRun(machines, Environment(), seed=seed, faults=KINDS["everything"], invariants=invariants)
    assert run.run(max_ms=5_000.0) is Ending.QUIET
    assert all(len(node.state) == 2 * (NODES - 1) for node in run.nodes)


class Careless(Herald):
    """Thanks before it has saved: what must survive a crash is said too early."""

    def step(self, state: frozenset[Any], event: Event) -> tuple[frozenset[Any], Effects]:
        """Turn the order round."""
        state, effects = super().step(state, event)
        return state, effects[::-1]


def test_saying_before_saving_is_found() -> None:
    """Crashes within a step find a machine that says something before it is safe, and the seed finds it again."""
    from solvent_lab.simulator.world import InvariantBroken

    def errors(seed: int) -> str:
        faults = Faults(max_latency_ms=5.0, crashes_every_ms=5.0, max_downtime_ms=30.0, until_ms=200.0)
        machines = [Careless(node, 3) for node in range(3)]
        invariants = [whoever_was_thanked_has_told]
        run = TimedRun(machines, Environment(), seed=seed, faults=faults, invariants=invariants)
        try:
            run.run(max_ms=1_000.0)
        except InvariantBroken as error:
            return error.show()
        return ""

    found = {seed: shown for seed in range(60) if (shown := errors(seed))}
    assert found
    seed, shown = found.popitem()
    assert errors(seed) == shown
    assert f"seed={seed}" in shown
    assert "crashes" in shown
