"""One node of the ring, event by event."""

from __future__ import annotations

from collections import Counter

import pytest
from immutables import Map

from solvent.protocols.machine import CancelTimer, NodeId, Received, Report, Requested, Send, SetTimer, TimerFired
from solvent.protocols.token.messages import Gimme, NotHere, Probe, Token
from solvent.protocols.token.node import AGAIN, KEPT, REST, Ring
from solvent.protocols.token.state import TokenConfig, TokenState, Trap
from solvent.protocols.token.vocabulary import Acquire, Granted, Moved, Release

ZERO, ONE, TWO, THREE, FOUR, FIVE = map(NodeId, range(6))
ACQUIRE, RELEASE = Requested(Acquire()), Requested(Release())


def ring(node: NodeId = ZERO, size: int = 8, **how: object) -> Ring:
    """Make one node."""
    return Ring(TokenConfig(node, size, **how))  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------------------- numbers and lives


def test_grants_are_numbered_by_the_token() -> None:
    """Each grant has the next number of the token that gives it, wherever it is given."""
    node = ring(ONE, 3)
    state, _ = node.step(node.start()[0], ACQUIRE)
    state, effects = node.step(state, Received(ZERO, Token(visits=4, grants=6)))
    assert [effect for effect in effects if isinstance(effect, Report)] == [Report(Granted(1, 7))]
    assert effects[-1].message.grants == 7


def test_a_later_life_makes_no_token_and_reuses_no_number() -> None:
    """The first node makes the token in its first life only; requests of a later life have higher numbers."""
    first = ring(ZERO, 3)
    assert any(isinstance(getattr(effect, "message", None), Token) for effect in first.start()[1])
    assert first.start((), 2) == (TokenState(requests=2 << 32), ())
    state, _ = first.step(first.start((), 2)[0], ACQUIRE)
    assert (state.requests, state.is_waiting) == ((2 << 32) + 1, True)


def test_a_token_that_has_nowhere_to_go_stays() -> None:
    """In a ring of one the token is always here."""
    alone = ring(ZERO, 1)
    state, effects = alone.start()
    assert (state.token is not None, effects) == (True, ())
    state, effects = alone.step(state, ACQUIRE)
    assert effects == (Report(Granted(1, 1)),)


# --------------------------------------------------------------------------------------------------------- lending


def test_the_token_takes_traps_with_it_and_is_lent_in_a_row() -> None:
    """It goes from borrower to borrower, back to its lender, and on round the ring."""
    lender = ring()
    traps = (Trap(TWO, 1, TWO), Trap(FOUR, 1, TWO), Trap(THREE, 1, ONE))
    state, effects = lender.step(TokenState(traps=traps), Received(NodeId(7), Token(7)))
    lent = Token(8, lender=ZERO, borrower=TWO, queue=((FOUR, 1), (THREE, 1)), row=15)
    assert (state, effects) == (TokenState(stamp=8, has_lent=True), (Send(TWO, lent),))
    borrower = ring(TWO)
    waiting = TokenState(requests=1, is_waiting=True)
    _, effects = borrower.step(waiting, Received(ZERO, lent))
    (to, token), granted = (effects[1].to, effects[1].message), effects[0]
    assert (granted, to, token.borrower, token.queue) == (Report(Granted(1, 1)), FOUR, FOUR, ((THREE, 1),))
    _, (back,) = ring(THREE).step(TokenState(), Received(FOUR, Token(8, lender=ZERO, borrower=THREE, row=3)))
    assert (back.to, back.message.is_returned, back.message.row) == (ZERO, True, 0)
    state, (on,) = lender.step(state, Received(THREE, back.message))
    assert (state.has_lent, on) == (False, Send(ONE, Token(8)))


def test_a_row_ends_after_so_many() -> None:
    """Those left in the queue go on with the token, and have it from its next place."""
    lender = ring(max_row=2)
    traps = tuple(Trap(node, 1, node) for node in (TWO, THREE, FOUR))
    _, (sent,) = lender.step(TokenState(traps=traps), Received(NodeId(7), Token(7)))
    _, (second,) = ring(TWO, max_row=2).step(TokenState(), Received(ZERO, sent.message))
    _, (back,) = ring(THREE, max_row=2).step(TokenState(), Received(TWO, second.message))
    assert (back.to, back.message.queue) == (ZERO, ((FOUR, 1),))
    _, (on,) = lender.step(TokenState(has_lent=True), Received(THREE, back.message))
    assert on == Send(ONE, Token(8, queue=((FOUR, 1),)))
    _, (again,) = ring(ONE, max_row=2).step(TokenState(), Received(ZERO, on.message))
    assert (again.to, again.message.lender) == (FOUR, ONE)


