"""A group around a token in bad weather: messages lost, doubled and late, nodes that crash, networks torn apart.

Users at all nodes want the lock now and then and broadcast something; some nodes come later, one leaves. Whatever
happens meanwhile, there are no two tokens of one epoch, no fence is given twice, and all hear the same broadcasts in
the same order; and when the weather clears, everybody is served and has heard everything. To see one run again:
`python -m tests.simulation.token_storm SEED NODES`.
"""

from __future__ import annotations

import sys
from random import Random
from typing import Any

from msgspec.structs import replace

from solvent.protocols.link import Linked
from solvent.protocols.link.messages import Data
from solvent.protocols.machine import NodeId
from solvent.protocols.token.group import GroupConfig, group_node
from solvent.protocols.token.group.invariants import SAFETY, Order
from solvent.protocols.token.group.messages import (
    Broadcast,
    Delivered,
    Fence,
    Leave,
    Lock,
    Locked,
    LockLost,
    MemberChanged,
    Remove,
    Skipped,
    Suspected,
    Unlock,
    ViewBegan,
)
from solvent_lab.simulator.environment import Ending, Environment
from solvent_lab.simulator.network import Faults
from solvent_lab.simulator.timed import TimedRun

LOOKS_EVERY = 256
MANY: dict[str, int] = {"wishes": 12, "during_ms": 6_000, "check_every": 2_000}
"""How a storm over a thousand nodes is made to end in a minute."""


class Users(Environment):
    """One user at each node."""

    def __init__(self, nodes: int, *, wishes: int, seed: int, during_ms: int) -> None:
        self.run: TimedRun | None = None
        self.order = Order()
        self.wrong = ""
        self.fences: set[Fence] = set()
        self.locked = self.lost = self.epochs = self.suspicions = 0
        self._nodes = nodes
        self._chance = Random(seed)
        self._wishes = wishes
        self._during_ms = during_ms
        self._lives = [0] * nodes
        self._looks = 0

    def begin(self) -> None:
        """Want all that will be wanted, some time."""
        assert self.run is not None
        for _ in range(self._wishes):
            node = NodeId(self._chance.randrange(self._nodes))
            after = self._chance.uniform(0, self._during_ms)
            if self._chance.random() < 0.5:
                self.run.request(node, Lock(), after_ms=after)
            else:
                self.run.request(node, Broadcast(self._chance.randrange(1000)), after_ms=after)
        leaver = NodeId(self._chance.randrange(self._nodes))
        self.run.request(leaver, Leave(), after_ms=self._chance.uniform(0, self._during_ms))
        if self._chance.random() < 0.5:
            # One is taken for gone for good, and is not.
            by, who = (NodeId(self._chance.randrange(self._nodes)) for _ in range(2))
            self.run.request(by, Remove(who), after_ms=self._chance.uniform(0, self._during_ms))

    def told(self, node: NodeId, outcome: Any, at: int) -> None:
        """Hear of locks, broadcasts and epochs."""
        del at
        assert self.run is not None
        match outcome:
            case Locked(fence):
                if fence in self.fences:
                    self.wrong = f"node {node} has the lock with fence {fence}, which was given before"
                self.fences.add(fence)
                self.locked += 1
                # Now and then somebody has it for so long that others seek it.
                hold = self._chance.uniform(0, 5_000 if self._chance.random() < 0.1 else 20)
                self.run.request(node, Unlock(), after_ms=hold)
            case LockLost():
                self.lost += 1
            case Delivered(place, origin, number, data):
                self._on_delivered(node, place, (origin, number, data))
            case Skipped():
                self._lives[node] += 1
            case MemberChanged(place, who, _, is_member):
                self._on_delivered(node, place, (who, is_member))
            case Suspected():
                self.suspicions += 1
            case ViewBegan(epoch) if epoch.node == node:
                self.epochs += 1

    def _on_delivered(self, node: NodeId, place: int, what: Any) -> None:
        wrong = self.order.heard(node, self._lives[node], place, what)
        if wrong is not None:
            self.wrong = wrong

    def restarted(self, node: NodeId, at: int) -> None:
        """A user starts anew with its node."""
        del at
        self._lives[node] += 1

    def is_over(self) -> bool:
        """When the weather is fair again, nobody wants anything and all have heard all."""
        self._looks += 1
        assert self.run is not None
        if self._looks % LOOKS_EVERY or self.run.now < self._during_ms:
            return False
        states = [node.state.inner for node in self.run.nodes if node.state is not None]
        if len(states) < self._nodes:
            return False
        here = [state for state in states if not state.is_gone]
        most = max(state.committed for state in here)
        return not any(
            state.is_lock_wanted
            or state.fence is not None
            or state.outbox
            or state.inner is None
            or state.committed < most
            for state in here
        )


