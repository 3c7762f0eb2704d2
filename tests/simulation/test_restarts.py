"""What a machine without a link may rely on when others crash, whatever else goes wrong."""

from __future__ import annotations

from typing import Any

import pytest

from solvent.protocols.machine import Effects, Event, NodeId, PeerRestarted, Received, Send, SetTimer, TimerFired
from solvent_lab.simulator.environment import Ending, Environment
from solvent_lab.simulator.network import Faults
from solvent_lab.simulator.timed import TimedRun

NODES = 4
TURNS = 60


class Chatter:
    """Tells everybody now and then which life it is in; the state is (life, turns, lives heard of, complaints)."""

    def start(self, _saved: tuple[Any, ...] = (), life: int = 0) -> tuple[Any, Effects]:
        """Begin to chat."""
        return (life, 0, {}, ()), (SetTimer("turn", 7),)

    def step(self, state: Any, event: Event) -> tuple[Any, Effects]:
        """Chat, and complain of a life that was not announced."""
        life, turns, heard, complaints = state
        match event:
            case TimerFired() if turns < TURNS:
                said = tuple(Send(NodeId(to), life) for to in range(NODES))
                return (life, turns + 1, heard, complaints), (*said, SetTimer("turn", 7))
            case PeerRestarted(peer):
                return (life, turns, {**heard, peer: None}, complaints), ()
            case Received(sender, said):
                expected = heard.get(sender)
                if expected is not None and said != expected:
                    complaints = (*complaints, (sender, expected, said))
                return (life, turns, {**heard, sender: said}, complaints), ()
            case _:
                return state, ()


def every_new_life_is_announced(world: Any) -> str | None:
    """Nobody has heard of another life of a peer without the news of a restart before it."""
    complaints = [state[3] for state in world.states if state is not None and state[3]]
    return str(complaints[0]) if complaints else None


@pytest.mark.parametrize("may_reorder", [False, True])
@pytest.mark.parametrize("loses", [False, True])
def test_lives_do_not_mix(may_reorder: bool, loses: bool) -> None:  # noqa: FBT001
    """Between two messages of different lives of a node comes the news of its restart, and no life comes back."""
    crashes = 0
    for seed in range(15):
        faults = Faults(
            min_latency_ms=0.0,
            max_latency_ms=20.0,
            may_reorder=may_reorder,
            loss=0.1,
            duplication=0.1,
            partitions_every_ms=60.0,
            max_partition_ms=40.0,
            partitions_lose=loses,
            crashes_every_ms=30.0,
            max_downtime_ms=60.0,
            until_ms=400.0,
        )
        invariants = [every_new_life_is_announced]
        machines = [Chatter()] * NODES
        run = TimedRun(
            machines, Environment(), seed=seed, faults=faults, invariants=invariants, tells_restarts=True, check_every=5
        )
        assert run.run(max_ms=5_000.0) is Ending.QUIET
        crashes += run.counts.crashes
    assert crashes > 50
