"""Requests on their way to the root, and what the root does with them."""

from __future__ import annotations

from msgspec.structs import replace

from solvent.protocols.elmp.messages import Asking, Climb, Follow, Freed, Given, Link, Rise, Token, Won
from solvent.protocols.elmp.state import Busy, Departure, ElmpConfig, Idle, Place, Requesting, Use
from solvent.protocols.elmp.vocabulary import WHOLE, Dropped, Granted, Leave, Queued, Release, Request
from solvent.protocols.machine import Received, Requested
from tests.unit.protocols.elmp.acting import A, B, C, Company, D, E, child, inner, leaf, root, sent, taken, told

SELDOM = ElmpConfig(exchange_every=100)
OF_C = Asking(C, 1, (C,))
OF_D = Asking(D, 4, (D,))
WAITING_C = Asking(C, 1, (C,), can_wait=True)


def test_request_goes_to_the_parent() -> None:
    """Who wants the token asks its parent and waits."""
    state, effects = taken(C, leaf(B), Requested(Request()))
    assert (state.phase, sent(effects)) == (Requesting(1), [(B, Climb((OF_C,)))])


def test_request_is_passed_on_and_the_path_held() -> None:
    """An idle process passes a request on, and is busy until it is told."""
    state, effects = taken(B, inner(), Received(C, Climb((OF_C,))))
    assert (state.phase, sent(effects)) == (Busy(((C, 1),)), [(A, Climb((Asking(C, 1, (C, B)),)))])


def test_busy_process_queues_requests() -> None:
    """Nobody is refused: a second request waits until the first is through (E7)."""
    state, effects = taken(B, inner(phase=Busy(((C, 1),))), Received(D, Climb((OF_D,))))
    assert sent(effects) == []
    state, effects = taken(B, state, Received(A, Freed(C, 1)))
    assert (state.phase, sent(effects)) == (Busy(((D, 4),)), [(A, Climb((Asking(D, 4, (D, B)),)))])


def test_requests_that_wait_together_travel_together() -> None:
    """Whoever waits at a process is passed on in one message, in the order of arrival."""
    events = (Received(D, Climb((OF_D,))), Received(C, Climb((OF_C,))), Received(A, Freed(A, 9)))
    _, effects = taken(B, inner(phase=Busy(((A, 9),))), *events)
    assert sent(effects) == [(A, Climb((Asking(D, 4, (D, B)), Asking(C, 1, (C, B)))))]


def test_root_changes_seats_with_the_requester() -> None:
    """The root sends the token if it rests there, the news by the requester's parent, and its children after it."""
    before = root(child(B, 1, 2), child(D), places=(Place(2, None, has_token=True),))
    _, effects = taken(A, before, Received(B, Climb((Asking(C, 1, (C, B)),))))
    given = Given(C, 1, (C, B), 3, (A, 2))
    assert sent(effects) == [(C, Token(3)), (B, Rise(given, A)), (B, Follow(C)), (D, Follow(C))]


def test_root_that_seldom_changes_seats_tells_the_path() -> None:
    """The news goes back down the path, and the last of the queue hears who comes next."""
    before = root(child(B, 1, 2), tail=(D, 2))
    state, effects = taken(A, before, Received(B, Climb((Asking(C, 1, (C, B)),))), config=SELDOM)
    given = Given(C, 1, (C, B), 3, (D, 2))
    assert (state.phase, state.seat.tail) == (Idle(), (C, 3))
    assert sent(effects) == [(D, Link(2, (C, 3))), (B, Won((given,)))]


def test_news_free_the_path() -> None:
    """Who passes the news on is held no longer; the requester knows its place."""
    given = Given(C, 1, (C, B), 3, (A, 2))
    state, effects = taken(B, inner(phase=Busy(((C, 1),))), Received(A, Won((given,))))
    assert (state.phase, sent(effects)) == (Idle(), [(C, Won((given,)))])
    state, effects = taken(C, leaf(B, phase=Requesting(1), asks=1, places=(Place(0, 0),)), Received(B, Won((given,))))
    assert (state.phase, state.places, told(effects)) == (Idle(), (Place(3, 0, predecessor=(A, 2)),), [Queued(0, 3)])


