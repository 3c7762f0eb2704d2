"""Places of which the token tells, because the root has kept them to itself."""

from __future__ import annotations

from msgspec.structs import replace

from solvent.protocols.elmp.messages import Asking, Climb, Given, Link, Relink, Token, Unlink, Unlinked, Won
from solvent.protocols.elmp.queue import following
from solvent.protocols.elmp.state import ElmpConfig, Idle, Place, Requesting, Use
from solvent.protocols.elmp.vocabulary import WHOLE, Granted, Leave, Left, Release, Request, Withdraw
from solvent.protocols.machine import Received, Requested
from tests.unit.protocols.elmp.acting import A, B, C, Company, D, E, child, leaf, root, sent, taken, told

SELDOM = ElmpConfig(exchange_every=100)
HELD, USED = Place(2, 0, has_token=True), Use(1, 0, WHOLE, 2, is_held=True)
QUIET = {node: Climb((Asking(node, 1, (node,), can_wait=True),)) for node in (B, C, D)}
ASKED = leaf(phase=Requesting(1, can_wait=True), asks=1, places=(Place(0, 0),))


def test_root_that_waits_itself_tells_nobody() -> None:
    """Everything behind its own place is known at the root, and the token will tell it."""
    before = root(child(B), child(C), child(D), places=(HELD,), uses=(USED,))
    state, effects = taken(A, before, *(Received(node, QUIET[node]) for node in (B, C, D)), config=SELDOM)
    assert sent(effects) == []
    assert (state.places, state.seat.tail) == ((replace(HELD, next=(B, 3), trail=(C, D)),), (D, 5))
    _, effects = taken(A, state, Requested(Release(0)), config=SELDOM)
    assert sent(effects) == [(B, Token(3, trail=(C, D)))]


def test_trail_has_an_end() -> None:
    """The token does not grow with the number of processes: who comes behind the end hears from the root."""
    before = root(child(B), child(C), child(D), places=(HELD,), uses=(USED,))
    config = replace(SELDOM, max_trail=1)
    state, effects = taken(A, before, *(Received(node, QUIET[node]) for node in (B, C, D)), config=config)
    assert state.places[0].trail == (C,)
    assert sent(effects) == [(C, Won((Given(C, 1, (C,), 4, (B, 3), (D, 5)),)))]


def test_token_tells_of_the_place_and_of_those_behind() -> None:
    """Who hears of its place by the token is held for its request no longer, and passes the rest on."""
    state, effects = taken(C, ASKED, Received(B, Token(4, trail=(D, E))), config=SELDOM)
    assert (state.phase, told(effects)) == (Idle(), [Granted(0, 4, use=1)])
    _, effects = taken(C, state, Requested(Release(0)), config=SELDOM)
    assert sent(effects) == [(D, Token(5, trail=(E,)))]


def test_token_without_a_trail_frees_nobody() -> None:
    """The root tells who is in no trail; it may even want to change seats."""
    state, _ = taken(C, ASKED, Received(B, Token(4)), config=SELDOM)
    assert state.phase == Requesting(1, can_wait=True, turn=4)


def test_news_that_come_after_the_token_is_gone_are_old() -> None:
    """They are not taken for news of the next request."""
    old = Won((Given(C, 1, (C,), 4, (B, 3), (D, 5)),))
    state, _ = taken(
        C, ASKED, Received(B, Token(4, trail=(D,))), Requested(Release(0)), Requested(Request(1)), config=SELDOM
    )
    again, effects = taken(C, state, Received(A, old), config=SELDOM)
    assert (again, effects) == (state, [])


def test_what_a_process_knows_of_its_next_is_newer_than_the_trail() -> None:
    """Somebody behind it may have been passed over since the root put the trail together."""
    assert following(4, None, (D, E)) == ((D, 5), (E,))
    assert following(4, (E, 6), (D, E)) == ((E, 6), ())
    assert following(4, (E, 7), (D, E)) == ((E, 7), None)
    assert following(4, None, ()) == (None, None)
    assert following(4, (D, 5), None) == ((D, 5), None)


