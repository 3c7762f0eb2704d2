"""What may be on the clock of a run: all that is still to happen."""

from __future__ import annotations

from typing import Any

from solvent.protocols.machine import Event, NodeId, Value


class Arrival(Value, frozen=True, gc=False):
    """A message is under way."""

    sender: NodeId
    to: NodeId
    message: Any
    #: The sender's life when it was sent.
    life: int
    #: The number of the event on which it was sent.
    sent_in: int


class Timer(Value, frozen=True, gc=False):
    """A timer runs."""

    node: NodeId
    name: str


class Reply(Value, frozen=True, gc=False):
    """An answer that takes time."""

    node: NodeId
    event: Event


class Request(Value, frozen=True, gc=False):
    """Somebody is going to want something of a node."""

    node: NodeId
    request: Any


class Notice(Value, frozen=True, gc=False):
    """The news that a node has restarted, on its way to another."""

    peer: NodeId
    to: NodeId
    #: The life that the peer began.
    life: int


class Restart(Value, frozen=True, gc=False):
    """A node that is down will come back."""

    node: NodeId


class CrashDue(Value, frozen=True, gc=False):
    """A node, not drawn yet, is going to crash."""


class Doom(Value, frozen=True, gc=False):
    """A node is going to crash while it carries out effects; if it has none to carry out before, then now."""

    node: NodeId


class PartitionDue(Value, frozen=True, gc=False):
    """The network is going to part."""


class Healing(Value, frozen=True, gc=False):
    """The partition will be over."""


__all__ = ["Arrival", "CrashDue", "Doom", "Healing", "Notice", "PartitionDue", "Reply", "Request", "Restart", "Timer"]
