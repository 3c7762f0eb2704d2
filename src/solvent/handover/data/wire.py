"""How data is asked for and sent: a few small messages, and between them the bytes themselves.

    fetcher   (handshake, see `net.handshake`)
    fetcher   Want      resource, version, a stretch of it, how long the pieces are to be
    server    a head    which says how many bytes the resource has, and then the pieces, each followed by a trailer;
                        or that a Lack comes, with the reason
    fetcher   Want      another one, over the same connection
    fetcher   Look      which version each part of a stretch has; a head with the length of the answer, and Labels
    giver     Offer     something that the other side is to have as well, see `transfer`
    giver     Follow    a host that has everything of something, which the other side is to have as well

A trailer says whether the piece was that version until its last byte was read.
What arrived with a good trailer stays good whatever happens afterwards, so a fetch that breaks goes on behind it, at
the same server or at another one.

Sockets block, and threads wait for them: bytes go from the memory of one process to that of the other by one system
call for each piece, and are copied nowhere on the way but in the kernel. They are sent by `send` and not by `sendfile`,
which would take references to pages instead of copies: somebody could write to them after the trailer has said that
all is well. Heads and trailers are as long as a line of the processor's cache: behind a few odd bytes the kernel copies
everything from one place in a line to another one, which takes twice as long.

`Where` says where a version is: the small message by which big data is handed over. Whoever is on the same host
attaches to the memory by its name; everybody else asks at the address, and shows the token and the secret of the run.
It is carried by whoever passes the right to write.

Connections are dialled when one is needed, and kept for the next time.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import os
import socket
import struct
import sys
import threading
import time
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from solvent.errors import NodeProblem
from solvent.handover.data.card import Level
from solvent.net import handshake
from solvent.net.addresses import address_from_text
from solvent.net.codec import Nonsense, framed
from solvent.net.handshake import ANYBODY, MAX_HANDSHAKE_BYTES, Challenge, Hello, Identity, Proof, Refused
from solvent.net.readiness import is_writable
from solvent.protocols.machine import Message, NodeId, Value
from solvent.values.encoding import encoder
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent.net.addresses import Address


class Where(Value, frozen=True, gc=False):
    """Where a version of a resource is, and all that one must know to get it."""

    resource: str
    version: int
    size: int
    #: The memory that has it: a boot of a system, and a folder in it.
    host: str
    #: The name of the files, and which of those that had this name.
    segment: str
    birth: int
    #: `HOST:PORT` of a process that hands it to other hosts; empty where none does.
    address: str = ""
    #: What to show there, beside the run's secret.
    token: bytes = b""
    #: What the bytes are, and whether the last version is kept, wherever the resource is.
    form: str = ""
    keep_last: bool = False
    #: How many hosts are to have a version before others get it.
    copies: int = 1

    def __repr__(self) -> str:
        # Without the token: what is shown may end up in a log.
        return f"Where(resource={self.resource!r}, version={self.version}, size={self.size}, address={self.address!r})"


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


class Follow(Message, frozen=True, gc=False):
    """The other side is to have everything of a version as well, with all parts that were changed."""

    resource: str
    version: int
    size: int
    form: str
    copies: int
    #: Where all of it is: addresses, and what to show there.
    places: tuple[tuple[str, bytes], ...]
    #: Whether only a host is meant that has had everything of the version.
    is_near: bool
    max_seconds: float
    epoch: int = 0


class Lack(Message, frozen=True, gc=False):
    """The server does not have it, or does not take it."""

    code: str
    reason: str


_encode = encoder()
_want = msgspec.msgpack.Decoder(Want | Look | Offer | Follow).decode
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

    def ask(self, want: Want | Follow) -> None:
        """Ask for something; the answer is a number, or why it is not to be had."""
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

    def hear_want(self) -> Want | Look | Offer | Follow:
        """Wait for somebody that asks for something, or has something to give."""
        wanted: Want | Look | Offer | Follow = _decoded(_want, self.hear(max_bytes=_MAX_FRAME_BYTES))
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


MAX_IDLE_SECONDS = 60.0
"""How long a connection is kept that nobody uses; a server keeps it for longer, so that it is not the first."""
_MAX_IDLE = 16
_LOOK_UP_SECONDS = 0.05
_NOBODY = NodeId(0)


class Unwelcome(Exception):
    """Whoever is at an address does not talk to us, or is not to be trusted; the reason is for people."""


def identity_for(run: str, secret: bytes, token: bytes) -> Identity:
    """Say who may fetch: one that knows the run, its secret, and the token of the process that has the data."""
    key = hmac.digest(secret or b"no secret", token, hashlib.sha256)
    return Identity(_NOBODY, PROTOCOL, run, key)


class Dialling(NamedTuple):
    """How to dial."""

    #: How long to wait for each answer.
    max_seconds: float
    #: Raises an error to stop; called while there is nothing to shut.
    go_on: Callable[[], None] = lambda: None
    #: Told of the connection as soon as there is one, so that somebody can shut it.
    on_line: Callable[[Line], None] = lambda _: None


def dial(where: Where, run: str, secret: bytes, how: Dialling) -> Line:
    """Connect and make sure of each other; raise `Broken` or `Unwelcome`."""
    me = identity_for(run, secret, where.token)
    try:
        line = Line(_connected(address_from_text(where.address), how), max_seconds=how.max_seconds)
    except OSError as error:
        raise Broken(error.strerror or str(error) or "no answer") from error
    except NodeProblem as error:
        raise Unwelcome(error.message) from error
    try:
        how.on_line(line)
        said = handshake.hello(me, ANYBODY)
        line.send(handshake.encode(said))
        line.send(handshake.encode(handshake.prove(me, said, _challenge(line))))
    except Nonsense as error:
        line.close()
        raise Unwelcome(str(error)) from error
    except BaseException:
        line.close()
        raise
    return line


def _connected(address: Address, how: Dialling) -> socket.socket:
    """Connect, and look up now and then whether to go on: a host that is gone lets one wait for long."""
    family, kind, protocol, _, place = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0]
    connection = socket.socket(family, kind, protocol)
    try:
        connection.setblocking(False)
        problem = _problem_of(connection, connection.connect_ex(place), how)
    except BaseException:
        connection.close()
        raise
    if problem:
        connection.close()
        raise OSError(problem, os.strerror(problem))
    return connection


def _problem_of(connection: socket.socket, problem: int, how: Dialling) -> int:
    """Wait for a connection; give the number of the error, or zero."""
    end = time.monotonic() + how.max_seconds
    while problem == errno.EINPROGRESS:
        how.go_on()
        if time.monotonic() > end:
            return errno.ETIMEDOUT
        if is_writable(connection, _LOOK_UP_SECONDS):
            return connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    return problem


def _challenge(line: Line) -> Challenge:
    answer = handshake.decode(line.hear())
    if isinstance(answer, Refused):
        raise Unwelcome(f"it refuses: {answer.reason}")
    if not isinstance(answer, Challenge):
        raise Unwelcome("it does not answer as a process of this run does")
    return answer


def welcome(line: Line, me: Identity) -> bool:
    """Hear who dials; tell whether it may go on."""
    said = handshake.decode(line.hear())
    if not isinstance(said, Hello):
        return False
    answer = handshake.challenge(me, said)
    line.send(handshake.encode(answer))
    if isinstance(answer, Refused):
        return False
    proof = handshake.decode(line.hear())
    return isinstance(proof, Proof) and handshake.is_proved(me, said, answer, proof)


class Lines:
    """The connections of one process that are not in use."""

    def __init__(self, run: str, secret: bytes) -> None:
        self._run = run
        self._secret = secret
        self._guard = threading.Lock()
        self._idle = list[tuple[float, tuple[str, bytes], Line]]()

    def take(self, where: Where, how: Dialling) -> tuple[Line, bool]:
        """Give a connection, and whether it was used before: then it may have been closed meanwhile."""
        key = (where.address, where.token)
        old = time.monotonic() - MAX_IDLE_SECONDS
        found: Line | None = None
        with self._guard:
            # Those that were used last are at the end.
            while self._idle and self._idle[0][0] < old:
                self._idle.pop(0)[2].close()
            for index in range(len(self._idle) - 1, -1, -1):
                if self._idle[index][1] == key:
                    found = self._idle.pop(index)[2]
                    break
        if found is not None:
            found.wait_at_most(how.max_seconds)
            return found, True
        return dial(where, self._run, self._secret, how), False

    def put_back(self, where: Where, line: Line) -> None:
        """Keep a connection on which nothing is under way."""
        with self._guard:
            if len(self._idle) < _MAX_IDLE:
                self._idle.append((time.monotonic(), (where.address, where.token), line))
                return
        line.close()

    def close(self) -> None:
        """Close all."""
        with self._guard:
            idle, self._idle = self._idle, []
        for _, _, line in idle:
            line.close()


__all__ = [
    "MAX_IDLE_SECONDS",
    "MAX_NAME_CHARACTERS",
    "MAX_PIECE_BYTES",
    "PIECE_BYTES",
    "PROTOCOL",
    "Broken",
    "Dialling",
    "Follow",
    "Labels",
    "Lack",
    "Line",
    "Lines",
    "Look",
    "Offer",
    "Unwelcome",
    "Want",
    "Where",
    "dial",
    "identity_for",
    "welcome",
]