def test_traps_of_those_served_are_dropped() -> None:
    """What the token has served it does not serve again, whether it lies here or goes with it."""
    served = Token(7, served=Map({TWO: 3, FOUR: 1}), queue=((TWO, 3), (FIVE, 1)))
    traps = (Trap(TWO, 2, TWO), Trap(FOUR, 2, FOUR))
    _, (sent,) = ring().step(TokenState(traps=traps), Received(NodeId(7), served))
    assert (sent.to, sent.message.queue) == (FIVE, ((FOUR, 2),))


def test_a_search_ends_where_the_token_comes_back_to() -> None:
    """A lender, and a node that uses the token, keep searches; the token will take them along."""
    gimme = Gimme(FIVE, 1, 3, 2, 2)
    trap = (Trap(FIVE, 1, FOUR),)
    lent = TokenState(stamp=8, has_lent=True)
    assert ring().step(lent, Received(FOUR, gimme)) == (TokenState(stamp=8, has_lent=True, traps=trap), ())
    uses = TokenState(stamp=8, token=Token(8), is_used=True)
    assert ring().step(uses, Received(FOUR, gimme))[1] == ()
    _, (passed_on,) = ring(max_row=0).step(lent, Received(FOUR, gimme))
    assert isinstance(passed_on.message, Gimme)


def test_one_by_one_the_token_comes_back_for_each() -> None:
    """As in the paper: the next trap waits until the last borrower has returned it; it goes on when none is left."""
    lender = ring(max_row=0)
    traps = (Trap(TWO, 1, TWO), Trap(FOUR, 1, TWO))
    state, (sent,) = lender.step(TokenState(traps=traps), Received(NodeId(7), Token(7)))
    assert (sent, state.traps) == (Send(TWO, Token(8, lender=ZERO, borrower=TWO)), traps[1:])
    state, (sent,) = lender.step(state, Received(TWO, Token(8, lender=ZERO, is_returned=True)))
    assert sent == Send(FOUR, Token(8, lender=ZERO, borrower=FOUR))
    _, (sent,) = lender.step(state, Received(FOUR, Token(8, lender=ZERO, is_returned=True)))
    assert sent == Send(ONE, Token(8))


def test_a_second_search_for_the_same_request_keeps_its_place() -> None:
    """A trap is set once for a request; a newer request of the same node goes to the end."""
    traps = (Trap(TWO, 1, TWO), Trap(FOUR, 1, TWO))
    state, _ = ring().step(TokenState(traps=traps), Received(THREE, Gimme(TWO, 1, -1, 0, 0)))
    assert state.traps == traps
    state, _ = ring().step(TokenState(traps=traps), Received(THREE, Gimme(TWO, 2, -1, 0, 0)))
    assert state.traps == (Trap(FOUR, 1, TWO), Trap(TWO, 2, THREE))


def test_the_inverse_path_takes_traps_away() -> None:
    """On its way along the search the token is no visitor: its trap goes, and it goes where the search came from."""
    node = ring(FOUR, clean_up="inverse")
    token = Token(8, lender=ZERO, borrower=TWO)
    state = TokenState(traps=(Trap(TWO, 1, FIVE), Trap(ONE, 1, ONE)))
    assert node.step(state, Received(ZERO, token)) == (TokenState(traps=state.traps[1:]), (Send(FIVE, token),))


def test_a_user_that_takes_time_releases() -> None:
    """Where use takes time the token stays until it is released; moves are told if wanted."""
    node = Ring(TokenConfig(ZERO, 3, is_instant=False), tells_moves=True)
    state, effects = node.step(TokenState(requests=1, is_waiting=True), Received(TWO, Token(2)))
    assert (state.is_used, effects) == (True, (Report(Granted(1, 1)),))
    assert node.step(state, ACQUIRE) == (state, ())
    state, effects = node.step(state, RELEASE)
    assert (state.is_used, effects[0]) == (False, Report(Moved(ONE, "round")))
    assert node.step(state, RELEASE) == (state, ())


# ------------------------------------------------------------------------------------------------------- searching


