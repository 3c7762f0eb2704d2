"""The news of restarts."""

from __future__ import annotations

from random import Random

from solvent.protocols.machine import NodeId
from solvent_lab.simulator.clock import Clock
from solvent_lab.simulator.clock_events import Notice
from solvent_lab.simulator.faults import Faults
from solvent_lab.simulator.network import Network
from solvent_lab.simulator.notices import Notices
from solvent_lab.simulator.world import Node

A, B, C = (NodeId(number) for number in range(3))


def test_news_goes_to_all_that_are_up_and_have_not_heard() -> None:
    """A restart is told to those that are up; the restarted node hears of what it has missed."""
    nodes = [Node(NodeId(number)) for number in range(3)]
    clock = Clock()
    notices = Notices(nodes, clock, Network(Faults(), Random(1)))
    nodes[A].life, nodes[C].is_up = 1, False
    notices.announce(nodes[A])
    assert list(clock.items()) == [Notice(A, B, 1)]
    notices.hear(B, A, 1)
    nodes[C].life, nodes[C].is_up = 1, True
    notices.announce(nodes[C])
    assert list(clock.items()) == [Notice(A, B, 1), Notice(C, A, 1), Notice(A, C, 1), Notice(C, B, 1)]


def test_first_lives_and_oneself_are_no_news() -> None:
    """Everybody knows of first lives, and a node of its own."""
    notices = Notices([], Clock(), Network(Faults(), Random(1)))
    assert notices.has_heard(A, B, 0)
    assert notices.has_heard(A, A, 3)
    assert not notices.has_heard(A, B, 1)
