"""How long messages take, and which of them get lost or doubled.

A sender's messages leave one after the other, as its bandwidth has it; each then takes its latency. Unless the network
may reorder, none arrives before one that was sent earlier on the same channel; a second copy comes right behind the
first. A partition divides the nodes in two groups that do not hear each other until it heals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from solvent_lab.simulator.faults import FOREVER

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from random import Random

    from solvent.protocols.machine import NodeId
    from solvent_lab.simulator.faults import Faults


def encoded_size(message: Any) -> int:
    """Give the bytes a message takes in MessagePack; what that does not know counts as its text."""
    return len(msgspec.msgpack.encode(message, enc_hook=str))


class Network:
    """The channels between nodes, one for each direction of each pair."""

    def __init__(self, faults: Faults, chance: Random, size: Callable[[Any], int] = encoded_size) -> None:
        self.faults = faults
        #: When the partition heals that there is now.
        self.heals_at = 0.0
        self._chance = chance
        self._size = size
        self._one_side: frozenset[NodeId] = frozenset()
        #: When each sender is done with what it has sent.
        self._free_at: dict[NodeId, float] = {}
        #: When the last message of each channel arrives.
        self._last_at: dict[tuple[NodeId, NodeId], float] = {}

    def arrivals(self, sender: NodeId, to: NodeId, message: Any, now: float) -> tuple[float, ...]:
        """Give when a message arrives: once; not at all if it is lost; twice if it is doubled."""
        faults, chance = self.faults, self._chance
        leaves_at = now
        if faults.bandwidth_bytes_per_ms != FOREVER:
            leaves_at = max(now, self._free_at.get(sender, 0.0)) + self._size(message) / faults.bandwidth_bytes_per_ms
            self._free_at[sender] = leaves_at
        if now < faults.until_ms:
            # What a node sends to itself crosses no wire.
            if faults.loss and sender != to and chance.random() < faults.loss:
                return ()
            if faults.duplication and sender != to and chance.random() < faults.duplication:
                return self.arrival(sender, to, leaves_at), self.arrival(sender, to, leaves_at)
        return (self.arrival(sender, to, leaves_at),)

    def arrival(self, sender: NodeId, to: NodeId, leaves_at: float) -> float:
        """Give when something that leaves at a time arrives if all goes well."""
        faults = self.faults
        latency = faults.min_latency_ms
        if faults.max_latency_ms > latency:
            latency = self._chance.uniform(latency, faults.max_latency_ms)
        arrives_at = leaves_at + latency
        if not faults.may_reorder:
            arrives_at = max(arrives_at, self._last_at.get((sender, to), 0.0))
            self._last_at[sender, to] = arrives_at
        return arrives_at

    def part(self, one_side: Collection[NodeId], heals_at: float) -> None:
        """Divide the nodes until a time: these on one side, all others on the other."""
        self._one_side = frozenset(one_side)
        self.heals_at = heals_at

    def is_parted(self, sender: NodeId, to: NodeId, now: float) -> bool:
        """Say whether two nodes do not hear each other."""
        return now < self.heals_at and (sender in self._one_side) != (to in self._one_side)


__all__ = ["Network", "encoded_size"]
