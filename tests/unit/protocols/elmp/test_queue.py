"""The queue of those who wait: places, and claims that are withdrawn."""

from __future__ import annotations

from msgspec.structs import replace

from solvent.protocols.elmp.messages import Link, Relink, Relinked, Token, Unlink, Unlinked
from solvent.protocols.elmp.state import Place
from solvent.protocols.elmp.vocabulary import Dropped, Withdraw
from solvent.protocols.machine import Received, Requested
from tests.unit.protocols.elmp.acting import A, B, C, leaf, sent, taken, told

WAITING = Place(2, 0, predecessor=(A, 1), next=(C, 3))


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