def test_parent_learns_its_new_child() -> None:
    """The requester's parent takes the old root for its child, also as its heir (E3)."""
    rise = Rise(Given(C, 1, (C, B), 3, (A, 2)), A)
    state, effects = taken(B, inner(phase=Busy(((C, 1),)), departure=Departure(C)), Received(A, rise))
    assert (state.seat.children, state.departure) == ((child(A), child(D)), Departure(A))
    assert (state.phase, sent(effects)) == (Busy(((C, 1),)), [(C, rise)])


def test_requests_that_meet_at_the_root_cost_one_exchange() -> None:
    """Of several requests only the last one's process changes seats; the others know who comes next."""
    before = root(child(B, 1, 3), places=(Place(2, 0, has_token=True),), phase=Busy(((A, 9),)))
    asked = Climb((Asking(D, 4, (D, B)), Asking(C, 1, (C, B))))
    _, effects = taken(A, before, Received(B, asked), Received(B, Freed(A, 9)))
    messages = sent(effects)
    assert (B, Won((Given(D, 4, (D, B), 3, (A, 2), (C, 4)),))) in messages
    assert (B, Rise(Given(C, 1, (C, B), 4, (D, 3)), A)) in messages


def test_token_waits_for_news_of_who_is_next() -> None:
    """A claim that is served and released before its news comes hands the token on when it does."""
    released = leaf(B, phase=Requesting(1), places=(Place(3, None, has_token=True),))
    _, effects = taken(C, released, Received(B, Won((Given(C, 1, (C, B), 3, (A, 2), (D, 4)),))))
    assert sent(effects) == [(D, Token(4))]


def test_news_of_a_predecessor_may_be_out_of_date() -> None:
    """Word that somebody between was passed over may be faster than the news."""
    before = leaf(B, phase=Requesting(1), places=(Place(3, 0, predecessor=(A, 1)),))
    state, _ = taken(C, before, Received(B, Won((Given(C, 1, (C, B), 3, (D, 2)),))))
    assert (state.phase, state.places) == (Idle(), (Place(3, 0, predecessor=(A, 1)),))


def test_who_changes_seats_asks_for_no_news() -> None:
    """It has heard of its place; what comes meanwhile waits for the seat."""
    before = leaf(A, phase=Requesting(1, can_wait=True), places=(Place(0, 0),), asks=1)
    rise = Rise(Given(C, 1, (C,), 3, (A, 2)), A)
    state, effects = taken(C, before, Received(A, rise), Requested(Request(7)), config=SELDOM)
    assert (state.phase, sent(effects)) == (Requesting(1), [])


def test_second_request_of_a_handle_drops_the_first() -> None:
    """A request for what waits already loses its place and queues up anew."""
    waiting = leaf(B, places=(Place(3, 0, predecessor=(A, 2)),))
    state, effects = taken(C, waiting, Requested(Request()))
    assert told(effects) == [Dropped(0)]
    assert [place.handle for place in state.places] == [None, 0]


def test_held_claim_is_not_requested_again() -> None:
    """A request for what is held changes nothing."""
    held = leaf(B, places=(Place(3, 0, has_token=True),), uses=(Use(1, 0, WHOLE, 3, is_held=True),))
    assert taken(C, held, Requested(Request())) == (held, [])


def test_several_claims_of_one_process_take_turns() -> None:
    """A process may have several handles; each gets its own turn."""
    company = Company(3)
    company.want(1, Request(0))
    company.want(1, Request(1))
    company.want(1, Release(0))
    assert [told for _, told in company.told if isinstance(told, Granted)] == [
        Granted(0, 2, use=1),
        Granted(1, 3, use=2),
    ]


def test_everybody_is_served_in_the_order_of_the_root() -> None:
    """Requests that come at once are granted one after the other, each once."""
    company = Company(7)
    for node in range(7):
        company.begin(node, Request())
    for _ in range(7):
        company.want(0, Release(99))
        holder = next(node for node, state in enumerate(company.states) if any(one.is_held for one in state.uses))
        company.want(holder, Release())
    grants = [(node, told.turn) for node, told in company.told if isinstance(told, Granted)]
    assert sorted(node for node, _ in grants) == list(range(7))
    assert [turn for _, turn in grants] == sorted(turn for _, turn in grants)


