"""The queue of those who wait: places, the token, claims that are withdrawn, and where the data is."""

from __future__ import annotations

from msgspec.structs import replace

from solvent.protocols.elmp.messages import Link, Relink, Relinked, Taken, Token, Unlink, Unlinked
from solvent.protocols.elmp.state import Departure, Place
from solvent.protocols.elmp.vocabulary import (
    Data,
    Dropped,
    Entrusted,
    Fetched,
    Granted,
    Queued,
    Release,
    Request,
    Withdraw,
)
from solvent.protocols.machine import CancelTimer, Received, Requested, SetTimer, TimerFired
from tests.unit.protocols.elmp.acting import A, B, C, leaf, sent, taken, told

WAITING = Place(2, 0, predecessor=(A, 1), next=(C, 3))
HELD = Place(2, 0, has_token=True, next=(C, 3))


def test_token_grants_a_claim() -> None:
    """Who waits is granted its claim when the token comes, and needs no predecessor any more."""
    state, effects = taken(B, leaf(places=(WAITING,)), Received(A, Token(2)))
    assert (state.places, told(effects)) == ((replace(WAITING, has_token=True, predecessor=None),), [Granted(0, 2)])


def test_token_goes_to_who_comes_next() -> None:
    """A release passes the token on, and the place is no more."""
    state, effects = taken(B, leaf(places=(HELD,)), Requested(Release()))
    assert (state.places, sent(effects)) == ((), [(C, Token(3))])


def test_token_rests_where_nobody_comes_next() -> None:
    """Without anybody next the token stays, and its process may have it again without asking."""
    state, _ = taken(B, leaf(places=(replace(HELD, next=None),)), Requested(Release()))
    assert state.places == (Place(2, None, has_token=True),)
    _, effects = taken(B, state, Requested(Request(7)))
    assert (sent(effects), told(effects)) == ([], [Granted(7, 2)])


def test_resting_token_goes_where_the_root_says() -> None:
    """A token that rests leaves as soon as somebody comes next."""
    state, effects = taken(B, leaf(places=(Place(2, None, has_token=True),)), Received(A, Link(2, (C, 3))))
    assert (state.places, sent(effects)) == ((), [(C, Token(3))])


def test_release_of_nothing_is_ignored() -> None:
    """A release before the grant changes nothing."""
    before = leaf(places=(WAITING,))
    assert taken(B, before, Requested(Release())) == (before, [])


def test_token_may_be_faster_than_news_of_the_place() -> None:
    """A token for a turn of which the process has not heard is for its request under way."""
    state, effects = taken(B, leaf(places=(Place(0, 4),)), Received(A, Token(9)))
    assert (state.places, told(effects)) == ((Place(9, 4, has_token=True),), [Queued(4, 9), Granted(4, 9)])


def test_withdrawn_claim_asks_to_be_passed_over() -> None:
    """Who gives up a claim tells its predecessor who comes next, and keeps the place until that has heard it."""
    state, effects = taken(B, leaf(places=(WAITING,)), Requested(Withdraw()))
    assert state.places == (replace(WAITING, handle=None, is_unlinking=True),)
    assert (sent(effects), told(effects)) == ([(A, Unlink(1, (B, 2), (C, 3)))], [Dropped(0)])


def test_withdrawn_claim_passes_the_token_on() -> None:
    """A token that comes although the claim was withdrawn goes on at once."""
    ghost = replace(WAITING, handle=None, is_unlinking=True)
    state, effects = taken(B, leaf(places=(ghost,)), Received(A, Token(2)))
    assert (state.places, sent(effects), told(effects)) == ((), [(C, Token(3))], [])


def test_predecessor_passes_a_place_over() -> None:
    """The predecessor takes who comes after for its next, and tells both."""
    state, effects = taken(A, leaf(B, places=(Place(1, 0, next=(B, 2)),)), Received(B, Unlink(1, (B, 2), (C, 3))))
    assert state.places == (Place(1, 0, next=(C, 3), is_linking=True),)
    assert sent(effects) == [(C, Relink(3, (A, 1))), (B, Unlinked(2))]


def test_who_is_passed_over_passes_nobody_over() -> None:
    """Of two neighbours that withdraw the second waits for its new predecessor."""
    ghost = Place(2, None, predecessor=(A, 1), next=(C, 3), is_unlinking=True)
    before = leaf(places=(ghost,))
    assert taken(B, before, Received(C, Unlink(2, (C, 3), (A, 4)))) == (before, [])


