"""The shape of the tree: sizes, the scapegoat, and the lowest tree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from solvent.protocols.elmp.balance import arranged, is_too_high
from solvent.protocols.elmp.messages import (
    Adopt,
    Asking,
    Attach,
    Climb,
    Enter,
    Gather,
    Gathered,
    Given,
    Leaving,
    Own,
    Resized,
    Seat,
    Seated,
    Stand,
    Surrender,
    Won,
)
from solvent.protocols.elmp.state import (
    Blocked,
    Busy,
    Departure,
    ElmpConfig,
    Exiting,
    Gathering,
    Idle,
    Place,
    Requesting,
)
from solvent.protocols.elmp.vocabulary import Join, Request
from solvent.protocols.machine import NodeId, Received, Requested
from tests.unit.protocols.elmp.acting import A, B, C, Company, D, E, child, inner, leaf, root, sent, taken


@given(count=st.integers(1, 200), order=st.integers(2, 5))
def test_arranged_tree_is_the_lowest(count: int, order: int) -> None:
    """Everybody has one parent, nobody too many children, and no tree is lower."""
    nodes = tuple(map(NodeId, range(count)))
    found = arranged(nodes, order)
    children = [one[0] for _, below in found for one in below]
    assert sorted(children) == list(nodes[1:])
    assert max((len(below) for _, below in found), default=0) <= order
    assert all(nodes[node] in [one[0] for one in found[parent][1]] for node, (parent, _) in enumerate(found) if node)
    height = 1 + max((one[1] for one in found[0][1]), default=-1)
    assert order**height <= (count - 1) * (order - 1) + 1


@given(weight=st.integers(1, 100_000))
def test_lowest_tree_is_never_too_high(weight: int) -> None:
    """Rebuilding helps: the lowest binary tree of any weight is low enough."""
    assert not is_too_high(weight.bit_length() - 1, weight, 1.0)


@pytest.mark.parametrize("height,weight,is_high", [(2, 3, False), (3, 4, True), (1, 2, False), (3, 5, False)])
def test_threads_are_too_high(height: int, weight: int, *, is_high: bool) -> None:
    """Three in a thread are let be, four are not."""
    assert is_too_high(height, weight, 1.2) is is_high


def test_size_is_told_when_it_changes() -> None:
    """The parent hears of a new height, and of the change of weight."""
    state, effects = taken(B, inner(), Received(C, Resized(1, 2)))
    assert (state.seat.told, sent(effects)) == ((2, 5), [(A, Resized(2, 2))])


def test_size_is_not_told_by_who_is_about_to_be_replaced() -> None:
    """The parent may know another child already, which will tell it."""
    for phase in (Requesting(1), Exiting()):
        _, effects = taken(B, inner(phase=phase, departure=Departure()), Received(C, Resized(1, 2)))
        assert sent(effects) == []


def test_scapegoat_gathers_who_is_below() -> None:
    """A process whose tree is too high tells its parent nothing, but has everybody below do nothing else."""
    before = replace(inner(), seat=Seat(A, (child(C, 1, 2),), (2, 3)))
    state, effects = taken(B, before, Received(C, Resized(2, 1)))
    assert (state.phase, sent(effects)) == (Busy(((B, 0),)), [(C, Gather())])


def test_scapegoat_tells_of_a_place_before_it_gathers() -> None:
    """Who has a place and has not heard of it would begin its request again."""
    given = Given(C, 1, (C,), 3, (A, 2))
    before = root(child(B, 2, 3), child(C))
    before = replace(before, seat=replace(before.seat, untold=(given,), tail=(C, 3)))
    _, effects = taken(A, before, Received(B, Resized(3, 1)))
    assert sent(effects) == [(C, Won((given,))), (B, Gather()), (C, Gather())]


def test_gathered_ones_get_new_seats() -> None:
    """Who gathers gives everybody a seat in the lowest tree."""
    gathering = Gathering(frozenset((C,)), (), is_top=True)
    before = inner(phase=Busy(((B, 0),)), gathering=gathering)
    state, effects = taken(B, before, Received(C, Gathered((C, D, E))))
    assert (state.phase, state.seat.children) == (Idle(), (child(C, 1, 2), child(D)))
    seated = [Seated(B, (child(E),)), Seated(B, ()), Seated(C, ())]
    assert [message for _, message in sent(effects) if isinstance(message, Seated)] == seated


def test_gathered_request_begins_again() -> None:
    """A request that was under way inside is sent again from the new seat."""
    state, effects = taken(C, leaf(B, phase=Requesting(3), asks=3), Received(B, Gather()))
    assert (state.phase, sent(effects)) == (Blocked(B), [(B, Gathered((C,)))])
    state, effects = taken(C, state, Received(A, Seated(D, ())))
    assert (state.phase, sent(effects)) == (Requesting(3), [(D, Climb((Asking(C, 3, (C,)),)))])


def test_gathered_request_begins_again_before_any_other() -> None:
    """A process has one request under way at a time, so what it wants besides comes later."""
    before = leaf(B, phase=Requesting(3), asks=3, places=(Place(0, 0),))
    events = (Requested(Request(1)), Received(B, Gather()), Received(A, Seated(D, ())))
    state, effects = taken(C, before, *events)
    assert (state.places, state.seat.queue) == ((Place(0, 0),), ((C, Own("request", 1)),))
    assert sent(effects)[-1] == (D, Climb((Asking(C, 3, (C,)),)))


def test_gathered_leaver_looks_for_an_heir_again() -> None:
    """Its heir may be anybody's child now."""
    state, _ = taken(B, inner(departure=Departure(C)), Received(A, Gather()))
    assert state.departure == Departure()