def all_is_safe(world: Any) -> str | None:
    """Everything that must be true of a group is."""
    states = [None if node.state is None else node.state.inner for node in world.nodes]
    # A message that is sent again, or doubled, is one; and one that was taken is none.
    seen: dict[Any, Any] = {}
    for sender, to, frame in world.messages():
        if isinstance(frame, Data) and _is_new(world.nodes[to], sender, frame):
            seen[sender, to, frame.life, frame.number] = frame.message
    for check in SAFETY:
        wrong = check(states, seen.values())
        if wrong is not None:
            return f"{check.__name__}: {wrong}"
    return None


def _is_new(node: Any, sender: NodeId, frame: Data[Any]) -> bool:
    if node.state is None or frame.to != node.state.life:
        return False
    line = node.state.lines.get(sender)
    return line is None or (frame.life >= line.life and frame.number >= line.taken)


def all_hear_the_same(world: Any) -> str | None:
    """In the same order; and every fence is given once."""
    return world.ghost.wrong or None


def weather(seed: int, during_ms: int, nodes: int) -> Faults:
    """Draw the weather: all kinds of faults, more or less of each."""
    return Faults(
        max_latency_ms=2.0 + seed % 5 * 2.0,
        may_reorder=seed % 2 == 0,
        loss=0.01 * (seed % 4),
        duplication=0.01 * (seed % 3),
        partitions_every_ms=during_ms / (1 + seed % 2),
        max_partition_ms=during_ms / 8,
        crashes_every_ms=during_ms / (4 + seed % 3 * (2 if nodes > 50 else 6)),
        min_downtime_ms=50.0,
        max_downtime_ms=during_ms / 4,
        until_ms=float(during_ms),
    )


def storm(seed: int, nodes: int, *, wishes: int = 40, during_ms: int = 20_000, check_every: int = 200) -> TimedRun:
    """Run one storm; an invariant that breaks raises, a run that does not end fails."""
    names = tuple(map(NodeId, range(nodes)))
    users = Users(nodes, wishes=wishes, seed=seed, during_ms=during_ms)
    first = names[: nodes - max(1, nodes // 50)]
    # Now and then lines are forgotten at once, or sent in small pieces.
    usual = GroupConfig(NodeId(0), kept=1 + seed % 8, max_bytes=100 if seed % 3 == 0 else 1_000_000)
    configs = [replace(usual, node=node, members=first) for node in first]
    configs += [replace(usual, node=node, contacts=first[:3]) for node in names[len(first) :]]
    machines = [
        Linked(group_node(config), me=config.node, peers=names, resend_after=60, ack_after=2) for config in configs
    ]
    replay = f"python -m tests.simulation.token_storm {seed} {nodes}"
    run = users.run = TimedRun(
        machines,
        users,
        seed=seed,
        faults=weather(seed, during_ms, nodes),
        invariants=(all_is_safe, all_hear_the_same),
        check_every=check_every,
        replay=replay,
    )
    users.begin()
    ending = run.run(max_ms=during_ms * 20, max_events=20_000_000)
    assert ending is Ending.OVER, f"{ending}: {replay}"
    return run


if __name__ == "__main__":
    import gc
    import time

    for seed in range(int(sys.argv[1]), int(sys.argv[3]) if len(sys.argv) > 3 else int(sys.argv[1]) + 1):
        began = time.perf_counter()
        many = int(sys.argv[2]) >= 1_000
        run = storm(seed, int(sys.argv[2]), **(MANY if many else {}))
        users: Any = run.environment
        print(
            f"seed {seed}: {run.now / 1000:.1f} s simulated, {run.counts.events:,} events, "
            f"{run.counts.crashes} crashes, {run.counts.partitions} partitions, {users.locked} locks "
            f"({users.lost} lost), {len(users.order.lines)} lines, {users.epochs} epochs, "
            f"{users.suspicions} suspicions; {time.perf_counter() - began:.1f} s",
            flush=True,
        )
        # A run and its users know each other, and the collector comes rarely.
        del run, users
        gc.collect()
