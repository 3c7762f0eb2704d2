"""One process, and a few of them that talk: coming and going, claims, patience, and that all comes through a wire."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from solvent.protocols.elmp.messages import (
    Agreed,
    Await,
    Done,
    ElmpMessage,
    Hello,
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
    Leave,
    Left,
    Release,
    Request,
    Withdraw,
)
from solvent.protocols.machine import CancelTimer, NodeId, Received, Requested, SetTimer, TimerFired
from tests.growth import executed_lines
from tests.unit.protocols.elmp.acting import A, B, C, Company, D, leaf, sent, taken, told


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
    assert (state, told(effects)) == (ElmpState(Out()), [Astray(B), Left()])


def test_wishes_of_a_newcomer_are_dropped_with_it() -> None:
    """What was requested while joining is dropped if that fails."""
    state, _ = taken(NEW, OUTSIDE, Requested(Join(B)), Requested(Request(3)))
    _, effects = taken(NEW, state, Received(B, Unknown()))
    assert told(effects) == [Astray(B), Dropped(3)]


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


def test_held_claim_is_not_requested_again() -> None:
    """A request for what is held changes nothing."""
    held = leaf(B, places=(Place(3, 0, has_token=True),), uses=(Use(1, 0, WHOLE, 3, is_held=True),))
    assert taken(C, held, Requested(Request())) == (held, [])


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
    assert (sent(effects), told(effects)) == ([(D, Done(7, B, (1,)))], [Dropped(0)])
    assert taken(B, state, Received(A, Done(1, A, (1,)))) == (state, [])


def test_claim_that_waited_long_enough_is_withdrawn() -> None:
    """Patience is a timer; when it fires the claim is dropped."""
    state, effects = taken(B, leaf(), Requested(Request(3, patience=50)))
    assert SetTimer("elmp:patience:3", 50) in effects
    _, effects = taken(B, state, TimerFired("elmp:patience:3"))
    assert told(effects) == [Dropped(3)]


# -------------------------------------------------------------------------------------------------------- patience


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


def test_token_says_that_a_part_may_be_changed() -> None:
    """From the claim on under which that may be; whoever changes the whole makes one version of it again."""
    reading, writing = replace(WAITING, claim=Claim(is_shared=True)), replace(WAITING, claim=LEFT, next=(C, 3))
    _, effects = taken(B, leaf(places=(reading,)), Received(A, Token(2, Data(1, A))))
    assert sent(effects) == [(C, Token(3, Data(1, A), ((B, 1, reading.claim, 2),)))]
    _, effects = taken(B, leaf(places=(writing,)), Received(A, Token(2, Data(1, A))))
    changed = Data(1, A, has_parts=True)
    assert sent(effects) == [(C, Token(3, changed, ((B, 1, LEFT, 2),)))]
    assert told(effects) == [Granted(0, 2, Data(1, A), 1)]
    whole = replace(WAITING, next=(D, 4))
    state, effects = taken(C, leaf(places=(whole,)), Received(B, Token(2, changed)))
    assert told(effects) == [Granted(0, 2, changed, 1)]
    fetched, effects = taken(C, state, Requested(Fetched(1, use=1)))
    assert fetched.places[0].data == Data(1, C, has_parts=True)
    assert sent(effects) == [(A, Taken(1))]
    _, effects = taken(C, fetched, Requested(Release(0, Data(2, C))))
    assert sent(effects) == [(D, Token(4, Data(2, C)))]


def _claim_of_the_whole(count: int) -> None:
    """Claim the whole after one process has changed so many parts."""
    parts = [Claim(first=10 * number, length=10) for number in range(count)]
    active = tuple((A, number, claim, 1) for number, claim in enumerate(parts))
    changer, claimer = leaf(), leaf(places=(Place(2, 0, predecessor=(A, 1), next=(C, 3)),))
    claimer, effects = taken(B, claimer, Received(A, Token(2, Data(1, A, has_parts=True), active)))
    ((_, asked),) = sent(effects)
    assert isinstance(asked, Await)
    _, effects = taken(A, changer, Received(B, asked))
    ((_, done),) = sent(effects)
    assert isinstance(done, Done)
    claimer, effects = taken(B, claimer, Received(A, done))
    assert told(effects) == [Granted(0, 2, Data(1, A, has_parts=True), 1)]


def test_a_claim_of_the_whole_over_many_parts_asks_once_and_takes_no_longer_for_each() -> None:
    """Who has changed thousands of parts is asked and answers in one message each."""
    assert executed_lines(lambda: _claim_of_the_whole(1_000)) < 20 * executed_lines(lambda: _claim_of_the_whole(100))
