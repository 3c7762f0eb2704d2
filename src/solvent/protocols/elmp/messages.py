"""What processes say to each other.

Words: a *seat* is a place in the tree, with its parent, its children and all that waits there; processes change seats.
A *place* is a place in the queue; it is named by the process that has it and its turn, the number that the root gave
it. A process's *rank* is the paper's ID.
"""

from __future__ import annotations

from typing import TypeAlias

from solvent.protocols.elmp.vocabulary import WHOLE, Claim, Data
from solvent.protocols.machine import Message, NodeId, Value

Ref: TypeAlias = tuple[NodeId, int]
"""A place in the queue: who has it, and its turn."""

Entry: TypeAlias = tuple[NodeId, int, Claim, int]
"""A claim that was let in: whose it is, its number among those of that process, what is claimed, and its turn."""

Child: TypeAlias = tuple[NodeId, int, int]
"""A child, with the height and the weight of the tree below it."""


# --------------------------------------------------------------------------------------- what may wait at a seat


class Asking(Value, frozen=True, gc=False):
    """A request on its way to the root."""

    requester: NodeId
    #: How many requests the requester has made.
    number: int
    #: The requester and who passed it on, in order; they are held for it.
    path: tuple[NodeId, ...]
    #: Whether the requester need not hear of its place before somebody comes after it.
    can_wait: bool = False


class Climb(Message, frozen=True, gc=False):
    """Requests on their way to the root, in the order in which they are to be in the queue.

    None: the sender could wait to hear of its place, and cannot any more.
    """

    requests: tuple[Asking, ...]


class Stand(Message, frozen=True, gc=False):
    """From a process that wants to leave to the child that is to take its seat: do nothing else meanwhile."""

    rank: int


class Leaving(Message, frozen=True, gc=False):
    """From a process that leaves to its parent: let me go, or take `heir` for me and do nothing else meanwhile."""

    rank: int
    heir: NodeId | None


class Enter(Message, frozen=True, gc=False):
    """A new process is to get its rank; on its way to the root."""

    newcomer: NodeId


class Adopt(Message, frozen=True, gc=False):
    """From parent to child: take this new process among yours; I have counted it."""

    newcomer: NodeId
    rank: int


class Attach(Message, frozen=True, gc=False):
    """Take this new process among yours."""

    newcomer: NodeId
    rank: int


class Surrender(Message, frozen=True, gc=False):
    """Who has this place wants to leave: put another one behind it if it is the last; on its way to the root."""

    place: Ref


class Own(Message, frozen=True, gc=False):
    """What a process wants for itself, in the same queue as what others want of it."""

    what: str
    handle: int = 0
    claim: Claim = WHOLE


Waiting: TypeAlias = tuple[NodeId, Climb | Stand | Leaving | Enter | Adopt | Attach | Surrender | Own]
"""What waits at a seat, and who said it."""


# --------------------------------------------------------------------------------------------- exchange of seats


class Given(Value, frozen=True, gc=False):
    """A place in the queue for a request."""

    requester: NodeId
    number: int
    path: tuple[NodeId, ...]
    turn: int
    #: Who gets the token before.
    predecessor: Ref
    #: Who gets it next, if that is known already.
    next: Ref | None = None


class Seat(Value, frozen=True, gc=False):
    """A place in the tree."""

    parent: NodeId | None
    children: tuple[Child, ...] = ()
    #: The height and weight that the parent knows.
    told: tuple[int, int] = (0, 1)
    #: First in, first out.
    queue: tuple[Waiting, ...] = ()
    #: The root's: the last rank and the last turn that were given, and the last place of the queue.
    ranks: int = 0
    turns: int = 0
    tail: Ref | None = None
    #: The root's: places of which their processes have not been told, the last one last; of some the token has told.
    untold: tuple[Given, ...] = ()


class Won(Message, frozen=True, gc=False):
    """From the root back down the paths of requests: their places in the queue; nobody is held for them any more."""

    places: tuple[Given, ...]


class Rise(Message, frozen=True, gc=False):
    """From the root to a requester: its place, and the two change seats.

    It goes through the requester's parent, which gets another child by it. The path is held until that is done.
    """

    place: Given
    root: NodeId


class Exchange(Message, frozen=True, gc=False):
    """From a process that leaves to the child that stands by: now."""


class Follow(Message, frozen=True, gc=False):
    """From a process that gives up its seat to its children: this is your parent from now on."""

    parent: NodeId


