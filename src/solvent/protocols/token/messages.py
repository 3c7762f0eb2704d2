"""What nodes of the token protocol say to each other, and the words between a node and its user.

Only `Token` is expensive: it must arrive, once. The others are hints that bring it to where it is wanted; any of them
may be lost without harm.
"""

from __future__ import annotations

from typing import TypeAlias

from solvent.protocols.machine import Message, NodeId, Value
from solvent.protocols.maps import Map


class Token(Message, frozen=True, gc=False):
    """The right to act, on its way round the ring, to a borrower, or back."""

    #: How many regular visits there have been; a node keeps the number of its last one as its stamp.
    visits: int
    #: Who lent it, and gets it back after use; none on its way round.
    lender: NodeId | None = None
    #: For whom it was lent; it may go there along the path of the search.
    borrower: NodeId | None = None
    #: Who else is to borrow it, in order, with the numbers of their requests: the traps that it has met.
    queue: tuple[tuple[NodeId, int], ...] = ()
    #: How many of these borrow it still before it goes back.
    row: int = 0
    is_returned: bool = False
    #: By node, the last of its requests that was served; traps for these are obsolete.
    served: Map[NodeId, int] = Map()
    #: How often somebody has been served in this token's life: the number of the last grant.
    grants: int = 0
    #: Where it asks round (`push`): how long it will rest the next time, longer each time that nobody answers.
    rest: int = 0
    #: Where it asks round if many want it (`both`): whether they do, and how many it had served when it last asked.
    is_crowded: bool = False
    asked: int = 0


class Gimme(Message, frozen=True, gc=False):
    """A search for the token on behalf of a requester, by halving: see `halving`."""

    requester: NodeId
    #: The number of the request, upwards; an answer to an older one is obsolete.
    request: int
    #: The requester's stamp when it began to search.
    stamp: int
    #: How many nodes are left to ask behind this one and ahead of it.
    behind: int
    ahead: int


class NotHere(Message, frozen=True, gc=False):
    """In a directed search: the token is not here, and this node last saw it at this stamp."""

    request: int
    stamp: int
    behind: int
    ahead: int


class Probe(Message, frozen=True, gc=False):
    """Who has the token asks who wants it; the node that gets this asks so many after it, half of them each way."""

    holder: NodeId
    count: int
    #: Whether it will be asked again, so that nobody need search.
    is_crowded: bool = False


RingMessage: TypeAlias = Token | Gimme | NotHere | Probe


# ----------------------------------------------------------------------------------------------------- the user


class Acquire(Value, frozen=True, gc=False):
    """The user wants the token; one request at a time."""


class Release(Value, frozen=True, gc=False):
    """The user is done with it."""

    #: Whether it wants the token again, after the others that want it.
    is_again: bool = False


class Granted(Value, frozen=True, gc=False):
    """The user has the token, for its request of this number."""

    request: int
    #: Counted up by the token with every grant, so that what was done under an earlier one can be refused; zero where
    #: the token counts nothing.
    number: int = 0


class Moved(Value, frozen=True, gc=False):
    """The token left for another node; `why` says how: round, lent, returned."""

    to: NodeId
    why: str
