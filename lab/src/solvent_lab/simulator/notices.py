"""The news of restarts, for machines that are run without a link: who has heard of whose latest life.

The news is the first thing that a peer hears from a restarted node. It is never lost: where the peer is down or cut
off, it comes when that is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent_lab.simulator.clock_events import Notice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent.protocols.machine import NodeId
    from solvent_lab.simulator.clock import Clock
    from solvent_lab.simulator.network import Network
    from solvent_lab.simulator.world import Node


class Notices:
    """Sends the news of restarts on its way, and knows whom it has reached."""

    def __init__(self, nodes: Sequence[Node], clock: Clock, network: Network) -> None:
        self._nodes = nodes
        self._clock = clock
        self._network = network
        #: The latest life of a peer that a node has heard of, unless it is the first: by node and peer.
        self._heard: dict[tuple[NodeId, NodeId], int] = {}

    def announce(self, node: Node) -> None:
        """Let all others hear that a node has restarted, and let it hear of those that did while it was down."""
        for other in self._nodes:
            if other is not node and other.is_up:
                self._send(node, other)
                self._send(other, node)

    def _send(self, peer: Node, to: Node) -> None:
        if not self.has_heard(to.number, peer.number, peer.life):
            arrives_at = self._network.arrival(peer.number, to.number, self._clock.now)
            self._clock.put(arrives_at, Notice(peer.number, to.number, peer.life))

    def has_heard(self, node: NodeId, peer: NodeId, life: int) -> bool:
        """Say whether a node knows of a life of a peer."""
        return life == 0 or node == peer or self._heard.get((node, peer), 0) >= life

    def hear(self, node: NodeId, peer: NodeId, life: int) -> int:
        """Note that a node knows of a life of a peer, and give the one it knew of before."""
        before = self._heard.get((node, peer), 0)
        self._heard[node, peer] = life
        return before


__all__ = ["Notices"]
