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
        """Give the claims of survivors that are over and have changed parts since the data was whole."""
        since = self.data.since
        return {
            ref: use
            for ref, use in self.uses.items()
            if use.handle is None and not use.claim.is_plain and (use.turn, use.number) > since
        }


def gathered(
    members: Mapping[NodeId, Survivor], data: Data, place: Place | None, found: Sequence[Data]
) -> tuple[Part, ...]:
    """Give all parts that count over some data, later ones last; none if survivors answer for all of them."""
    if data.version < 0:
        return ()
    uses = {(node, use.number): use for node, one in members.items() for use in one.uses}
    known = _Known(data, place, uses, found)
    released, telling = known.released(), {one.holder for one in found if one.version >= 0 or one.parts}
    parts = [part for one in found for part in one.parts if _counts(part, known, released)]
    # Who has not looked for data has what it had.
    parts += [part for part in data.parts if part.holder in members and part.holder not in telling]
    if all(_ref(part) in released for part in parts):
        return ()
    parts += [Part(ref[0], *ref, use.claim) for ref, use in released.items() if ref[0] not in telling]
    order = {ref: number for number, ref in enumerate(_order(known))}
    last = len(order)
    if place is not None:
        # What the token does not know was changed before all that it knows.
        last = -1
    parts.sort(
        key=lambda one: (
            order.get(_ref(one), last),
            _ref(one),
            # Of several that have it, rather who has the rest, or takes part already.
            one.holder == data.holder,
            one.holder in members,
            -one.holder,
        )
    )
    return _laid(parts)


def _ref(part: Part) -> Ref:
    return part.writer, part.use


def _counts(part: Part, known: _Known, released: Mapping[Ref, Use]) -> bool:
    """Say whether a part that was found is a change of the version that counts, and not of an earlier one."""
    ref, data = _ref(part), known.data
    if ref in known.uses:
        # Who answers for it says itself what is left of it.
        return ref in released and part.holder == part.writer
    if ref in {_ref(one) for one in data.parts}:
        return True
    if any(_ref(own) == ref for one in known.found if one.holder == data.holder for own in one.parts):
        # It lies in the memory that has the version.
        return True
    if known.place is not None:
        return any(one[:2] == ref for one in known.place.active)
    return part.base == data.version


def _order(known: _Known) -> list[Ref]:
    """Give claims in the order in which they came, as far as that is known."""
    refs = [_ref(part) for part in known.data.parts]
    if known.place is not None:
        refs += [entry[:2] for entry in known.place.active]
    else:
        for ref, use in sorted(known.uses.items(), key=lambda one: (one[1].turn, one[0])):
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