def test_gathered_process_forgets_what_begins_again() -> None:
    """What waits at a process that gets a new seat is dropped where its sender begins again, and kept where not."""
    queue = ((C, Climb(())), (D, Leaving(3, None)), (A, Stand(1)), (A, Adopt(E, 9)), (B, Own("request", 1)))
    before = replace(inner(phase=Busy(((C, 1),))), seat=Seat(A, (child(C), child(D)), (1, 3), queue))
    state, effects = taken(B, before, Received(A, Gather()))
    assert state.seat.queue == ((A, Attach(E, 9)), (B, Own("request", 1)))
    assert sent(effects) == [(C, Gather()), (D, Gather())]


def test_gathering_loses_nobody_that_asks_once() -> None:
    """New processes and such that leave the queue do not begin again, so what they want is kept; requests are not."""
    gathering = Gathering(frozenset((C, D)), (B,))
    before = inner(phase=Blocked(A), gathering=gathering)
    events = (Received(C, Enter(E)), Received(D, Surrender((D, 5))), Received(C, Climb((Asking(C, 1, (C,)),))))
    state, effects = taken(B, before, *events)
    assert (state.early, sent(effects)) == (((C, Enter(E)), (D, Surrender((D, 5)))), [])


def test_gathering_waits_for_an_exchange() -> None:
    """A process whose child is changing seats joins in when that has settled."""
    state, effects = taken(B, inner(phase=Blocked(C)), Received(A, Gather()))
    assert (state.early, sent(effects)) == (((A, Gather()),), [])


def test_new_neighbours_may_be_early() -> None:
    """What comes from a new parent before the new seat waits for it."""
    gathering = Gathering(frozenset(), (C,))
    before = leaf(B, phase=Blocked(B), gathering=gathering)
    state, effects = taken(C, before, Received(D, Stand(1)))
    assert (state.early, sent(effects)) == (((D, Stand(1)),), [])


def test_scapegoat_that_is_low_again_does_nothing() -> None:
    """If somebody left meanwhile, nothing is built anew."""
    before = root(child(B))
    before = replace(before, seat=replace(before.seat, queue=((A, Own("rebuild")),)))
    state, effects = taken(A, before, Received(B, Resized(0, 0)))
    assert (state.phase, sent(effects), state.seat.queue) == (Idle(), [], ())


def test_thread_of_newcomers_is_straightened() -> None:
    """Processes that join each through the last one get a low tree, and anybody can then have the token."""
    company = Company(1, outside=14, config=ElmpConfig(is_lazy=True))
    for node in range(1, 15):
        company.want(node, Join(NodeId(node - 1)))
    (top,) = [state.seat for state in company.states if state.seat.parent is None]
    assert 1 + max(one[1] for one in top.children) <= 4
    company.want(14, Request())
    assert company.states[14].uses[0].is_held
