"""Departures: heirs, parents, ties, the end of the queue, and the data."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from solvent.protocols.elmp.messages import (
    Adopt,
    Agreed,
    Attach,
    Exchange,
    Follow,
    Leaving,
    Link,
    Seat,
    Settled,
    Stand,
    Standing,
    Surrender,
    Taken,
    Token,
    Unlink,
)
from solvent.protocols.elmp.state import Blocked, Busy, Departure, ElmpConfig, Exiting, Idle, Out, Place
from solvent.protocols.elmp.vocabulary import Data, Dropped, Leave, Left, Request
from solvent.protocols.machine import NodeId, Received, Requested
from tests.unit.protocols.elmp.acting import A, B, C, Company, D, E, child, inner, leaf, root, sent, taken, told


def test_leaf_asks_its_parent() -> None:
    """A leaf needs no heir."""
    state, effects = taken(C, leaf(B), Requested(Leave()))
    assert (state.phase, sent(effects)) == (Exiting(), [(B, Leaving(2, None))])


def test_parent_lets_a_leaf_go() -> None:
    """A leaf that was let go is no child any more, and takes no part."""
    state, effects = taken(B, inner(), Received(C, Leaving(3, None)))
    assert state.seat.children == (child(D),)
    assert sent(effects)[0] == (C, Agreed())
    state, effects = taken(C, leaf(B, phase=Exiting(), departure=Departure()), Received(B, Agreed()))
    assert (state.phase, told(effects)) == (Out(), [Left()])


def test_inner_process_has_an_heir_stand_by() -> None:
    """Who has children asks the highest of them to stand by, and goes on passing on what comes."""
    before = replace(inner(), seat=Seat(A, (child(C), child(D, 1, 2)), (2, 4)))
    state, effects = taken(B, before, Requested(Leave()))
    assert (state.phase, sent(effects)) == (Idle(), [(D, Stand(2))])


def test_heir_stands_by_when_it_is_idle() -> None:
    """A child that is held for a request stands by afterwards."""
    state, effects = taken(B, inner(phase=Busy(((C, 1),))), Received(A, Stand(1)))
    assert sent(effects) == []
    state, effects = taken(B, inner(), Received(A, Stand(1)))
    assert (state.phase, sent(effects)) == (Blocked(A), [(A, Standing())])


def test_parent_takes_the_heir_for_its_child() -> None:
    """The parent of a process that leaves is held until the heir has settled."""
    state, effects = taken(B, inner(), Received(C, Leaving(3, E)))
    assert (state.phase, state.seat.children, sent(effects)) == (Blocked(E), (child(D), child(E)), [(C, Agreed())])
    state, _ = taken(B, state, Received(E, Settled()))
    assert state.phase == Idle()


def test_heir_and_leaver_change_seats() -> None:
    """With heir and parent held the two change seats."""
    before = inner(phase=Exiting(), departure=Departure(C, is_standing=True))
    _, effects = taken(B, before, Received(A, Agreed()))
    assert sent(effects) == [(C, Exchange()), (D, Follow(C))]


@pytest.mark.parametrize("rank,is_standing", [(1, True), (9, False)])
def test_of_two_that_leave_the_lower_rank_comes_first(*, rank: int, is_standing: bool) -> None:
    """A child that leaves itself stands by for a parent of lower rank, and for no other."""
    before = leaf(A, phase=Exiting(), departure=Departure())
    state, effects = taken(B, before, Received(A, Stand(rank)))
    assert (state.phase == Blocked(A), (A, Standing()) in sent(effects)) == (is_standing, is_standing)


@pytest.mark.parametrize("rank,is_let_go", [(1, True), (9, False)])
def test_parent_that_leaves_lets_only_lower_ranks_go_first(*, rank: int, is_let_go: bool) -> None:
    """A parent that wants a child for its heir lets it go if that has the lower rank."""
    _, effects = taken(B, inner(departure=Departure(C)), Received(C, Leaving(rank, None)))
    assert ((C, Agreed()) in sent(effects)) is is_let_go


def test_leaver_chooses_another_heir_if_one_goes() -> None:
    """When the heir in view has left, another child is asked."""
    _, effects = taken(B, inner(departure=Departure(C)), Received(C, Leaving(1, None)))
    assert (D, Stand(2)) in sent(effects)


def test_newcomers_at_a_leaf_that_goes_are_its_parents() -> None:
    """A process that was to get a seat at a leaf gets it at the leaf's parent."""
    before = leaf(B, phase=Exiting(), departure=Departure())
    _, effects = taken(C, before, Received(B, Adopt(NodeId(7), 9)), Received(B, Agreed()))
    assert sent(effects) == [(B, Attach(NodeId(7), 9))]


