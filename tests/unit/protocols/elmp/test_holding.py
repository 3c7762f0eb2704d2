"""The token, the claims that it lets in, patience, and where the data is."""

from __future__ import annotations

from msgspec.structs import replace

from solvent.protocols.elmp.messages import Await, Done, Link, Superseded, Taken, Token
from solvent.protocols.elmp.state import ENTRUSTED, Departure, ElmpState, Place, Use
from solvent.protocols.elmp.vocabulary import (
    WHOLE,
    Claim,
    Data,
    Dropped,
    Entrusted,
    Fetched,
    Granted,
    Part,
    Recalled,
    Release,
    Request,
    Source,
    Withdraw,
)
from solvent.protocols.machine import CancelTimer, Received, Report, Requested, Send, SetTimer, TimerFired
from tests.unit.protocols.elmp.acting import A, B, C, D, leaf, sent, taken, told

WAITING = Place(2, 0, predecessor=(A, 1), next=(C, 3))
READ = Claim(is_shared=True)
LEFT, MIDDLE, RIGHT = Claim(length=10), Claim(first=5, length=10), Claim(first=10, length=10)


def holding(claim: Claim = WHOLE, *, data: Data | None = None, **fields: object) -> ElmpState:
    """Give a process that holds the token for a claim, before C."""
    place = Place(2, 0, claim, has_token=True, next=(C, 3), data=data)
    return leaf(places=(place,), uses=(Use(1, 0, claim, 2, data, is_held=True),), used=1, **fields)


def test_token_grants_a_claim() -> None:
    """Who waits is granted its claim when the token comes, and needs no predecessor any more."""
    state, effects = taken(B, leaf(places=(WAITING,)), Received(A, Token(2)))
    assert state.places == (replace(WAITING, has_token=True, predecessor=None),)
    assert told(effects) == [Granted(0, 2, use=1)]


def test_token_goes_to_who_comes_next() -> None:
    """A release passes the token on, and the place is no more."""
    state, effects = taken(B, holding(), Requested(Release()))
    assert (state.places, state.uses, sent(effects)) == ((), (), [(C, Token(3))])


def test_token_rests_where_nobody_comes_next() -> None:
    """Without anybody next the token stays, and its process may have it again without asking."""
    last = holding()
    last = replace(last, places=(replace(last.places[0], next=None),))
    state, _ = taken(B, last, Requested(Release()))
    assert state.places == (Place(2, None, has_token=True),)
    _, effects = taken(B, state, Requested(Request(7)))
    assert (sent(effects), told(effects)) == ([], [Granted(7, 2, use=2)])


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
    assert (state.places, told(effects)) == (
        (Place(9, 4, has_token=True),),
        [Granted(4, 9, use=1)],
    )


def test_withdrawing_what_is_held_releases_it() -> None:
    """A claim that was granted in the moment in which it was withdrawn is released."""
    _, effects = taken(B, holding(), Requested(Withdraw()))
    assert (sent(effects), told(effects)) == ([(C, Token(3))], [Dropped(0)])


# ------------------------------------------------------------------------------------------- claims held together


def test_reader_lets_the_token_go_on() -> None:
    """A shared claim is granted, and the token tells the next one of it."""
    state, effects = taken(B, leaf(places=(replace(WAITING, claim=READ),)), Received(A, Token(2)))
    assert (state.places, state.is_listed, told(effects)) == ((), True, [Granted(0, 2, use=1)])
    assert sent(effects) == [(C, Token(3, None, ((B, 1, READ, 2),)))]


def test_readers_read_together() -> None:
    """A reader does not wait for readers."""
    token = Token(2, None, ((A, 1, READ, 1),))
    _, effects = taken(B, leaf(places=(replace(WAITING, claim=READ),)), Received(A, token))
    assert told(effects) == [Granted(0, 2, use=1)]


def test_writer_waits_for_readers() -> None:
    """A claim of the whole keeps the token, and asks those who hold something to say when it is over."""
    token = Token(2, None, ((A, 1, READ, 1), (D, 4, READ, 1)))
    state, effects = taken(B, leaf(places=(WAITING,)), Received(A, token))
    assert (sent(effects), told(effects)) == ([(A, Await((1,), (B, 1))), (D, Await((4,), (B, 1)))], [])
    state, effects = taken(B, state, Received(A, Done(1, A, (1,), is_changed=False)))
    assert told(effects) == []
    state, effects = taken(B, state, Received(D, Done(1, D, (4,), is_changed=False)))
    assert (told(effects), state.places[0].active) == ([Granted(0, 2, use=1)], ())