def test_a_directed_search_is_told_where_the_token_is_not() -> None:
    """Each node asked answers the requester, who asks the next one itself, as long as it waits for that request."""
    asked, asking = ring(FOUR, is_directed=True), ring(is_directed=True)
    _, (told,) = asked.step(TokenState(stamp=5), Received(ZERO, Gimme(ZERO, 1, 3, 3, 3)))
    assert told == Send(ZERO, NotHere(1, 5, 3, 3))
    waiting = TokenState(stamp=3, requests=1, is_waiting=True)
    _, (next_,) = asking.step(waiting, Received(FOUR, told.message))
    assert next_ == Send(NodeId(6), Gimme(ZERO, 1, 3, 1, 1))
    assert asking.step(waiting, Received(FOUR, NotHere(7, 5, 3, 3)))[1] == ()
    assert asking.step(waiting, Received(FOUR, NotHere(1, 5, 3, 0)))[1] == ()


def test_one_search_is_passed_on_at_a_time() -> None:
    """Others are kept until the token that comes by has served the one."""
    node = ring(FOUR, has_one_search=True)
    state, (sent,) = node.step(TokenState(stamp=5), Received(ZERO, Gimme(ZERO, 1, 3, 3, 3)))
    assert (sent.to, state.passed_on) == (NodeId(6), (ZERO, 1))
    late = Gimme(ONE, 1, 2, 3, 3)
    state, effects = node.step(state, Received(ONE, late))
    assert (state.delayed, effects) == ((late,), ())
    state, effects = node.step(state, Received(THREE, Token(11, served=Map({ZERO: 1}))))
    assert (effects[0].to, effects[1].message.requester, state.delayed) == (ONE, ONE, ())


def test_a_token_that_rests_does_not_keep_searches_up() -> None:
    """Where the token rests and will not come by, a search that was kept is passed on after a while."""
    node = ring(FOUR, has_one_search=True, max_rest=50)
    state, effects = node.step(TokenState(stamp=5), Received(ZERO, Gimme(ZERO, 1, 3, 3, 3)))
    assert effects[1] == SetTimer(KEPT, 12)
    state, _ = node.step(state, Received(ONE, Gimme(ONE, 1, 2, 3, 3)))
    state, effects = node.step(state, TimerFired(KEPT))
    assert (state.passed_on, effects[0].message.requester) == ((ONE, 1), ONE)
    state, effects = node.step(state, TimerFired(KEPT))
    assert (state.passed_on, effects) == (None, ())


def test_who_still_waits_searches_again() -> None:
    """A search that got lost is repeated after a while; a grant ends that."""
    node = ring(again=30)
    state, effects = node.step(TokenState(stamp=3), ACQUIRE)
    assert effects == (Send(FOUR, Gimme(ZERO, 1, 3, 3, 3)), SetTimer(AGAIN, 30))
    assert node.step(state, TimerFired(AGAIN)) == (state, effects)
    state, effects = node.step(state, Received(NodeId(7), Token(7)))
    assert effects[:2] == (CancelTimer(AGAIN), Report(Granted(1, 1)))
    assert node.step(state, TimerFired(AGAIN)) == (state, ())


# --------------------------------------------------------------------------------------------------------- resting


def test_a_token_that_rests_is_woken_by_a_search_and_goes_on_after_that() -> None:
    """It is lent at once, its timer is stopped, and when it is back it moves on: its speed follows demand."""
    node = ring(max_rest=50)
    resting, effects = node.step(TokenState(), Received(NodeId(7), Token(7)))
    assert (resting.rest, effects) == (50, (SetTimer(REST, 50),))
    state, effects = node.step(resting, Received(FIVE, Gimme(FIVE, 1, 2, 3, 3)))
    assert (effects[0], effects[1].to, state.rest) == (CancelTimer(REST), FIVE, 0)
    _, (on,) = node.step(state, Received(FIVE, Token(8, lender=ZERO, is_returned=True)))
    assert on.to == ONE


def test_a_rest_ends_when_its_time_is_over() -> None:
    """Nobody searched: the token goes on. One that is in use then goes on when it is released."""
    node = ring(max_rest=50, is_instant=False)
    resting, _ = node.step(TokenState(), Received(NodeId(7), Token(7)))
    state, (on,) = node.step(resting, TimerFired(REST))
    assert (on, state) == (Send(ONE, Token(8)), TokenState(stamp=8))
    used, _ = node.step(resting, ACQUIRE)
    assert node.step(used, RELEASE)[1] == ()
    late, effects = node.step(used, TimerFired(REST))
    assert effects == ()
    assert [effect.to for effect in node.step(late, RELEASE)[1]] == [ONE]
    assert node.step(TokenState(), TimerFired(REST)) == (TokenState(), ())


# --------------------------------------------------------------------------------------------------- asking round


