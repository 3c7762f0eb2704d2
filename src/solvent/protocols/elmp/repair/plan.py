"""Makes one whole of what survivors have: a tree, a queue, and exactly one token.

Nothing that a survivor has is taken from it: who holds a claim holds it still, who has the token has it still, who
waits keeps its turn. What was on its way between processes is gone, and is made anew: places are linked in the order of
their turns; if nobody has the token, the first that waits gets a new one, or it rests at the root. Since everybody has
stopped before, and takes nothing of the old epoch any more, the old token cannot come back.

The data: the version that the token names, if who has it lives; else the last one that any survivor has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from solvent.protocols.elmp.balance import arranged
from solvent.protocols.elmp.messages import Seat
from solvent.protocols.elmp.repair.messages import Renewal, Survivor
from solvent.protocols.elmp.state import Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent.protocols.elmp.messages import Entry, Ref
    from solvent.protocols.elmp.vocabulary import Data
    from solvent.protocols.machine import NodeId

NUMBERS_BITS = 32
"""How many ranks and turns there may be in one epoch."""


class Plan(NamedTuple):
    """What everybody who takes part has in the new epoch, and whether the token is a new one."""

    renewals: dict[NodeId, Renewal]
    is_new_token: bool


def planned(survivors: Sequence[Survivor], order: int, number: int) -> Plan:
    """Give each survivor that takes part its seat and its places; `number` is that of the ballot.

    Who knew the last rank and the last turn may be dead; those of the new epoch are greater than any before.
    """
    members = sorted((one for one in survivors if one.is_member), key=lambda one: (one.rank, one.node))
    if not members:
        return Plan({}, is_new_token=False)
    nodes = tuple(one.node for one in members)
    turns = number << NUMBERS_BITS
    found = [(one.node, place) for one in members for place in one.places if place.has_token]
    data = _data(members, found[0][1].data if found else None)
    entries = _entries(members, data)
    first = found[0] if found else None
    waiting = sorted(
        ((place.turn, one.node, place) for one in members for place in one.places if _waits(place)),
        key=lambda one: one[:2],
    )
    queue = [(node, place) for _, node, place in waiting]
    token: Ref | None = None
    if first is not None:
        queue.insert(0, (first[0], replace(first[1], data=data, active=entries)))
    elif queue:
        token = queue[0][0], queue[0][1].turn
    else:
        turns += 1
        queue = [(nodes[0], Place(turns, None, has_token=True, data=data, active=entries))]
    refs = [(node, place.turn) for node, place in queue]
    places = _linked(queue, refs)
    renewals = {}
    for node, (parent, children) in zip(nodes, arranged(nodes, order), strict=True):
        size = (1 + max((one[1] for one in children), default=-1), 1 + sum(one[2] for one in children))
        root = (number << NUMBERS_BITS, turns, refs[-1]) if parent is None else (0, 0, None)
        mine = tuple(place for owner, place in places if owner == node)
        given = token[1] if token is not None and token[0] == node else 0
        renewals[node] = Renewal(Seat(parent, children, size, (), *root), mine, entries, data, given)
    return Plan(renewals, is_new_token=first is None)


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


def _data(members: list[Survivor], named: Data | None) -> Data | None:
    """Give the version that is to count."""
    nodes = {one.node for one in members}
    stored = [one.stored for one in members if one.stored is not None]
    if named is not None and named.holder in nodes:
        return named
    return max(stored, key=lambda one: (one.version, -one.holder), default=None)


def _entries(members: list[Survivor], data: Data | None) -> tuple[Entry, ...]:
    """Give the claims of survivors that were let in without keeping the token, in order.

    Changes of a part count if they are later than the version that counts; if there is none left, they mean nothing.
    """
    since = (1 << 63, 0) if data is None else data.since
    found = [
        (use.turn, one.node, use.number, use.claim)
        for one in members
        for use in one.uses
        if not use.claim.is_plain and (use.handle is not None or (use.turn, use.number) > since)
    ]
    return tuple((node, number, claim) for _, node, number, claim in sorted(found, key=lambda one: one[:3]))


__all__ = ["Plan", "planned"]
