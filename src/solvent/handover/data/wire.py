"""How data is asked for and sent: a few small messages, and between them the bytes themselves.

    fetcher   (handshake, see `live.handshake`)
    fetcher   Want      resource, version, a stretch of it, how long the pieces are to be
    server    a head    which says how many bytes the resource has, and then the pieces, each followed by a trailer;
                        or that a Lack comes, with the reason
    fetcher   Want      another one, over the same connection
    fetcher   Look      which version each part of a stretch has; a head with the length of the answer, and Labels
    giver     Offer     something that the other side is to have as well, see `offering`

A trailer says whether the piece was that version until its last byte was read.
What arrived with a good trailer stays good whatever happens afterwards, so a fetch that breaks goes on behind it, at
the same server or at another one.

Sockets block, and threads wait for them: bytes go from the memory of one process to that of the other by one system
call for each piece, and are copied nowhere on the way but in the kernel. They are sent by `send` and not by `sendfile`,
which would take references to pages instead of copies: somebody could write to them after the trailer has said that
all is well. Heads and trailers are as long as a line of the processor's cache: behind a few odd bytes the kernel copies
everything from one place in a line to another one, which takes twice as long.
"""

from __future__ import annotations

import socket
import struct
import sys
from typing import TYPE_CHECKING, TypeVar

import msgspec

from solvent.handover.data.extents import Level
from solvent.net.codec import Nonsense, framed
from solvent.net.handshake import MAX_HANDSHAKE_BYTES
from solvent.protocols.machine import Message
from solvent.values.encoding import encoder
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PROTOCOL = "solvent-data"
PIECE_BYTES = 8 * 1024 * 1024
MAX_PIECE_BYTES = 256 * 1024 * 1024
MAX_NAME_CHARACTERS = 500
_MAX_FRAME_BYTES = 64 * 1024
_MAX_LABELS_BYTES = 16 * 1024 * 1024
_CLOSED = "the other side closed the connection"
_LENGTH = struct.Struct("!I")
_HEAD = struct.Struct("!BQ55x")
_TRAILER = struct.Struct("!B63x")
_TIME = struct.Struct("@ll")
_T = TypeVar("_T")
_MORE = getattr(socket, "MSG_MORE", 0)
_ALL = socket.MSG_WAITALL
_LOOK = socket.MSG_DONTWAIT | socket.MSG_PEEK
_MAX_LOOKS = 100
_ONE = bytearray(1)
_LAST_BYTES = 32 * 1024
_BATCH_BYTES = 128 * 1024
#: Linux makes its window wide enough for so many bytes, and wakes early where it cannot.
_CAN_BATCH = sys.platform == "linux"


class Broken(Exception):
    """A connection that is of no use any more; the reason is for people."""


class Want(Message, frozen=True, gc=False):
    """A fetcher asks for a stretch of a version, in pieces of this length; the last may be shorter."""

    resource: str
    version: int
    offset: int
    length: int
    piece: int


class Look(Message, frozen=True, gc=False):
    """A fetcher asks what a stretch of a version has become, where everything of it is."""

    resource: str
    version: int
    offset: int
    length: int


class Labels(Message, frozen=True, gc=False):
    """The answer: beginnings, ends and versions; and how many parts were changed."""

    rows: tuple[tuple[int, int, int], ...]
    parts: int


class Offer(Message, frozen=True, gc=False):
    """Somebody has a version, of everything or of a stretch, that the other side is to take as well."""

    resource: str
    version: int
    offset: int
    #: Zero: everything.
    length: int
    #: How many bytes the resource has, what they are, and how many hosts are to have a version.
    size: int
    form: str
    copies: int
    #: The level that it belongs to.
    level: Level
    #: The version that it is a change of, and what was changed; if that is not known, nothing.
    base: int
    runs: tuple[tuple[int, int], ...] | None
    #: How long whoever gives it waits for an answer.
    max_seconds: float
    #: The last epoch that whoever gives it has heard of.
    epoch: int = 0


class Lack(Message, frozen=True, gc=False):
    """The server does not have it, or does not take it."""

    code: str
    reason: str


_encode = encoder()
_want = msgspec.msgpack.Decoder(Want | Look | Offer).decode
_labels = msgspec.msgpack.Decoder(Labels).decode
_lack = msgspec.msgpack.Decoder(Lack).decode