def reached(size: int) -> Counter[int]:
    """Let the first node ask round, and count who is asked how often, and in how many steps."""
    machines = [ring(NodeId(node), size, finding="push") for node in range(size)]
    _, effects = machines[0].step(TokenState(), Received(NodeId(size - 1), Token(1)))
    asked: Counter[int] = Counter()
    depth, sends = 0, [effect for effect in effects if isinstance(effect, Send)]
    while sends:
        depth += 1
        asked.update(sent.to for sent in sends)
        sends = [
            further
            for sent in sends
            for further in machines[sent.to].step(TokenState(), Received(ZERO, sent.message))[1]
            if isinstance(further, Send)
        ]
    assert depth <= size.bit_length()
    return asked


@pytest.mark.parametrize("size", [2, 3, 4, 5, 16, 33, 100])
def test_all_others_are_asked_once(size: int) -> None:
    """The question reaches every other node once, in log2 N steps."""
    assert reached(size) == Counter(range(1, size))


def test_who_wants_the_token_answers_who_has_it() -> None:
    """An answer is a search that begins at the holder; with searches wanted it may go on from there."""
    waiting = TokenState(stamp=3, requests=1, is_waiting=True)
    _, effects = ring(TWO, finding="push").step(waiting, Received(ZERO, Probe(ZERO, 0)))
    assert effects == (Send(ZERO, Gimme(TWO, 1, 3, 0, 0)),)
    _, effects = ring(TWO, finding="both").step(waiting, Received(ZERO, Probe(ZERO, 0)))
    assert effects == (Send(ZERO, Gimme(TWO, 1, 3, 5, 1)),)
    assert ring(TWO, finding="push").step(TokenState(), ACQUIRE)[1] == ()


def test_who_asks_in_vain_asks_less_often() -> None:
    """Rests grow while nobody answers, up to a limit, and are short again when somebody was served."""
    node = ring(finding="push", max_rest=20)
    state, effects = node.step(TokenState(), Received(NodeId(7), Token(7)))
    assert (effects[0], state.token.rest) == (SetTimer(REST, 6), 12)  # type: ignore[union-attr]
    _, effects = node.step(TokenState(), Received(NodeId(7), Token(7, rest=16)))
    assert effects[0] == SetTimer(REST, 16)
    waiting = TokenState(requests=1, is_waiting=True)
    _, effects = node.step(waiting, Received(NodeId(7), Token(7, rest=16)))
    assert effects[1] == SetTimer(REST, 6)


def test_after_an_answer_the_token_stays_for_the_others() -> None:
    """A long rest is cut to the time that answers take, and the token is lent from there meanwhile, row after row."""
    node = ring(finding="push", max_rest=100)
    state, _ = node.step(TokenState(), Received(NodeId(7), Token(7, rest=100)))
    state, effects = node.step(state, Received(FIVE, Gimme(FIVE, 1, 2, 0, 0)))
    assert (effects[0], effects[1].to) == (SetTimer(REST, 6), FIVE)
    state, effects = node.step(state, Received(THREE, Gimme(THREE, 1, 2, 0, 0)))
    assert effects == ()
    state, (sent,) = node.step(state, Received(FIVE, Token(8, lender=ZERO, is_returned=True)))
    assert sent.to == THREE
    state, effects = node.step(state, TimerFired(REST))
    assert effects == ()
    _, (sent,) = node.step(state, Received(THREE, Token(8, lender=ZERO, is_returned=True)))
    assert sent.to == ONE


def test_while_many_want_the_token_nobody_searches() -> None:
    """With both ways a crowd is noticed by the length of the queue; the token asks round until few answer."""
    node = ring(finding="both", crowd=2)
    traps = (Trap(TWO, 1, TWO), Trap(FOUR, 1, TWO))
    _, (sent,) = node.step(TokenState(traps=traps), Received(NodeId(7), Token(7)))
    assert sent.message.is_crowded
    crowded, _ = node.step(TokenState(), Received(FIVE, question(is_crowded=True)))
    assert node.step(crowded, ACQUIRE)[1] == ()
    calm, _ = node.step(TokenState(), Received(FIVE, question(is_crowded=False)))
    assert len(node.step(calm, ACQUIRE)[1]) == 1
    for grants, is_crowded in ((9, True), (4, False)):
        state, effects = node.step(TokenState(), Received(NodeId(7), Token(7, is_crowded=True, grants=grants, asked=4)))
        probes = [effect.message for effect in effects if isinstance(effect, Send)]
        assert [probe.is_crowded for probe in probes] == [is_crowded] * 2
        assert (state.token.asked, state.token.is_crowded) == (grants, is_crowded)  # type: ignore[union-attr]


def question(*, is_crowded: bool) -> Probe:
    """Make the question of a token that is wanted by many, or no longer."""
    return Probe(FIVE, 0, is_crowded)
