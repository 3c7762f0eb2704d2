"""What a model sees of a world."""

from __future__ import annotations

from msgspec.structs import replace

from solvent.protocols.machine import Choose, NodeId, PeerRestarted
from solvent_lab.checker.world import Budget, Local, World

EMPTY = World(nodes=(Local("a"), Local("b")), channels=((), (), (), ()), ghost=None, requests=(), budget=Budget())


def test_messages_are_told_with_their_ends() -> None:
    """Sender and recipient follow from the channel; notices of restarts are no messages."""
    world = replace(EMPTY, channels=((), ("x", PeerRestarted(NodeId(0))), ("y",), ("z",)))
    assert list(world.messages()) == [(0, 1, "x"), (1, 0, "y"), (1, 1, "z")]
    assert world.channel(0, 1) == ("x", PeerRestarted(NodeId(0)))


def test_states_are_by_node() -> None:
    """The states of the machines are given in the order of the nodes."""
    assert EMPTY.states == ("a", "b")


def test_quiet_worlds_have_nothing_under_way_and_nothing_asked() -> None:
    """A message, a question or an effect still to be carried out ends the quiet."""
    asking = replace(EMPTY, nodes=(Local("a", questions=(Choose(2),)), Local("b")))
    assert EMPTY.is_quiet
    assert not asking.is_quiet
    assert not replace(EMPTY, channels=((), ("x",), (), ())).is_quiet


def test_worlds_are_values() -> None:
    """Equal worlds are equal and hash alike."""
    assert len({EMPTY, replace(EMPTY), replace(EMPTY, ghost=1)}) == 2
