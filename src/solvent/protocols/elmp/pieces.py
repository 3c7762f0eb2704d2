"""Parts of data that lie over each other: what is left of those below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.elmp.vocabulary import Claim, Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent.protocols.elmp.vocabulary import Data, Source
    from solvent.protocols.machine import NodeId


def brought(to: NodeId, data: Data, sources: Sequence[Source]) -> tuple[Part, ...]:
    """Give all parts that somebody has fetched together with the data, as they lie over each other."""
    if not data.parts and not sources:
        return ()
    changed = [Part(to, one.holder, one.use, one.claim, one.turn, data.version) for one in sources]
    return laid([*(replace(one, holder=to) for one in data.parts), *changed])


def laid(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Lay each part over those before it, and give what is left of each."""
    row = list[Part]()
    for top in parts:
        row = [replace(one, claim=piece) for one in row for piece in without(one.claim, top.claim)]
        row.append(top)
    return tuple(row)


def without(claim: Claim, top: Claim) -> list[Claim]:
    """Give what another claim leaves of one."""
    if not claim.overlaps(top):
        return [claim]
    pieces = []
    if claim.first < top.first:
        pieces.append(Claim(first=claim.first, length=top.first - claim.first))
    if top.length is not None:
        start = top.first + top.length
        if claim.length is None:
            pieces.append(Claim(first=start))
        elif start < claim.first + claim.length:
            pieces.append(Claim(first=start, length=claim.first + claim.length - start))
    return pieces


__all__ = ["brought", "laid", "without"]
