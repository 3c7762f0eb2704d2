"""One port for peers and visitors: who has come is known from what a connection says first.

Peers are handed to the transport (`Door`) as soon as the node has a run to take part in; until then they are sent away
and come again. Visitors prove that they know the secret before anything they ask is looked at.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from solvent.net import TcpTransport, handshake
from solvent.net.codec import Frames, Nonsense
from solvent.net.handshake import MAX_HANDSHAKE_BYTES, Challenge, Hello, Proof, Refused
from solvent.net.incoming import MAX_HANDSHAKE_SECONDS, Hall, Incoming
from solvent.runs.nodes.control import ANSWERS, CONTROL, MAX_CONTROL_BYTES, REQUESTS, Answer, visitor

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from solvent.net.tls import Tls
    from solvent.net.transport import Complain, Deliver

_MAX_VISITORS = 64


class Listener:
    """The port of a node."""

    def __init__(
        self,
        listening: socket.socket,
        secret: bytes,
        asked: Callable[[Visitor, Any], None],
        *,
        tls: Tls | None = None,
    ) -> None:
        self.identity = visitor(secret)
        self.asked = asked
        #: Called when somebody has come in.
        self.greeted: Callable[[Visitor], None] = lambda _: None
        self.hall: Hall | None = None
        self.visitors: set[Visitor] = set()
        self.strangers: set[asyncio.BaseTransport] = set()
        self._socket = listening
        self._tls = tls
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Begin to listen."""
        loop = asyncio.get_running_loop()
        protected = {} if self._tls is None else self._tls.listening
        self._server = await loop.create_server(lambda: _Gate(self), sock=self._socket, **protected)

    def tell(self, answer: Answer) -> None:
        """Tell all visitors."""
        for one in self.visitors:
            one.tell(answer)

    async def close(self) -> None:
        """Listen no more, and let everybody go."""
        if self._server is not None:
            self._server.close()
        for one in list(self.visitors):
            one.close()
        await asyncio.sleep(0)


class Door(TcpTransport):
    """A transport whose peers come in through a port that is open already."""

    listener: Listener

    async def open(self, deliver: Deliver, complain: Complain) -> None:
        """Let peers in."""
        self._deliver, self._complain = deliver, complain
        self._hall = self.listener.hall = Hall(self._identity, self._codec, self.counters, deliver, complain)

    async def close(self) -> None:
        """Let nobody in any more; the port stays open for visitors."""
        self.listener.hall = None
        await super().close()


class _Gate(asyncio.Protocol):
    """A connection of which nobody knows yet who it is."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._kept = b""
        self._transport: asyncio.Transport | None = None
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first words, but not for long."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if len(self._listener.strangers) >= _MAX_VISITORS:
            transport.abort()
            return
        self._listener.strangers.add(transport)
        self._patience = asyncio.get_running_loop().call_later(MAX_HANDSHAKE_SECONDS, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - how it ended does not matter
        """Forget it."""
        self._leave()

    def _leave(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
        if self._transport is not None:
            self._listener.strangers.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        """Look who it is, and hand the connection over."""
        transport = self._transport
        assert transport is not None
        self._kept += data
        try:
            said = next(map(handshake.decode, Frames(MAX_HANDSHAKE_BYTES).feed(self._kept)), None)
        except Nonsense:
            transport.abort()
            return
        if said is None:
            return
        if isinstance(said, Hello) and said.protocol == CONTROL:
            next_one: asyncio.Protocol = Visitor(self._listener)
        elif self._listener.hall is not None:
            next_one = Incoming(self._listener.hall)
        else:
            transport.abort()
            return
        self._leave()
        transport.set_protocol(next_one)
        next_one.connection_made(transport)
        next_one.data_received(self._kept)


class Visitor(asyncio.Protocol):
    """A connection of somebody who asks, and is no peer."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._frames = Frames(MAX_HANDSHAKE_BYTES)
        self._transport: asyncio.Transport | None = None
        self._hello: Hello | None = None
        self._challenge: Challenge | None = None
        self._is_known = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the handshake."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        asyncio.get_running_loop().call_later(MAX_HANDSHAKE_SECONDS, self._lose_patience)

    def _lose_patience(self) -> None:
        if not self._is_known:
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - how it ended does not matter
        """Forget it."""
        self._transport = None
        self._listener.visitors.discard(self)

    def data_received(self, data: bytes) -> None:
        """Take what is asked."""
        try:
            for body in self._frames.feed(data):
                if not self._is_known:
                    self._on_handshake(handshake.decode(body))
                else:
                    for request in REQUESTS.decode(body):
                        self._listener.asked(self, request)
        except Nonsense:
            self.close()

    def _on_handshake(self, said: handshake.Handshake) -> None:
        assert self._transport is not None
        identity = self._listener.identity
        if self._hello is None:
            if not isinstance(said, Hello):
                raise Nonsense("it does not say hello")
            answer = handshake.challenge(identity, said)
            self._transport.write(handshake.encode(answer))
            if isinstance(answer, Refused):
                raise Nonsense(answer.reason)
            self._hello, self._challenge = said, answer
            return
        assert self._challenge is not None
        if not isinstance(said, Proof) or not handshake.is_proved(identity, self._hello, self._challenge, said):
            self._transport.write(handshake.encode(Refused("it does not know the secret of this run")))
            raise Nonsense("it does not know the secret")
        self._is_known = True
        self._frames.max_bytes = MAX_CONTROL_BYTES
        self._listener.visitors.add(self)
        self._listener.greeted(self)

    def tell(self, answer: Answer) -> None:
        """Answer."""
        if self._transport is not None:
            self._transport.write(ANSWERS.encode([answer], lambda _: None))

    def close(self) -> None:
        """Close the connection when everything is written."""
        self._listener.visitors.discard(self)
        if self._transport is not None:
            self._transport.close()
            self._transport = None


__all__ = ["Door", "Listener", "Visitor"]
