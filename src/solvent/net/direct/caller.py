"""A connection that another node has opened to this one: handshake, then messages, received only.

What is no handshake or no message is dropped, told and the connection closed. A stranger may hold a connection for a
short time only, and send little.

All that goes back is how many frames were taken (`protocols.channel`): at first, now and then, and when the other side
asks whether this node is there, by a batch without messages. It is said at the end of the turn, when what was saved is
safe.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from solvent.net import handshake
from solvent.net.codec import Frames, Nonsense
from solvent.net.direct.way import COUNT, NO_MESSAGES, READ_BYTES
from solvent.net.handshake import FORGETFUL, MAX_HANDSHAKE_BYTES, Challenge, Hello, Proof, Refused
from solvent.net.incoming import MAX_HANDSHAKE_SECONDS, MAX_STRANGERS
from solvent.net.transport import PeerFault
from solvent.protocols import channel
from solvent.protocols.channel import Outdated, Session

if TYPE_CHECKING:
    import socket

    from solvent.net.direct.board import Board
    from solvent.protocols.machine import NodeId

MAX_UNSAID_BYTES = 1 << 20
FRAME_BYTES = MAX_UNSAID_BYTES // 64
"""What may be taken before the other side hears of it: bytes, and each frame counts for so many more."""
_LENGTH = struct.Struct("!I")
_LENGTH_BYTES = 4


class Caller:
    """One connection; a stranger until its handshake is done."""

    def __init__(self, board: Board, line: socket.socket, whence: str) -> None:
        self._board = board
        self._decode = board.codec.decode
        self._counters = board.counters
        self._line = line
        self._frames = Frames(MAX_HANDSHAKE_BYTES)
        self._hello: Hello | None = None
        self._challenge: Challenge | None = None
        self._from = whence
        self._unsaid = 0
        self._session: Session | None = None
        self.node: NodeId | None = None
        self.is_closed = False
        if len(board.strangers) >= MAX_STRANGERS:
            self._refuse("too many connections that do not say who they are")
            return
        board.strangers.add(self)
        board.clock.set(self, board.now + MAX_HANDSHAKE_SECONDS, self._on_impatient)

    def fileno(self) -> int:
        """Give what to wait for."""
        return self._line.fileno()

    def on_event(self, mask: int) -> None:
        """Take what arrived; nothing that is in it may hurt this node."""
        del mask
        try:
            data = self._line.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        node, frames, size = self.node, self._frames, len(data)
        self._counters.bytes_received += size
        try:
            if (
                node is not None
                and not frames.kept
                and size > _LENGTH_BYTES
                and _LENGTH.unpack_from(data)[0] == size - _LENGTH_BYTES
            ):
                # The common case: one frame, and the whole of it.
                self._on_batch(node, memoryview(data)[_LENGTH_BYTES:])
                return
            for body in frames.feed(data):
                if self.node is None:
                    self._on_handshake(body)
                else:
                    self._on_batch(self.node, body)
                if self.is_closed:
                    return
        except Nonsense as nonsense:
            self._refuse(str(nonsense))

    def _on_batch(self, node: NodeId, body: memoryview) -> None:
        board, messages = self._board, self._decode(body)
        board.heard[node] = board.now
        if messages:
            self._counters.messages_received += len(messages)
            if channel.receive(self._session, self):  # type: ignore[arg-type]
                self._unsaid += len(body) + FRAME_BYTES
                board.deliver(node, messages)
                if self._unsaid >= MAX_UNSAID_BYTES:
                    board.owing.add(self)
        elif body == NO_MESSAGES:
            board.owing.add(self)

    def say_taken(self) -> None:
        """Say how many frames were taken."""
        session = self._session
        if self.is_closed or session is None:
            return
        self._unsaid = 0
        try:
            sent = self._line.send(COUNT.pack(session.taken))
        except BlockingIOError:
            # It does not read; the next count says more.
            return
        except OSError:
            sent = 0
        if sent < COUNT.size:
            self.close()

    def _on_handshake(self, body: memoryview) -> None:
        board = self._board
        said = handshake.decode(body)
        if self._hello is None:
            if not isinstance(said, Hello):
                raise Nonsense("it does not say hello")
            is_other = board.births.is_other(said.node, said.birth) or said.life < board.life_of(said.node)
            answer = Refused(FORGETFUL) if is_other else handshake.challenge(board.identity, said)
            self._say(answer)
            if isinstance(answer, Refused):
                if said.wants != board.identity.node and said.run == board.identity.run:
                    # It came by name, and will find the other one by its port: no fault.
                    self.close()
                    return
                raise Nonsense(answer.reason)
            self._hello, self._challenge = said, answer
            return
        assert self._challenge is not None
        if not isinstance(said, Proof):
            raise Nonsense("it does not finish the handshake")
        if not handshake.is_proved(board.identity, self._hello, self._challenge, said):
            self._say(Refused("it does not know the secret of this run"))
            raise Nonsense("it does not know the secret of this run")
        board.births.note(self._hello.node, self._hello.birth)
        self._be_known(self._hello)

    def _say(self, said: handshake.Handshake) -> None:
        # It is small, and nothing was said before: the system takes it whole, or the connection is gone.
        with suppress(OSError):
            self._line.send(handshake.encode(said))

    def _be_known(self, hello: Hello) -> None:
        board, node = self._board, hello.node
        if board.is_forgotten(node):
            raise Nonsense("it was given up here")
        # A node that opens another connection has lost the last one, though this side may not know yet. It must go
        # before anything is taken from the new one: its messages are older.
        try:
            board.meet(node, hello.life, self)
        except Outdated:
            raise Nonsense(FORGETFUL) from None
        former = board.known.get(node)
        if former is not None:
            former.close()
        board.strangers.discard(self)
        board.known[node] = self
        self.node = node
        self._from = f"node {node}"
        self._frames.max_bytes = board.codec.max_frame_bytes
        board.clock.stop(self)
        self._session = board.session(node)
        channel.accept(self._session, self)
        board.owing.add(self)
        board.on_met(node, hello.where)

    def _on_impatient(self, _: Any) -> None:
        self._refuse("no handshake in time")

    def _refuse(self, reason: str) -> None:
        self._board.complain(PeerFault(self._from, reason))
        self.close()

    def close(self) -> None:
        """Close the connection; the other side opens a new one when it has something to say."""
        if self.is_closed:
            return
        self.is_closed = True
        board = self._board
        board.clock.stop(self)
        board.strangers.discard(self)
        if self.node is not None and board.known.get(self.node) is self:
            del board.known[self.node]
        board.lines.pop(self._line.fileno(), None)
        self._line.close()

    def abandon(self) -> None:
        """Close what a copy of this process has of it, without a word to the other side."""
        self._line.close()


__all__ = ["Caller"]
