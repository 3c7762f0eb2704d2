"""Counts how often others got the token while one waited.

Two figures of every wait: how many possessions there were by others, and the most there were by any single one of
them. The first is a difference of two counts. The second would take a look at every possession of every wait, which at
full load is the square of the nodes for every round; it is found without. Let `most` be the most so far. A wait beats
it if it spans `most + 1` possessions of one node, and it does if it began before the latest moment from which some
node has had the token so often. This moment changes with every possession, and costs one comparison to keep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solvent.protocols.machine import NodeId


class Fairness:
    """What became of all waits so far."""

    def __init__(self) -> None:
        #: How often somebody got the token.
        self.grants = 0
        #: The most often any one other node got it during one wait.
        self.most = 0
        #: The most often all others together got it during one wait, and the sum of this over all waits that are over.
        self.max_others = 0
        self.others_sum = 0
        #: How many grants there had been when each wait began.
        self._since: dict[NodeId, int] = {}
        #: The numbers of each node's grants, upwards.
        self._of: dict[NodeId, list[int]] = {}
        #: For each n, the number of the latest grant since which some node has had n + 1 of them; n is at most `most`.
        self._latest = [-1]

    def begins(self, node: NodeId) -> None:
        """Let a node wait."""
        self._since[node] = self.grants

    def ends(self, node: NodeId) -> None:
        """Give a node that waits the token."""
        since = self._since.pop(node)
        self.others_sum += self.grants - since
        self._look(since)
        own = self._of.setdefault(node, [])
        own.append(self.grants)
        self.grants += 1
        latest = self._latest
        for count in range(min(len(latest), len(own))):
            start = own[-1 - count]
            latest[count] = max(latest[count], start)

    def breaks_off(self) -> None:
        """Count also what those still waiting have seen; their waits would last at least so long."""
        for since in self._since.values():
            self._look(since)

    def _look(self, since: int) -> None:
        others = self.grants - since
        self.max_others = max(self.max_others, others)
        latest = self._latest
        while latest[self.most] >= since:
            self.most += 1
            latest.append(max((own[-1 - self.most] for own in self._of.values() if len(own) > self.most), default=-1))


__all__ = ["Fairness"]