def test_wish_that_waits_at_a_leaf_that_goes_is_passed_on() -> None:
    """Who wants to be passed over need not ask twice."""
    before = leaf(B, phase=Exiting(), departure=Departure())
    _, effects = taken(C, before, Received(D, Surrender((D, 5))), Received(B, Agreed()))
    assert sent(effects) == [(B, Surrender((D, 5)))]


def test_claims_are_withdrawn_first() -> None:
    """Who leaves wants nothing any more, and is refused what it asks for later."""
    waiting = leaf(B, places=(Place(3, 0, predecessor=(A, 2), next=(D, 4)),))
    state, effects = taken(C, waiting, Requested(Leave()), Requested(Request(5)))
    assert told(effects) == [Dropped(0), Dropped(5)]
    assert state.phase == Idle()


def test_last_of_the_queue_has_the_root_put_another_behind_it() -> None:
    """Who has the last place asks the root for a new end; the token then goes there."""
    resting = leaf(B, places=(Place(2, None, has_token=True),))
    state, effects = taken(C, resting, Requested(Leave()))
    assert sent(effects) == [(B, Surrender((C, 2)))]
    _, effects = taken(A, root(child(B), tail=(C, 2)), Received(B, Surrender((C, 2))))
    assert sent(effects) == [(C, Link(2, (A, 3)))]
    _, effects = taken(C, state, Received(A, Link(2, (A, 3))))
    assert sent(effects) == [(A, Token(3)), (B, Leaving(2, None))]


def test_who_is_not_the_last_needs_no_new_end() -> None:
    """If somebody was put behind the place meanwhile the wish is void."""
    before = root(child(B), tail=(D, 2))
    assert taken(A, before, Received(B, Surrender((C, 1)))) == (before, [])


KEPT = Place(3, None, predecessor=(A, 2), is_kept=True)


def test_leaver_with_data_waits_for_the_token() -> None:
    """Its place is nobody's, and is neither given up nor passed over before the token comes."""
    state, effects = taken(C, leaf(B, keeps=4), Requested(Leave()))
    assert (state.places, len(sent(effects))) == ((Place(0, None, is_kept=True),), 1)
    before = leaf(B, places=(KEPT,), keeps=4, departure=Departure())
    state, effects = taken(C, before, Received(A, Link(3, (D, 4))))
    assert (state.places, sent(effects)) == ((replace(KEPT, next=(D, 4)),), [])


def test_leaver_gives_its_place_up_when_somebody_has_the_data() -> None:
    """It needs the token no longer, wherever its place is in the queue."""
    before = leaf(B, places=(KEPT,), keeps=4, departure=Departure())
    state, effects = taken(C, before, Received(D, Taken(4)))
    assert (state.places[0].is_kept, sent(effects)) == (False, [(B, Surrender((C, 3)))])
    before = leaf(B, places=(replace(KEPT, next=(D, 4)),), keeps=4, departure=Departure())
    _, effects = taken(C, before, Received(D, Taken(4)))
    assert sent(effects) == [(A, Unlink(2, (C, 3), (D, 4)))]


def test_leaver_hands_the_data_on_with_the_token() -> None:
    """Who gets the token next is told to fetch the data; if nobody comes next, the root is asked for somebody."""
    before = leaf(B, places=(KEPT,), keeps=4, departure=Departure())
    state, effects = taken(C, before, Received(A, Token(3, Data(4, C))))
    assert sent(effects) == [(B, Surrender((C, 3)))]
    _, effects = taken(C, state, Received(A, Link(3, (A, 4))))
    assert sent(effects)[0] == (A, Token(4, Data(4, C, is_urgent=True)))


def test_leaver_learns_from_the_token_that_the_data_is_elsewhere() -> None:
    """It needs not ask again until word of it comes."""
    before = leaf(B, places=(replace(KEPT, next=(D, 4)),), keeps=4, departure=Departure())
    state, effects = taken(C, before, Received(A, Token(3, Data(5, D))))
    assert (state.keeps, sent(effects)) == (None, [(D, Token(4, Data(5, D))), (B, Leaving(2, None))])


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("leaver", range(7))
def test_anybody_can_leave(leaver: int, order: int) -> None:
    """Whoever leaves, all others can still get the token."""
    company = Company(7, config=ElmpConfig(order=order))
    company.want(leaver, Leave())
    assert company.told == [(leaver, Left())]
    for node in range(7):
        if node != leaver:
            company.want(node, Request())
            company.want(node, Leave())
    assert [told for _, told in company.told].count(Left()) == 7
