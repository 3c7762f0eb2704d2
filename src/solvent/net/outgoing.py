"""The way to one other node: a connection opened when there is something to say, and again when it is lost.

Messages wait while there is no connection or the other side reads too slowly, but not more than `MAX_WAITING`: then
new ones are dropped, as any network may. What was written to a connection that broke is lost too.
"""

from __future__ import annotations

import asyncio
import random
import socket
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from solvent.net import handshake
from solvent.net.codec import Codec, Frames, Nonsense
from solvent.net.handshake import MAX_HANDSHAKE_BYTES, Challenge, Hello, Identity, Refused
from solvent.net.transport import Complain, Counters, PeerFault

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.net.tls import Tls
    from solvent.protocols.machine import NodeId

MAX_WAITING = 65_536
"""Messages that may wait for one node."""
MAX_BATCH = 1024
"""Messages in one frame: enough that the frame costs little, few enough that the reader can begin early."""
MIN_REDIAL_SECONDS = 0.02
MAX_REDIAL_SECONDS = 2.0
MAX_HANDSHAKE_SECONDS = 5.0
MAX_UNANSWERED_MS = 10_000
"""How long what was written may remain without a sign from the other machine."""


class Outgoing(asyncio.Protocol):
    """One connection to another node; written to only, once the handshake is done."""

    def __init__(
        self,
        identity: Identity,
        peer: NodeId,
        *,
        ready: Callable[[], None],
        lost: Callable[[Outgoing, str], None],
    ) -> None:
        self._identity = identity
        self._peer = peer
        self._ready = ready
        self._lost = lost
        self._frames = Frames(MAX_HANDSHAKE_BYTES)
        self._hello: Hello | None = None
        self._transport: asyncio.Transport | None = None
        self._reason = ""
        self.is_open = False
        self.is_full = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say hello."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        connection = transport.get_extra_info("socket")
        if connection is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
            # Batches are put together here; the system need not wait for more.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if hasattr(socket, "TCP_USER_TIMEOUT"):
                # A machine that vanished says nothing; else the system would believe in it for a quarter of an hour.
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, MAX_UNANSWERED_MS)
        self._hello = handshake.hello(self._identity, self._peer)
        transport.write(handshake.encode(self._hello))

    def data_received(self, data: bytes) -> None:
        """Take the other side's part of the handshake."""
        assert self._transport is not None
        try:
            for body in self._frames.feed(data):
                self._on_handshake(handshake.decode(body))
        except Nonsense as nonsense:
            self._reason = str(nonsense)
            self.is_open = False
            self._transport.abort()

    def _on_handshake(self, said: handshake.Handshake) -> None:
        assert self._transport is not None
        assert self._hello is not None
        if isinstance(said, Refused):
            raise Nonsense(f"it refuses: {said.reason}")
        if not isinstance(said, Challenge) or self.is_open:
            raise Nonsense("it answers out of turn")
        proof = handshake.prove(self._identity, self._hello, said)
        self._transport.write(handshake.encode(proof))
        self.is_open = True
        self._ready()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the peer is dialled again anyway
        """Tell that the connection is gone."""
        self.is_open = False
        self._transport = None
        self._lost(self, self._reason)

    def pause_writing(self) -> None:
        """Stop: the other side reads more slowly than this one writes."""
        self.is_full = True

    def resume_writing(self) -> None:
        """Go on with what waits."""
        self.is_full = False
        if self.is_open:
            self._ready()

    def is_writable(self) -> bool:
        """Whether it takes messages now."""
        return self.is_open and not self.is_full

    def write(self, data: bytes) -> None:
        """Send bytes."""
        assert self._transport is not None
        self._transport.write(data)

    def close(self) -> None:
        """Close when everything is written."""
        if self._transport is not None:
            self._transport.close()


