"""Parts of the data that the dead have changed: those that somebody else has count on, over the version that counts.

A change of a part stays with who made it (`Use`), who answers for it until somebody has fetched it. If that one dies,
other processes may have the part all the same: those of its host share its memory, and those of another one may have
fetched it. In a repair each process says which parts it can have, whoever changed them (`Data.parts` of what is found).
From these and from the changes of survivors one whole is made, in which no part lies over another. From then on it is
told along with the data, and the claims under which it was written are over.

Each part says of which version it is a change: only those of the version that counts do. And it says the turn of the
claim under which it was written: of two that overlap, that of the later turn lies over the other. Both are known
wherever a part is, also where nobody is left that had to do with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.elmp.pieces import laid, without
from solvent.protocols.elmp.vocabulary import Claim, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from solvent.protocols.elmp.messages import Ref
    from solvent.protocols.elmp.state import Use
    from solvent.protocols.elmp.vocabulary import Data
    from solvent.protocols.handover.messages import Survivor
    from solvent.protocols.machine import NodeId


def gathered(
    members: Mapping[NodeId, Survivor], data: Data, found: Sequence[Data]
) -> tuple[tuple[Part, ...], frozenset[Ref]]:
    """Give all parts that count over some data, later ones last, and no claims.

    If survivors answer for all of them, no parts are given, but their claims.
    """
    released = _released(members, data)
    parts = _counting(members, data, found)
    if all(_ref(part) in released for part in parts):
        return (), frozenset(released)
    telling = _telling(found)
    parts += [_part(ref, use) for ref, use in released.items() if ref[0] not in telling]
    # Of several that have it, rather who has the rest, or takes part already.
    parts.sort(key=lambda one: (_order(one), _ref(one), one.holder == data.holder, one.holder in members, -one.holder))
    return laid(parts), frozenset()


def is_all_there(members: Mapping[NodeId, Survivor], data: Data, found: Sequence[Data]) -> bool:
    """Say whether nothing is missing of what was found: where it has gaps, there are parts, or somebody is at it."""
    gaps = _gaps(data, found)
    if not gaps or data.version < 0:
        return True
    tops = [part.claim for part in _counting(members, data, found)]
    claims = [use.claim for one in members.values() for use in one.uses if use.is_held]
    tops += [claim for claim in claims if not claim.is_shared and not claim.is_plain]
    for top in tops:
        gaps = [piece for gap in gaps for piece in without(gap, top)]
    return not gaps


def latest(found: Iterable[Data]) -> list[Data]:
    """Let all that share a memory have what was found there last: claims were still released while they looked."""
    found = list(found)
    last: dict[int, Data] = {}
    for one in found:
        memory, changes = one.memory
        if memory and (memory not in last or last[memory].memory[1] < changes):
            last[memory] = one
    return [one if not one.memory[0] else _as_of(last[one.memory[0]], one) for one in found]


def _as_of(last: Data, one: Data) -> Data:
    parts = tuple(replace(part, holder=one.holder) for part in last.parts)
    if last.version != one.version:
        # What was there before is not there any more.
        return replace(one, parts=parts, gaps=(Claim(),))
    return replace(one, parts=parts, gaps=last.gaps, since=last.since)


def _released(members: Mapping[NodeId, Survivor], data: Data) -> dict[Ref, Use]:
    """Give the claims of survivors that are over and have changed parts since the data was whole."""
    if data.version < 0:
        return {}
    return {
        (node, use.number): use
        for node, one in members.items()
        for use in one.uses
        if use.handle is None
        and not use.claim.is_plain
        and _counts(data, (use.turn, use.number), use.data.version if use.data is not None else 0)
    }


def _counting(members: Mapping[NodeId, Survivor], data: Data, found: Sequence[Data]) -> list[Part]:
    """Give the parts that were found and count; those of claims that are not over do not yet."""
    if data.version < 0:
        return []
    going = {(node, use.number) for node, one in members.items() for use in one.uses if use.handle is not None}
    parts = [
        part
        for one in found
        for part in one.parts
        if _ref(part) not in going and _counts(data, _order(part), part.base)
    ]
    # Who has not looked for data has what it had.
    telling = _telling(found)
    return parts + [part for part in data.parts if part.holder in members and part.holder not in telling]


def _counts(data: Data, order: tuple[int, int], base: int) -> bool:
    """Say whether a change counts over some data: it is one of this version, and came later."""
    return base in (0, data.version) and order > data.since


def _telling(found: Sequence[Data]) -> set[NodeId]:
    return {one.holder for one in found if one.version >= 0 or one.parts}


def _gaps(data: Data, found: Sequence[Data]) -> list[Claim]:
    """Give what is missing of some data, as far as who has it could tell."""
    return next((list(one.gaps) for one in found if (one.holder, one.version) == (data.holder, data.version)), [])


def _part(ref: Ref, use: Use) -> Part:
    return Part(ref[0], *ref, use.claim, use.turn, use.data.version if use.data is not None else 0)


def _ref(part: Part) -> Ref:
    return part.writer, part.use


def _order(part: Part) -> tuple[int, int]:
    """Give the order in which claims came: under one turn only one process has the token, and counts its claims."""
    return part.turn, part.use


__all__ = ["gathered", "is_all_there", "latest"]
