"""When nodes crash and networks part, and whom it hits: drawn from the seed as the faults have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.protocols.machine import NodeId
from solvent_lab.simulator.faults import FOREVER

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from solvent_lab.simulator.faults import Faults
    from solvent_lab.simulator.world import Node


class Outages:
    """Draws the times and the victims of crashes and partitions."""

    def __init__(self, faults: Faults, chance: Random) -> None:
        self.faults = faults
        self._chance = chance
        self._crashes_left = FOREVER if faults.max_crashes is None else faults.max_crashes

    def next_crash(self, now: float) -> float | None:
        """Give the time of the next crash; None if there is none any more."""
        return self._next(now, self.faults.crashes_every_ms) if self._crashes_left > 0 else None

    def next_partition(self, now: float) -> float | None:
        """Give the time of the next partition; None if there is none any more."""
        return self._next(now, self.faults.partitions_every_ms)

    def _next(self, now: float, every_ms: float) -> float | None:
        if every_ms == FOREVER:
            return None
        time = now + self._chance.uniform(0.0, 2.0 * every_ms)
        return time if time < self.faults.until_ms else None

    def victim(self, nodes: Sequence[Node]) -> NodeId | None:
        """Draw who crashes, among those that are up."""
        up = [node.number for node in nodes if node.is_up]
        if not up:
            return None
        self._crashes_left -= 1
        return self._chance.choice(up)

    def downtime(self) -> float:
        """Draw how long a node stays down."""
        return self._chance.uniform(self.faults.min_downtime_ms, self.faults.max_downtime_ms)

    def strikes_within_a_step(self) -> bool:
        """Draw whether a node crashes while it carries out effects, rather than between two events."""
        return self._chance.random() < 0.5

    def takes_what_was_sent(self) -> bool:
        """Draw whether a crash loses what the node has sent and has not arrived."""
        return self._chance.random() < 0.5

    def one_side(self, nodes_count: int) -> tuple[NodeId, ...]:
        """Draw the nodes on one side of a partition: neither none nor all, where there are two or more."""
        size = self._chance.randint(1, max(1, nodes_count - 1))
        return tuple(sorted(NodeId(number) for number in self._chance.sample(range(nodes_count), size)))

    def healing(self, now: float) -> float:
        """Draw when a partition that begins now heals: at the latest when all faults stop."""
        return min(now + self._chance.uniform(0.0, self.faults.max_partition_ms), self.faults.until_ms)


__all__ = ["Outages"]