def test_parts_that_do_not_overlap_are_held_together() -> None:
    """A claim of a part waits only for parts that overlap."""
    token = Token(2, None, ((A, 1, LEFT, 1), (D, 4, RIGHT, 1)))
    place = replace(WAITING, claim=Claim(first=12, length=2))
    _, effects = taken(B, leaf(places=(place,)), Received(A, token))
    assert [to for to, message in sent(effects) if isinstance(message, Await)] == [D]


def test_claim_that_is_over_says_so() -> None:
    """Who asks hears at the release, or at once if it was before."""
    state, effects = taken(B, holding(READ), Received(D, Await((1,), (D, 7))))
    assert sent(effects) == []
    state, effects = taken(B, state, Requested(Release()))
    assert (D, Done(7, B, (1,), is_changed=False)) in sent(effects)
    _, effects = taken(B, state, Received(D, Await((1,), (D, 8))))
    assert sent(effects) == [(D, Done(8, B, (1,), is_changed=False))]


def test_claim_that_waits_for_others_can_be_withdrawn() -> None:
    """Who waits for it then waits no longer, and an answer that comes late is dropped."""
    token = Token(2, None, ((A, 1, LEFT, 1),))
    state, _ = taken(B, leaf(places=(replace(WAITING, claim=MIDDLE),)), Received(A, token))
    state, _ = taken(B, state, Received(D, Await((1,), (D, 7))))
    state, effects = taken(B, state, Requested(Withdraw()))
    assert (sent(effects), told(effects)) == ([(D, Done(7, B, (1,), is_changed=False))], [Dropped(0)])
    assert taken(B, state, Received(A, Done(1, A, (1,), is_changed=False))) == (state, [])


def test_token_forgets_claims_that_are_over_where_they_were() -> None:
    """A token that comes by drops what was let in here and is over."""
    token = Token(2, None, ((B, 1, READ, 1), (A, 1, READ, 1)))
    state, effects = taken(B, leaf(places=(replace(WAITING, handle=None),), is_listed=True), Received(A, token))
    assert (sent(effects), state.is_listed) == ([(C, Token(3, None, ((A, 1, READ, 1),)))], False)


# -------------------------------------------------------------------------------------------------------- patience


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


def test_claim_granted_at_once_needs_no_timer() -> None:
    """Who has the token already waits for nothing."""
    _, effects = taken(B, leaf(places=(Place(2, None, has_token=True),)), Requested(Request(3, patience=50)))
    assert [effect for effect in effects if isinstance(effect, SetTimer)] == []


# ---------------------------------------------------------------------------------------------------------- data


def test_who_fetched_the_data_is_its_holder() -> None:
    """The former holder hears that it may forget the data."""
    state, effects = taken(B, holding(data=Data(4, A)), Requested(Fetched(4, use=1)))
    assert (state.keeps, state.places[0].data, sent(effects)) == (4, Data(4, B, since=(2, 1)), [(A, Taken(4))])


def test_other_versions_mean_nothing() -> None:
    """Word of a version that is not the current one is ignored."""
    before = holding(data=Data(4, A))
    assert taken(B, before, Requested(Fetched(3, use=1))) == (before, [])


def test_new_version_is_kept_until_it_is_taken() -> None:
    """Who changed the data keeps it until somebody says that it has it; the former holder may forget it."""
    state, effects = taken(B, holding(data=Data(4, A)), Requested(Release(0, Data(5, B))))
    assert (state.keeps, sent(effects)) == (5, [(C, Token(3, Data(5, B, since=(2, 1)))), (A, Taken(4))])
    state, _ = taken(B, state, Received(C, Taken(5)))
    assert state.keeps is None


def test_word_of_an_older_version_frees_nobody() -> None:
    """Who has a newer version meanwhile keeps it."""
    assert taken(B, leaf(keeps=5), Received(C, Taken(4)))[0].keeps == 5


def test_change_of_a_part_stays_where_it_was_made() -> None:
    """Who changed a part keeps it until somebody who claims all of that part relieves it."""
    token = Token(2, Data(1, A), ())
    state, _ = taken(B, leaf(places=(replace(WAITING, claim=LEFT),)), Received(A, token))
    state, _ = taken(B, state, Requested(Release(0, Data(2, B))))
    assert [use.handle for use in state.uses] == [None]
    _, effects = taken(B, state, Received(C, Await((1,), (C, 1))))
    assert sent(effects) == [(C, Done(1, B, (1,), is_changed=True))]
    state, _ = taken(B, state, Received(C, Superseded((1,))))
    assert state.uses == ()


