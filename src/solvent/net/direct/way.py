"""The way to one other node: a connection dialled when there is something to say, and again when it is lost.

What is kept, written again and forgotten the channel decides (`protocols.channel`). Messages wait while there is no
connection or the other side reads too slowly. Nothing here ever blocks, so two nodes that fill each other's buffers go
on reading.
"""

from __future__ import annotations

import select
import socket
import struct
from contextlib import suppress
from enum import IntEnum
from random import uniform
from typing import TYPE_CHECKING, Any

from solvent.net import handshake
from solvent.net.codec import Frames, Nonsense, framed
from solvent.net.direct.places import Dialled, dial, dial_by_name
from solvent.net.handshake import FORGETFUL, MAX_HANDSHAKE_BYTES, Challenge, Hello, Refused
from solvent.net.outgoing import MAX_BATCH, MAX_HANDSHAKE_SECONDS, MAX_REDIAL_SECONDS, MIN_REDIAL_SECONDS
from solvent.net.transport import PeerFault
from solvent.protocols import channel
from solvent.protocols.channel import Outdated, Session, WrongCount

if TYPE_CHECKING:
    from solvent.net.addresses import Address
    from solvent.net.direct.board import Board
    from solvent.protocols.machine import NodeId

NO_MESSAGES = b"\x90"
"""A batch without messages: it asks whether one is there, and answers."""
ASKING = framed(NO_MESSAGES)
COUNT = struct.Struct("!Q")
"""How many frames were taken."""
READ_BYTES = 65_536
_LENGTH = struct.Struct("!I")
MAX_REFUSALS = 3
"""Attempts in a row that find nobody listening, after which nobody is believed to be there."""
_IN = select.EPOLLIN if hasattr(select, "EPOLLIN") else 1
_OUT = select.EPOLLOUT if hasattr(select, "EPOLLOUT") else 4


class Phase(IntEnum):
    """How far a connection is."""

    DOWN = 0
    CONNECTING = 1
    GREETING = 2
    #: The handshake is done, and the other side has not said yet what it has taken.
    RESUMING = 3
    OPEN = 4
    #: Open, and the system takes no more for now.
    FULL = 5
    CLOSED = 6


_OPEN = Phase.OPEN


