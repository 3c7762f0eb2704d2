"""Makes one whole of what survivors have of a resource: a tree, a queue, and exactly one token.

Nothing that a survivor has is taken from it: who holds a claim holds it still, who has the token has it still, who
waits and knows its turn keeps it; who has not heard of its place asks again. What was on its way between processes is
gone, and is made anew: places are linked in the order of their turns; if nobody has the token, the first that waits
gets a new one, or it rests at the root. Since everybody has stopped before, and takes nothing of the old epoch any
more, the old token cannot come back.

The data: the version that the token names, if who has it lives; else the last one that survivors have or can find.
Who can find it takes part from then on, so that it does not leave with it. Of two that have the same version the one
with more parts that were changed since counts: every part is brought to the host that has the data before its claim is
over, so no other one can have as many and lack one that was released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.elmp.messages import Ref, Seat
from solvent.protocols.elmp.state import Place
from solvent.protocols.elmp.tree import arranged, size_of
from solvent.protocols.handover.messages import Renewal, Survivor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from solvent.protocols.elmp.messages import Entry
    from solvent.protocols.elmp.vocabulary import Data
    from solvent.protocols.machine import NodeId

NUMBERS_BITS = 32
"""How many ranks and turns there may be in one epoch."""


def planned(survivors: Iterable[Survivor], found: Sequence[Data], order: int, number: int) -> dict[NodeId, Renewal]:
    """Give each survivor its seat and its places; `number` is that of the ballot, `found` the data that is at hand.

    Who knew the last rank and the last turn may be dead; those of the new epoch are greater than any before.
    """
    members = {one.node: one for one in survivors}
    holding = [(one.node, place) for one in members.values() for place in one.places if place.has_token]
    first = min(holding, key=lambda one: one[0]) if holding else None
    place = first[1] if first is not None else None
    named = place.data if place is not None else None
    data = named if named is not None and named.holder in members else _newest(members, found)
    if data is not None and data.holder not in members:
        members[data.holder] = Survivor(data.holder, 0)
    # A part may have been changed where nobody is left.
    is_older = named is not None and (data is None or data.version < named.version)
    is_older |= named is not None and named.has_parts and data is not named
    known, ranks = _ranked(members.values(), number << NUMBERS_BITS)
    entries = _entries(known)
    if data is not None and data is not named:
        has_parts = data.parts > 0 or any(not claim.is_shared for _, _, claim, _ in entries)
        data = replace(data, has_parts=has_parts, parts=0, is_torn=False)
    queue, turns = _queue(known, first, data, entries), number << NUMBERS_BITS
    token: Ref | None = None
    if not queue:
        turns += 1
        queue = [(known[0].node, Place(turns, None, has_token=True, data=data, active=entries))]
    elif first is None:
        token = queue[0][0], queue[0][1].turn
    refs = [(node, place.turn) for node, place in queue]
    places = _linked(queue, refs)
    renewals = {}
    for one, (parent, children) in zip(known, arranged(tuple(one.node for one in known), order), strict=True):
        root = (ranks, turns, refs[-1]) if parent is None else (0, 0, None)
        seat = Seat(parent, children, size_of(children), (), *root)
        renewals[one.node] = Renewal(
            seat,
            one.rank,
            tuple(place for owner, place in places if owner == one.node),
            entries,
            data,
            token[1] if token is not None and token[0] == one.node else 0,
            is_new_token=first is None,
            is_older=is_older,
        )
    return renewals


def _ranked(members: Iterable[Survivor], ranks: int) -> tuple[list[Survivor], int]:
    """Give all in the order of their ranks, with new ones for those who had none, and the last rank given."""
    known = sorted((one for one in members if one.rank), key=lambda one: (one.rank, one.node))
    for one in sorted((one for one in members if not one.rank), key=lambda one: one.node):
        ranks += 1
        known.append(replace(one, rank=ranks))
    return known, ranks


def _queue(
    known: list[Survivor], first: tuple[NodeId, Place] | None, data: Data | None, entries: tuple[Entry, ...]
) -> list[tuple[NodeId, Place]]:
    """Give the places that are kept, in order, that with the token first."""
    waiting = sorted(
        ((place.turn, one.node, place) for one in known for place in one.places if _waits(place)),
        key=lambda one: one[:2],
    )
    queue = [(node, place) for _, node, place in waiting]
    if first is not None:
        queue.insert(0, (first[0], replace(first[1], data=data, active=entries)))
    return queue


def _waits(place: Place) -> bool:
    """Say whether somebody wants the token there; what is nobody's, or has no turn yet, need not be kept."""
    return place.turn > 0 and place.handle is not None and not place.has_token


def _linked(queue: list[tuple[NodeId, Place]], refs: list[Ref]) -> list[tuple[NodeId, Place]]:
    """Let everybody know who comes before and who comes next."""
    linked = []
    for number, (node, place) in enumerate(queue):
        before = refs[number - 1] if number else None
        after = refs[number + 1] if number + 1 < len(refs) else None
        whole = Place(place.turn, place.handle, place.claim, place.has_token, place.data, place.active, before, after)
        linked.append((node, whole))
    return linked


def _newest(members: dict[NodeId, Survivor], found: Sequence[Data]) -> Data | None:
    """Return the newest version that survivors have or can find."""
    # Who has looked knows better than from memory what is there.
    looked = {one.holder for one in found}
    stored = [one.stored for one in members.values() if one.stored is not None and one.node not in looked]
    # Of two that have it, rather who has all of it, or takes part already.
    return max(
        (*stored, *found),
        key=lambda one: (one.version, one.parts, not one.is_torn, one.holder in members, -one.holder),
        default=None,
    )


def _entries(members: list[Survivor]) -> tuple[Entry, ...]:
    """Return the claims of survivors that were let in without keeping the token, in order."""
    found = [
        (one.node, use.number, use.claim, use.turn) for one in members for use in one.uses if not use.claim.is_plain
    ]
    return tuple(sorted(found, key=lambda one: (one[3], one[0], one[1])))


__all__ = ["NUMBERS_BITS", "planned"]