def test_changes_are_named_in_the_order_of_turns() -> None:
    """A claim hears of all changes of what it claims; one that was changed again is left out."""
    token = Token(2, Data(1, A), ((A, 1, Claim(first=2, length=2), 1), (C, 1, RIGHT, 1), (D, 1, LEFT, 1)))
    state, _ = taken(B, leaf(places=(WAITING,)), Received(A, token))
    for node in (D, A, C):
        state, effects = taken(B, state, Received(node, Done(1, node, (1,), is_changed=True)))
    assert told(effects) == [Granted(0, 2, Data(1, A), (Source(C, 1, RIGHT, 1), Source(D, 1, LEFT, 1)), 1)]
    assert taken(B, state, Requested(Fetched(1, use=1))) == (state, [])
    _, effects = taken(B, state, Requested(Release(0, Data(2, B))))
    token = (C, Token(3, Data(2, B, since=(2, 1))))
    assert sent(effects) == [token, (A, Taken(1)), (C, Superseded((1,))), (D, Superseded((1,)))]


def test_data_of_who_leaves_is_urgent() -> None:
    """A process that wants to leave says so with the token; where that comes to rest the data is fetched."""
    leaving = holding(data=Data(4, B), departure=Departure(), keeps=4)
    _, effects = taken(B, leaving, Requested(Release()))
    urgent = Data(4, B, is_urgent=True)
    assert (C, Token(3, urgent)) in sent(effects)
    state, effects = taken(C, leaf(places=(Place(3, None, predecessor=(B, 2)),)), Received(B, Token(3, urgent)))
    assert told(effects) == [Entrusted(urgent, use=1)]
    state, effects = taken(C, state, Requested(Fetched(4, use=1)))
    assert (state.keeps, state.uses, sent(effects)) == (4, (), [(B, Taken(4))])


def test_data_is_fetched_when_nobody_uses_it() -> None:
    """Urgent data waits for claims that are held, and a token that goes on is not waited for."""
    urgent = Token(3, Data(4, B, is_urgent=True), ((D, 2, READ, 1),))
    state, effects = taken(C, leaf(places=(Place(3, None),)), Received(B, urgent))
    assert (sent(effects), told(effects)) == ([(D, Await((2,), (C, 1)))], [])
    assert [use.handle for use in state.uses] == [ENTRUSTED]
    state, effects = taken(C, state, Received(A, Link(3, (A, 4))))
    assert (state.uses, [to for to, _ in sent(effects)]) == ((), [A])


def _entrusted() -> ElmpState:
    """Give a process that is told to fetch the data and a part that lies over another one."""
    known = Part(A, A, 7, LEFT, 1, 4)
    urgent = Data(4, B, is_urgent=True, since=(1, 1), parts=(known,))
    token = Token(3, urgent, ((D, 2, MIDDLE, 2),))
    state, _ = taken(C, leaf(places=(Place(3, None),)), Received(B, token))
    state, effects = taken(C, state, Received(D, Done(1, D, (2,), is_changed=True)))
    assert told(effects) == [Entrusted(urgent, (Source(D, 2, MIDDLE, 2),), 1)]
    return state


def test_who_is_entrusted_has_all_parts_as_they_are() -> None:
    """The version stays what it is; parts lie over it as before, and all of them are where it is."""
    state, effects = taken(C, _entrusted(), Requested(Fetched(4, use=1)))
    below = Part(C, A, 7, Claim(first=LEFT.first, length=MIDDLE.first - LEFT.first), 1, 4)
    assert state.places[0].data == Data(4, C, since=(1, 1), parts=(below, Part(C, D, 2, MIDDLE, 2, 4)))
    assert sent(effects) == [(D, Superseded((2,))), (A, Taken(4)), (B, Taken(4))]


def test_a_token_that_goes_on_recalls_who_fetches() -> None:
    """It is told before the token is sent, and what it says afterwards counts for nothing."""
    before = _entrusted()
    state, effects = taken(C, before, Received(A, Link(3, (A, 4))))
    token = Token(4, before.places[0].data, before.places[0].active)
    assert effects == [Report(Recalled()), Send(A, token)]
    assert taken(C, state, Requested(Fetched(4, use=1))) == (state, [])


def test_word_of_an_earlier_errand_means_nothing() -> None:
    """Parts may have been changed since, though the version is the same."""
    state = _entrusted()
    again = replace(state, uses=tuple(replace(use, number=2) for use in state.uses), used=2)
    assert taken(C, again, Requested(Fetched(4, use=1))) == (again, [])
