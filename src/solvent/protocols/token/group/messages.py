"""What nodes of a group say to each other, and the words between a node and its user.

`Search`, `Seek`, `Seen` and `Committed` are hints and go around the link; all others must arrive, once, in order.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from solvent.protocols.machine import Message, NodeId, Value
from solvent.protocols.token.messages import Gimme, NotHere, Token


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


# ---------------------------------------------------------------------------------------------- the common order


class View(Message, frozen=True, gc=False):
    """An epoch begins: its token goes round these nodes, from the first."""

    ring: tuple[NodeId, ...]


class Said(Message, frozen=True, gc=False):
    """A broadcast: whose, and which of its life."""

    origin: NodeId
    life: int
    number: int
    data: Any


class Member(Message, frozen=True, gc=False):
    """A node is a member from here on, or no longer."""

    node: NodeId
    is_member: bool
    where: str = ""


Entry: TypeAlias = View | Said | Member


class Line(Value, frozen=True, gc=False):
    """One entry of the log, and under which epoch it was written."""

    epoch: Epoch
    entry: Entry


# ------------------------------------------------------------------------------------------------------ the token


class Passed(Message, frozen=True, gc=False):
    """The token, and how much of the log there is: all of it is committed."""

    epoch: Epoch
    token: Token
    length: int
    #: Lines that every member has; these can be forgotten.
    low: int = 0
    #: The same, of those that the token has visited since it began to go round.
    low_so_far: int = 0


class Search(Message, frozen=True, gc=False):
    """A search for the token, or an answer to it."""

    epoch: Epoch
    message: Gimme | NotHere


# ------------------------------------------------------------------------------------------------------- the log


class Append(Message, frozen=True, gc=False):
    """In this epoch the log has these lines, from `first` on."""

    epoch: Epoch
    first: int
    #: The epoch of the line before `first`; who has another one there must cut.
    before: Epoch
    lines: tuple[Line, ...]
    committed: int
    #: The members at `first`, with their addresses, for who has nothing before it.
    members: tuple[tuple[NodeId, str], ...] | None = None
    #: Whether these are all; who gets only some asks for the others.
    is_whole: bool = True


class Saved(Message, frozen=True, gc=False):
    """The sender has the log of this epoch up to here."""

    epoch: Epoch
    length: int


class Behind(Message, frozen=True, gc=False):
    """The sender needs the lines from `first` on: it did not get all, or cannot join them to what it has."""

    epoch: Epoch
    first: int


class Committed(Message, frozen=True, gc=False):
    """So much of the log of this epoch is safe."""

    epoch: Epoch
    length: int


# ------------------------------------------------------------------------------------------------ epochs, members


class Seek(Message, frozen=True, gc=False):
    """Who has the token of this epoch, now or soon?"""

    epoch: Epoch


class Seen(Message, frozen=True, gc=False):
    """The token of this epoch is here; or this epoch has begun."""

    epoch: Epoch


class Probe(Message, frozen=True, gc=False):
    """Which epoch are you in? The sender is in this one, and stood still for a while."""

    epoch: Epoch
    number: int


class Known(Message, frozen=True, gc=False):
    """The answer to a probe: the epoch that the sender is in."""

    epoch: Epoch
    number: int


class Elect(Message, frozen=True, gc=False):
    """The sender wants to make a token of this epoch; promise to heed no older one."""

    epoch: Epoch


class Promise(Message, frozen=True, gc=False):
    """Promised, by one whose log ends so."""

    epoch: Epoch
    last: Epoch
    length: int


class Refuse(Message, frozen=True, gc=False):
    """Not promised, or not appended: something newer was promised, or the user has the token just now."""

    epoch: Epoch
    promised: Epoch
    is_held: bool = False


class Resign(Message, frozen=True, gc=False):
    """The sender had the token and leaves: make a new one."""

    epoch: Epoch


class Hello(Message, frozen=True, gc=False):
    """The sender wants to be in the ring, or to know whether it has left; it has so much of the log."""

    where: str
    epoch: Epoch
    first: int
    #: What it has promised, perhaps while it was cut off.
    promised: Epoch
    is_leaving: bool = False


GroupMessage: TypeAlias = (
    Passed
    | Search
    | Append
    | Saved
    | Behind
    | Committed
    | Seek
    | Seen
    | Probe
    | Known
    | Elect
    | Promise
    | Refuse
    | Resign
    | Hello
)


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


GroupRequest: TypeAlias = Lock | Unlock | Broadcast | Remove | Leave | Retire | Confirm


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
