"""What a launcher, or whoever looks on, says to a node, and what the node answers.

The same port serves both: a visitor says hello as a peer would, but for the protocol `control`, and proves that it
knows the secret of the run. The node says how it is at once (`Status`) and whenever that changes for good.
"""

from __future__ import annotations

import socket
import ssl
import time
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from solvent.errors import NodeProblem
from solvent.net import handshake
from solvent.net.codec import Codec, Frames, Nonsense
from solvent.net.handshake import MAX_HANDSHAKE_BYTES, Challenge, Identity, Refused
from solvent.net.readiness import is_readable
from solvent.protocols.machine import Message, NodeId

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.net import Address
    from solvent.net.tls import Tls

CONTROL = "control"
MAX_CONTROL_BYTES = 1 << 28
_NOBODY = NodeId(0)
_CHUNK = 1 << 16
_PATIENCE = 0.05


class Part(msgspec.Struct, frozen=True):
    """A node's part of a program: who it is, what all nodes know, and what it begins with."""

    run: str
    node: NodeId
    addresses: tuple[tuple[str, int], ...]
    #: The program's name, and its text as far as its rules go.
    name: str
    text: str
    functions: str | None
    standing: tuple[int, ...]
    endless: tuple[str, ...]
    words: tuple[str, ...]
    homes: dict[str, tuple[int, tuple[str, ...]]]
    share: tuple[str, ...]
    #: Whether all molecules are at one node, and react there to the end.
    is_together: bool = False
    reacts_locally: bool = True
    #: How many nodes there are, where they have no addresses.
    nodes: int = 0


# ------------------------------------------------------------------------------------------------------ requests


class Load(Message, frozen=True, gc=False):
    """Be this node of this run."""

    part: Part


class Begin(Message, frozen=True, gc=False):
    """Let the molecules react."""


class AskStatus(Message, frozen=True, gc=False):
    """How are things?"""


class Collect(Message, frozen=True, gc=False):
    """Which molecules are there?"""


class Halt(Message, frozen=True, gc=False):
    """Do nothing more, but keep what there is and go on answering."""


class End(Message, frozen=True, gc=False):
    """The process may go."""


Request: TypeAlias = Load | Begin | AskStatus | Collect | Halt | End


# ------------------------------------------------------------------------------------------------------- answers


class Status(Message, frozen=True, gc=False):
    """How a node is: `empty`, `waiting`, `alone`, `together`, `inert`, `halted` or `failed`."""

    phase: str
    node: int = -1
    run: str = ""
    life: int = 0
    mode: str = ""
    rule: str = ""
    molecules: int = 0
    known: int = 0
    reactions: int = 0
    messages_sent: int = 0
    messages_received: int = 0
    steps: int = 0
    process: int = 0
    #: When this was said, by the node's own clock, in seconds.
    at: float = 0.0
    #: How many messages were sent, by kind, and to each node.
    kinds: dict[str, int] = msgspec.field(default_factory=dict)
    to: dict[int, int] = msgspec.field(default_factory=dict)


class Problem(Message, frozen=True, gc=False):
    """Why a node has failed: the fields of an error, its place by offsets into the program's text."""

    kind: str
    code: str
    message: str
    hint: str = ""
    note: str = ""
    rule: str = ""
    reactants: tuple[str, ...] = ()
    place: tuple[int, int] | None = None


class Gift(Message, frozen=True, gc=False, array_like=True):
    """Molecules that are on their way, as far as their giver knows."""

    giver: int
    number: int
    to: int
    texts: tuple[str, ...]


class Collected(Message, frozen=True, gc=False):
    """The molecules of a node; what it has given and received so far tells which gifts are still on their way."""

    texts: tuple[str, ...]
    gifts: tuple[Gift, ...] = ()
    got: tuple[tuple[int, int], ...] = ()


Answer: TypeAlias = Status | Problem | Collected

REQUESTS = Codec(Request, max_frame_bytes=MAX_CONTROL_BYTES)
ANSWERS = Codec(Answer, max_frame_bytes=MAX_CONTROL_BYTES)


def visitor(secret: bytes) -> Identity:
    """Give the identity under which visitors and nodes meet."""
    return Identity(_NOBODY, CONTROL, "", secret)


# -------------------------------------------------------------------------------------------------------- visits


