"""Processes under ELMP that are killed at random, over a network with faults, and come back."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from solvent.protocols.elmp.invariants import SAFETY, Scene, what_excludes_each_other_is_not_held_together
from solvent.protocols.elmp.messages import Seat
from solvent.protocols.elmp.process import Elmp, seats
from solvent.protocols.elmp.repair import Repaired, Surviving
from solvent.protocols.elmp.state import ElmpConfig, ElmpState, Idle, Out
from solvent.protocols.elmp.vocabulary import Astray, Claim, Granted, Join, Joined, Leave, Release, Request
from solvent.protocols.link import Linked
from solvent.protocols.machine import NodeId
from solvent.simulation.environment import Ending, Environment
from solvent.simulation.faults import Faults
from solvent.simulation.timed import TimedRun

CONFIG = ElmpConfig()
STORM = Faults(
    latency_ms_min=1,
    latency_ms_max=20,
    may_reorder=True,
    loss=0.05,
    duplication=0.05,
    crashes_every_ms=1_500,
    downtime_ms_max=500,
    until_ms=20_000,
)


class Tenants(Environment):
    """Users that request again and again for a while, and come back when their process does."""

    def __init__(self, chance: Random, until_ms: float) -> None:
        self.run: TimedRun | None = None
        self.granted = self.repairs = 0
        self.chance, self.until_ms = chance, until_ms

    def told(self, node: NodeId, outcome: Any, _at: int) -> None:
        """Go on with whatever was done."""
        if isinstance(outcome, Granted):
            self.granted += 1
            self.want(node, Release(outcome.handle), 5)
            self.want(node, Request(claim=self.chance.choice((Claim(), Claim(is_shared=True)))), 300)
        elif isinstance(outcome, Joined):
            self.want(node, Request(), 20)
        elif isinstance(outcome, Astray):
            self.join(node)
        elif isinstance(outcome, Repaired):
            self.repairs += 1

    def restarted(self, node: NodeId, _at: int) -> None:
        """Join again."""
        self.join(node)

    def join(self, node: NodeId) -> None:
        """Turn to anybody."""
        others = [other for other in range(6) if other != node]
        self.want(node, Join(NodeId(self.chance.choice(others))), 400)

    def want(self, node: NodeId, request: Any, after_ms: float) -> None:
        """Want something, unless it is late."""
        assert self.run is not None
        if isinstance(request, Release) or self.run.now < self.until_ms:
            self.run.request(node, request, after_ms=self.chance.uniform(0, after_ms))


def _inner(world: Any) -> tuple[ElmpState, ...]:
    return tuple(state.inner.inner if state is not None else ElmpState(Out(), Seat(None)) for state in world.states)


def nobody_holds_what_another_holds(world: Any) -> str | None:
    """Whoever is killed when: claims that exclude each other are not held together."""
    return what_excludes_each_other_is_not_held_together(Scene(_inner(world), (), CONFIG))


@pytest.mark.parametrize("seed", range(4))
def test_killed_processes_leave_one_token_behind(seed: int) -> None:
    """After many deaths there is one token, one tree and one queue, and everybody that lives is at rest."""
    chance = Random(seed)
    nodes = tuple(map(NodeId, range(6)))
    found = seats(nodes, 2)
    machines = [Surviving(Elmp(node, CONFIG, seat=found[node], rank=node + 1), peers=nodes) for node in nodes]
    tenants = Tenants(chance, until_ms=24_000)
    run = tenants.run = TimedRun(
        [Linked(one, me=one.node, peers=nodes) for one in machines],
        tenants,
        seed=seed,
        faults=STORM,
        invariants=(nobody_holds_what_another_holds,),
        history_max=30,
    )
    for node in nodes:
        run.request(node, Request(), after_ms=chance.uniform(0, 500))
    run.request(NodeId(4), Leave(), after_ms=9_000)
    assert run.run(ms_max=200_000) is Ending.QUIET
    assert run.counts.crashes >= 5
    assert tenants.repairs > 5
    assert tenants.granted > 30
    inner = _inner(run.world)
    assert all(type(state.phase) in (Idle, Out) for state in inner)
    assert [check(Scene(inner, (), CONFIG)) for check in SAFETY] == [None] * len(SAFETY)
