"""What nodes of the token protocol say to each other.

Only `Token` is expensive: it must arrive, once. The others are hints that bring it to where it is wanted; any of them
may be lost without harm.
"""

from __future__ import annotations

from immutables import Map

from solvent.protocols.machine import Message, NodeId


class Token(Message, frozen=True, gc=False):
    """The right to act, on its way round the ring, to a borrower, or back."""

    #: How many regular visits there have been; a node keeps the number of its last one as its stamp.
    visits: int
    #: Who lent it, and gets it back after use; none on its way round.
    lender: NodeId | None = None
    #: For whom it was lent, where it goes back along the path of the search.
    borrower: NodeId | None = None
    is_returned: bool = False
    #: By node, the last of its requests that was served; traps for these are obsolete.
    served: Map[NodeId, int] = Map()
    #: How often somebody has been served in this token's life: the number of the last grant.
    grants: int = 0
    #: One bit for each of its last moves, the last one lowest: whether somebody was served at its end.
    used: int = 0


class Gimme(Message, frozen=True, gc=False):
    """A search for the token on behalf of a requester, halving its stride from node to node."""

    requester: NodeId
    #: The number of the request, upwards; an answer to an older one is obsolete.
    request: int
    #: The requester's stamp when it began to search.
    stamp: int
    stride: int


class NotHere(Message, frozen=True, gc=False):
    """In a directed search: the token is not here, and this node last saw it at this stamp."""

    request: int
    stamp: int
    stride: int
