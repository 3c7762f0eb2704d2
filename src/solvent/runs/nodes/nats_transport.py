"""Messages over NATS servers: nodes need not find each other, only a server.

A node listens to a subject of its own, `solvent-nodes.RUN.NODE`; `RUN` stands for the protocol and the run. Nothing is
kept by the servers: what is published while a node is away is lost, as any network may lose it. A batch of messages is
cut into pieces where it is larger than a server takes at once; a batch of which a piece is missing is dropped.

Each piece says who it is from, and proves by an HMAC that its sender knows the secret of the run; the proof covers
whom it is for. A piece may be repeated by somebody who has heard it, as any network may repeat messages; machines that
mind are wrapped in a link. It hides nothing from the servers: TLS protects the way to them (`tls://`).

A connection that is lost is made again, to any of the servers, by a client of its own (see `store/nats_link` why not by
the library's ways); meanwhile messages wait, but not more than `MAX_WAITING`.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from nats.errors import Error as NatsError

from solvent.net.codec import Frames, Nonsense
from solvent.net.outgoing import MAX_BATCH, MAX_WAITING
from solvent.net.transport import Complain, Counters, Deliver, PeerFault
from solvent.protocols.machine import NodeId  # noqa: TC001 - msgspec looks at the types of a struct's fields
from solvent.store.nats_client import Servers, read_address
from solvent.values.encoding import encoder
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from nats.aio.msg import Msg

    from solvent.net.codec import Codec
    from solvent.net.handshake import Identity
    from solvent.store.nats_client import OneClient

VERSION = 1
SECONDS_TO_CONNECT = 5.0
MAX_PIECE_BYTES = 512 * 1024
"""What is published at once; less where servers take less."""
MAX_PENDING_BYTES = 64 * 1024 * 1024
"""What may wait at the receiver; the rest is lost."""
_ROOM = 128
_CONNECTION = (NatsError, OSError, TimeoutError)


class Piece(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A batch of messages, or a piece of one: the number of the batch, which piece of how many."""

    version: int
    sender: NodeId
    batch: int
    number: int
    count: int
    data: bytes
    proof: bytes = b""


_encode = encoder()
_decode = msgspec.msgpack.Decoder(Piece).decode