class Way:
    """Everything that goes to one other node."""

    def __init__(
        self,
        identity: Identity,
        peer: NodeId,
        *,
        address: Callable[[NodeId], tuple[str, int] | None],
        codec: Codec,
        counters: Counters,
        complain: Complain,
        tls: Tls | None = None,
    ) -> None:
        self._identity = identity
        self._peer = peer
        self._tls = tls
        self._address = address
        self._codec = codec
        self._counters = counters
        self._complain = complain
        self._waiting = list[Any]()
        self._connection: Outgoing | None = None
        self._dialling: asyncio.Task[None] | None = None
        self._redial_seconds = 0.0
        self._hurry = asyncio.Event()
        self._last_complaint = ""
        self._is_closed = False

    def send(self, message: Any) -> None:
        """Take a message."""
        if len(self._waiting) >= MAX_WAITING:
            self._counters.messages_dropped += 1
        else:
            self._waiting.append(message)

    def flush(self) -> None:
        """Write what waits, if there is a connection that takes it; else see that there will be one."""
        connection = self._connection
        if connection is None:
            if self._dialling is None and self._waiting and not self._is_closed:
                self._dialling = asyncio.get_running_loop().create_task(self._dial())
            return
        waiting = self._waiting
        if not waiting or not connection.is_writable():
            return
        self._waiting = []
        encode, counters = self._codec.encode, self._counters
        written = 0
        while written < len(waiting):
            if not connection.is_writable():
                self._waiting = waiting[written:] + self._waiting
                return
            batch = waiting[written : written + MAX_BATCH] if len(waiting) > MAX_BATCH else waiting
            data = encode(batch, self._too_large)
            counters.messages_sent += len(batch)
            counters.bytes_sent += len(data)
            connection.write(data)
            written += len(batch)

    def hurry(self) -> None:
        """Dial at once: the other node was heard of."""
        self._hurry.set()

    def close(self) -> None:
        """Stop."""
        self.flush()
        self._is_closed = True
        if self._dialling is not None:
            self._dialling.cancel()
        if self._connection is not None:
            self._connection.close()

    async def _dial(self) -> None:
        """Open a connection; try again, with longer and longer pauses, until it is there."""
        loop = asyncio.get_running_loop()
        protected = {} if self._tls is None else self._tls.dialling
        while True:
            if self._redial_seconds:
                # Not all at the same moment, after a node came back that all others had lost.
                await self._pause(self._redial_seconds * random.uniform(0.5, 1.0))
            self._redial_seconds = min(MAX_REDIAL_SECONDS, self._redial_seconds * 2 or MIN_REDIAL_SECONDS)
            address = self._address(self._peer)
            if address is None:
                continue
            try:
                async with asyncio.timeout(MAX_HANDSHAKE_SECONDS):
                    _, connection = await loop.create_connection(self._make, *address, **protected)
            except ssl.SSLError as error:
                self._complain_once(f"no TLS with it: {error.reason or error}")
                continue
            except OSError:
                continue
            self._dialling = None
            loop.call_later(MAX_HANDSHAKE_SECONDS, self._give_up, connection)
            # It may have been lost already.
            self.flush()
            return

    async def _pause(self, seconds: float) -> None:
        """Wait, but not after the other node was heard of."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurry.wait()
                self._redial_seconds = 0.0
        self._hurry.clear()

    def _make(self) -> Outgoing:
        # Known before `create_connection` returns: the handshake may be done by then.
        self._connection = Outgoing(self._identity, self._peer, ready=self._on_ready, lost=self._on_lost)
        return self._connection

    def _give_up(self, connection: Outgoing) -> None:
        if not connection.is_open:
            connection.close()

    def _on_ready(self) -> None:
        self._redial_seconds = 0.0
        self._last_complaint = ""
        self.flush()

    def _on_lost(self, connection: Outgoing, reason: str) -> None:
        if connection is not self._connection:
            return
        self._connection = None
        if reason:
            self._complain_once(reason)
        self._redial_seconds = self._redial_seconds or MIN_REDIAL_SECONDS
        self.flush()

    def _complain_once(self, reason: str) -> None:
        """Tell what is wrong, but not at each of the many attempts to come."""
        if reason != self._last_complaint:
            self._last_complaint = reason
            self._counters.peer_faults += 1
            self._complain(PeerFault(f"node {self._peer}", reason))

    def _too_large(self, message: Any) -> None:
        self._counters.messages_dropped += 1
        kind = type(message).__name__
        self._complain(PeerFault(f"node {self._identity.node}", f"a message `{kind}` too large for a frame: not sent"))


__all__ = ["MAX_BATCH", "MAX_REDIAL_SECONDS", "MAX_WAITING", "MIN_REDIAL_SECONDS", "Outgoing", "Way"]
