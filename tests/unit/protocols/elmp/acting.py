"""Processes that take one step, or a few of them that talk until all is quiet; for the tests of ELMP."""

from __future__ import annotations

from collections import deque
from typing import Any

from solvent.protocols.elmp.process import Elmp, seats
from solvent.protocols.elmp.state import ElmpConfig, ElmpState, Idle, Place
from solvent.protocols.machine import Effect, Event, NodeId, Received, Report, Requested, Send

A, B, C, D, E = map(NodeId, range(5))
USUAL = ElmpConfig()


def child(node: NodeId, height: int = 0, weight: int = 1) -> tuple[NodeId, int, int]:
    """Give a child with the size of the tree below it."""
    return node, height, weight


def leaf(parent: NodeId = A, *, rank: int = 2, **fields: Any) -> ElmpState:
    """Give a process without children."""
    return ElmpState(fields.pop("phase", Idle()), parent, rank=rank, **fields)


def root(*children: tuple[NodeId, int, int], places: tuple[Place, ...] = (), **fields: Any) -> ElmpState:
    """Give a root that has given two turns, of which A has the last unless told otherwise."""
    tail = fields.pop("tail", (A, 2))
    size = (1 + max([one[1] for one in children], default=-1), 1 + sum(one[2] for one in children))
    seat = None, children, size, (), 5, 2, tail
    return ElmpState(fields.pop("phase", Idle()), *seat, rank=1, places=places, **fields)


def taken(node: NodeId, state: ElmpState, *events: Event, config: ElmpConfig = USUAL) -> tuple[ElmpState, list[Effect]]:
    """Let a process take events, and give what it is then and what it did."""
    machine, effects = Elmp(node, config), list[Effect]()
    for event in events:
        state, more = machine.step(state, event)
        effects += more
    return state, effects


def sent(effects: list[Effect]) -> list[tuple[NodeId, Any]]:
    """Give what was said to whom."""
    return [(effect.to, effect.message) for effect in effects if isinstance(effect, Send)]


def told(effects: list[Effect]) -> list[Any]:
    """Give what the user was told."""
    return [effect.outcome for effect in effects if isinstance(effect, Report)]


class Company:
    """A few processes and all that is under way between them, delivered in the order sent."""

    def __init__(self, count: int, *, outside: int = 0, config: ElmpConfig = USUAL) -> None:
        nodes = tuple(map(NodeId, range(count)))
        self.machines = [
            Elmp(node, config, seat=seat, rank=node + 1) for node, seat in seats(nodes, config.order).items()
        ]
        self.machines += [Elmp(NodeId(count + node), config) for node in range(outside)]
        self.states = [machine.start()[0] for machine in self.machines]
        self.under_way: deque[tuple[NodeId, NodeId, Any]] = deque()
        self.told: list[tuple[NodeId, Any]] = []
        self.said: list[Any] = []

    def want(self, node: int, request: Any) -> None:
        """Let a process hear what its user wants, and everybody talk until all is quiet."""
        self.begin(node, request)
        while self.under_way:
            sender, to, message = self.under_way.popleft()
            self._take(to, Received(sender, message))

    def begin(self, node: int, request: Any) -> None:
        """Let a process hear what its user wants."""
        self._take(NodeId(node), Requested(request))

    def _take(self, node: NodeId, event: Event) -> None:
        self.states[node], effects = self.machines[node].step(self.states[node], event)
        for effect in effects:
            if isinstance(effect, Send):
                self.under_way.append((node, effect.to, effect.message))
                self.said.append(effect.message)
            elif isinstance(effect, Report):
                self.told.append((node, effect.outcome))
