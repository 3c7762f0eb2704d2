"""The words between a node of a group and its user."""

from __future__ import annotations

from typing import Any

from solvent.protocols.machine import NodeId, Value


class Epoch(Value, frozen=True, gc=False, order=True, array_like=True):
    """The life of one token: a number that goes up, and who made the token."""

    number: int
    node: NodeId


class Fence(Value, frozen=True, gc=False, order=True, array_like=True):
    """A number for every time the lock is given, always greater than before.

    Whatever is guarded by the lock can keep the greatest fence it has seen and turn away who comes with a smaller one:
    a holder that was taken for dead and is not.
    """

    epoch: Epoch
    number: int


# --------------------------------------------------------------------------------------------------- what users want


class Lock(Value, frozen=True, gc=False):
    """The user wants the lock; one wish at a time."""


class Unlock(Value, frozen=True, gc=False):
    """The user is done with the lock, or wants it no longer."""

    #: Whether it wants the lock again, after the others that want it.
    is_again: bool = False


class Broadcast(Value, frozen=True, gc=False):
    """Everybody is to get this, at the same place of one common order."""

    data: Any


class Remove(Value, frozen=True, gc=False):
    """A member is gone for good and counts no longer."""

    node: NodeId


class Leave(Value, frozen=True, gc=False):
    """This node wants to be a member no longer."""


class Retire(Value, frozen=True, gc=False):
    """This node is about to stop, and will come back: the token is not to rest here."""


class Confirm(Value, frozen=True, gc=False):
    """This node stood still for a while: have most members say whether they have gone on without it."""

    number: int


# --------------------------------------------------------------------------------------------------- what users hear


class Locked(Value, frozen=True, gc=False):
    """The user has the lock."""

    fence: Fence


class LockLost(Value, frozen=True, gc=False):
    """The lock was taken away while the user had it: the others took this node for dead."""

    fence: Fence


class Confirmed(Value, frozen=True, gc=False):
    """Most members were in no newer epoch than this node; or one was, and a lock that was held here is lost by now."""

    number: int


class Delivered(Value, frozen=True, gc=False):
    """The next of all broadcasts; every node hears them in this order. Places may be left out, never turned round."""

    place: int
    origin: NodeId
    #: Which broadcast of that node it is, counted from zero in each of its lives.
    number: int
    data: Any
    #: Whether it is this node's own, of this life.
    is_own: bool = False


class Skipped(Value, frozen=True, gc=False):
    """This node was no member for a while, and does not hear of what came before this place."""

    place: int


class MemberChanged(Value, frozen=True, gc=False):
    """A node became a member, or is none any more; told in the same order as broadcasts."""

    place: int
    node: NodeId
    where: str
    is_member: bool


class ViewBegan(Value, frozen=True, gc=False):
    """A new token goes round these nodes, in this order."""

    epoch: Epoch
    ring: tuple[NodeId, ...]


class Suspected(Value, frozen=True, gc=False):
    """This node takes the token for lost and has the others agree on a new one."""

    epoch: Epoch


class Left(Value, frozen=True, gc=False):
    """This node is no member any more, and the others need nothing of it."""


__all__ = [
    "Broadcast",
    "Confirm",
    "Confirmed",
    "Delivered",
    "Epoch",
    "Fence",
    "Leave",
    "Left",
    "Lock",
    "LockLost",
    "Locked",
    "MemberChanged",
    "Remove",
    "Retire",
    "Skipped",
    "Suspected",
    "Unlock",
    "ViewBegan",
]
