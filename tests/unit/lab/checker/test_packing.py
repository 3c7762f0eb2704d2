"""Worlds become rows of numbers and come back as they were."""

from __future__ import annotations

from solvent.protocols.machine import NodeId, PeerRestarted
from solvent_lab.checker import Model, Order
from solvent_lab.checker.packed_worlds import Numbered, Packing, Queues
from solvent_lab.checker.world import Budget, Local, World
from tests.unit.lab.checker.machines import Puppet


def test_objects_that_are_gone_are_not_taken_for_new_ones() -> None:
    """Numbers go by value where the object that was kept is another one."""
    numbered: Numbered[tuple[int, ...]] = Numbered()
    assert [numbered.number((one // 2, "x" * one)) for one in range(1000)] == list(range(1000))
    assert [numbered.number((one // 2, "x" * one)) for one in range(1000)] == list(range(1000))


def test_world_comes_back_as_it_was() -> None:
    """Packing and unpacking a world gives the same world."""
    packing = Packing(Model(machines=(Puppet(), Puppet())))
    world = World(
        nodes=(Local("busy", timers=("t",), saved=(1,)), Local(None, life=2, is_up=False)),
        channels=((), ("one", "two"), (PeerRestarted(NodeId(1)),), ()),
        ghost=frozenset({3}),
        requests=((NodeId(0), "go"), (NodeId(1), "stop")),
        budget=Budget(losses=1, crashes=2),
    )
    row = packing.row(world)
    assert packing.world(row) == world
    assert packing.row_from_bytes(packing.bytes_from_row(*row)) == row


def test_order_of_messages_counts_only_where_it_matters() -> None:
    """Two orders are two queues in an ordered network, and one in an unordered one."""
    fifo, any_order = Queues(Order.FIFO), Queues(Order.ANY)
    assert fifo.number(("a", "b")) != fifo.number(("b", "a"))
    assert any_order.number(("a", "b")) == any_order.number(("b", "a"))
