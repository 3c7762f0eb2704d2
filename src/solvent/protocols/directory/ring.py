"""Consistent hashing: which node keeps the entries of which shape and key.

Every node has many points on a circle of 64-bit numbers; a number belongs to the node whose point comes next. A node
that joins takes about its share from all others, and one that leaves gives its share to all others; nothing else
moves (Karger and others, Consistent hashing and random trees, 1997). With 64 points a node's share is mostly within a
quarter of the mean.
"""

from __future__ import annotations

from bisect import bisect_left
from hashlib import blake2b
from typing import TYPE_CHECKING

from solvent.errors import Misuse
from solvent.protocols.directory.keys import Key, digest

if TYPE_CHECKING:
    from solvent.protocols.machine import NodeId

POINTS = 64


class Ring:
    """A circle with the points of some nodes. It never changes: other nodes make another ring."""

    def __init__(self, nodes: tuple[NodeId, ...], *, points: int = POINTS) -> None:
        if not nodes or points < 1:
            raise Misuse("P303", "a ring needs a node, and each node a point")
        self.nodes = tuple(sorted(set(nodes)))
        placed = sorted((_point(node, number), node) for node in self.nodes for number in range(points))
        self._points = [point for point, _ in placed]
        self._owners = [node for _, node in placed]

    def node_of(self, number: int) -> NodeId:
        """Give the node to which a number of 64 bits belongs."""
        return self._owners[bisect_left(self._points, number) % len(self._owners)]

    def slot_of(self, shape: str, key: Key) -> NodeId:
        """Give the node that keeps the entries of a shape and key."""
        return self.node_of(digest(shape, key))

    def from_node(self, node: NodeId) -> tuple[NodeId, ...]:
        """Give all nodes once, beginning with this one, so that seekers do not all begin at the same."""
        start = bisect_left(self.nodes, node)
        return self.nodes[start:] + self.nodes[:start]


def _point(node: NodeId, number: int) -> int:
    return int.from_bytes(blake2b(b"%d/%d" % (node, number), digest_size=8).digest())


__all__ = ["POINTS", "Ring"]