class Way:
    """Everything that goes to one other node."""

    def __init__(self, board: Board, peer: NodeId, session: Session) -> None:
        self.peer = peer
        self.phase = Phase.DOWN
        self.session = session
        #: Whether the other side is to hear of this node, though there may be nothing to say.
        self.is_greeting = False
        self._is_resting = False
        self._counts = b""
        self._board = board
        self._encode = board.codec.encode
        self._max_frame_bytes = board.codec.max_frame_bytes
        self._counters = board.counters
        self._line: socket.socket | None = None
        self._rest: memoryview | None = None
        self._frames = Frames(MAX_HANDSHAKE_BYTES)
        self._hello: Hello | None = None
        self._address: Address | None = None
        self._is_by_name = False
        self._redial_seconds = 0.0
        self._refusals = 0
        self._last_complaint = ""

    # ------------------------------------------------------------------------------------------------ writing

    def flush(self) -> None:
        """Write what waits, if there is a connection that takes it; else see that there will be one."""
        session = self.session
        waiting = session.waiting
        while waiting and self.phase is _OPEN:
            batch, waiting = (waiting, []) if len(waiting) <= MAX_BATCH else (waiting[:MAX_BATCH], waiting[MAX_BATCH:])
            session.waiting = waiting
            data, counters = self._encode(batch, self._board.too_large), self._counters
            size = len(data)
            counters.messages_sent += len(batch)
            counters.bytes_sent += size
            if 0 < size <= self._max_frame_bytes:
                channel.write(session, data)
                self._write(data)
            elif size:
                for frame in _frames_in(data):
                    channel.write(session, frame)
                self._write(data)
            # Else nothing is left of it: it was too large for a frame.
        if waiting and self.phase is Phase.DOWN:
            self._is_resting = False
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
            if self.phase is _OPEN:
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
        # Where another node has answered by name, the port is next.
        is_next = self._is_by_name
        address = self._address if is_next else board.address_of(self.peer)
        if address is None:
            self._pause()
            return
        named = None if is_next else dial_by_name(address, board.address)
        self._address, self._is_by_name = address, named is not None
        try:
            line, is_connected = named or dial(address)
        except OSError as error:
            self._on_failed(error)
            return
        self._connect(line, is_connected=is_connected)

    def _connect(self, line: socket.socket, *, is_connected: bool) -> None:
        board = self._board
        self._line, self._rest, self._counts = line, None, b""
        self._frames = Frames(MAX_HANDSHAKE_BYTES)
        self.phase = Phase.CONNECTING
        board.lines[line.fileno()] = self
        board.poll.register(line, _IN if is_connected else _IN | _OUT)
        board.clock.set((self, "patience"), board.now + MAX_HANDSHAKE_SECONDS, self._on_impatient)
        if is_connected:
            self._greet()

    def _greet(self) -> None:
        self.phase = Phase.GREETING
        self._hello = handshake.hello(self._board.identity, self.peer)
        self._write(handshake.encode(self._hello))

    def _on_impatient(self, _: Any) -> None:
        self._on_broken()

    def greet(self) -> None:
        """Have the other side hear of this node: dial until it did."""
        if self.phase < Phase.OPEN:
            self.is_greeting = True
            self.dial()

    def on_restarted(self) -> None:
        """Leave a connection to the former life of the other side, which no handshake is under way over."""
        if Phase.RESUMING <= self.phase < Phase.CLOSED:
            self._drop()
            self._is_by_name, self._redial_seconds = False, 0.0

    def hurry(self) -> None:
        """Dial at once: the other node was heard of."""
        if self.phase is Phase.DOWN and (self._is_resting or self._board.clock.is_set(self)):
            self._is_resting = False
            self._board.clock.stop(self)
            self._redial_seconds = 0.0
            self.dial()

    def rest(self) -> None:
        """Dial no more, until there is something new to say."""
        self._is_resting, self._is_by_name = True, False
        self._board.clock.stop(self)
        if self.phase is not Phase.CLOSED:
            self._drop()

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
        try:
            if self.phase is Phase.GREETING:
                # It may be anybody yet: ports of the dead are given to others. What comes behind the handshake waits
                # for its end: the other side has yet to hear the proof.
                for body in self._frames.feed(data):
                    self._on_handshake(handshake.decode(body))
            else:
                self._board.heard[self.peer] = self._board.now
                self._on_counts(data)
        except Nonsense as nonsense:
            self._on_broken(str(nonsense))

    def _on_counts(self, data: bytes) -> None:
        """Forget what was taken; at first, write the rest again."""
        data = self._counts + data
        whole = len(data) // COUNT.size * COUNT.size
        self._counts = data[whole:]
        if not whole:
            return
        (taken,) = COUNT.unpack_from(data, whole - COUNT.size)
        try:
            if self.phase is not Phase.RESUMING:
                channel.acknowledge(self.session, taken)
                return
            frames = channel.resume(self.session, taken)
        except WrongCount as wrong:
            raise Nonsense(str(wrong)) from wrong
        self.phase, self.is_greeting = Phase.OPEN, False
        self._board.clock.stop((self, "patience"))
        self._redial_seconds, self._refusals, self._last_complaint = 0.0, 0, ""
        if not frames or self._write(b"".join(frames)):
            self.flush()

    def _on_handshake(self, said: handshake.Handshake) -> None:
        assert self._hello is not None
        board = self._board
        if isinstance(said, Refused):
            raise Nonsense(f"it refuses: {said.reason}")
        if not isinstance(said, Challenge) or self.phase is not Phase.GREETING:
            raise Nonsense("it answers out of turn")
        proof = handshake.prove(board.identity, self._hello, said)
        if board.births.is_other(self.peer, said.birth):
            raise Nonsense(FORGETFUL)
        board.births.note(self.peer, said.birth)
        try:
            board.meet(self.peer, said.life, self)
        except Outdated:
            raise Nonsense(FORGETFUL) from None
        if self._write(handshake.encode(proof)):
            self.phase = Phase.RESUMING

    # --------------------------------------------------------------------------------------------------- losing

    def _on_failed(self, error: OSError) -> None:
        """Note that nobody could be reached; whoever is watched is believed to be gone if nobody even listens."""
        self._drop()
        self._pause()
        if isinstance(error, ConnectionRefusedError) or error.errno == 111:
            self._on_missed()

    def _on_missed(self) -> None:
        """Note that it was not there: nobody was, or somebody else."""
        self._refusals += 1
        if self._refusals >= MAX_REFUSALS:
            self._board.on_refused(self.peer)

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
            self._redial_seconds = MIN_REDIAL_SECONDS
            board.clock.set(self, board.now, self._on_redial)
        else:
            self._pause()
            if reason and not was_open:
                self._on_missed()

    def _pause(self) -> None:
        """Try again later, and not all at the same moment."""
        board = self._board
        self._redial_seconds = min(MAX_REDIAL_SECONDS, self._redial_seconds * 2 or MIN_REDIAL_SECONDS)
        if self._is_needed():
            board.clock.set(self, board.now + self._redial_seconds * uniform(0.5, 1.0), self._on_redial)

    def _on_redial(self, _: Any) -> None:
        if self._is_needed():
            self.dial()

    def _is_needed(self) -> bool:
        if self._is_resting:
            return False
        session = self.session
        return bool(session.waiting or session.kept) or self.is_greeting or self._board.is_watched(self.peer)

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


def _frames_in(data: bytes) -> list[bytes]:
    """Take apart what was too long for one frame."""
    frames, start = [], 0
    while start < len(data):
        end = start + _LENGTH.size + _LENGTH.unpack_from(data, start)[0]
        frames.append(data[start:end])
        start = end
    return frames


__all__ = ["ASKING", "COUNT", "MAX_REFUSALS", "NO_MESSAGES", "READ_BYTES", "Dialled", "Phase", "Way"]
