"""One process, and a few of them that talk: coming and going, claims, patience, and that all comes through a wire."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from solvent.protocols.elmp import seats
from solvent.protocols.elmp.messages import (
    Agreed,
    Await,
    Done,
    ElmpMessage,
    Hello,
    Seat,
    Superseded,
    Surrender,
    Taken,
    Token,
    Unknown,
)
from solvent.protocols.elmp.process import Elmp
from solvent.protocols.elmp.state import Departure, ElmpConfig, ElmpState, Exiting, Idle, Out, Place, Use
from solvent.protocols.elmp.vocabulary import (
    WHOLE,
    Astray,
    Claim,
    Data,
    Dropped,
    Fetched,
    Granted,
    Join,
    Joined,
    Leave,
    Left,
    Release,
    Request,
    Source,
    Withdraw,
)
from solvent.protocols.machine import Answered, CancelTimer, NodeId, Received, Requested, SetTimer, TimerFired
from tests.unit.protocols.elmp.acting import A, B, C, Company, D, leaf, sent, taken, told


def test_other_events_change_nothing() -> None:
    """A process asks nothing, so answers mean nothing to it."""
    state = Elmp(A, ElmpConfig(), seat=seats((A, B), 2)[A], rank=1).start()[0]
    assert taken(A, state, Answered(None)) == (state, [])


@pytest.mark.parametrize("is_lazy", [False, True])
def test_all_messages_come_through_a_wire(*, is_lazy: bool) -> None:
    """Everything that processes say is the same after having been encoded and decoded."""
    company = Company(6, outside=6, config=ElmpConfig(is_lazy=is_lazy, slack=1.0))
    chance = Random(3)
    for _ in range(60):
        node = chance.randrange(12)
        wish = chance.choice((Request(), Request(), Leave(), Join(NodeId(chance.randrange(12))), Withdraw(), Release()))
        company.begin(node, wish)
    company.want(0, Release())
    assert len({type(message) for message in company.said}) >= 20
    decoder = msgspec.msgpack.Decoder(ElmpMessage)
    for message in company.said:
        assert decoder.decode(msgspec.msgpack.encode(message)) == message


NEW = NodeId(7)
LAZY = ElmpConfig(is_lazy=True)
OUTSIDE = Elmp(NEW, LAZY).start()[0]


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


def test_claims_are_withdrawn_first() -> None:
    """Who leaves wants nothing any more, and is refused what it asks for later."""
    waiting = leaf(B, places=(Place(3, 0, predecessor=(A, 2), next=(D, 4)),))
    state, effects = taken(C, waiting, Requested(Leave()), Requested(Request(5)))
    assert told(effects) == [Dropped(0), Dropped(5)]
    assert state.phase == Idle()


def test_wish_that_waits_at_a_leaf_that_goes_is_passed_on() -> None:
    """Who wants to be passed over need not ask twice."""
    before = leaf(B, phase=Exiting(), departure=Departure())
    _, effects = taken(C, before, Received(D, Surrender((D, 5))), Received(B, Agreed()))
    assert sent(effects) == [(B, Surrender((D, 5)))]


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


WAITING = Place(2, 0, predecessor=(A, 1), next=(C, 3))
LEFT, MIDDLE, RIGHT = Claim(length=10), Claim(first=5, length=10), Claim(first=10, length=10)


def holding(claim: Claim = WHOLE, *, data: Data | None = None, **fields: object) -> ElmpState:
    """Give a process that holds the token for a claim, before C."""
    place = Place(2, 0, claim, has_token=True, next=(C, 3), data=data)
    return leaf(places=(place,), uses=(Use(1, 0, claim, 2, data, is_held=True),), used=1, **fields)


def test_release_of_nothing_is_ignored() -> None:
    """A release before the grant changes nothing."""
    before = leaf(places=(WAITING,))
    assert taken(B, before, Requested(Release())) == (before, [])


def test_withdrawing_what_is_held_releases_it() -> None:
    """A claim that was granted in the moment in which it was withdrawn is released."""
    _, effects = taken(B, holding(), Requested(Withdraw()))
    assert (sent(effects), told(effects)) == ([(C, Token(3))], [Dropped(0)])


# ------------------------------------------------------------------------------------------- claims held together


def test_claim_that_waits_for_others_can_be_withdrawn() -> None:
    """Who waits for it then waits no longer, and an answer that comes late is dropped."""
    token = Token(2, None, ((A, 1, LEFT, 1),))
    state, _ = taken(B, leaf(places=(replace(WAITING, claim=MIDDLE),)), Received(A, token))
    state, _ = taken(B, state, Received(D, Await((1,), (D, 7))))
    state, effects = taken(B, state, Requested(Withdraw()))
    assert (sent(effects), told(effects)) == ([(D, Done(7, B, (1,), is_changed=False))], [Dropped(0)])
    assert taken(B, state, Received(A, Done(1, A, (1,), is_changed=False))) == (state, [])


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
