"""What processes of a space say to each other.

All but the messages of newcomers and of repairs belong to an epoch, and mean nothing in another one. Over a wire they
are arrays, with their name in front.
"""

from __future__ import annotations

from typing import TypeAlias

from solvent.protocols.elmp.messages import ElmpMessage, Entry, Seat
from solvent.protocols.elmp.state import Place, Use
from solvent.protocols.elmp.vocabulary import Data
from solvent.protocols.handover.vocabulary import Ballot
from solvent.protocols.machine import Message, NodeId, Value

Member: TypeAlias = tuple[NodeId, str]
"""A process, and where it is to be found."""


class Within(Message, frozen=True, gc=False, array_like=True, tag="w"):
    """What processes of one epoch say to each other of one resource."""

    epoch: Ballot
    resource: str
    message: ElmpMessage


class Exists(Message, frozen=True, gc=False, array_like=True):
    """To all: data of this resource was released. It stays true in all epochs."""

    resource: str


# ------------------------------------------------------------------------------------------------ coming and going


class Knock(Message, frozen=True, gc=False, array_like=True):
    """From a new process to one that it knows: let me in."""

    address: str


class Newcomer(Message, frozen=True, gc=False, array_like=True):
    """To the founder: somebody wants to come in."""

    newcomer: NodeId
    address: str


class Came(Message, frozen=True, gc=False, array_like=True):
    """From the founder to all: know this process."""

    epoch: Ballot
    newcomer: NodeId
    address: str


class Noted(Message, frozen=True, gc=False, array_like=True):
    """To the founder, or to who goes: it is known that this process has come, or that it goes."""

    epoch: Ballot
    node: NodeId


class Admitted(Message, frozen=True, gc=False, array_like=True):
    """From the founder to a new process, when all know it: you are in, and these are, too."""

    epoch: Ballot
    members: tuple[Member, ...]
    #: The resources of which data was released.
    released: tuple[str, ...] = ()


class Stray(Message, frozen=True, gc=False, array_like=True):
    """To a new process: this one takes no part, try another."""


class Bye(Message, frozen=True, gc=False, array_like=True):
    """To all but the founder: this process has left all resources, and has no more to say."""

    epoch: Ballot


class Going(Message, frozen=True, gc=False, array_like=True):
    """To the founder: this process wants to go, and these know it."""

    epoch: Ballot
    noted: tuple[NodeId, ...]


class Went(Message, frozen=True, gc=False, array_like=True):
    """From the founder to who has come meanwhile: this process goes."""

    epoch: Ballot
    goer: NodeId


class Farewell(Message, frozen=True, gc=False, array_like=True):
    """From the founder, when all know it: go."""

    epoch: Ballot


# -------------------------------------------------------------------------------------------------------- repairs


class Alarm(Message, frozen=True, gc=False, array_like=True):
    """To the process that is to see to it: these are dead, or seem to be."""

    epoch: Ballot
    dead: tuple[NodeId, ...]
    suspects: tuple[NodeId, ...]


class Charge(Message, frozen=True, gc=False, array_like=True):
    """Make a repair: since the founder wants to go; or, if it is pressing, since who was to make it cannot."""

    is_pressing: bool = False


class Muster(Message, frozen=True, gc=False, array_like=True):
    """Stop, and say what you have; `address` is where the sender is to be found."""

    ballot: Ballot
    address: str
    #: Who seems to be dead: whoever is on the same host can tell.
    suspects: tuple[NodeId, ...] = ()


class Survivor(Value, frozen=True, gc=False):
    """What a process has of one resource that counts across epochs."""

    node: NodeId
    #: Zero: it was about to take part.
    rank: int
    places: tuple[Place, ...] = ()
    uses: tuple[Use, ...] = ()
    stored: Data | None = None


class Agreement(Value, frozen=True, gc=False):
    """An epoch that a process has agreed to: it may have begun elsewhere."""

    ballot: Ballot
    members: tuple[Member, ...]


class Attendance(Value, frozen=True, gc=False):
    """What a process has that counts across epochs."""

    node: NodeId
    #: The epoch that it lives in, and who took part in it, as far as it knows.
    epoch: Ballot
    members: tuple[Member, ...]
    #: Whether it has a vote: it has been let in, and does not go.
    is_voter: bool
    #: Later epochs that it has agreed to and has heard no more of.
    agreements: tuple[Agreement, ...] = ()
    #: Who is dead for certain.
    dead: tuple[NodeId, ...] = ()
    parts: tuple[tuple[str, Survivor], ...] = ()
    #: Data that is at hand.
    found: tuple[tuple[str, Data], ...] = ()


class Present(Message, frozen=True, gc=False, array_like=True):
    """The answer to a muster."""

    ballot: Ballot
    attendance: Attendance


class Refused(Message, frozen=True, gc=False, array_like=True):
    """The other answer, to a muster or a renewal: this process has answered a later muster."""

    ballot: Ballot


class Renewal(Value, frozen=True, gc=False):
    """What a process has of one resource in the new epoch, besides what it knows itself."""

    seat: Seat
    rank: int
    places: tuple[Place, ...]
    #: All claims that were let in and are not over, or were changes not fetched yet.
    entries: tuple[Entry, ...]
    data: Data | None
    #: The turn of the place that gets the new token, if that is here.
    token: int = 0
    is_new_token: bool = False
    #: Whether the token tells of a later version, or of a part that may have been changed, that no survivor has.
    is_older: bool = False


class Renew(Message, frozen=True, gc=False, array_like=True):
    """What is to be from now on, if all agree: who takes part, and this process's part of each resource."""

    ballot: Ballot
    #: The epochs that it follows: the last, and those that may have begun somewhere since.
    after: tuple[Ballot, ...]
    members: tuple[Member, ...]
    renewals: tuple[tuple[str, Renewal], ...]
    #: The resources of which data was released, in all epochs so far.
    released: tuple[str, ...] = ()


class Agreed(Message, frozen=True, gc=False, array_like=True):
    """The answer to a renewal."""

    ballot: Ballot


class Proceed(Message, frozen=True, gc=False, array_like=True):
    """All have agreed: go on."""

    ballot: Ballot


class Over(Message, frozen=True, gc=False, array_like=True):
    """From a process that takes no part any more, and never will again."""


class Fenced(Message, frozen=True, gc=False, array_like=True):
    """To a process that was taken for dead: the others went on without you, in this epoch."""

    epoch: Ballot


HandoverMessage: TypeAlias = (
    Within
    | Exists
    | Knock
    | Newcomer
    | Came
    | Noted
    | Admitted
    | Stray
    | Bye
    | Going
    | Went
    | Farewell
    | Alarm
    | Charge
    | Muster
    | Present
    | Refused
    | Renew
    | Agreed
    | Proceed
    | Over
    | Fenced
)
"""All that may come over a wire."""

__all__ = ["HandoverMessage"]