def test_leaf_can_wait_for_news() -> None:
    """A leaf with nothing else to do need not hear of its place at once, unless seats are changed each time."""
    state, effects = taken(C, leaf(B), Requested(Request()), config=SELDOM)
    assert (state.phase, sent(effects)) == (Requesting(1, can_wait=True), [(B, Climb((WAITING_C,)))])


def test_root_tells_a_child_that_can_wait_when_somebody_comes_after_it() -> None:
    """One message tells a place and who comes next, instead of two."""
    before = root(child(B), child(C), tail=(D, 2))
    state, effects = taken(A, before, Received(C, Climb((WAITING_C,))), config=SELDOM)
    given = Given(C, 1, (C,), 3, (D, 2))
    assert (state.seat.untold, sent(effects)) == ((given,), [(D, Link(2, (C, 3)))])
    state, effects = taken(A, state, Received(B, Climb((Asking(B, 1, (B,)),))), config=SELDOM)
    assert state.seat.untold == ()
    assert sent(effects) == [(C, Won((replace(given, next=(B, 4)),))), (B, Won((Given(B, 1, (B,), 4, (C, 3)),)))]


def test_those_further_down_are_told_at_once() -> None:
    """Somebody else is held for a request that came by another process."""
    before = root(child(B, 1, 2), tail=(D, 2))
    asking = replace(WAITING_C, path=(C, B))
    state, effects = taken(A, before, Received(B, Climb((asking,))), config=SELDOM)
    assert (state.seat.untold, sent(effects)[1]) == ((), (B, Won((Given(C, 1, (C, B), 3, (D, 2)),))))


def test_requester_that_has_something_else_to_do_asks_for_news_once() -> None:
    """What comes to a process that waits for news makes it impatient."""
    before = leaf(B, phase=Requesting(1, can_wait=True), places=(Place(0, 0),), asks=1)
    state, effects = taken(C, before, Requested(Request(7)), Requested(Request(8)), config=SELDOM)
    assert (state.phase, sent(effects)) == (Requesting(1), [(B, Climb(()))])
    _, effects = taken(C, before, Requested(Leave()), config=SELDOM)
    assert sent(effects) == [(B, Climb(()))]


def test_root_tells_who_is_impatient() -> None:
    """A child that asks hears of its place; one that has heard already is not told again."""
    given = Given(C, 1, (C,), 3, (D, 2))
    before = root(child(B), child(C), tail=(C, 3))
    before = replace(before, seat=replace(before.seat, untold=(given,)))
    state, effects = taken(A, before, Received(B, Climb(())), Received(C, Climb(())), Received(C, Climb(())))
    assert (state.seat.untold, sent(effects)) == ((), [(C, Won((given,)))])


def test_request_of_who_is_impatient_may_still_wait_in_the_queue() -> None:
    """It is told in time when its request is taken, and nobody else's is hastened."""
    of_d = Asking(D, 4, (D,), can_wait=True)
    state, _ = taken(
        B,
        inner(phase=Busy(((A, 9),))),
        Received(C, Climb((WAITING_C,))),
        Received(D, Climb((of_d,))),
        Received(C, Climb(())),
    )
    assert state.seat.queue == ((C, Climb((OF_C,))), (D, Climb((of_d,))))


def test_impatience_of_who_is_no_child_any_more_is_forgotten() -> None:
    """It has heard of its place; only who is about to have another seat may know the sender later."""
    assert taken(B, inner(), Received(A, Climb(())), config=SELDOM) == (inner(), [])
    state, _ = taken(B, inner(phase=Requesting(1)), Received(D, Climb(())), Received(E, Climb(())), config=SELDOM)
    assert state.early == ((E, Climb(())),)
    given = Given(B, 1, (B,), 3, (A, 2))
    state, _ = taken(B, replace(state, places=(Place(0, 0),)), Received(A, Won((given,))), config=SELDOM)
    assert (state.phase, state.early) == (Idle(), ())
