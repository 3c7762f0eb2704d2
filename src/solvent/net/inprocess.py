"""Messages between nodes of one process: handed over as they are, at the next turn of the loop.

For tests, for trying a protocol out, and for several nodes in one process. A `Hub` is the network; each node takes
its transport from it. Nodes may come, go and come back; messages to one that is not there are lost.
"""

from __future__ import annotations

import asyncio
from typing import Any

from solvent.net.transport import Complain, Counters, Deliver
from solvent.protocols.machine import NodeId

MAX_HELD = 1024
"""Deliveries that a paused node keeps; further ones are lost."""


class Hub:
    """Knows the nodes of the process."""

    def __init__(self) -> None:
        self.nodes = dict[NodeId, InProcess]()

    def transport(self, node: NodeId) -> InProcess:
        """Give a node its way to the others."""
        return InProcess(self, node)


class InProcess:
    """One node's way to the others."""

    def __init__(self, hub: Hub, node: NodeId) -> None:
        self.counters = Counters()
        self._hub = hub
        self._node = node
        self._deliver: Deliver | None = None
        self._taken = dict[NodeId, list[Any]]()
        self._held = list[tuple[NodeId, list[Any]]]()
        self._is_paused = False

    async def open(self, deliver: Deliver, complain: Complain) -> None:  # noqa: ARG002 - no strangers here
        """Begin to receive."""
        self._deliver = deliver
        self._hub.nodes[self._node] = self

    def send(self, to: NodeId, message: Any) -> None:
        """Take a message to be sent at the next `flush`."""
        self._taken.setdefault(to, []).append(message)

    def flush(self) -> None:
        """Hand over what was taken."""
        taken, self._taken = self._taken, {}
        for to, messages in taken.items():
            self.counters.messages_sent += len(messages)
            # Not at once: the receiver's turn must not run inside the sender's.
            asyncio.get_running_loop().call_soon(self._carry, to, messages)

    def pause(self) -> None:
        """Hold back what arrives."""
        self._is_paused = True

    def resume(self) -> None:
        """Deliver what was held back, and go on."""
        self._is_paused = False
        held, self._held = self._held, []
        for sender, messages in held:
            self._take(sender, messages)

    async def close(self) -> None:
        """Receive no more."""
        self.flush()
        self._deliver = None
        if self._hub.nodes.get(self._node) is self:
            del self._hub.nodes[self._node]

    def _carry(self, to: NodeId, messages: list[Any]) -> None:
        receiver = self._hub.nodes.get(to)
        if receiver is None:
            self.counters.messages_dropped += len(messages)
        else:
            receiver._take(self._node, messages)  # noqa: SLF001 - another of the same kind

    def _take(self, sender: NodeId, messages: list[Any]) -> None:
        if self._is_paused and len(self._held) >= MAX_HELD:
            self.counters.messages_dropped += len(messages)
        elif self._is_paused:
            self._held.append((sender, messages))
        elif self._deliver is not None:
            self.counters.messages_received += len(messages)
            self._deliver(sender, messages)


__all__ = ["MAX_HELD", "Hub", "InProcess"]