def test_token_under_way_is_not_called_back() -> None:
    """Who has passed the token on passes nobody over."""
    before = leaf()
    assert taken(B, before, Received(C, Unlink(2, (C, 3), (A, 4)))) == (before, [])


def test_wish_to_be_passed_over_may_be_early() -> None:
    """It is kept if the place does not know yet who comes next."""
    unlink = Unlink(2, (C, 3), (A, 4))
    state, effects = taken(
        B, leaf(places=(Place(2, 0, predecessor=(A, 1)),)), Received(C, unlink), Received(A, Link(2, (C, 3)))
    )
    assert state.places[0].next == (A, 4)
    assert sent(effects) == [(A, Relink(4, (B, 2))), (C, Unlinked(3))]


def test_new_predecessor_is_asked_again() -> None:
    """A place that is given up asks its new predecessor, after it has confirmed it."""
    ghost = Place(3, None, predecessor=(B, 2), next=(A, 4), is_unlinking=True)
    _, effects = taken(C, leaf(places=(ghost,)), Received(A, Relink(3, (A, 1))))
    assert sent(effects) == [(A, Relinked(1)), (A, Unlink(1, (C, 3), (A, 4)))]


def test_place_waits_until_its_next_knows_it() -> None:
    """Who has a new next asks to be passed over only when that one has confirmed it."""
    place = Place(2, 0, predecessor=(A, 1), next=(C, 3), is_linking=True)
    state, effects = taken(B, leaf(places=(place,)), Requested(Withdraw()))
    assert sent(effects) == []
    _, effects = taken(B, state, Received(C, Relinked(2)))
    assert sent(effects) == [(A, Unlink(1, (B, 2), (C, 3)))]


def test_withdrawing_what_is_held_releases_it() -> None:
    """A claim that was granted in the moment in which it was withdrawn is released."""
    _, effects = taken(B, leaf(places=(HELD,)), Requested(Withdraw()))
    assert (sent(effects), told(effects)) == ([(C, Token(3))], [Dropped(0)])


def test_claim_that_waited_long_enough_is_withdrawn() -> None:
    """Patience is a timer; when it fires the claim is dropped."""
    state, effects = taken(B, leaf(), Requested(Request(3, patience=50)))
    assert SetTimer("elmp:patience:3", 50) in effects
    _, effects = taken(B, state, TimerFired("elmp:patience:3"))
    assert told(effects) == [Dropped(3)]


def test_granted_claim_has_all_time() -> None:
    """The timer stops when the token comes, and one that fires all the same does nothing."""
    waiting = leaf(places=(WAITING,), timed=(0,))
    state, effects = taken(B, waiting, Received(A, Token(2)))
    assert effects[0] == CancelTimer("elmp:patience:0")
    assert taken(B, state, TimerFired("elmp:patience:0")) == (state, [])


def test_who_fetched_the_data_is_its_holder() -> None:
    """The former holder hears that it may forget the data."""
    held = replace(HELD, data=Data(4, A))
    state, effects = taken(B, leaf(places=(held,)), Requested(Fetched(4)))
    assert (state.keeps, state.places[0].data, sent(effects)) == (4, Data(4, B), [(A, Taken(4))])


def test_new_version_is_kept_until_it_is_taken() -> None:
    """Who changed the data keeps it until somebody says that it has it."""
    state, effects = taken(B, leaf(places=(HELD,)), Requested(Release(0, Data(5, B))))
    assert (state.keeps, sent(effects)) == (5, [(C, Token(3, Data(5, B)))])
    state, _ = taken(B, state, Received(C, Taken(5)))
    assert state.keeps is None


def test_data_of_who_leaves_is_urgent() -> None:
    """A process that wants to leave says so with the token; where that comes to rest the data is fetched."""
    leaving = leaf(places=(replace(HELD, data=Data(4, B)),), departure=Departure(), keeps=4)
    _, effects = taken(B, leaving, Requested(Release()))
    urgent = Data(4, B, is_urgent=True)
    assert (C, Token(3, urgent)) in sent(effects)
    _, effects = taken(C, leaf(places=(Place(3, None, predecessor=(B, 2)),)), Received(B, Token(3, urgent)))
    assert told(effects) == [Entrusted(urgent)]
