"""A node of a group that lacks many lines gets them piece by piece."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from solvent.protocols.machine import Cheap, NodeId, Received, Requested, Send, TimerFired
from solvent.protocols.token.group import GroupConfig, group_node
from solvent.protocols.token.group.messages import Append, Broadcast
from solvent.protocols.token.group.state import ELECT, PATIENCE

A, B, C = NodeId(0), NodeId(1), NodeId(2)
LARGE = b"x" * 1000


class _World:
    """Three nodes; messages to those that are down are lost."""

    def __init__(self, max_bytes: int) -> None:
        self.nodes = [group_node(GroupConfig(node, (A, B, C), max_bytes=max_bytes)) for node in (A, B, C)]
        self.under_way = deque[tuple[NodeId, Received]]()
        self.down = set[NodeId]()
        self.appends = list[Append]()
        self.states = list[Any]()
        for node, group in enumerate(self.nodes):
            state, effects = group.start()
            self.states.append(state)
            self.carry(NodeId(node), effects)

    def carry(self, node: NodeId, effects: Any) -> None:
        for effect in effects:
            if isinstance(effect, Send) and effect.to not in self.down and node not in self.down:
                message = effect.message.message if isinstance(effect.message, Cheap) else effect.message
                self.under_way.append((effect.to, Received(node, message)))
                if isinstance(message, Append) and effect.to == C:
                    self.appends.append(message)

    def step(self, node: NodeId, event: Any) -> None:
        self.states[node], effects = self.nodes[node].step(self.states[node], event)
        self.carry(node, effects)

    def run(self, steps: int) -> None:
        for _ in range(steps):
            if self.under_way:
                to, event = self.under_way.popleft()
                if to not in self.down:
                    self.step(to, event)


@pytest.mark.parametrize("max_bytes,least", [(1, 20), (4_000, 7), (1_000_000, 1)])
def test_who_lacks_many_lines_gets_them_piece_by_piece(max_bytes: int, least: int) -> None:
    """However little is sent at once, in the end the node has everything, and is in the ring."""
    world = _World(max_bytes)
    world.down.add(C)
    for node in (A, B):
        # The token was on its way to one that is down.
        world.step(node, TimerFired(PATIENCE))
        world.step(node, TimerFired(PATIENCE))
        world.step(node, TimerFired(PATIENCE))
    world.step(A, TimerFired(ELECT))
    world.run(50)
    world.step(A, TimerFired(ELECT))
    world.run(50)
    for _ in range(20):
        world.step(A, Requested(Broadcast(LARGE)))
        world.run(60)
    assert world.states[A].committed >= 20
    world.down.clear()
    world.states[C], effects = world.nodes[C].start((), 1)
    world.carry(C, effects)
    world.run(3000)
    assert world.states[C].committed == world.states[A].committed
    assert C in world.states[A].ring
    pieces = [append for append in world.appends if append.lines]
    assert len(pieces) >= least
    assert all(len(append.lines) == 1 for append in pieces if max_bytes == 1)