class NatsTransport:
    """Carries messages between nodes over NATS servers; `url` says where they are, as for a store."""

    def __init__(self, identity: Identity, codec: Codec, url: str) -> None:
        self.counters = Counters()
        #: How often there was a new connection.
        self.connections = 0
        self._identity = identity
        self._codec = codec
        self._servers = Servers(read_address(url))
        mark = hashlib.sha256(_encode((identity.protocol, identity.run))).hexdigest()[:32]
        self._subjects = f"solvent-nodes.{mark}"
        self._batch = 0
        self._taken: dict[NodeId, list[Any]] = {}
        self._own: list[Any] = []
        self._waiting: deque[tuple[str, bytes, int]] = deque()
        self._waiting_count = 0
        self._wakes = asyncio.Event()
        self._may_receive = asyncio.Event()
        self._may_receive.set()
        self._partial: dict[NodeId, tuple[int, list[bytes]]] = {}
        self._client: OneClient | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._deliver: Deliver | None = None
        self._complain: Complain = lambda _: None
        self._last_complaint = ""

    async def open(self, deliver: Deliver, complain: Complain) -> None:
        """Connect, and begin to receive; raises `StoreError` E402 or E401 where that cannot be."""
        self._deliver, self._complain = deliver, complain
        client = await self._servers.first(SECONDS_TO_CONNECT)
        try:
            await self._use(client)
        except _CONNECTION:
            # The keeper makes another.
            self._client = None
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._keep(client)), loop.create_task(self._write())]

    def send(self, to: NodeId, message: Any) -> None:
        """Take a message to be sent at the next `flush`."""
        if to == self._identity.node:
            self._own.append(message)
        elif self._waiting_count >= MAX_WAITING:
            self.counters.messages_dropped += 1
        else:
            self._waiting_count += 1
            self._taken.setdefault(to, []).append(message)

    def flush(self) -> None:
        """Hand over what was taken."""
        taken, self._taken = self._taken, {}
        for to, messages in taken.items():
            for start in range(0, len(messages), MAX_BATCH):
                self._put(to, messages[start : start + MAX_BATCH])
        if taken:
            self._wakes.set()
        if self._own and self._deliver is not None:
            own, self._own = self._own, []
            self._deliver(self._identity.node, own)

    def pause(self) -> None:
        """Receive nothing for a while."""
        self._may_receive.clear()

    def resume(self) -> None:
        """Receive again."""
        self._may_receive.set()

    async def close(self) -> None:
        """Stop; what was flushed is on its way, if there is a connection."""
        self.flush()
        self._deliver = None
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
            self._tasks = []
        client, self._client = self._client, None
        if client is not None:
            with suppress(*_CONNECTION):
                await self._write_all(client)
                await client.flush(timeout=1)
            await self._servers.drop(client)

    # ------------------------------------------------------------------------------------------------- sending

    def _put(self, to: NodeId, messages: list[Any]) -> None:
        """Make pieces of messages, to be published."""
        data = self._codec.encode(messages, self._too_large)
        subject = f"{self._subjects}.{to}"
        size = min(MAX_PIECE_BYTES, self._servers.max_payload_bytes - _ROOM)
        left, me = len(messages), self._identity.node
        # Mostly one frame; several where messages together are too large for one, none where the only one is.
        for frame in Frames(self._codec.max_frame_bytes).feed(data):
            self._batch += 1
            count = -(-len(frame) // size)
            for number in range(count):
                piece = bytes(frame[number * size : (number + 1) * size])
                proof = self._proof(to, (me, self._batch, number, count), piece)
                self._waiting.append(
                    (subject, _encode(Piece(VERSION, me, self._batch, number, count, piece, proof)), left)
                )
                left = 0
        self._waiting_count -= left

    async def _write(self) -> None:
        """Publish what waits, whenever there is something and a connection."""
        while True:
            await self._wakes.wait()
            self._wakes.clear()
            client = self._client
            if client is not None:
                # A connection that breaks is the keeper's business.
                with suppress(*_CONNECTION):
                    await self._write_all(client)

    async def _write_all(self, client: OneClient) -> None:
        while self._waiting:
            subject, data, messages = self._waiting.popleft()
            self._waiting_count -= messages
            self.counters.messages_sent += messages
            self.counters.bytes_sent += len(data)
            await client.publish(subject, data)

    def _too_large(self, message: Any) -> None:
        self.counters.messages_dropped += 1
        kind = type(message).__name__
        self._complain(PeerFault(f"node {self._identity.node}", f"a message `{kind}` too large for a frame: not sent"))

    # ----------------------------------------------------------------------------------------------- receiving

    async def _on_message(self, message: Msg) -> None:
        await self._may_receive.wait()
        self.counters.bytes_received += len(message.data)
        try:
            piece = self._checked(message.data)
            body = self._put_together(piece)
            if body is None:
                return
            messages = self._codec.decode(body)
        except Nonsense as nonsense:
            self._refuse(str(nonsense))
            return
        self.counters.messages_received += len(messages)
        if self._deliver is not None:
            self._deliver(piece.sender, messages)

    def _checked(self, data: bytes) -> Piece:
        try:
            piece = _decode(data)
        except UNREADABLE as error:
            raise Nonsense(f"no piece of a message: {error}") from error
        if piece.version != VERSION:
            raise Nonsense(f"it speaks version {piece.version} of the wire format, not {VERSION}")
        said = (piece.sender, piece.batch, piece.number, piece.count)
        if not hmac.compare_digest(piece.proof, self._proof(self._identity.node, said, piece.data)):
            raise Nonsense("it does not know the secret of this run")
        if not 0 <= piece.number < piece.count or piece.sender < 0:
            raise Nonsense("a piece that cannot be")
        return piece

    def _put_together(self, piece: Piece) -> bytes | None:
        """Give the batch that is complete with this piece; one batch of each sender is kept at a time."""
        max_bytes = self._codec.max_frame_bytes
        batch, pieces = self._partial.pop(piece.sender, (-1, []))
        if piece.number == 0:
            pieces = []
        elif batch != piece.batch or len(pieces) != piece.number:
            # One before it was lost.
            return None
        pieces.append(piece.data)
        if sum(map(len, pieces)) > max_bytes:
            raise Nonsense(f"a batch of more than {max_bytes} bytes")
        if len(pieces) == piece.count:
            return b"".join(pieces)
        self._partial[piece.sender] = piece.batch, pieces
        return None

    def _refuse(self, reason: str) -> None:
        self.counters.peer_faults += 1
        if reason != self._last_complaint:
            # Whoever sends nonsense may send a lot of it.
            self._last_complaint = reason
            self._complain(PeerFault("somebody", reason))

    def _proof(self, to: NodeId, said: tuple[int, ...], data: bytes) -> bytes:
        secret = self._identity.secret
        if not secret:
            return b""
        return hmac.digest(secret, _encode((VERSION, self._subjects, to, *said)) + data, hashlib.sha256)

    # ---------------------------------------------------------------------------------------------- connection

    async def _keep(self, client: OneClient) -> None:
        """Have a connection, again and again."""
        while True:
            await self._servers.until_lost(client)
            self._client = None
            await self._servers.drop(client)
            client = await self._servers.any()
            try:
                await self._use(client)
            except _CONNECTION:
                await self._servers.drop(client)

    async def _use(self, client: OneClient) -> None:
        await client.subscribe(
            f"{self._subjects}.{self._identity.node}",
            cb=self._on_message,
            pending_msgs_limit=0,
            pending_bytes_limit=MAX_PENDING_BYTES,
        )
        # Only when the server has answered is it sure that it knows of us.
        await client.settle()
        self._client = client
        self.connections += 1
        self._wakes.set()


__all__ = ["MAX_PIECE_BYTES", "NatsTransport", "Piece"]
