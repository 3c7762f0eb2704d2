"""Parts of data that lie over each other: what is left of those below. There may be thousands."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.elmp.vocabulary import Claim, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from solvent.protocols.elmp.messages import Ref
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
    # Where stretches begin and end that later parts cover, one behind the other.
    starts: list[int] = []
    ends: list[float] = []
    row: list[Part] = []
    for one in reversed(parts):
        start, end = one.claim.first, _end(one.claim)
        first, last = bisect_right(ends, start), bisect_left(starts, end)
        if first == last:
            row.append(one)
        else:
            begins, stops = (start, *ends[first:last]), (*starts[first:last], end)
            left = [_stretch(*piece) for piece in zip(begins, stops, strict=True) if piece[0] < piece[1]]
            row += [replace(one, claim=piece) for piece in reversed(left)]
            start, end = min(start, starts[first]), max(end, ends[last - 1])
        starts[first:last], ends[first:last] = [start], [end]
    return tuple(reversed(row))


def _end(claim: Claim) -> float:
    return math.inf if claim.length is None else claim.first + claim.length


def _stretch(start: float, end: float) -> Claim:
    return Claim(first=int(start), length=None if end == math.inf else int(end - start))


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


def uncovered(sources: tuple[Source, ...]) -> tuple[Source, ...]:
    """Leave out each change that one later change covers, and no other: who made that one has relieved its holder."""
    # Of later changes those that no other covers, as they begin: so they end in the same order.
    starts: list[int] = []
    ends: list[float] = []
    kept: list[Source] = []
    for one in reversed(sources):
        start, end = one.claim.first, _end(one.claim)
        place = bisect_right(starts, start)
        if place and ends[place - 1] >= end:
            continue
        kept.append(one)
        first, last = bisect_left(starts, start), bisect_right(ends, end)
        starts[first:last], ends[first:last] = [start], [end]
    return tuple(reversed(kept))


def by_node(refs: Iterable[Ref]) -> dict[NodeId, tuple[int, ...]]:
    """Give the numbers of each process, in their order."""
    found: dict[NodeId, list[int]] = {}
    for node, number in refs:
        found.setdefault(node, []).append(number)
    return {node: tuple(numbers) for node, numbers in found.items()}


__all__ = ["brought", "by_node", "laid", "uncovered", "without"]