def test_who_withdraws_is_passed_over_by_one_that_has_not_heard_of_its_place() -> None:
    """It asks the root who comes next, to do so; or the token tells."""
    unlink = Unlink(4, (D, 5), (E, 6))
    state, effects = taken(C, ASKED, Received(D, unlink), config=SELDOM)
    assert (state.places[0].early, sent(effects)) == (unlink, [(A, Climb(()))])
    _, by_root = taken(C, state, Received(A, Won((Given(C, 1, (C,), 4, (B, 3), (D, 5)),))), config=SELDOM)
    assert sent(by_root) == [(E, Relink(6, (C, 4))), (D, Unlinked(5))]
    state, by_token = taken(C, state, Received(B, Token(4, trail=(D, E, A))), config=SELDOM)
    assert sent(by_token) == [(E, Relink(6, (C, 4))), (D, Unlinked(5))]
    assert (state.places[0].next, state.places[0].trail) == ((E, 6), (A,))


def test_old_wish_to_be_passed_over_is_not_for_the_next_request() -> None:
    """Who has had that place, and passed the token on, passes nobody over."""
    before = replace(ASKED, latest=4)
    assert taken(C, before, Received(D, Unlink(4, (D, 5), (E, 6))), config=SELDOM) == (before, [])


def test_root_that_gives_its_place_up_tells_all() -> None:
    """Whoever passes it over knows only who comes next."""
    place = Place(2, 0, predecessor=(E, 1))
    before = root(child(B), child(C), places=(place,))
    state, _ = taken(A, before, Received(B, QUIET[B]), Received(C, QUIET[C]), config=SELDOM)
    state, effects = taken(A, state, Requested(Withdraw()), config=SELDOM)
    told_b, told_c = Given(B, 1, (B,), 3, (A, 2), (C, 4)), Given(C, 1, (C,), 4, (B, 3))
    assert sent(effects) == [(B, Won((told_b,))), (C, Won((told_c,))), (E, Unlink(1, (A, 2), (B, 3)))]
    assert (state.seat.untold, state.places[0].trail) == ((), None)


def test_who_leaves_or_asks_again_is_told_nothing() -> None:
    """Both know the place that they had."""
    before = root(child(B), child(C), places=(HELD,), uses=(USED,))
    state, _ = taken(A, before, Received(B, QUIET[B]), Requested(Release(0)), config=SELDOM)
    assert [one.requester for one in state.seat.untold] == [B]
    again = Climb((Asking(B, 2, (B,), can_wait=True),))
    asked, effects = taken(A, state, Received(B, again), config=SELDOM)
    assert [(one.requester, one.number) for one in asked.seat.untold] == [(B, 2)]
    assert sent(effects) == [(B, Link(3, (B, 4)))]


def test_two_messages_a_turn_where_all_want_it() -> None:
    """A request and the token: nothing else is said while everybody waits, the root among them."""
    company = Company(6, config=ElmpConfig(order=8, exchange_every=1000))
    for node in range(6):
        company.begin(node, Request(0))
    company.want(0, Withdraw(9))
    company.said.clear()
    for turn in range(60):
        company.begin(turn % 6, Release(turn // 6))
        company.want(turn % 6, Request(turn // 6 + 1))
    assert len(company.said) <= 2 * 60 + 10
    assert [type(one) for one in company.said].count(Token) == 60


def test_leaver_that_has_not_heard_of_its_place_gets_away() -> None:
    """It need not wait for the token, which somebody may keep for long."""
    company = Company(4, config=ElmpConfig(order=8, exchange_every=1000))
    for node in range(4):
        company.want(node, Request(0))
    company.want(2, Leave())
    assert (C, Left()) in company.told
    company.want(0, Release(0))
    company.want(1, Release(0))
    assert [node for node, outcome in company.told if type(outcome) is Granted] == [A, B, D]
