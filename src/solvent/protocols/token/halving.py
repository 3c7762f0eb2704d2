"""Where a search by halving goes: how many nodes it has still to ask behind a node and ahead of it.

A search begins across the ring from its requester x, with all other nodes on its two sides: those between x and there
are behind, the rest ahead. A node that is asked and does not have the token knows on which side it is; the other side
is left out for good, and the search goes to the middle of this one. It ends where that side is empty. So it has asked
everybody who could have the token, after at most log2 N messages, rounded up.

The paper halves a number instead, the distance of the next hop. That asks the right nodes only if N is a power of two:
in a ring of three, x asks x+1 and never x+2 (T10). Rounding up helps some sizes, not those of 3, 5, 9, 10 and 11 nodes.
"""

from __future__ import annotations

from typing import NamedTuple


class Hop(NamedTuple):
    """The next hop of a search."""

    #: How far it goes round the ring; negative: back.
    distance: int
    #: How many nodes are still to be asked before and after the one it goes to.
    behind: int
    ahead: int


def across(size: int) -> Hop:
    """Give the first hop of a search, from its requester; there must be somebody to ask."""
    half = size // 2
    return Hop(half, half - 1, size - half - 1)


def onward(behind: int, ahead: int, *, is_ahead: bool) -> Hop | None:
    """Give the next hop from a node that knows on which side the token is; None if nobody is left on that side."""
    if is_ahead:
        half = (ahead + 1) // 2
        return Hop(half, half - 1, ahead - half) if half else None
    half = (behind + 1) // 2
    return Hop(-half, behind - half, half - 1) if half else None


__all__ = ["Hop", "across", "onward"]
