"""How two nodes make sure of each other before they exchange messages.

    dialler   Hello      protocol, version, run, node, whom it wants, a fresh nonce
    acceptor  Challenge  node, a fresh nonce, and a proof that it knows the secret     or Refused and the reason
    dialler   Proof      a proof that it knows the secret                              then messages

A proof is an HMAC over the role and everything both have said, so neither can be repeated to another node, in
another run or in the other direction. Without a secret the proofs are empty, and the handshake only keeps apart
nodes of different runs, protocols and versions.

A node may say its *birth*, a name that it got when its memory began. Whoever has met it before under another one knows
that it has forgotten what it promised, and wants no more of it: that would be worse than a node that is gone. A node
that starts again with its memory says how often it did: its *life* (`protocols.channel`).

This keeps strangers out; it hides nothing. Messages travel in the clear unless nodes have certificates (`tls`).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec.structs import replace

from solvent.net.codec import Nonsense, framed
from solvent.protocols.machine import Message, NodeId, Value
from solvent.values.encoding import encoder
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

VERSION = 1
"""Grows when nodes of the older version could not understand the newer."""
MAX_HANDSHAKE_BYTES = 1024
"""What a stranger may send at most before it has proved that it is none."""
ANYBODY = NodeId(-1)
"""Whom a dialler wants that knows an address and not who is there."""
FORGETFUL = "it is not the node of this number that was here before, or has forgotten what it was"
"""Why a node is refused that has another birth than before."""


class Identity(Value, frozen=True, gc=False):
    """Who a node is: all nodes of a run agree about everything but `node`."""

    node: NodeId
    protocol: str
    run: str = ""
    #: Whoever knows it may join; nobody is asked for it where it is empty.
    secret: bytes = b""
    #: When its memory began, as a name that no other has; nobody looks at it where it is empty.
    birth: str = ""
    #: Where it is to be found, for those that do not know; if empty, where it listens.
    where: str = ""
    #: How often it has been started again with its memory.
    life: int = 0

    def __repr__(self) -> str:
        # Without the secret: what is shown may end up in a log.
        return f"Identity(node={self.node}, protocol={self.protocol!r}, run={self.run!r})"


class Hello(Message, frozen=True, gc=False):
    """The dialler introduces itself."""

    protocol: str
    version: int
    run: str
    node: NodeId
    wants: NodeId
    nonce: bytes
    birth: str = ""
    #: Where the dialler is to be found, if the acceptor does not know.
    where: str = ""
    life: int = 0


class Challenge(Message, frozen=True, gc=False):
    """The acceptor shows that it knows the secret and asks for the same."""

    node: NodeId
    nonce: bytes
    proof: bytes
    birth: str = ""
    life: int = 0


class Refused(Message, frozen=True, gc=False):
    """The acceptor wants no connection, and says why."""

    reason: str


class Proof(Message, frozen=True, gc=False):
    """The dialler shows that it knows the secret."""

    proof: bytes


Handshake: TypeAlias = Hello | Challenge | Refused | Proof

_encode = encoder()
_decode = msgspec.msgpack.Decoder(Handshake).decode


def encode(said: Handshake) -> bytes:
    """Make a frame of it."""
    return framed(_encode(said))


def decode(body: bytes | memoryview) -> Handshake:
    """Read what the other side said, or raise `Nonsense`."""
    try:
        said: Handshake = _decode(body)
    except UNREADABLE as error:
        raise Nonsense(f"no handshake: {error}") from error
    return said


def hello(me: Identity, wants: NodeId) -> Hello:
    """Begin, as the dialler."""
    return Hello(me.protocol, VERSION, me.run, me.node, wants, secrets.token_bytes(16), me.birth, me.where, me.life)


def challenge(me: Identity, said: Hello) -> Challenge | Refused:
    """Answer a dialler."""
    if said.protocol != me.protocol:
        return Refused(f"it speaks the protocol `{said.protocol}`, not `{me.protocol}`")
    if said.version != VERSION:
        return Refused(f"it speaks version {said.version} of the wire format, not {VERSION}")
    if said.run != me.run:
        return Refused(f"it belongs to the run `{said.run}`, not `{me.run}`")
    if said.wants not in (me.node, ANYBODY):
        return Refused(f"it wants node {said.wants}, and this is node {me.node}")
    asked = Challenge(me.node, secrets.token_bytes(16), b"", me.birth, me.life)
    return replace(asked, proof=_proof(me, "acceptor", said, asked))


def prove(me: Identity, said: Hello, answer: Challenge) -> Proof:
    """Answer the acceptor, or raise `Nonsense` if it does not know the secret."""
    if said.wants not in (answer.node, ANYBODY):
        raise Nonsense(f"node {answer.node} answers instead of node {said.wants}")
    if answer.proof and not me.secret:
        raise Nonsense("it asks for a secret, and none is given here")
    if not hmac.compare_digest(answer.proof, _proof(me, "acceptor", said, answer)):
        raise Nonsense("it does not know the secret of this run")
    return Proof(_proof(me, "dialler", said, answer))


def is_proved(me: Identity, said: Hello, asked: Challenge, answer: Proof) -> bool:
    """Whether the dialler knows the secret."""
    return hmac.compare_digest(answer.proof, _proof(me, "dialler", said, asked))


class Births:
    """The births of the nodes that were met."""

    def __init__(
        self, known: Mapping[NodeId, str] | None = None, noted: Callable[[NodeId, str], None] | None = None
    ) -> None:
        self._known = dict(known or {})
        #: Told of each that is new.
        self._noted = noted

    def is_other(self, node: NodeId, birth: str) -> bool:
        """Tell whether a node was met before under another birth."""
        return bool(birth) and self._known.get(node, birth) != birth

    def note(self, node: NodeId, birth: str) -> None:
        """Remember a node that has proved who it is."""
        if birth and self._known.get(node) != birth:
            self._known[node] = birth
            if self._noted is not None:
                self._noted(node, birth)


def _proof(me: Identity, role: str, said: Hello, asked: Challenge) -> bytes:
    if not me.secret:
        return b""
    return hmac.digest(me.secret, _encode((role, said, asked.nonce, asked.birth, asked.life)), hashlib.sha256)


__all__ = [
    "ANYBODY",
    "FORGETFUL",
    "MAX_HANDSHAKE_BYTES",
    "VERSION",
    "Births",
    "Challenge",
    "Handshake",
    "Hello",
    "Identity",
    "Proof",
    "Refused",
    "challenge",
    "decode",
    "encode",
    "hello",
    "is_proved",
    "prove",
]
