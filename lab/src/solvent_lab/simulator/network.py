"""A simulated network with faults: how long messages take, which get lost or doubled, when nodes crash and nets part.

Latency, bandwidth and order describe the network and hold all the time. Loss, duplication, partitions and crashes are
faults: they stop at `until_ms`, so that a run can be judged by what it makes of the peace that follows.

Loss, duplication and partitions that lose are for machines that expect them, such as a reliable link; for others take
`partitions_lose=False`, where what is sent across a partition arrives when it has healed. Crashes come out of
`Save`d records for every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from solvent.errors import Misuse
from solvent.protocols.machine import NodeId

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from random import Random

FOREVER = float("inf")


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """What messages and nodes suffer; by default nothing, and a message takes one millisecond."""

    min_latency_ms: float = 1.0
    max_latency_ms: float = 1.0
    """A message's way takes between so long and so long, evenly spread."""
    bandwidth_bytes_per_ms: float = FOREVER
    """What a node can send: its messages leave one after the other, and large ones hold up those behind them."""
    may_reorder: bool = False
    """Whether a message may overtake another of the same channel, as latency has it; otherwise first in, first out."""
    min_answer_ms: float = 0.0
    max_answer_ms: float = 0.0
    """How long an answer to an `Ask` takes. Zero: it comes before the machine sees anything else."""

    loss: float = 0.0
    """The probability that a message is lost."""
    duplication: float = 0.0
    """The probability that a message arrives twice."""
    partitions_every_ms: float = FOREVER
    """The mean time between the end of one partition of the nodes in two groups and the next."""
    max_partition_ms: float = 1_000.0
    partitions_lose: bool = True
    """Whether a partition loses what would arrive across it, or keeps it until it heals."""
    crashes_every_ms: float = FOREVER
    """The mean time between two crashes of nodes drawn by lot."""
    max_crashes: int | None = None
    min_downtime_ms: float = 1.0
    max_downtime_ms: float = 1_000.0
    until_ms: float = FOREVER
    """When loss, duplication, partitions and crashes stop; who is down then comes back in time."""

    _PROBABILITIES: ClassVar = ("loss", "duplication")
    _RANGES: ClassVar = ("latency_ms", "answer_ms", "downtime_ms")
    _POSITIVE: ClassVar = ("bandwidth_bytes_per_ms", "partitions_every_ms", "max_partition_ms", "crashes_every_ms")

    def __post_init__(self) -> None:
        for name in self._PROBABILITIES:
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise Misuse("P301", f"`{name}` is {getattr(self, name)}, and a probability is between 0 and 1")
        for name in self._RANGES:
            least, most = getattr(self, f"min_{name}"), getattr(self, f"max_{name}")
            if not 0.0 <= least <= most < FOREVER:
                hint = f"0 <= min_{name} <= max_{name}"
                raise Misuse("P301", f"`{name}` from {least} to {most} is no range of times", hint=hint)
        for name in self._POSITIVE:
            if not getattr(self, name) > 0.0:
                raise Misuse("P301", f"`{name}` is {getattr(self, name)}, and must be greater than 0")
        if self.max_partition_ms == FOREVER:
            raise Misuse("P301", "`max_partition_ms` is infinite, and a partition must heal")
        if self.max_crashes is not None and self.max_crashes < 0:
            raise Misuse("P301", f"`max_crashes` is {self.max_crashes}: there cannot be fewer than no crashes")


def encoded_size(message: Any) -> int:
    """Return the bytes a message takes in MessagePack; what that does not know counts as its text."""
    return len(msgspec.msgpack.encode(message, enc_hook=str))


class Network:
    """The channels between nodes, one for each direction of each pair.

    A sender's messages leave one after the other, as its bandwidth has it; each then takes its latency. Unless the
    network may reorder, none arrives before one that was sent earlier on the same channel; a second copy comes right
    behind the first. A partition divides the nodes in two groups that do not hear each other until it heals.
    """

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
        """Return when a message arrives: once; not at all if it is lost; twice if it is doubled."""
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
        """Return when something that leaves at a time arrives if all goes well."""
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
        """Return whether two nodes do not hear each other."""
        return now < self.heals_at and (sender in self._one_side) != (to in self._one_side)


class Outages:
    """Draws the times and the victims of crashes and partitions."""

    def __init__(self, faults: Faults, chance: Random) -> None:
        self.faults = faults
        self._chance = chance
        self._crashes_left = FOREVER if faults.max_crashes is None else faults.max_crashes

    def next_crash(self, now: float) -> float | None:
        """Return the time of the next crash; None if there is none any more."""
        return self._next(now, self.faults.crashes_every_ms) if self._crashes_left > 0 else None

    def next_partition(self, now: float) -> float | None:
        """Return the time of the next partition; None if there is none any more."""
        return self._next(now, self.faults.partitions_every_ms)

    def _next(self, now: float, every_ms: float) -> float | None:
        if every_ms == FOREVER:
            return None
        time = now + self._chance.uniform(0.0, 2.0 * every_ms)
        return time if time < self.faults.until_ms else None

    def victim(self, up: Sequence[NodeId]) -> NodeId | None:
        """Draw who crashes, among the nodes that are up."""
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
