"""One node of the ring, event by event."""

from __future__ import annotations

from solvent.protocols.machine import NodeId, Received, Report, Requested
from solvent.protocols.token.messages import Token
from solvent.protocols.token.node import Ring
from solvent.protocols.token.state import TokenConfig, TokenState
from solvent.protocols.token.vocabulary import Acquire, Granted

ZERO, ONE = NodeId(0), NodeId(1)
ACQUIRE = Requested(Acquire())


def test_grants_are_numbered_by_the_token() -> None:
    """Each grant has the next number of the token that gives it, wherever it is given."""
    ring = Ring(TokenConfig(ONE, 3))
    state, _ = ring.step(ring.start()[0], ACQUIRE)
    state, effects = ring.step(state, Received(ZERO, Token(visits=4, grants=6)))
    assert [effect for effect in effects if isinstance(effect, Report)] == [Report(Granted(1, 7))]
    assert effects[-1].message.grants == 7


def test_a_later_life_makes_no_token_and_reuses_no_number() -> None:
    """The first node makes the token in its first life only; requests of a later life have higher numbers."""
    first = Ring(TokenConfig(ZERO, 3))
    assert any(isinstance(getattr(effect, "message", None), Token) for effect in first.start()[1])
    assert first.start((), 2) == (TokenState(requests=2 << 32), ())
    state, _ = first.step(first.start((), 2)[0], ACQUIRE)
    assert (state.requests, state.is_waiting) == ((2 << 32) + 1, True)
