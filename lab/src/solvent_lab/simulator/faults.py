"""What a simulated network and its nodes suffer: one value says all of it.

Latency, bandwidth and order describe the network and hold all the time. Loss, duplication, partitions and crashes are
faults: they stop at `until_ms`, so that a run can be judged by what it makes of the peace that follows.

Loss, duplication and partitions that lose are for machines that expect them, such as a reliable link; for others take
`partitions_lose=False`, where what is sent across a partition arrives when it has healed. Crashes come out of
`Save`d records for every machine.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from solvent.errors import Misuse

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


__all__ = ["FOREVER", "Faults"]
