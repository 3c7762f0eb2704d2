"""Nodes may change places."""

from __future__ import annotations

from msgspec.structs import replace

from solvent.protocols.machine import NodeId, PeerRestarted
from solvent_lab.checker import World, check
from solvent_lab.checker.symmetry import permuted
from solvent_lab.checker.world import Budget, Local
from tests.unit.lab.checker.worlds import ring

A, B, C = NodeId(0), NodeId(1), NodeId(2)


def _world(states: tuple[str, ...], slot: int, said: tuple[object, ...], request: NodeId) -> World:
    channels = tuple(said if place == slot else () for place in range(9))
    return World(tuple(map(Local, states)), channels, None, ((request, "go"),), Budget())


def test_nodes_change_places() -> None:
    """States, channels, notices and requests follow the nodes."""
    world = _world(("a", "b", "c"), 1, (PeerRestarted(A), "hi"), C)
    assert permuted(world, (1, 2, 0), lambda value: value) == _world(("c", "a", "b"), 5, (PeerRestarted(B), "hi"), A)


def test_values_are_renamed_as_the_model_says() -> None:
    """What is named inside a state follows too."""
    world = replace(_world(("a", "b", "c"), 1, ("a says",), C), ghost="of a")
    turned = permuted(world, (1, 2, 0), lambda value: value.replace("a", "x"))
    assert (turned.states, turned.channel(1, 2), turned.ghost) == (("c", "x", "b"), ("x sxys",), "of x")


def test_rings_turned_round_are_the_same() -> None:
    """Of a ring's states that differ only by turning it, one is kept: a third of them for three nodes."""

    def turned(world: World) -> list[World]:
        return [permuted(world, [(node + turn) % 3 for node in range(3)], lambda value: value) for turn in range(1, 3)]

    assert (check(ring(3)).states, check(ring(3, variants=turned)).states) == (189, 63)
