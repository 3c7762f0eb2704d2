"""Parts of the data that the dead have changed: those that somebody else has count on, over the version that counts.

A change of a part stays with who made it (`Use`), who answers for it until somebody has fetched it. If that one dies,
other processes may have the part all the same: those of its host share its memory. In a repair each process says which
parts it can have, whoever changed them (`Data.parts` of what is found). From these and from the changes of survivors
one whole is made, in which no part lies over another. From then on it is told along with the data, and the claims
under which it was written are over.

Which of two parts that overlap is the later one: of those in one memory only the later is there. Of others the token
knows the order; if it is lost, claims of survivors know which ones they came after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from solvent.protocols.elmp.vocabulary import Claim, Part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from solvent.protocols.elmp.messages import Ref
    from solvent.protocols.elmp.state import Place, Use
    from solvent.protocols.elmp.vocabulary import Data
    from solvent.protocols.handover.messages import Survivor
    from solvent.protocols.machine import NodeId


class _Known(NamedTuple):
    """What survivors say."""

    data: Data
    #: The place that has the token; none if it is lost.
    place: Place | None
    uses: Mapping[Ref, Use]
    found: Sequence[Data]

    def released(self) -> dict[Ref, Use]:
        """Give the claims of survivors that are over and have changed parts since the data was whole.

        What was found may not tell which claims of its own turn came later; but these lie over it.
        """
        data = self.data
        over = {_ref(part) for one in self.found for part in one.parts if part.base == data.version}
        return {
            ref: use
            for ref, use in self.uses.items()
            if use.handle is None
            and not use.claim.is_plain
            and ((use.turn, use.number) > data.since or (use.turn == data.since[0] and ref in over))
        }

    def current(self) -> set[Ref]:
        """Give claims that are known to come after the version that counts, whoever made them."""
        refs = {_ref(part) for part in self.data.parts}
        # What lies in the memory that has the version lies over it.
        refs |= {_ref(part) for one in self.found if one.holder == self.data.holder for part in one.parts}
        if self.place is not None:
            return refs | {entry[:2] for entry in self.place.active}
        for use in self.uses.values():
            if use.data is not None and use.data.version == self.data.version:
                refs |= {entry[:2] for entry in use.earlier}
        return refs | {_ref(part) for one in self.found for part in one.parts if part.base == self.data.version}


def gathered(
    members: Mapping[NodeId, Survivor], data: Data, place: Place | None, found: Sequence[Data]
) -> tuple[tuple[Part, ...], frozenset[Ref]]:
    """Give all parts that count over some data, later ones last, and no claims.

    If survivors answer for all of them, no parts are given, but their claims.
    """
    if data.version < 0:
        return (), frozenset()
    uses = {(node, use.number): use for node, one in members.items() for use in one.uses}
    found = _latest(found)
    known = _Known(data, place, uses, found)
    released, telling = known.released(), {one.holder for one in found if one.version >= 0 or one.parts}
    current = known.current()
    parts = [part for one in found for part in one.parts if _counts(part, known, released, current)]
    # Who has not looked for data has what it had.
    parts += [part for part in data.parts if part.holder in members and part.holder not in telling]
    if all(_ref(part) in released for part in parts):
        return (), frozenset(released)
    parts += [Part(ref[0], *ref, use.claim) for ref, use in released.items() if ref[0] not in telling]
    order = {ref: number for number, ref in enumerate(_order(known))}
    parts.sort(
        key=lambda one: (
            # What the token does not know, or who changed it does not any more, was changed before all that is known.
            order.get(_ref(one), -1 if place is not None or one.writer in members else len(order)),
            _ref(one),
            # Of several that have it, rather who has the rest, or takes part already.
            one.holder == data.holder,
            one.holder in members,
            -one.holder,
        )
    )
    return _laid(parts), frozenset()


def _latest(found: Sequence[Data]) -> list[Data]:
    """Let all that share a memory have what was found there last: claims were still released while they looked."""
    last: dict[int, Data] = {}
    for one in found:
        memory, changes = one.memory
        if memory and (memory not in last or last[memory].memory[1] < changes):
            last[memory] = one
    return [
        replace(one, parts=tuple(replace(part, holder=one.holder) for part in last[one.memory[0]].parts))
        if one.memory[0]
        else one
        for one in found
    ]


def _ref(part: Part) -> Ref:
    return part.writer, part.use


def _counts(part: Part, known: _Known, released: Mapping[Ref, Use], current: set[Ref]) -> bool:
    """Say whether a part that was found is a change of the version that counts, and not of an earlier one."""
    ref = _ref(part)
    if ref in known.uses:
        # Who answers for it says itself what is left of it.
        return ref in released and part.holder == part.writer
    # What lies over a part that counts does, too.
    return ref in current or any(
        owner == part.holder and use.claim.overlaps(part.claim) for (owner, _), use in released.items()
    )


def _order(known: _Known) -> list[Ref]:
    """Give claims in the order in which they came, as far as that is known."""
    refs = [_ref(part) for part in known.data.parts]
    if known.place is not None:
        refs += [entry[:2] for entry in known.place.active]
    else:
        for ref, use in sorted(known.uses.items(), key=lambda one: (one[1].turn, one[0])):
            refs += [_ref(part) for part in use.data.parts] if use.data is not None else []
            refs += [entry[:2] for entry in use.earlier]
            refs.append(ref)
    return list(dict.fromkeys(refs))


def _laid(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Lay each part over those before it, and give what is left of each."""
    laid = list[Part]()
    for top in parts:
        laid = [piece for one in laid for piece in _beside(one, top.claim)]
        laid.append(top)
    return tuple(laid)


def _beside(part: Part, top: Claim) -> list[Part]:
    """Give what another claim leaves of a part."""
    claim = part.claim
    if not claim.overlaps(top):
        return [part]
    pieces = []
    if claim.first < top.first:
        pieces.append(replace(part, claim=Claim(first=claim.first, length=top.first - claim.first)))
    if top.length is not None:
        start = top.first + top.length
        if claim.length is None:
            pieces.append(replace(part, claim=Claim(first=start)))
        elif start < claim.first + claim.length:
            pieces.append(replace(part, claim=Claim(first=start, length=claim.first + claim.length - start)))
    return pieces


__all__ = ["gathered"]
