"""One node of the ring, event by event, also one that wants the token again."""

from __future__ import annotations

from collections import Counter

import pytest

from solvent.protocols.machine import (
    CancelTimer,
    Configured,
    NodeId,
    Received,
    Report,
    Requested,
    Send,
    SetTimer,
    TimerFired,
)
from solvent.protocols.token.messages import Acquire, Gimme, Granted, Moved, Release, Token
from solvent.protocols.token.node import AGAIN, REST, Ring, TokenConfig, TokenState, Trap, ring_node

ZERO, ONE, TWO, _, FOUR = map(NodeId, range(5))
ACQUIRE, RELEASE = Requested(Acquire()), Requested(Release())


def ring(node: NodeId = ZERO, size: int = 8, **how: object) -> Configured[Ring, TokenState]:
    """Make one node."""
    return ring_node(TokenConfig(node, size, **how))  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------------------- numbers and lives


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


def test_a_user_that_takes_time_releases() -> None:
    """Where use takes time the token stays until it is released; moves are told if wanted."""
    node = ring_node(TokenConfig(ZERO, 3, is_instant=False), tells_moves=True)
    state, effects = node.step(TokenState(requests=1, is_waiting=True), Received(TWO, Token(2)))
    assert (state.is_used, effects) == (True, (Report(Granted(1, 1)),))
    assert node.step(state, ACQUIRE) == (state, ())
    state, effects = node.step(state, RELEASE)
    assert (state.is_used, effects[0]) == (False, Report(Moved(ONE, "round")))
    assert node.step(state, RELEASE) == (state, ())


# ------------------------------------------------------------------------------------------------------- searching


def test_who_still_waits_searches_again() -> None:
    """A search that got lost is repeated after a while; a grant ends that."""
    node = ring(again=30)
    state, effects = node.step(TokenState(stamp=3), ACQUIRE)
    assert effects == (Send(FOUR, Gimme(ZERO, 1, 3, 3, 3)), SetTimer(AGAIN, 30))
    assert node.step(state, TimerFired(AGAIN)) == (state, effects)
    state, effects = node.step(state, Received(NodeId(7), Token(7)))
    assert effects[:2] == (CancelTimer(AGAIN), Report(Granted(1, 1)))
    assert node.step(state, TimerFired(AGAIN)) == (state, ())


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


RELEASED = Requested(Release(is_again=True))


def _using(ring: Configured[Ring, TokenState], *traps: Trap) -> TokenState:
    """Give a node that uses the token on a regular visit, and has met some searches since."""
    state, _ = ring.step(TokenState(), Requested(Acquire()))
    state, _ = ring.step(state, Received(ONE, Token(visits=3)))
    for trap in traps:
        state = TokenState(**{**{name: getattr(state, name) for name in state.__struct_fields__}, "traps": (trap,)})
    return state


def test_where_the_token_takes_nothing_along_it_is_searched_for() -> None:
    """As the paper has it, a node releases the token and looks for it again."""
    ring = ring_node(TokenConfig(ZERO, 8, is_instant=False, clean_up="none"))
    state, effects = ring.step(_using(ring), RELEASED)
    assert [type(effect.message).__name__ for effect in effects if isinstance(effect, Send)] == ["Token", "Gimme"]
    assert state.is_waiting


def test_the_token_goes_on_all_the_same() -> None:
    """Who wants it again and again has it so often and no more: a search for it may have got lost."""
    ring = ring_node(TokenConfig(ZERO, 8, is_instant=False, max_row=3))
    state = _using(ring)
    for number in (2, 3, 4):
        state, effects = ring.step(state, RELEASED)
        assert effects == (Report(Granted(number, number)),)
    state, (on,) = ring.step(state, RELEASED)
    assert (on.to, on.message.queue, state.is_waiting, state.again) == (ONE, ((ZERO, 5),), True, 0)
    _, (back,) = ring_node(TokenConfig(ONE, 8, max_row=3)).step(TokenState(), Received(ZERO, on.message))
    assert (back.to, back.message.lender) == (ZERO, ONE)


def test_a_borrower_that_wants_it_again_and_again_gives_it_back() -> None:
    """Its lender sends it on, and from the next node it is lent to the same one again."""
    ring = ring_node(TokenConfig(TWO, 8, is_instant=False, max_row=1))
    state, _ = ring.step(TokenState(), Requested(Acquire()))
    state, _ = ring.step(state, Received(ZERO, Token(3, ZERO, TWO, row=5)))
    state, effects = ring.step(state, RELEASED)
    assert effects == (Report(Granted(2, 2)),)
    state, (back,) = ring.step(state, RELEASED)
    assert (back.to, back.message.is_returned, back.message.queue) == (ZERO, True, ((TWO, 3),))
