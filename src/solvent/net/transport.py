"""What the host asks of a transport, and the counters that both keep.

A transport carries messages between nodes. It may lose, repeat and reorder them, as any network may; machines that
mind are wrapped in a link (`protocols/link`). `send` only takes note; `flush`, called by the host at the end of each
turn, hands everything over at once, so that a burst costs one write per peer and not one per message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from solvent.protocols.machine import NodeId, Value


class PeerFault(Value, frozen=True, gc=False):
    """Somebody said something that no node of this run says; it was dropped and the connection closed."""

    #: The node, if it got as far as telling, or the address it came from.
    peer: str
    reason: str


Deliver: TypeAlias = Callable[[NodeId, Sequence[Any]], None]
"""Takes messages from a sender, in the order of their arrival."""
Complain: TypeAlias = Callable[[PeerFault], None]
"""Takes note of nonsense."""


class Counters:
    """What a node has done so far."""

    __slots__ = (
        "bytes_received",
        "bytes_sent",
        "messages_dropped",
        "messages_received",
        "messages_sent",
        "peer_faults",
        "records_saved",
        "steps",
    )

    def __init__(self) -> None:
        self.messages_sent = 0
        self.messages_received = 0
        #: Messages that were not sent because too many waited for a peer that does not take them.
        self.messages_dropped = 0
        self.bytes_sent = 0
        self.bytes_received = 0
        self.steps = 0
        self.records_saved = 0
        self.peer_faults = 0

    def as_dict(self) -> dict[str, int]:
        """Give all counters by name."""
        return {name: getattr(self, name) for name in self.__slots__}


class Transport(Protocol):
    """Carries messages to other nodes, and to oneself."""

    counters: Counters

    async def open(self, deliver: Deliver, complain: Complain) -> None:
        """Begin to receive."""

    def send(self, to: NodeId, message: Any) -> None:
        """Take a message to be sent at the next `flush`."""

    def flush(self) -> None:
        """Hand over what was taken."""

    def pause(self) -> None:
        """Receive nothing for a while: the host has more than it can work off."""

    def resume(self) -> None:
        """Receive again."""

    async def close(self) -> None:
        """Stop; what was flushed is on its way."""


__all__ = ["Complain", "Counters", "Deliver", "PeerFault", "Transport"]
