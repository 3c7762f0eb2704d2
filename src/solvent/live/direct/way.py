"""The way to one other node: a connection dialled when there is something to say, and again when it is lost.

Messages wait while there is no connection or the other side reads too slowly, but not more than `WAITING_MAX`: then new
ones are dropped, as any network may. What was written to a connection that broke is lost too. Nothing here ever blocks,
so two nodes that fill each other's buffers go on reading.

The other side writes nothing to this connection but answers to the question whether it is there (`ask`).
"""

from __future__ import annotations

import select
import socket
from contextlib import suppress
from enum import IntEnum
from random import uniform
from typing import TYPE_CHECKING, Any

from solvent.live import handshake
from solvent.live.codec import Frames, Nonsense, framed
from solvent.live.direct.places import Dialled, dial, dial_by_name
from solvent.live.handshake import FORGETFUL, HANDSHAKE_BYTES_MAX, Challenge, Hello, Refused
from solvent.live.outgoing import BATCH_MAX, HANDSHAKE_SECONDS_MAX, REDIAL_SECONDS_MAX, REDIAL_SECONDS_MIN, WAITING_MAX
from solvent.live.transport import PeerFault

if TYPE_CHECKING:
    from solvent.live.addresses import Address
    from solvent.live.direct.board import Board
    from solvent.protocols.machine import NodeId

NO_MESSAGES = b"\x90"
"""A batch without messages: it asks whether one is there, and answers."""
ASKING = framed(NO_MESSAGES)
READ_BYTES = 65_536
REFUSALS_MAX = 3
"""Attempts in a row that find nobody listening, after which nobody is believed to be there."""
_IN = select.EPOLLIN if hasattr(select, "EPOLLIN") else 1
_OUT = select.EPOLLOUT if hasattr(select, "EPOLLOUT") else 4


class Phase(IntEnum):
    """How far a connection is."""

    DOWN = 0
    CONNECTING = 1
    GREETING = 2
    OPEN = 3
    #: Open, and the system takes no more for now.
    FULL = 4
    CLOSED = 5


