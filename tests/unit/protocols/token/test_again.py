"""A node of the ring that releases the token and wants it again."""

from __future__ import annotations

from solvent.protocols.machine import NodeId, Received, Report, Requested, Send
from solvent.protocols.token.messages import Token
from solvent.protocols.token.node import Ring
from solvent.protocols.token.state import TokenConfig, TokenState, Trap
from solvent.protocols.token.vocabulary import Acquire, Granted, Release

ZERO, ONE, TWO = map(NodeId, range(3))
AGAIN = Requested(Release(is_again=True))


def _using(ring: Ring, *traps: Trap) -> TokenState:
    """Give a node that uses the token on a regular visit, and has met some searches since."""
    state, _ = ring.step(TokenState(), Requested(Acquire()))
    state, _ = ring.step(state, Received(ONE, Token(visits=3)))
    for trap in traps:
        state = TokenState(**{**{name: getattr(state, name) for name in state.__struct_fields__}, "traps": (trap,)})
    return state


def test_where_the_token_takes_nothing_along_it_is_searched_for() -> None:
    """As the paper has it, a node releases the token and looks for it again."""
    ring = Ring(TokenConfig(ZERO, 8, is_instant=False, clean_up="none"))
    state, effects = ring.step(_using(ring), AGAIN)
    assert [type(effect.message).__name__ for effect in effects if isinstance(effect, Send)] == ["Token", "Gimme"]
    assert state.is_waiting


def test_the_token_goes_on_all_the_same() -> None:
    """Who wants it again and again has it so often and no more: a search for it may have got lost."""
    ring = Ring(TokenConfig(ZERO, 8, is_instant=False, max_row=3))
    state = _using(ring)
    for number in (2, 3, 4):
        state, effects = ring.step(state, AGAIN)
        assert effects == (Report(Granted(number, number)),)
    state, (on,) = ring.step(state, AGAIN)
    assert (on.to, on.message.queue, state.is_waiting, state.again) == (ONE, ((ZERO, 5),), True, 0)
    _, (back,) = Ring(TokenConfig(ONE, 8, max_row=3)).step(TokenState(), Received(ZERO, on.message))
    assert (back.to, back.message.lender) == (ZERO, ONE)


def test_a_borrower_that_wants_it_again_and_again_gives_it_back() -> None:
    """Its lender sends it on, and from the next node it is lent to the same one again."""
    ring = Ring(TokenConfig(TWO, 8, is_instant=False, max_row=1))
    state, _ = ring.step(TokenState(), Requested(Acquire()))
    state, _ = ring.step(state, Received(ZERO, Token(3, ZERO, TWO, row=5)))
    state, effects = ring.step(state, AGAIN)
    assert effects == (Report(Granted(2, 2)),)
    state, (back,) = ring.step(state, AGAIN)
    assert (back.to, back.message.is_returned, back.message.queue) == (ZERO, True, ((TWO, 3),))
