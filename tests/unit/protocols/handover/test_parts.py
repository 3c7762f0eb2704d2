"""Parts that the dead have changed: what of them counts, where it is, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.elmp.state import Place, Use
from solvent.protocols.elmp.vocabulary import WHOLE, Claim, Data, Part
from solvent.protocols.handover.messages import Survivor
from solvent.protocols.handover.parts import gathered, is_all_there, latest
from solvent.protocols.handover.plan import planned
from tests.unit.protocols.elmp.acting import A, B, C, D

if TYPE_CHECKING:
    from solvent.protocols.machine import NodeId

HEAD, MIDDLE, TAIL = Claim(length=10), Claim(first=5, length=10), Claim(first=10)
BASE = Data(7, A, since=(4, 1))


def _part(holder: NodeId, writer: NodeId, use: int, claim: Claim, *, turn: int = 6, base: int = 7) -> Part:
    return Part(holder, writer, use, claim, turn, base)


def _parts(members: dict[NodeId, Survivor], data: Data, found: list[Data]) -> tuple[Part, ...]:
    return gathered(members, data, latest(found))[0]


def _found(holder: NodeId, *parts: Part, version: int = 7) -> Data:
    return Data(version, holder, parts=parts)


def _token(data: Data) -> Place:
    return Place(9, None, has_token=True, data=data)


def test_what_survivors_answer_for_stays_with_them() -> None:
    """Where all parts were changed by processes that live, the claims say so, as before."""
    survivors = {A: Survivor(A, 1), B: Survivor(B, 2, uses=(Use(3, None, HEAD, 6),))}
    own = _part(B, B, 3, HEAD)
    assert _parts(survivors, BASE, [_found(B, own), _found(A, replace(own, holder=A))]) == ()
    plan = planned(survivors.values(), [_found(B, own)], 2, 3)
    assert plan[A].entries == ((B, 3, HEAD, 6),)


def test_a_part_of_the_dead_counts_if_somebody_has_it() -> None:
    """It is told along with the data; what survivors have changed is, too, and no claim is left for it."""
    survivors = [Survivor(A, 1, (_token(BASE),)), Survivor(B, 2, uses=(Use(3, None, HEAD, 6), Use(4, 0, TAIL, 8)))]
    left, dead = _part(B, B, 3, Claim(length=5)), _part(C, D, 1, MIDDLE, turn=7)
    plan = planned(survivors, [_found(C, dead), _found(B, left, version=-1)], 2, 3)
    data = plan[A].data
    assert data is not None
    assert data.parts == (left, dead)
    assert plan[A].entries == ((B, 4, TAIL, 8),)
    assert plan.keys() == {A, B, C}, "who has a part must not leave with it"


def test_a_survivors_change_of_another_version_does_not_count_either() -> None:
    """The version that it was one of is lost, and with it what was changed of it."""
    for version, entries in ((7, ((B, 3, HEAD, 6),)), (8, ())):
        use = Use(3, None, HEAD, 6, Data(version, D))
        survivors = [Survivor(A, 1, stored=BASE), Survivor(B, 2, uses=(use,))]
        assert planned(survivors, (), 2, 3)[A].entries == entries


def test_what_is_not_released_yet_is_told_by_the_release() -> None:
    """It may be in the memory already; its claim is still to be waited for."""
    members = {A: Survivor(A, 1), B: Survivor(B, 2, uses=(Use(3, 0, HEAD, 6, BASE, is_held=True),))}
    assert _parts(members, BASE, [_found(B, _part(B, B, 3, HEAD))]) == ()


def test_parts_stay_when_another_repair_follows() -> None:
    """Who has them says so again; if it dies, another one that shares its memory does."""
    head, tail = _part(C, D, 1, HEAD), _part(B, D, 2, TAIL)
    whole = Data(7, A, since=(4, 1), parts=(head, tail))
    members = {A: Survivor(A, 1), B: Survivor(B, 2)}
    found = [_found(A, replace(head, holder=A))]
    parts = (replace(head, holder=A), tail)
    assert _parts(members, whole, found) == parts
    again = Data(7, A, since=(4, 1), parts=parts)
    assert _parts(members, again, found) == parts
    assert _parts({A: Survivor(A, 1)}, again, found) == parts[:1], "its only holder has died"


def test_who_has_a_part_keeps_it_until_somebody_has_all() -> None:
    """It is what the process keeps across the repair; others keep nothing."""
    members = [Survivor(A, 1), Survivor(B, 2)]
    plan = planned(members, [_found(A), _found(B, _part(B, D, 1, HEAD), version=-1)], 2, 3)
    data = plan[B].data
    assert data is not None
    assert data.holders() == {A, B}
    assert data.is_at(B)
    assert not data.is_at(C)


def test_what_was_found_last_in_a_memory_holds_for_all_that_share_it() -> None:
    """Claims are still released while others have looked already."""
    members = {A: Survivor(A, 1), B: Survivor(B, 2, uses=(Use(5, None, HEAD, 6),))}
    old = Data(7, A, parts=(_part(A, D, 1, HEAD, turn=5),), memory=(70, 3))
    new = Data(7, B, parts=(_part(B, B, 5, HEAD), _part(B, D, 2, TAIL, turn=7)), memory=(70, 4))
    laid = (_part(A, B, 5, HEAD), _part(A, D, 2, TAIL, turn=7))
    assert _parts(members, BASE, [old, new]) == laid
    assert _parts(members, BASE, [new, old]) == laid


def test_what_was_found_last_also_says_since_when_the_version_is_whole() -> None:
    """One looked while a part was being fetched, and could not tell that it came before the part that was there."""
    early, late = _part(B, D, 1, HEAD, turn=5), _part(B, D, 2, TAIL, turn=8)
    before = Data(7, A, since=(8, 1), parts=(replace(late, holder=A),), memory=(70, 3), gaps=(HEAD,))
    after = Data(7, B, since=(4, 9), parts=(early, late), memory=(70, 4))
    data = planned([Survivor(A, 1), Survivor(B, 2)], [before, after], 2, 3)[A].data
    assert data is not None
    assert {part.use for part in data.parts} == {1, 2}


def test_a_version_that_is_not_there_any_more_does_not_count() -> None:
    """Another process has looked at the same memory later, and found a newer one; or that a stretch was torn."""
    survivors = [Survivor(A, 1), Survivor(B, 2)]
    older, other = Data(6, C), Data(7, A, memory=(70, 3))
    for last, version in (
        (Data(8, B, memory=(70, 4)), 8),
        (Data(7, B, memory=(70, 4), gaps=(HEAD,)), 6),
        (Data(-1, B, memory=(70, 4)), 6),
    ):
        data = planned(survivors, [other, last, older], 2, 3)[A].data
        assert data is not None
        assert data.version == version


def test_a_gap_where_somebody_writes_is_none() -> None:
    """Who lives and has that part to itself is about to fill it; a reader, or who wants all of it, is not."""
    torn = Data(7, B, memory=(70, 4), gaps=(Claim(first=2, length=4),))
    for claim, is_filled in ((HEAD, True), (TAIL, False), (Claim(is_shared=True), False), (WHOLE, False)):
        members = {A: Survivor(A, 1), B: Survivor(B, 2, uses=(Use(1, 0, claim, 6, BASE, is_held=True),))}
        assert is_all_there(members, torn, [torn]) is is_filled
    assert is_all_there({}, Data(-1, B, gaps=(HEAD,)), [torn]), "that it is lost is always so"


def test_what_was_found_in_memory_counts_more_than_what_was_stored() -> None:
    """What a process had last may have been overwritten by others that share its memory."""
    survivors = [Survivor(A, 1, stored=Data(7, A)), Survivor(B, 2)]
    found = [Data(-1, A, memory=(70, 4)), Data(6, B, memory=(71, 1))]
    for told, version in ((found, 6), ([], 7)):
        data = planned(survivors, told, 2, 3)[A].data
        assert data is not None
        assert data.version == version