class Way:
    """Everything that goes to one other node."""

    def __init__(self, board: Board, peer: NodeId) -> None:
        self.peer = peer
        self.phase = Phase.DOWN
        self.waiting = list[Any]()
        self._board = board
        self._encode = board.codec.encode
        self._line: socket.socket | None = None
        self._rest: memoryview | None = None
        self._frames = Frames(HANDSHAKE_BYTES_MAX)
        self._hello: Hello | None = None
        self._address: Address | None = None
        self._is_by_name = False
        self._redial_seconds = 0.0
        self._refusals = 0
        self._last_complaint = ""

    # ------------------------------------------------------------------------------------------------ writing

    def send(self, message: Any) -> None:
        """Take a message, to be sent by `flush`."""
        if len(self.waiting) >= WAITING_MAX:
            self._board.counters.messages_dropped += 1
        else:
            self.waiting.append(message)

    def flush(self) -> None:
        """Write what waits, if there is a connection that takes it; else see that there will be one."""
        while self.waiting and self.phase is Phase.OPEN:
            batch, self.waiting = self.waiting, []
            if len(batch) > BATCH_MAX:
                batch, self.waiting = batch[:BATCH_MAX], batch[BATCH_MAX:]
            data = self._encode(batch, self._board.too_large)
            counters = self._board.counters
            counters.messages_sent += len(batch)
            counters.bytes_sent += len(data)
            self._write(data)
        if self.waiting and self.phase is Phase.DOWN:
            self.dial()

    def _write(self, data: bytes | memoryview) -> bool:
        """Write, as much as the system takes, and keep the rest; tell whether the connection is still there."""
        line = self._line
        assert line is not None
        try:
            sent = line.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._on_broken()
            return False
        if sent < len(data):
            self._rest = memoryview(data)[sent:]
            if self.phase is Phase.OPEN:
                self.phase = Phase.FULL
            self._board.poll.modify(line, _IN | _OUT)
        return True

    def ask(self) -> None:
        """Ask the other side whether it is there."""
        if self.phase is Phase.OPEN:
            self._write(ASKING)
        elif self.phase is Phase.DOWN:
            self.dial()

    # ----------------------------------------------------------------------------------------------- connecting

    def dial(self) -> None:
        """Begin to connect, unless it is too soon after the last attempt or nobody knows where."""
        board = self._board
        if self.phase is not Phase.DOWN or board.clock.is_set(self):
            return
        address = board.address_of(self.peer)
        if address is None:
            self._pause()
            return
        # Where another node has answered by name, the port is next.
        named = None if self._is_by_name and address == self._address else dial_by_name(address, board.address)
        self._address, self._is_by_name = address, named is not None
        try:
            line, is_connected = named or dial(address)
        except OSError as error:
            self._on_failed(error)
            return
        self._connect(line, is_connected=is_connected)

    def _connect(self, line: socket.socket, *, is_connected: bool) -> None:
        board = self._board
        self._line, self._rest = line, None
        self._frames = Frames(HANDSHAKE_BYTES_MAX)
        self.phase = Phase.CONNECTING
        board.lines[line.fileno()] = self
        board.poll.register(line, _IN if is_connected else _IN | _OUT)
        board.clock.set((self, "patience"), board.now + HANDSHAKE_SECONDS_MAX, self._on_impatient)
        if is_connected:
            self._greet()

    def _greet(self) -> None:
        self.phase = Phase.GREETING
        self._hello = handshake.hello(self._board.identity, self.peer)
        self._write(handshake.encode(self._hello))

    def _on_impatient(self, _: Any) -> None:
        self._on_broken()

    def hurry(self) -> None:
        """Dial at once: the other node was heard of."""
        if self.phase is Phase.DOWN and self._board.clock.is_set(self):
            self._board.clock.stop(self)
            self._redial_seconds = 0.0
            self.flush()

    # ------------------------------------------------------------------------------------------------- reading

    def on_event(self, mask: int) -> None:
        """Go on when the system says that something can be done."""
        if self.phase is Phase.CONNECTING:
            self._on_connected()
        elif mask & ~_OUT:
            self._on_readable()
        if mask & _OUT and self._rest is not None:
            self._on_writable()

    def _on_connected(self) -> None:
        line = self._line
        assert line is not None
        problem = line.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if problem:
            self._on_failed(OSError(problem, "cannot connect"))
            return
        self._board.poll.modify(line, _IN)
        self._refusals = 0
        self._greet()

    def _on_writable(self) -> None:
        rest, self._rest = self._rest, None
        assert rest is not None
        line = self._line
        assert line is not None
        if self._write(rest) and self._rest is None:
            self._board.poll.modify(line, _IN)
            if self.phase is Phase.FULL:
                self.phase = Phase.OPEN
                self.flush()

    def _on_readable(self) -> None:
        line = self._line
        assert line is not None
        try:
            data = line.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._on_broken()
            return
        self._board.on_heard(self.peer)
        if self.phase is not Phase.GREETING:
            return
        try:
            for body in self._frames.feed(data):
                self._on_handshake(handshake.decode(body))
        except Nonsense as nonsense:
            self._on_broken(str(nonsense))

    def _on_handshake(self, said: handshake.Handshake) -> None:
        assert self._hello is not None
        board = self._board
        if isinstance(said, Refused):
            raise Nonsense(f"it refuses: {said.reason}")
        if not isinstance(said, Challenge) or self.phase is not Phase.GREETING:
            # What comes behind the handshake, in the same piece, are answers.
            if self.phase >= Phase.OPEN:
                return
            raise Nonsense("it answers out of turn")
        proof = handshake.prove(board.identity, self._hello, said)
        if board.births.is_other(self.peer, said.birth):
            raise Nonsense(FORGETFUL)
        board.births.note(self.peer, said.birth)
        if not self._write(handshake.encode(proof)):
            return
        self.phase = Phase.OPEN if self._rest is None else Phase.FULL
        board.clock.stop((self, "patience"))
        self._redial_seconds, self._refusals, self._last_complaint = 0.0, 0, ""
        board.on_open(self.peer)
        self.flush()

    # --------------------------------------------------------------------------------------------------- losing

    def _on_failed(self, error: OSError) -> None:
        """Note that nobody could be reached; whoever is watched is believed to be gone if nobody even listens."""
        self._drop()
        if isinstance(error, ConnectionRefusedError) or error.errno == 111:
            self._refusals += 1
            if self._refusals >= REFUSALS_MAX:
                self._board.on_refused(self.peer)
        self._pause()

    def _on_broken(self, reason: str = "") -> None:
        """Forget a connection, and open another one if there is need of it."""
        board, was_open = self._board, self.phase >= Phase.OPEN
        is_other = bool(reason) and self._is_by_name and not was_open
        self._drop()
        if is_other:
            # Not the one that is wanted has this name; its port is another matter.
            self.dial()
            return
        self._is_by_name = False
        if reason and reason != self._last_complaint:
            # Once, not at each of the many attempts to come.
            self._last_complaint = reason
            board.complain(PeerFault(f"node {self.peer}", reason))
        if was_open and not self._redial_seconds:
            self._redial_seconds = REDIAL_SECONDS_MIN
            board.clock.set(self, board.now, self._on_redial)
        else:
            self._pause()

    def _pause(self) -> None:
        """Try again later, and not all at the same moment."""
        board = self._board
        self._redial_seconds = min(REDIAL_SECONDS_MAX, self._redial_seconds * 2 or REDIAL_SECONDS_MIN)
        if self.waiting or board.is_watched(self.peer):
            board.clock.set(self, board.now + self._redial_seconds * uniform(0.5, 1.0), self._on_redial)

    def _on_redial(self, _: Any) -> None:
        if self.waiting or self._board.is_watched(self.peer):
            self.dial()

    def _drop(self) -> None:
        line, self._line, self._rest = self._line, None, None
        if self.phase is not Phase.CLOSED:
            self.phase = Phase.DOWN
        self._board.clock.stop((self, "patience"))
        if line is not None:
            self._board.lines.pop(line.fileno(), None)
            line.close()

    def close(self) -> None:
        """Say nothing more."""
        self.phase = Phase.CLOSED
        self._board.clock.stop(self)
        line = self._line
        if line is not None:
            # Unread answers would make the system throw away what is still under way to the other side.
            with suppress(OSError):
                line.shutdown(socket.SHUT_WR)
                line.recv(READ_BYTES)
        self._drop()

    def abandon(self) -> None:
        """Close what a copy of this process has of it, without a word to the other side."""
        if self._line is not None:
            self._line.close()


__all__ = ["ASKING", "NO_MESSAGES", "READ_BYTES", "REFUSALS_MAX", "Dialled", "Phase", "Way"]