class Followed(Message, frozen=True, gc=False):
    """I do; nothing that I said to you as your child is under way any more."""


class Upper(Message, frozen=True, gc=False):
    """The upper seat, for who takes it."""

    seat: Seat


class Lower(Message, frozen=True, gc=False):
    """The lower seat, for who takes it."""

    seat: Seat


class Freed(Message, frozen=True, gc=False):
    """The requester for whom you were held has the root's seat."""

    requester: NodeId
    number: int


# ----------------------------------------------------------------------------------------- departures, insertions


class Standing(Message, frozen=True, gc=False):
    """To the parent: I stand by to take your seat."""


class Agreed(Message, frozen=True, gc=False):
    """To a child that leaves: go; if it has an heir, this process is held until that has settled."""


class Settled(Message, frozen=True, gc=False):
    """From an heir to its new parent: you are free again."""


class Hello(Message, frozen=True, gc=False):
    """From a new process to one that it knows."""


class Ranked(Message, frozen=True, gc=False):
    """From the root to a new process that finds its own place."""

    rank: int


class Welcome(Message, frozen=True, gc=False):
    """From a parent to its new child."""

    rank: int


class Unknown(Message, frozen=True, gc=False):
    """To a new process: whoever should have taken care of you takes no part any more."""


# ------------------------------------------------------------------------------------------------------- balance


class Resized(Message, frozen=True, gc=False):
    """To the parent: the tree below me has this height now, and so much more weight.

    It is no weight but a change, since the parent counts those that it sends down before they arrive.
    """

    height: int
    change: int


class Gather(Message, frozen=True, gc=False):
    """From parent to child: this part of the tree is built anew; say who is in it, and do nothing else meanwhile."""


class Gathered(Message, frozen=True, gc=False):
    """To the parent: I, and who is below me."""

    members: tuple[NodeId, ...]


class Seated(Message, frozen=True, gc=False):
    """From who builds a part of the tree anew: your seat."""

    parent: NodeId
    children: tuple[Child, ...]


# ----------------------------------------------------------------------------------------------- queue and token


class Token(Message, frozen=True, gc=False):
    """The token, for the place with this turn."""

    turn: int
    data: Data | None = None
    #: Claims that were let in before and may still be held, in this order.
    active: tuple[Entry, ...] = ()
    #: Of a place of which nobody else tells: who comes after it, with the next turns, as far as that is known.
    trail: tuple[NodeId, ...] | None = None


class Await(Message, frozen=True, gc=False):
    """To a process with claims that were let in: say when they are over; `asker` is who waits for that."""

    uses: tuple[int, ...]
    asker: Ref


class Done(Message, frozen=True, gc=False):
    """To who waits, for its claim with this number: these of `holder` are over."""

    use: int
    holder: NodeId
    over: tuple[int, ...]


class Taken(Message, frozen=True, gc=False):
    """To the data's former holder: this version is here now."""

    version: int


class Link(Message, frozen=True, gc=False):
    """From the root to the last of the queue: this comes next after your place with this turn."""

    turn: int
    next: Ref


class Unlink(Message, frozen=True, gc=False):
    """To the predecessor of a place that is given up: what comes next is not this any more, but that."""

    turn: int
    gone: Ref
    next: Ref


class Unlinked(Message, frozen=True, gc=False):
    """Your place with this turn is no more."""

    turn: int


class Relink(Message, frozen=True, gc=False):
    """To whoever comes next: for your place with this turn, this is who comes before."""

    turn: int
    predecessor: Ref


class Relinked(Message, frozen=True, gc=False):
    """To the predecessor: I know it; `turn` is yours."""

    turn: int


_OfRequests: TypeAlias = Climb | Won | Rise | Freed | Follow | Followed | Upper | Lower
_OfDepartures: TypeAlias = Stand | Standing | Leaving | Agreed | Exchange | Settled | Surrender
_OfInsertions: TypeAlias = Hello | Enter | Adopt | Attach | Ranked | Welcome | Unknown
_OfShape: TypeAlias = Resized | Gather | Gathered | Seated
_OfQueue: TypeAlias = Token | Link | Unlink | Unlinked | Relink | Relinked | Await | Done | Taken
ElmpMessage: TypeAlias = _OfRequests | _OfDepartures | _OfInsertions | _OfShape | _OfQueue
"""All that may come over a wire."""

__all__ = ["ElmpMessage", "Entry", "Hello", "Own", "Ref", "Seat", "Token"]
