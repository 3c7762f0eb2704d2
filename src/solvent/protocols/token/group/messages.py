"""What nodes of a group say to each other.

`Search`, `Seek`, `Seen` and `Committed` are hints and go around the link; all others must arrive, once, in order.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from solvent.protocols.machine import Message, NodeId, Value
from solvent.protocols.token.group.vocabulary import Epoch
from solvent.protocols.token.messages import Gimme, NotHere, Token

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

__all__ = [
    "Append",
    "Behind",
    "Committed",
    "Elect",
    "Entry",
    "GroupMessage",
    "Hello",
    "Known",
    "Line",
    "Member",
    "Passed",
    "Probe",
    "Promise",
    "Refuse",
    "Resign",
    "Said",
    "Saved",
    "Search",
    "Seek",
    "Seen",
    "View",
]
