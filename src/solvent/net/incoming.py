"""A connection that another node has opened to this one: handshake, then messages, received only.

What is no handshake or no message is dropped, reported and the connection closed. A stranger may hold a connection
for a short time only, and send little.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

from solvent.net import handshake
from solvent.net.codec import Codec, Frames, Nonsense
from solvent.net.handshake import MAX_HANDSHAKE_BYTES, Challenge, Hello, Identity, Proof, Refused
from solvent.net.transport import Complain, Counters, Deliver, PeerFault
from solvent.protocols.machine import NodeId

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_HANDSHAKE_SECONDS = 5.0
MAX_STRANGERS = 64
"""Connections that have not proved who they are; further ones are closed at once."""


class Hall:
    """Everything that the connections to one node share."""

    def __init__(
        self,
        identity: Identity,
        codec: Codec,
        counters: Counters,
        deliver: Deliver,
        complain: Complain,
    ) -> None:
        self.identity = identity
        self.codec = codec
        self.counters = counters
        self.deliver = deliver
        self.complain = complain
        #: Called with a node that has proved who it is, and where it says that it is to be found.
        self.on_met: Callable[[NodeId, str], None] = lambda _, __: None
        self.is_paused = False
        self.strangers = set[Incoming]()
        self.known = dict[NodeId, Incoming]()

    def pause(self) -> None:
        """Read nothing from anybody until `resume`."""
        self.is_paused = True
        for connection in self.known.values():
            connection.pause()

    def resume(self) -> None:
        """Read again."""
        self.is_paused = False
        for connection in self.known.values():
            connection.resume()

    def close(self) -> None:
        """Close every connection."""
        for connection in (*self.strangers, *self.known.values()):
            connection.close()


class Incoming(asyncio.Protocol):
    """One connection; a stranger until its handshake is done."""

    def __init__(self, hall: Hall) -> None:
        self._hall = hall
        self._frames = Frames(MAX_HANDSHAKE_BYTES)
        self._transport: asyncio.Transport | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._hello: Hello | None = None
        self._challenge: Challenge | None = None
        self._node: NodeId | None = None
        self._from = "somebody"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the handshake, but not for long."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        connection = transport.get_extra_info("socket")
        if connection is not None:
            # A machine that vanished says nothing; the system finds out.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        address = transport.get_extra_info("peername")
        self._from = f"{address[0]}:{address[1]}" if isinstance(address, tuple) else "somebody"
        if len(self._hall.strangers) >= MAX_STRANGERS:
            self._refuse("too many connections that do not say who they are")
            return
        self._hall.strangers.add(self)
        loop = asyncio.get_running_loop()
        self._patience = loop.call_later(MAX_HANDSHAKE_SECONDS, self._refuse, "no handshake in time")

    def data_received(self, data: bytes) -> None:
        """Take what arrived; nothing that is in it may hurt this node."""
        hall = self._hall
        hall.counters.bytes_received += len(data)
        try:
            for body in self._frames.feed(data):
                if self._node is None:
                    self._on_handshake(body)
                    if self._transport is None:
                        return
                else:
                    messages = hall.codec.decode(body)
                    hall.counters.messages_received += len(messages)
                    hall.deliver(self._node, messages)
        except Nonsense as nonsense:
            self._refuse(str(nonsense))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - how it ended does not matter
        """Forget the connection; the other side opens a new one when it has something to say."""
        self._forget()

    def pause(self) -> None:
        """Read nothing for a while."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        if self._transport is not None:
            self._transport.resume_reading()

    def close(self) -> None:
        """Close the connection."""
        transport = self._transport
        self._forget()
        if transport is not None:
            transport.close()

    def _on_handshake(self, body: memoryview) -> None:
        assert self._transport is not None
        hall = self._hall
        said = handshake.decode(body)
        if self._hello is None:
            if not isinstance(said, Hello):
                raise Nonsense("it does not say hello")
            answer = handshake.challenge(hall.identity, said)
            self._transport.write(handshake.encode(answer))
            if isinstance(answer, Refused):
                raise Nonsense(answer.reason)
            self._hello, self._challenge = said, answer
            return
        assert self._challenge is not None
        if not isinstance(said, Proof):
            raise Nonsense("it does not finish the handshake")
        if not handshake.is_proved(hall.identity, self._hello, self._challenge, said):
            self._transport.write(handshake.encode(Refused("it does not know the secret of this run")))
            raise Nonsense("it does not know the secret of this run")
        self._be_known(self._hello.node)
        hall.on_met(self._hello.node, self._hello.where)

    def _be_known(self, node: NodeId) -> None:
        hall = self._hall
        # A node that opens another connection has lost the last one, though this side may not know yet. It must go
        # before anything is taken from the new one: its messages are older.
        if node in hall.known:
            hall.known[node].close()
        hall.strangers.discard(self)
        hall.known[node] = self
        self._node = node
        self._from = f"node {node}"
        self._frames.max_bytes = hall.codec.max_frame_bytes
        if self._patience is not None:
            self._patience.cancel()
        if hall.is_paused:
            self.pause()

    def _refuse(self, reason: str) -> None:
        self._hall.counters.peer_faults += 1
        self._hall.complain(PeerFault(self._from, reason))
        self.close()

    def _forget(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
        self._hall.strangers.discard(self)
        if self._node is not None and self._hall.known.get(self._node) is self:
            del self._hall.known[self._node]
        self._transport = None


__all__ = ["MAX_HANDSHAKE_SECONDS", "MAX_STRANGERS", "Hall", "Incoming"]
