"""A running simulation as invariants see it."""

from __future__ import annotations

from solvent.protocols.machine import NodeId, Send
from solvent_lab.simulator.environment import Environment
from solvent_lab.simulator.faults import Faults
from solvent_lab.simulator.timed import TimedRun
from tests.simulation.machines import Script

A, B = NodeId(0), NodeId(1)


def test_the_world_shows_nodes_messages_and_what_is_known() -> None:
    """States, messages under way, time and the environment are seen as they are at the moment."""
    environment = Environment()
    faults = Faults(min_latency_ms=5.0, max_latency_ms=5.0)
    run = TimedRun([Script(Send(B, "x"), Send(A, "y")), Script()], environment, seed=1, faults=faults)
    run.run(max_ms=4.0)
    world = run.world
    assert list(world.messages()) == [(A, B, "x"), (A, A, "y")]
    assert (world.states, world.ghost is environment) == (((), ()), True)
    run.run()
    assert (list(world.messages()), world.now) == ([], 5.0)
    assert [len(state) for state in world.states] == [1, 1]


def test_a_node_that_is_down_has_no_state() -> None:
    """Down nodes show None, and come back with the next life."""
    run = TimedRun([Script(), Script()], Environment(), seed=1)
    run.run()
    run.crash(B, 3.0)
    assert run.world.states == ((), None)
    run.run()
    assert (run.world.states, run.world.nodes[B].life) == (((), ()), 1)
