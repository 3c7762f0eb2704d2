"""Parts that the dead have changed: what of them counts, where it is, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.protocols.elmp.state import Place, Use
from solvent.protocols.elmp.vocabulary import Claim, Data, Part
from solvent.protocols.handover.messages import Survivor
from solvent.protocols.handover.parts import gathered
from solvent.protocols.handover.plan import planned
from tests.unit.protocols.elmp.acting import A, B, C, D

if TYPE_CHECKING:
    from solvent.protocols.elmp.messages import Entry
    from solvent.protocols.machine import NodeId

HEAD, MIDDLE, TAIL = Claim(length=10), Claim(first=5, length=10), Claim(first=10)
BASE = Data(7, A, since=(4, 1))


def _parts(members: dict[NodeId, Survivor], data: Data, place: Place | None, found: list[Data]) -> tuple[Part, ...]:
    return gathered(members, data, place, found)[0]


def _found(holder: NodeId, *parts: Part, version: int = 7) -> Data:
    return Data(version, holder, parts=parts)


def _token(data: Data, *active: Entry) -> Place:
    return Place(9, None, has_token=True, data=data, active=active)


def test_what_survivors_answer_for_stays_with_them() -> None:
    """Where all parts were changed by processes that live, the claims say so, as before."""
    survivors = {A: Survivor(A, 1), B: Survivor(B, 2, uses=(Use(3, None, HEAD, 6),))}
    own = Part(B, B, 3, HEAD, 7)
    assert _parts(survivors, BASE, None, [_found(B, own), _found(A, Part(A, B, 3, HEAD, 7))]) == ()
    plan = planned(survivors.values(), [_found(B, own)], 2, 3)
    assert plan[A].entries == ((B, 3, HEAD),)


def test_a_part_of_the_dead_counts_if_somebody_has_it() -> None:
    """It is told along with the data; what survivors have changed is, too, and no claim is left for it."""
    has_token = _token(BASE, (B, 3, HEAD), (D, 1, MIDDLE))
    survivors = [Survivor(A, 1, (has_token,)), Survivor(B, 2, uses=(Use(3, None, HEAD, 6), Use(4, 0, TAIL, 8)))]
    left = Part(B, B, 3, Claim(length=5), 7)
    found = [_found(C, Part(C, D, 1, MIDDLE, 7)), _found(B, left, version=-1)]
    plan = planned(survivors, found, 2, 3)
    data = plan[A].data
    assert data is not None
    assert data.parts == (left, Part(C, D, 1, MIDDLE, 7))
    assert plan[A].entries == ((B, 4, TAIL),)
    assert plan.keys() == {A, B, C}, "who has a part must not leave with it"


def test_the_token_knows_what_counts_and_in_which_order() -> None:
    """Of two memories one may have what is over; a change of an earlier version is in neither list."""
    early, late, stale = Part(B, C, 1, HEAD, 7), Part(A, D, 1, MIDDLE, 7), Part(B, D, 9, TAIL, 7)
    members = {A: Survivor(A, 1), B: Survivor(B, 2)}
    found = [_found(A, late), _found(B, early, stale)]
    laid = (Part(B, C, 1, Claim(length=5), 7), late)
    assert _parts(members, BASE, _token(BASE, (C, 1, HEAD), (D, 1, MIDDLE)), found) == laid
    laid = (Part(A, D, 1, Claim(first=10, length=5), 7), early)
    assert _parts(members, BASE, _token(BASE, (D, 1, MIDDLE), (C, 1, HEAD)), found) == laid


def test_without_the_token_claims_of_survivors_know_the_order() -> None:
    """Who came after a part has waited for its claim; a part for whose claim nobody waited came later."""
    dead = Part(A, D, 1, MIDDLE, 7)
    own = Part(B, B, 3, HEAD, 7)
    for earlier, laid in (
        (((D, 1, MIDDLE),), (Part(A, D, 1, Claim(first=10, length=5), 7), own)),
        ((), (Part(B, B, 3, Claim(length=5), 7), dead)),
    ):
        use = Use(3, None, HEAD, 6, earlier=earlier)
        members = {A: Survivor(A, 1), B: Survivor(B, 2, uses=(use,))}
        assert _parts(members, BASE, None, [_found(A, dead), _found(B, own)]) == laid


def test_a_change_of_another_version_does_not_count() -> None:
    """Where nobody knows better, it must be a change of the version that counts."""
    members = {A: Survivor(A, 1), B: Survivor(B, 2)}
    assert _parts(members, BASE, None, [_found(B, Part(B, D, 1, HEAD, 6))]) == ()
    assert _parts(members, BASE, None, [_found(B, Part(B, D, 1, HEAD, 7))]) == (Part(B, D, 1, HEAD, 7),)
    lost = Data(-1, A)
    assert _parts(members, lost, None, [_found(B, Part(B, D, 1, HEAD, 7))]) == ()


def test_parts_stay_when_another_repair_follows() -> None:
    """Who has them says so again; if it dies, another one that shares its memory does."""
    whole = Data(7, A, since=(4, 1), parts=(Part(C, D, 1, HEAD, 7), Part(B, D, 2, TAIL, 7)))
    members = {A: Survivor(A, 1), B: Survivor(B, 2)}
    found = [_found(A, Part(A, D, 1, HEAD, 0))]
    parts = (Part(A, D, 1, HEAD), Part(B, D, 2, TAIL, 7))
    assert _parts(members, whole, _token(whole), found) == parts
    again = Data(7, A, since=(4, 1), parts=parts)
    assert _parts(members, again, _token(again), found) == parts
    assert _parts({A: Survivor(A, 1)}, again, _token(again), found) == parts[:1], "its only holder has died"


def test_who_has_a_part_keeps_it_until_somebody_has_all() -> None:
    """It is what the process keeps across the repair; others keep nothing."""
    members = [Survivor(A, 1), Survivor(B, 2)]
    plan = planned(members, [_found(A), _found(B, Part(B, D, 1, HEAD, 7), version=-1)], 2, 3)
    data = plan[B].data
    assert data is not None
    assert data.holders() == {A, B}
    assert data.is_at(B)
    assert not data.is_at(C)


def test_what_was_found_last_in_a_memory_holds_for_all_that_share_it() -> None:
    """Claims are still released while others have looked already."""
    members = {A: Survivor(A, 1), B: Survivor(B, 2, uses=(Use(5, None, HEAD, 6),))}
    old = Data(7, A, parts=(Part(A, D, 1, HEAD, 7),), memory=(70, 3))
    new = Data(7, B, parts=(Part(B, B, 5, HEAD, 7), Part(B, D, 2, TAIL, 7)), memory=(70, 4))
    laid = (Part(B, B, 5, HEAD, 7), Part(A, D, 2, TAIL, 7))
    assert _parts(members, BASE, None, [old, new]) == laid
    assert _parts(members, BASE, None, [new, old]) == laid


def test_a_part_of_the_turn_of_the_whole_counts_if_it_lies_over_it() -> None:
    """Who has the token to itself writes both under one turn; what is found knows only the turn."""
    found = Data(7, A, since=(4, 1 << 62), parts=(Part(A, B, 3, HEAD, 7),))
    own = Data(7, B, since=(4, 1 << 62), parts=(Part(B, B, 3, HEAD, 7),))
    survivors = [Survivor(A, 1), Survivor(B, 2, uses=(Use(3, None, HEAD, 4), Use(2, None, TAIL, 4)))]
    assert planned(survivors, [found, own], 2, 3)[A].entries == ((B, 3, HEAD),)


def test_what_lies_over_a_part_that_counts_does_too() -> None:
    """Even where nobody knows which version it was a change of."""
    members = {A: Survivor(A, 1), B: Survivor(B, 2, uses=(Use(3, None, HEAD, 6),))}
    over, beside = Part(B, D, 1, Claim(first=8, length=2)), Part(B, D, 2, TAIL)
    own = Part(B, B, 3, Claim(length=8))
    assert _parts(members, BASE, None, [_found(B, own, over, beside, version=-1)]) == (own, over)