class Line:
    """A connection, on which one thread at a time speaks and waits."""

    def __init__(self, connection: socket.socket, *, max_seconds: float) -> None:
        """Give up, with `Broken`, if nothing moves for so many seconds."""
        self._socket = connection
        self._behind = b""
        self._seconds = -1.0
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _time(max_seconds))
        self.wait_at_most(max_seconds)

    def wait_at_most(self, seconds: float) -> None:
        """Change how long to wait for the other side to say something."""
        if seconds == self._seconds:
            return
        self._seconds = seconds
        # Not by `settimeout`: that would make the socket one that never blocks, and of every piece many small ones.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _time(seconds))

    def hear(self, *, max_bytes: int = MAX_HANDSHAKE_BYTES) -> bytes:
        """Receive a small message, with its length before it; what comes behind it is for the next time."""
        (length,) = _LENGTH.unpack_from(self._gathered(_LENGTH.size))
        if length > max_bytes:
            raise Nonsense(f"a frame of {length} bytes, and at most {max_bytes} are allowed")
        end = _LENGTH.size + length
        data = self._gathered(end)
        self._behind = data[end:]
        return data[_LENGTH.size : end]

    def _gathered(self, needed: int) -> bytes:
        while len(self._behind) < needed:
            try:
                more = self._socket.recv(_MAX_FRAME_BYTES)
            except OSError as error:
                raise Broken(_words(error, self._seconds)) from error
            if not more:
                raise Broken(_CLOSED)
            self._behind += more
        return self._behind

    def ask(self, want: Want) -> None:
        """Ask for a stretch; the answer is how many bytes its resource has, or why it is not to be had."""
        self.send(framed(_encode(want)))

    def offer(self, offer: Offer) -> int | Lack:
        """Offer something; give what is wanted of it, or why it is not."""
        self.send(framed(_encode(offer)))
        return self.hear_answer()

    def look(self, look: Look) -> Labels | Lack:
        """Ask what a stretch has become."""
        self.send(framed(_encode(look)))
        answer = self.hear_answer()
        if isinstance(answer, Lack):
            return answer
        if answer > _MAX_LABELS_BYTES:
            raise Nonsense(f"an answer of {answer} bytes")
        body = bytearray(answer)
        self.fill(body)
        return _decoded(_labels, body)

    def say_labels(self, labels: Labels) -> None:
        """Answer what a stretch has become."""
        body = _encode(labels)
        self.send(_HEAD.pack(1, len(body)) + body)

    def hear_answer(self) -> int | Lack:
        """Hear a number, or why there is none."""
        head = bytearray(_HEAD.size)
        self.fill(head)
        is_there, number = _HEAD.unpack(head)
        if is_there:
            return int(number)
        if number > _MAX_FRAME_BYTES:
            raise Nonsense(f"a reason of {number} bytes")
        reason = bytearray(number)
        self.fill(reason)
        return _decoded(_lack, reason)

    def hear_want(self) -> Want | Look | Offer:
        """Wait for somebody that asks for something, or has something to give."""
        wanted: Want | Look | Offer = _decoded(_want, self.hear(max_bytes=_MAX_FRAME_BYTES))
        return wanted

    def say_size(self, size: int) -> None:
        """Answer that it is there, and that nothing more comes."""
        self.send(_HEAD.pack(1, size))

    def say_lack(self, lack: Lack) -> None:
        """Answer that it is not."""
        body = _encode(lack)
        self.send(_HEAD.pack(0, len(body)) + body)

    def send(self, data: bytes | memoryview, *, is_more_to_come: bool = False) -> None:
        """Send all of it; what ends in the middle of a packet may wait for more to come."""
        flags = _MORE if is_more_to_come else 0
        try:
            sent = self._socket.send(data, flags)
            while sent < len(data):
                with memoryview(data)[sent:] as rest:
                    sent += self._socket.send(rest, flags)
        except OSError as error:
            raise Broken(_words(error, self._seconds)) from error

    def send_piece(self, piece: memoryview, *, size: int | None, is_still: Callable[[], bool]) -> bool:
        """Send a piece, the first with the answer that the resource is there and has this size; tell how it went.

        Whether it is what it was before is asked when nothing of it is read any more. Its last bytes are copied for
        that, so that they and the trailer are sent together: whoever waits is woken once.
        """
        early = max(0, len(piece) - _LAST_BYTES)
        with piece[:early] as most:
            if size is not None:
                self._send_both(_HEAD.pack(1, size), most, flags=_MORE)
            elif early:
                self.send(most, is_more_to_come=True)
        last, is_same = bytes(piece[early:]), is_still()
        self._send_both(last, _TRAILER.pack(is_same))
        return is_same

    def _send_both(self, first: bytes, second: bytes | memoryview, *, flags: int = 0) -> None:
        """Send two things, by one call of the system's if that takes all of it."""
        try:
            sent = self._socket.sendmsg((first, second), (), flags)
        except OSError as error:
            raise Broken(_words(error, self._seconds)) from error
        for rest in _behind((first, second), sent):
            self.send(rest, is_more_to_come=bool(flags))

    def fill(self, *places: bytearray | memoryview) -> None:
        """Receive as many bytes as some places in memory have room for, right into them."""
        if self._behind:
            raise Nonsense("more than it was asked for")
        wanted = sum(map(len, places))
        rest: Sequence[bytearray | memoryview] = places
        try:
            # Nearly always all of it comes at once.
            while (count := self._socket.recvmsg_into(rest, 0, _ALL)[0]) < wanted:
                if not count:
                    raise Broken(_CLOSED)
                wanted -= count
                rest = _behind(rest, count)
        except OSError as error:
            raise Broken(_words(error, self._seconds)) from error

    def fill_piece(self, place: memoryview) -> bool:
        """Receive a piece into its place; give what its trailer says."""
        trailer = bytearray(_TRAILER.size)
        early = len(place) - _BATCH_BYTES
        if early < _BATCH_BYTES:
            self.fill(place, trailer)
        else:
            self._sleep_until(_BATCH_BYTES)
            with place[:early] as most:
                self.fill(most)
            # So much is still to come, and not more.
            self._sleep_until(1)
            with place[early:] as rest:
                self.fill(rest, trailer)
        return bool(_TRAILER.unpack(trailer)[0])

    def is_answered_soon(self) -> bool:
        """Wait for what comes very soon, without sleeping; tell whether it has come.

        Who sleeps is woken late, and whoever answers is often put on the processor that has become free, where they
        would then take turns.
        """
        for _ in range(_MAX_LOOKS):
            try:
                self._socket.recv_into(_ONE, 1, _LOOK)
            except BlockingIOError:
                continue
            except OSError as error:
                raise Broken(_words(error, self._seconds)) from error
            return True
        return False

    def _sleep_until(self, count: int) -> None:
        """Have the system wake who waits here when so many bytes have come, and not for each packet."""
        if _CAN_BATCH:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)

    def shut(self) -> None:
        """Wake whoever waits here, from another thread."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def close(self) -> None:
        """Close it."""
        self._socket.close()


def _decoded(decode: Callable[[bytes | bytearray], _T], body: bytes | bytearray) -> _T:
    try:
        return decode(body)
    except UNREADABLE as error:
        raise Nonsense(f"not a message about data: {error}") from error


def _behind(places: Sequence[bytes | bytearray | memoryview], count: int) -> list[memoryview]:
    """Give what is left of some places behind their first bytes."""
    rest = [memoryview(place) for place in places]
    while rest and count >= len(rest[0]):
        count -= len(rest[0])
        rest = rest[1:]
    return [rest[0][count:], *rest[1:]] if rest else rest


def _time(seconds: float) -> bytes:
    whole = int(seconds)
    return _TIME.pack(whole, int((seconds - whole) * 1_000_000))


def _words(error: OSError, seconds: float) -> str:
    if isinstance(error, BlockingIOError):
        return f"nothing came for {seconds:g} seconds"
    return error.strerror or str(error)


__all__ = [
    "MAX_NAME_CHARACTERS",
    "MAX_PIECE_BYTES",
    "PIECE_BYTES",
    "PROTOCOL",
    "Broken",
    "Labels",
    "Lack",
    "Line",
    "Look",
    "Offer",
    "Want",
]