class Line:
    """A visitor's connection to a node."""

    def __init__(
        self,
        address: Address,
        secret: bytes,
        *,
        max_seconds: float,
        is_there: Callable[[], bool] = lambda: True,
        tls: Tls | None = None,
    ) -> None:
        self.address = address
        self._is_there = is_there
        self._answers: list[Any] = []
        try:
            self._socket = socket.create_connection(address, timeout=max_seconds)
        except OSError as error:
            raise _unreachable(address, error.strerror or str(error)) from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._frames = Frames(MAX_HANDSHAKE_BYTES)
        try:
            if tls is not None:
                self._socket = self._protected(tls, time.monotonic() + max_seconds)
            self._introduce(visitor(secret), time.monotonic() + max_seconds)
        except (OSError, Nonsense) as error:
            self._socket.close()
            raise _unreachable(address, str(error)) from error
        self._frames.max_bytes = MAX_CONTROL_BYTES

    def _protected(self, tls: Tls, until: float) -> ssl.SSLSocket:
        """Have TLS between both, but do not wait for a process that is dead."""
        self._socket.settimeout(_PATIENCE)
        protected = tls.client.wrap_socket(self._socket, do_handshake_on_connect=False)
        while True:
            try:
                protected.do_handshake()
            except TimeoutError:
                if not self._is_there():
                    raise Nonsense("its process has ended") from None
                if time.monotonic() > until:
                    raise Nonsense("it does not answer") from None
            else:
                protected.settimeout(max(until - time.monotonic(), _PATIENCE))
                return protected

    def _introduce(self, me: Identity, until: float) -> None:
        hello = handshake.hello(me, _NOBODY)
        self._socket.sendall(handshake.encode(hello))
        said: Any = None
        while said is None:
            # A port may be open although its process is dead.
            if not self.is_readable(_PATIENCE):
                if not self._is_there():
                    raise Nonsense("its process has ended")
                if time.monotonic() > until:
                    raise Nonsense("it does not answer")
                continue
            for body in self._frames.feed(self._receive()):
                said = handshake.decode(body)
        if isinstance(said, Refused):
            raise Nonsense(f"it refuses: {said.reason}")
        if not isinstance(said, Challenge):
            raise Nonsense("it is no node")
        self._socket.sendall(handshake.encode(handshake.prove(me, hello, said)))
        self._socket.settimeout(None)

    def _receive(self) -> bytes:
        data = self._socket.recv(_CHUNK)
        if not data:
            raise Nonsense("it has closed the connection")
        # What is decrypted already nobody would be woken for.
        while isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            data += self._socket.recv(_CHUNK)
        return data

    def is_readable(self, seconds: float) -> bool:
        """Wait until something has arrived; say whether it has."""
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return True
        return is_readable(self, seconds)

    def fileno(self) -> int:
        """Give the number to wait for."""
        return self._socket.fileno()

    def say(self, request: Request) -> None:
        """Say something; a node that is gone is noticed when it is listened to."""
        try:
            self._socket.sendall(REQUESTS.encode([request], _too_large))
        except OSError:
            return

    def hear(self) -> list[Any]:
        """Give what has arrived, waiting for something; raises `NodeProblem` where the node is gone."""
        try:
            data = self._receive()
            return [answer for body in self._frames.feed(data) for answer in ANSWERS.decode(body)]
        except (OSError, Nonsense) as error:
            raise _unreachable(self.address, str(error)) from error

    def ask(self, request: Request, *, max_seconds: float = 5.0) -> Any:
        """Say something and wait for the answer to it."""
        self.say(request)
        until = time.monotonic() + max_seconds
        wanted = Collected if isinstance(request, Collect) else Status
        while True:
            if not self.is_readable(max(until - time.monotonic(), 0.0)):
                raise _unreachable(self.address, "it does not answer")
            for answer in self.hear():
                if isinstance(answer, wanted):
                    return answer

    def close(self) -> None:
        """Leave."""
        self._socket.close()


def _unreachable(address: Address, reason: str) -> NodeProblem:
    host, port = address
    hint = "start it with `solvent lab serve capture --listen HOST:PORT --state DIR`"
    return NodeProblem("N130", f"no node can be reached at {host}:{port}: {reason}", hint=hint)


def _too_large(_: Any) -> None:
    raise NodeProblem("N131", "a node's part of the program is too large to be sent")


__all__ = [
    "ANSWERS",
    "CONTROL",
    "REQUESTS",
    "Answer",
    "AskStatus",
    "Begin",
    "Collect",
    "Collected",
    "End",
    "Gift",
    "Halt",
    "Line",
    "Load",
    "Part",
    "Problem",
    "Request",
    "Status",
    "visitor",
]
