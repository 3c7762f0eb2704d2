"""Insertions: ranks from the root, seats where there is room."""

from __future__ import annotations

import pytest

from solvent.protocols.elmp.messages import Adopt, Attach, Enter, Hello, Ranked, Seat, Unknown, Welcome
from solvent.protocols.elmp.process import Elmp
from solvent.protocols.elmp.state import Busy, ElmpConfig, Idle, Joining, Out
from solvent.protocols.elmp.vocabulary import Astray, Dropped, Granted, Join, Joined, Leave, Left, Request
from solvent.protocols.machine import NodeId, Received, Requested
from tests.unit.protocols.elmp.acting import A, B, C, Company, D, child, inner, leaf, root, sent, taken, told

NEW = NodeId(7)
LAZY = ElmpConfig(is_lazy=True)
OUTSIDE = Elmp(NEW, LAZY).start()[0]


def test_newcomer_says_hello() -> None:
    """A new process turns to the one that it knows."""
    state, effects = taken(NEW, OUTSIDE, Requested(Join(B)))
    assert (state.phase, sent(effects)) == (Joining(B), [(B, Hello())])


def test_newcomer_is_sent_up() -> None:
    """Whoever is greeted sends the newcomer to the root, in its turn."""
    _, effects = taken(B, inner(), Received(NEW, Hello()))
    assert sent(effects) == [(A, Enter(NEW))]
    _, effects = taken(B, inner(phase=Busy(((C, 1),))), Received(NEW, Hello()))
    assert sent(effects) == []


def test_root_takes_a_newcomer_for_its_child() -> None:
    """A root with room gives rank and seat."""
    state, effects = taken(A, root(child(B)), Received(B, Enter(NEW)))
    assert (state.seat.ranks, sent(effects)) == (6, [(NEW, Welcome(6))])
    assert state.seat.children == (child(B), child(NEW))


def test_newcomer_goes_down_where_fewest_are() -> None:
    """A process with all the children it may have sends the newcomer to the lightest, and counts it."""
    state, effects = taken(A, root(child(B, 1, 3), child(C, 1, 2)), Received(B, Enter(NEW)))
    assert sent(effects) == [(C, Adopt(NEW, 6))]
    assert state.seat.children == (child(B, 1, 3), child(C, 1, 3))


def test_counted_newcomer_is_not_told_again() -> None:
    """The parent that sent a newcomer down hears of a new height, but not of the weight that it knows."""
    _, effects = taken(B, inner(), Received(A, Adopt(NEW, 6)))
    assert sent(effects) == [(C, Adopt(NEW, 6))]


def test_lazy_newcomer_asks_whom_it_knows() -> None:
    """In a lazy tree the root gives a rank only, and the newcomer finds its own seat."""
    _, effects = taken(A, root(child(B)), Received(B, Enter(NEW)), config=LAZY)
    assert sent(effects) == [(NEW, Ranked(6))]
    state, _ = taken(NEW, OUTSIDE, Requested(Join(B)))
    _, effects = taken(NEW, state, Received(A, Ranked(6)))
    assert sent(effects) == [(B, Attach(NEW, 6))]


def test_welcome_is_told() -> None:
    """A newcomer that has a seat is idle and knows its parent and its rank."""
    state, _ = taken(NEW, OUTSIDE, Requested(Join(B)))
    state, effects = taken(NEW, state, Received(D, Welcome(6)))
    assert (state.phase, state.seat.parent, state.rank, told(effects)) == (Idle(), D, 6, [Joined(6)])


def test_who_takes_no_part_says_so() -> None:
    """A newcomer that knows somebody who has left must try another one."""
    _, effects = taken(B, OUTSIDE, Received(NEW, Hello()))
    assert sent(effects) == [(NEW, Unknown())]
    state, _ = taken(NEW, OUTSIDE, Requested(Join(B)), Requested(Request(3)), Requested(Leave()))
    state, effects = taken(NEW, state, Received(B, Unknown()))
    assert (state.phase, state.seat, told(effects)) == (Out(), Seat(None), [Astray(B), Left()])


def test_wishes_of_a_newcomer_are_dropped_with_it() -> None:
    """What was requested while joining is dropped if that fails."""
    state, _ = taken(NEW, OUTSIDE, Requested(Join(B)), Requested(Request(3)))
    _, effects = taken(NEW, state, Received(B, Unknown()))
    assert told(effects) == [Astray(B), Dropped(3)]


def test_request_while_joining_waits() -> None:
    """What is requested while joining is asked for as soon as there is a parent."""
    state, _ = taken(NEW, OUTSIDE, Requested(Join(B)), Requested(Request(3)))
    _, effects = taken(NEW, state, Received(D, Welcome(6)))
    assert [to for to, _ in sent(effects)] == [D]


def test_outsider_requests_nothing() -> None:
    """A process that takes no part cannot claim anything."""
    assert told(taken(NEW, OUTSIDE, Requested(Request(3)))[1]) == [Dropped(3)]


@pytest.mark.parametrize("is_lazy", [False, True])
@pytest.mark.parametrize("known", range(4))
def test_anybody_can_join_through_anybody(known: int, *, is_lazy: bool) -> None:
    """Through whomever a process joins, it can then have the token, and may leave and come again."""
    company = Company(4, outside=1, config=ElmpConfig(is_lazy=is_lazy))
    company.want(4, Join(NodeId(known)))
    company.want(4, Request())
    company.want(4, Leave())
    company.want(4, Join(NodeId(known)))
    kinds = [type(told) for node, told in company.told if node == 4]
    assert [kind for kind in kinds if kind in (Joined, Granted, Left)] == [Joined, Granted, Left, Joined]


def test_leaf_counts_what_it_takes_in() -> None:
    """A leaf that gets a child tells its parent of the height."""
    _, effects = taken(C, leaf(B), Received(B, Adopt(NEW, 6)))
    assert [type(message).__name__ for _, message in sent(effects)] == ["Welcome", "Resized"]
