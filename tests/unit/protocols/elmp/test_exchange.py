"""Two processes change seats, and nothing that is under way to a seat gets lost."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from solvent.protocols.elmp.messages import (
    Adopt,
    Asking,
    Climb,
    Exchange,
    Follow,
    Followed,
    Freed,
    Given,
    Leaving,
    Lower,
    Own,
    Resized,
    Seat,
    Settled,
    Stand,
    Standing,
    Upper,
    Won,
)
from solvent.protocols.elmp.state import Blocked, Busy, Departure, Exiting, Idle, Phase, Requesting, Swap
from solvent.protocols.machine import NodeId, Received
from tests.unit.protocols.elmp.acting import A, B, C, D, E, child, inner, leaf, root, sent, taken

OF_D = Climb((Asking(D, 1, (D,)),))


@pytest.mark.parametrize("phase", [Idle(), Busy(((D, 1),)), Requesting(1), Exiting(), Blocked(D)])
def test_child_follows_in_any_phase(phase: Phase) -> None:
    """Whatever a child does, it has another parent at once and says so (E6)."""
    state, effects = taken(B, inner(phase=phase), Received(A, Follow(E)))
    assert (state.seat.parent, state.phase, sent(effects)) == (E, phase, [(A, Followed())])


def test_heir_of_a_former_parent_is_free() -> None:
    """Who stood by for its parent stands by no longer when it gets another one."""
    state, _ = taken(B, inner(phase=Blocked(A)), Received(A, Follow(E)))
    assert state.phase == Idle()


def test_wish_of_a_former_parent_is_forgotten() -> None:
    """A wish for an heir that waits is dropped with the parent that had it."""
    state, _ = taken(B, inner(phase=Busy(((D, 1),))), Received(A, Stand(1)), Received(A, Follow(E)))
    assert state.seat.queue == ()


def test_seat_is_handed_down_when_all_children_follow() -> None:
    """What a child said before it followed goes with the seat (E10)."""
    swap = Swap(E, is_upper=True, waiting=frozenset((C, D)))
    before = inner(phase=Exiting(), swap=swap)
    state, effects = taken(B, before, Received(D, OF_D), Received(C, Followed()))
    assert sent(effects) == []
    _, effects = taken(B, state, Received(D, Followed()))
    assert sent(effects) == [(E, Upper(Seat(A, (child(C), child(D)), (1, 3), ((D, OF_D),))))]


def test_place_is_told_before_the_root_gives_its_seat_up() -> None:
    """Who has not heard of its place would ask the next root in vain, before that one sits."""
    given = Given(C, 1, (C,), 3, (A, 2))
    before = root(child(B), child(C), tail=(C, 3), departure=Departure(B))
    before = replace(before, seat=replace(before.seat, untold=(given,)))
    state, effects = taken(A, before, Received(B, Standing()))
    assert (state.seat.untold, sent(effects)) == ((), [(B, Exchange()), (C, Won((given,))), (C, Follow(B))])


def test_new_children_may_be_early() -> None:
    """What a child of the seat to come says waits until this process sits there."""
    other = Climb((Asking(E, 1, (E,)),))
    state, effects = taken(C, leaf(B, phase=Requesting(1)), Received(E, other))
    assert (state.early, sent(effects)) == (((E, other),), [])


def test_upper_seat_may_be_faster_than_the_news() -> None:
    """A seat that comes before the news of it is kept."""
    upper = Upper(Seat(None, (child(D),), (2, 4), (), 5, 3, (C, 3)))
    state, _ = taken(C, leaf(B, phase=Blocked(B)), Received(B, upper))
    state, effects = taken(C, state, Received(B, Exchange()))
    assert state.seat.children == (child(B), child(D))
    assert sent(effects) == [(B, Lower(Seat(C)))]


def test_lower_seat_of_a_child_gets_its_new_parent() -> None:
    """A root that was the requester's parent becomes its child (E2), and the heir tells its new parent that it sits."""
    standing = leaf(B, phase=Blocked(B), swap=Swap(B, is_upper=False, waiting=frozenset()))
    upper = Upper(Seat(A, (child(D),), (1, 3), ((D, OF_D),)))
    state, effects = taken(C, standing, Received(B, upper))
    assert (state.seat.parent, state.seat.children) == (A, (child(B), child(D)))
    # What waited at the seat is taken at once.
    passed = Climb((Asking(D, 1, (D, C)),))
    assert sent(effects) == [(B, Lower(Seat(C))), (A, Settled()), (A, passed)]


def test_who_is_on_its_way_down_is_counted() -> None:
    """A process that waits at the lower seat counts in the size that the upper one knows."""
    waiting = ((B, Adopt(NodeId(7), 9)),)
    before = leaf(B, phase=Blocked(B), swap=Swap(B, is_upper=False, waiting=frozenset()))
    before = replace(before, seat=Seat(B, queue=waiting))
    state, _ = taken(C, before, Received(B, Upper(Seat(A, (), (1, 3)))))
    assert state.seat.children == ((B, 0, 2),)


def test_old_root_frees_the_path() -> None:
    """When the old root sits, those who were held for the request are free."""
    busy = Busy(((C, 1),), (C, B, D))
    before = root(phase=busy, swap=Swap(C, is_upper=True, waiting=frozenset(), is_standing=True))
    state, effects = taken(A, before, Received(C, Lower(Seat(B, (child(E),), (1, 2)))))
    assert (state.phase, state.seat.parent) == (Idle(), B)
    assert sent(effects) == [(B, Freed(C, 1)), (D, Freed(C, 1))]


def test_size_of_a_seat_that_moves_is_forgotten() -> None:
    """What the other one told as a child, of its former seat, counts no more."""
    before = root(child(C), swap=Swap(C, is_upper=True, waiting=frozenset(), is_standing=True), phase=Exiting())
    assert taken(A, before, Received(C, Resized(3, 2))) == (before, [])


def test_own_wishes_stay_with_the_process() -> None:
    """What a process wants for itself does not go with its seat."""
    queue = ((B, Own("request", 3)), (C, Leaving(9, None)))
    seat = Seat(A, (child(C), child(D)), (1, 3), queue)
    before = inner(phase=Exiting(), swap=Swap(E, is_upper=True, waiting=frozenset((C,))))
    before = replace(before, seat=seat)
    state, effects = taken(B, before, Received(C, Followed()))
    assert state.seat.queue == ((B, Own("request", 3)),)
    assert sent(effects)[0][1].seat.queue == ((C, Leaving(9, None)),)
