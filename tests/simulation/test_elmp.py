"""ELMP at a larger scale: what operations cost by the number of processes, and a company in bad weather."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from solvent.protocols.elmp.invariants import SAFETY, Scene
from solvent.protocols.elmp.process import Elmp, seats
from solvent.protocols.elmp.state import ElmpConfig, Idle, Out
from solvent.protocols.elmp.vocabulary import Astray, Granted, Join, Leave, Release, Request, Withdraw
from solvent.protocols.link import Linked
from solvent.protocols.link.messages import Data
from solvent.protocols.machine import NodeId
from solvent_lab.simulator.elmp import Fit, Setup, fitted, simulate
from solvent_lab.simulator.environment import Ending, Environment
from solvent_lab.simulator.network import Faults
from solvent_lab.simulator.timed import TimedRun

SIZES = (8, 32, 128, 512)
SIZES_LARGE = (8, 32, 128, 512, 2_048, 10_000)


def _fit(operation: str, sizes: tuple[int, ...], *, is_crowded: bool = False, **how: Any) -> Fit:
    """Count what an operation costs with so many processes, and fit it both ways."""
    counts = []
    for size in sizes:
        together = size if is_crowded else 1
        count = 3 * size if is_crowded else 100 if operation == "request" else size // 4
        setup = Setup(processes=size, operation=operation, together=together, count=count, **how)
        counts.append(simulate(setup, seed=1).messages_per_operation)
    return fitted(sizes, counts)


@pytest.mark.parametrize("is_crowded", [False, True])
def test_requests_cost_the_logarithm(*, is_crowded: bool) -> None:
    """Alone or in a crowd: a line over log n fits far better than one over n, and doubling adds a few messages."""
    fit = _fit("request", SIZES, is_crowded=is_crowded)
    assert fit.over_log.left < fit.over_n.left / 2
    assert 0 < fit.over_log.slope < 3


@pytest.mark.parametrize("operation,is_lazy", [("leave", False), ("join", False), ("join", True), ("mixed", False)])
def test_coming_and_going_costs_no_more(operation: str, *, is_lazy: bool) -> None:
    """Departures and insertions, in both kinds of trees, grow no faster than the logarithm."""
    fit = _fit(operation, SIZES, is_lazy=is_lazy)
    assert fit.over_log.slope < 3


@pytest.mark.soak
@pytest.mark.parametrize("is_crowded", [False, True])
@pytest.mark.parametrize("operation", ["request", "mixed"])
def test_ten_thousand_cost_the_logarithm(operation: str, *, is_crowded: bool) -> None:
    """The same up to ten thousand processes."""
    fit = _fit(operation, SIZES_LARGE, is_crowded=is_crowded)
    assert fit.over_log.left < fit.over_n.left / 2
    assert 0 < fit.over_log.slope < 3


def test_crowd_costs_no_more_than_one() -> None:
    """Requests that meet travel together: a crowd costs fewer messages each, not more."""
    alone = simulate(Setup(processes=256, count=100), seed=1).messages_per_operation
    crowd = simulate(Setup(processes=256, count=768, together=256), seed=1).messages_per_operation
    assert crowd < alone


def test_tree_stays_low_where_processes_come_and_go() -> None:
    """After many departures and insertions the tree is as low as it is promised to be."""
    for is_lazy in (False, True):
        outcome = simulate(Setup(processes=40, operation="mixed", together=8, count=600, is_lazy=is_lazy), seed=2)
        assert 2**outcome.height <= (outcome.processes + 1) ** 1.2


def test_tree_of_those_who_stay_is_low() -> None:
    """When most have left, those who stay are not in a thread: the tree is built anew."""
    outcome = simulate(Setup(processes=200, operation="leave", count=190, slack=1.0), seed=3)
    assert (outcome.processes, outcome.height <= 3) == (10, True)
    assert outcome.kinds["Gather"] > 0


# ------------------------------------------------------------------------------------------------------ bad weather

STORM = Faults(min_latency_ms=1, max_latency_ms=30, may_reorder=True, loss=0.1, duplication=0.1, until_ms=20_000)


class Guests(Environment):
    """Users that want this and that, and release what they are granted after a while."""

    def __init__(self, chance: Random) -> None:
        self.run: TimedRun | None = None
        self.granted: list[int] = []
        self.chance = chance

    def told(self, node: NodeId, outcome: Any, _at: int) -> None:
        """Release what was granted, and try to join again through another one."""
        assert self.run is not None
        if isinstance(outcome, Granted):
            self.granted.append(outcome.turn)
            self.run.request(node, Release(outcome.handle), after_ms=self.chance.uniform(0, 40))
        elif isinstance(outcome, Astray):
            self.run.request(node, Join(NodeId(0)), after_ms=200)


def _scene(world: Any, config: ElmpConfig) -> Scene:
    """Look through the links: what they keep and what the other side has not taken is under way."""
    states = [state.inner for state in world.states]
    messages = []
    for sender, state in enumerate(world.states):
        for to, line in state.lines.items():
            taken = world.states[to].lines[sender].taken if sender in world.states[to].lines else 0
            messages += [(NodeId(sender), to, line.queue[one]) for one in range(max(taken, line.acked), line.next)]
        messages += [(one.sender, NodeId(sender), one.message) for one in state.todo if not isinstance(one, Data)]
    return Scene(tuple(states), tuple(messages), config)


@pytest.mark.parametrize("seed", range(4))
def test_company_in_bad_weather(seed: int) -> None:
    """Over a network that loses, doubles and reorders, with links around them, all holds and all get what they want."""
    chance = Random(seed)
    config = ElmpConfig(is_lazy=bool(seed % 2), exchange_every=1 + 6 * (seed // 2))
    nodes = tuple(map(NodeId, range(9)))
    found = seats(nodes[:6], 2)
    inner = [Elmp(node, config, seat=found.get(node), rank=node + 1 if node in found else 0) for node in nodes]
    guests = Guests(chance)
    checks = [_named(check, config) for check in SAFETY]
    run = guests.run = TimedRun(
        [Linked(one, me=one.node, peers=nodes) for one in inner],
        guests,
        seed=seed,
        faults=STORM,
        invariants=checks,
        check_every=3,
    )
    wishes = (*[Request()] * 4, Request(1), Withdraw(), Leave(), Join(NodeId(0)), Join(NodeId(0)))
    for _ in range(80):
        wish = chance.choice(wishes)
        # The first stays, so that whoever wants to join has somebody to turn to.
        node = NodeId(chance.randrange(1, 9))
        run.request(node, wish, after_ms=chance.uniform(0, 15_000))
    assert run.run(max_ms=100_000) is Ending.QUIET
    states = [state.inner for state in run.world.states]
    assert all(type(state.phase) in (Idle, Out) and not state.queue and not state.early for state in states)
    assert guests.granted == sorted(guests.granted)
    assert len(guests.granted) >= 10
    assert run.counts.lost > 0
    assert not any(place.handle is not None for state in states for place in state.places)


def _named(check: Any, config: ElmpConfig) -> Any:
    def holds(world: Any) -> Any:
        return check(_scene(world, config))

    holds.__name__ = check.__name__
    return holds
