"""Capture in bad weather: messages lost, doubled and late, nodes that crash and come back, networks torn apart.

Five nodes add a hundred numbers up, two at a time, so that one molecule is left in the end and it is the sum. Whatever
happens meanwhile, no molecule may be lost, copied or used twice; and when the weather clears, the run must end. To see
one run again: `python -m tests.simulation.capture_storm SEED KIND`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from solvent.protocols.capture import invariants as moving_invariants
from solvent.protocols.capture.invariants import Scene
from solvent.protocols.capture.moving import Kept, MovingConfig, moving_node
from solvent.protocols.capture.moving import recovered as moving_recovered
from solvent.protocols.capture.vocabulary import Combination, MoleculeId, Products, React, RuleId
from solvent.protocols.link import Linked
from solvent.protocols.link.messages import PeerLife
from solvent.protocols.machine import NodeId
from solvent_lab.papers.capture import capture_node
from solvent_lab.papers.capture import invariants as paper_invariants
from solvent_lab.papers.capture.messages import Consumed
from solvent_lab.papers.capture.recovery import recovered
from solvent_lab.papers.capture.state import CaptureConfig
from solvent_lab.simulator.environment import Ending, Environment
from solvent_lab.simulator.network import Faults
from solvent_lab.simulator.timed import TimedRun

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

NODES = tuple(map(NodeId, range(5)))
EACH = 20
TOTAL = sum(range(len(NODES) * EACH))
KINDS = ("optimistic", "pessimistic", "adaptive", "dormant", "moving")


def share(node: NodeId) -> tuple[tuple[MoleculeId, int], ...]:
    """Give a node its first numbers."""
    return tuple((MoleculeId(number), number) for number in range(node * EACH, (node + 1) * EACH))


def config(node: NodeId, kind: str) -> Any:
    """Give a node its configuration, safe against crashes."""
    if kind == "moving":
        return MovingConfig(node, share(node), confirm=True, tell=False, look_again=20)
    protocol = "adaptive" if kind == "dormant" else kind
    return CaptureConfig(
        node,
        molecules=share(node),
        protocol=protocol,
        waiting=True,
        dormant=kind == "dormant",
        max_aborts=3,
        look_again=20,
        retry_after=1 + node,
        confirm=True,
    )


class Adding(Environment):
    """Proposes any two numbers that exist as far as anybody knows, and adds them."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.run: TimedRun | None = None
        self.configs = [config(node, kind) for node in NODES]
        self.recover: Callable[..., Any] = moving_recovered if kind == "moving" else recovered

    def states(self) -> tuple[Any, ...]:
        """Give every node's state, or what its records say while it is down."""
        assert self.run is not None
        return tuple(
            node.state.inner
            if node.is_up and node.state is not None
            else self.recover(self.configs[node.number], tuple(_own(node.saved)))
            for node in self.run.nodes
        )

    def answer(self, node: NodeId, question: Any, chance: Random) -> Any:
        """Find two numbers, or add those that were captured."""
        if isinstance(question, React):
            return Products((sum(value for _, value in question.molecules),))
        assert self.run is not None
        # A node is asked while it starts, when it has no state yet.
        places = [(item, NodeId(holder)) for holder, state in enumerate(self.states()) for item in state.molecules]
        if len(places) < 2:
            return Combination(RuleId(0), ())
        own = [place for place in places if place[1] == node]
        if self.kind == "moving" and not own:
            return Combination(RuleId(0), ())
        first = chance.choice(own if self.kind == "moving" else places)
        second = chance.choice([place for place in places if place != first])
        return Combination(RuleId(0), (first, second))

    def is_over(self) -> bool:
        """It is over when one number is left that nobody has promised."""
        assert self.run is not None
        if any(not node.is_up for node in self.run.nodes):
            return False
        values = [value for state in self.states() for value in _values(state)]
        return values == [TOTAL]


def _values(state: Any) -> list[int]:
    return [getattr(held, "value", held) for held in state.molecules.values()]


def _own(saved: list[Any]) -> list[Any]:
    return [record for record in saved if not isinstance(record, PeerLife)]


def _consumed(world: Any) -> tuple[dict[MoleculeId, int], set[MoleculeId]]:
    """Read from all records what was consumed and what there was: what is saved is what has happened."""
    times: dict[MoleculeId, int] = {}
    known = {item for node in NODES for item, _ in share(node)}
    for node in world.nodes:
        for record in node.saved:
            if isinstance(record, Consumed):
                gone, added = record.consumed, record.added
            elif isinstance(record, Kept):
                gone, added = record.removed, record.added
            else:
                continue
            for molecule in gone:
                times[molecule] = times.get(molecule, 0) + 1
            known.update(item for item, _ in added)
    return times, known


def _invariant(check: Callable[[Scene], str | None]) -> Callable[[Any], str | None]:
    def holds(world: Any) -> str | None:
        times, known = _consumed(world)
        messages = tuple((sender, to, getattr(frame, "message", None)) for sender, to, frame in world.messages())
        return check(Scene(world.ghost.states(), messages, times, known))

    holds.__name__ = check.__name__
    return holds


def weather(seed: int) -> Faults:
    """Draw the weather: all kinds of faults, more or less of each."""
    return Faults(
        max_latency_ms=5.0 + seed % 7 * 5.0,
        may_reorder=seed % 2 == 0,
        loss=0.02 * (seed % 5),
        duplication=0.02 * (seed % 4),
        partitions_every_ms=500.0,
        max_partition_ms=300.0,
        crashes_every_ms=80.0 + 80.0 * (seed % 3),
        min_downtime_ms=5.0,
        max_downtime_ms=200.0,
        until_ms=6_000.0,
    )


def storm(seed: int, kind: str, *, check_every: int = 20) -> TimedRun:
    """Run one storm; an invariant that breaks raises, a run that does not end fails."""
    environment = Adding(kind)
    machines = [
        Linked(
            moving_node(one) if kind == "moving" else capture_node(one),
            me=one.node,
            peers=NODES,
            resend_after=60,
            ack_after=2,
        )
        for one in environment.configs
    ]
    run = TimedRun(
        machines,
        environment,
        seed=seed,
        faults=weather(seed),
        invariants=tuple(map(_invariant, (moving_invariants if kind == "moving" else paper_invariants).SAFETY)),
        check_every=check_every,
        replay=f"python -m tests.simulation.capture_storm {seed} {kind}",
    )
    environment.run = run
    ending = run.run(max_ms=200_000, max_events=2_000_000)
    assert ending is Ending.OVER, f"{ending}: python -m tests.simulation.capture_storm {seed} {kind}"
    return run


if __name__ == "__main__":
    print(storm(int(sys.argv[1]), sys.argv[2], check_every=1).counts)
