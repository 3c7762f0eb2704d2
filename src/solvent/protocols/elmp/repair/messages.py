"""What processes say to each other that survive the death of others, and what their users say and hear of it.

A *ballot* is a number and the process that chose it; ballots are ordered, and no two processes choose the same. The
ballot under which a repair was made is the *epoch* of what comes after.
"""

from __future__ import annotations

from typing import TypeAlias

from solvent.protocols.elmp.messages import ElmpMessage, Entry, Seat
from solvent.protocols.elmp.state import Place, Use
from solvent.protocols.elmp.vocabulary import Data
from solvent.protocols.machine import Message, NodeId, Value

Ballot: TypeAlias = tuple[int, NodeId]
"""A number, and who chose it."""


# ---------------------------------------------------------------------------------------------- users and hosts


class Died(Value, frozen=True, gc=False):
    """Requested by the host: this process is dead, and nothing that it said before will count any more."""

    peer: NodeId


class Repaired(Value, frozen=True, gc=False):
    """Reported: a new epoch has begun."""

    epoch: Ballot
    #: Whether the token was lost and another one made.
    is_new_token: bool = False
    #: The version of the data that the token names.
    version: int | None = None


class Expelled(Value, frozen=True, gc=False):
    """Reported: the others believe this process to be dead and go on without it. Its claims are void."""


# ------------------------------------------------------------------------------------------------------- messages


class Within(Message, frozen=True, gc=False):
    """What processes of one epoch say to each other."""

    epoch: Ballot
    message: ElmpMessage


class Alarm(Message, frozen=True, gc=False):
    """To the process that is to see to it: these are dead."""

    dead: tuple[NodeId, ...]


class Muster(Message, frozen=True, gc=False):
    """Stop, and say what you have."""

    ballot: Ballot
    dead: tuple[NodeId, ...]


class Survivor(Value, frozen=True, gc=False):
    """What a process has that counts across epochs."""

    node: NodeId
    rank: int
    is_member: bool
    places: tuple[Place, ...] = ()
    uses: tuple[Use, ...] = ()
    stored: Data | None = None


class Present(Message, frozen=True, gc=False):
    """The answer to a muster."""

    ballot: Ballot
    survivor: Survivor


class Refused(Message, frozen=True, gc=False):
    """The other answer: this process has answered a later one."""

    ballot: Ballot


class Renewal(Value, frozen=True, gc=False):
    """What a process has in the new epoch, besides what it knows itself."""

    seat: Seat
    places: tuple[Place, ...]
    #: All claims that were let in and are not over, or were changes not fetched yet.
    entries: tuple[Entry, ...]
    data: Data | None
    #: The turn of the place that gets the new token, if that is here.
    token: int = 0


class Renew(Message, frozen=True, gc=False):
    """Go on; without a renewal for who takes no part."""

    ballot: Ballot
    renewal: Renewal | None
    is_new_token: bool = False


class Fenced(Message, frozen=True, gc=False):
    """To a process that speaks of an epoch that is over: the others went on without you."""

    epoch: Ballot


RepairMessage: TypeAlias = Within | Alarm | Muster | Present | Refused | Renew | Fenced
"""All that may come over a wire."""

__all__ = [
    "Alarm",
    "Ballot",
    "Died",
    "Expelled",
    "Fenced",
    "Muster",
    "Present",
    "Refused",
    "Renew",
    "Renewal",
    "RepairMessage",
    "Repaired",
    "Survivor",
    "Within",
]
