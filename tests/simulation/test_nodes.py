"""Five nodes add numbers up: capture, directory, detection of inertia and link together, under faults.

The program has one rule, `replace x, y by x + y`, so one molecule is left in the end, and it is the sum. Each node puts
in its numbers, watches the numbers of others, and captures two whenever it knows of two.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from solvent.protocols.capture.moving import IDLE, MovingConfig, moving_node, recovered
from solvent.protocols.capture.vocabulary import (
    Arrived,
    Combination,
    Discover,
    Gone,
    MoleculeId,
    Products,
    React,
    Reacted,
    RuleId,
    Wake,
)
from solvent.protocols.directory import Ring, Seen, Watch, directory_node
from solvent.protocols.inertia import Inert, Resumed, Settled, detector_node
from solvent.protocols.link import Linked
from solvent.protocols.link.messages import PeerLife
from solvent.protocols.machine import NodeId
from solvent.protocols.nodes import Idle, Offer, Parts, Told, packed, unpacked, whole_node
from solvent_lab.simulator.environment import Ending, Environment
from solvent_lab.simulator.network import Faults
from solvent_lab.simulator.timed import TimedRun
from tests.soak_size import fresh_seeds

NODES = tuple(map(NodeId, range(5)))
ADD = RuleId(0)
SHAPE = "number"
NUMBERS = {node: tuple(10 * node + count for count in range(4)) for node in NODES}
TOTAL = sum(sum(numbers) for numbers in NUMBERS.values())
RING = Ring(NODES, points=8)


def number(value: int) -> Offer:
    """Offer a number."""
    return Offer(value, SHAPE, value)


def config(node: NodeId) -> MovingConfig:
    """Give a node its first numbers."""
    molecules = tuple((MoleculeId(10 * node + index), packed(number(one))) for index, one in enumerate(NUMBERS[node]))
    return MovingConfig(node, molecules, confirm=True)


def machine(node: NodeId) -> Linked[Any]:
    """Build a whole node."""
    first = config(node)
    parts = Parts(
        moving_node(first),
        directory_node(node, RING),
        # In a hurry, so that an announcement that can come too early does.
        detector_node(node, NODES, pause=1, patience=30),
        is_busy=lambda state: state.phase != IDLE,
        molecules=first.molecules,
    )
    return Linked(whole_node(parts), me=node, peers=NODES, resend_after=100, tells_all_taken=True)


def values_at(node: Any) -> list[int]:
    """Give the numbers that a node has, or will have when it comes back."""
    if node.is_up:
        molecules = node.state.inner.capture.molecules
    else:
        saved = tuple(record for record in node.saved if not isinstance(record, PeerLife))
        molecules = recovered(config(node.number), saved).molecules
    return [unpacked(text).value for text in molecules.values()]


class Adding(Environment):
    """The program of every node: which numbers it has itself, and which it sees elsewhere."""

    def __init__(self, seed: int, max_thinking_ms: float) -> None:
        self.chance = Random(seed)
        self.max_thinking_ms = max_thinking_ms
        self.own: list[dict[int, int]] = [{} for _ in NODES]
        self.view: list[dict[Any, int]] = [{} for _ in NODES]
        self.has_begun = [False for _ in NODES]
        #: Until when each program thinks: it thinks of one thing after the other.
        self.thinks_until = [0.0 for _ in NODES]
        self.is_settled = False
        self.false_alarms: list[str] = []
        self.run: TimedRun | None = None

    def answer(self, node: NodeId, question: Any, chance: Random) -> Any:
        """Add what was captured, or find two numbers, one of them here if possible."""
        match question:
            case React(_, molecules):
                total = sum(offer.value for _, offer in molecules)
                return Products((number(total),))
            case Discover():
                places = [(molecule, node) for molecule in self.own[node]]
                others = [place for place in self.view[node] if place[1] != node]
                chance.shuffle(others)
                chosen = (places + others)[:2]
                return Combination(ADD, tuple(chosen) if len(chosen) == 2 and places else ())
        raise AssertionError(question)

    def told(self, node: NodeId, outcome: Any, at: int) -> None:  # noqa: ARG002 - when does not matter
        """Keep up with what happens; when something did, look again, and then be idle."""
        own, view = self.own[node], self.view[node]
        match outcome:
            case Arrived(molecule, offer):
                own[molecule] = offer.value
            case Gone(molecule):
                own.pop(molecule, None)
            case Reacted(_, _, consumed, produced):
                for molecule in consumed:
                    own.pop(molecule, None)
                own.update((molecule, offer.value) for molecule, offer in produced)
            case Seen(_, added, removed):
                for place in removed:
                    view.pop(place, None)
                view.update((entry.place, entry.value) for entry in added)
            case Told(told):
                self._think(node, told)
            case Inert() if node == 0:
                self._judge()
            case Settled():
                self.is_settled = True
            case Resumed() if node == 0:
                self.is_settled = False

    def _think(self, node: NodeId, told: int) -> None:
        assert self.run is not None
        now = self.run.now
        until = max(self.thinks_until[node], now + self.chance.uniform(0.0, self.max_thinking_ms))
        self.thinks_until[node] = until
        wishes = (Wake(), Idle(told)) if self.has_begun[node] else (Watch(1, SHAPE), Wake(), Idle(told))
        self.has_begun[node] = True
        for wish in wishes:
            # It dies with its node: a `Watch` that a later life heard beside its own would be the second of its number.
            self.run.request(node, wish, after_ms=until - now, is_from_within=True)

    def _judge(self) -> None:
        """Inertia may be announced only when one number is left, and it is the sum."""
        assert self.run is not None
        left = [value for node in self.run.nodes for value in values_at(node)]
        if left != [TOTAL]:
            self.false_alarms.append(f"at {self.run.now} ms: {left}")

    def crashed(self, node: NodeId, at: int) -> None:  # noqa: ARG002 - when does not matter
        """Forget, as the node does."""
        self.own[node], self.view[node], self.has_begun[node], self.thinks_until[node] = {}, {}, False, 0.0

    def is_over(self) -> bool:
        """Be content when inertia has been announced to all and the faults are over."""
        assert self.run is not None
        return self.is_settled and self.run.now > self.run.faults.until_ms


CALM = Faults(min_latency_ms=1, max_latency_ms=10, until_ms=0)
ROUGH = Faults(
    min_latency_ms=0.1, max_latency_ms=3, may_reorder=True, loss=0.2, duplication=0.1, max_answer_ms=3, until_ms=1_000
)
CRASHES = Faults(
    min_latency_ms=0.1,
    max_latency_ms=3,
    may_reorder=True,
    loss=0.2,
    duplication=0.1,
    partitions_every_ms=500,
    max_partition_ms=100,
    crashes_every_ms=100,
    max_downtime_ms=100,
    until_ms=1_000,
)


def check_run(seed: int, faults: Faults) -> TimedRun:
    """Run until inertia is announced in peace, and see that it was never announced too early."""
    environment = Adding(seed, max_thinking_ms=100 if seed % 2 else 0)
    run = TimedRun([machine(node) for node in NODES], environment, seed=seed, faults=faults)
    environment.run = run
    ending = run.run(max_ms=60_000)
    assert environment.false_alarms == []
    assert ending is not Ending.LIMIT
    assert environment.is_settled
    assert [value for node in run.nodes for value in values_at(node)] == [TOTAL]
    return run


@pytest.mark.parametrize("seed", range(5))
def test_numbers_are_added_up_in_peace(seed: int) -> None:
    """One number is left, it is the sum, and everybody hears that all is inert."""
    check_run(seed, CALM)


@pytest.mark.parametrize("seed", range(10))
def test_numbers_are_added_up_over_a_bad_network(seed: int) -> None:
    """Loss, doubling, reordering and slow answers change nothing."""
    check_run(seed, ROUGH)


# In run 1181 a node crashes before its program watches, and a slot after that.
@pytest.mark.parametrize("seed", [*range(20), 1181])
def test_numbers_are_added_up_although_nodes_crash(seed: int) -> None:
    """No number is lost or used twice, and inertia is announced when all have come back."""
    check_run(seed, CRASHES)


@pytest.mark.soak
@pytest.mark.parametrize("seed", fresh_seeds(200))
def test_many_seeds(seed: int) -> None:
    """The same, many times."""
    check_run(seed, CRASHES if seed % 4 else ROUGH)
