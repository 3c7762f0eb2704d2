"""What links say to each other, what a machine inside a link says to it, and what a link reports and saves.

Every frame names two lives, the sender's and the one it believes the recipient to be in. They are its address: a
frame of a former life, or for one, is never taken.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from solvent.protocols.machine import Message, NodeId, Value

Inner = TypeVar("Inner")


# -------------------------------------------------------------------------------------------- between two links


class Data(Message, Generic[Inner], frozen=True, gc=False, array_like=True, tag="d"):
    """A message of the machine inside, with its number in this session, from zero."""

    life: int
    to: int
    number: int
    #: How many messages of the recipient the sender has taken.
    taken: int
    message: Inner


class Ack(Message, frozen=True, gc=False, array_like=True, tag="a"):
    """How many messages the sender has taken."""

    life: int
    to: int
    taken: int


class Announce(Message, frozen=True, gc=False, array_like=True, tag="n"):
    """The sender is in a new life; said until any frame shows that the recipient knows it."""

    life: int
    to: int


class Loose(Message, Generic[Inner], frozen=True, gc=False, array_like=True, tag="l"):
    """A cheap message of the machine inside: it may be lost, doubled or late, and nobody counts it."""

    life: int
    to: int
    message: Inner


# -------------------------------------------------------------------------- between a link and the machine in it


class AllTaken(Value, frozen=True, gc=False):
    """Requested of the machine inside: nothing that it sent is under way any more.

    Every counted message has been taken: its recipient has made its step on it, and what it saved is safe.
    """


# ---------------------------------------------------------------------------------------------- records, reports


class PeerLife(Value, frozen=True, gc=False, tag=True):
    """Saved by the link: the peer is in this life, and the machine inside knows it."""

    peer: NodeId
    life: int


class Congested(Value, frozen=True, gc=False):
    """Reported by the link: this many messages wait for a peer that does not take them."""

    peer: NodeId
    waiting: int


class LinkFault(Value, frozen=True, gc=False):
    """Reported by the link: a peer said what no link says; it was dropped."""

    peer: NodeId
    reason: str


def wire_type(message_type: Any) -> Any:
    """Give the type of everything that links around such machines say to each other, for a codec."""
    return Data[message_type] | Ack | Announce | Loose[message_type]


def record_type(inner_type: Any) -> Any:
    """Give the type of everything that a link around such a machine saves, for a journal."""
    return PeerLife | inner_type


__all__ = [
    "Ack",
    "AllTaken",
    "Announce",
    "Congested",
    "Data",
    "LinkFault",
    "Loose",
    "PeerLife",
    "record_type",
    "wire_type",
]
