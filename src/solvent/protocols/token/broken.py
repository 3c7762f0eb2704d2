"""The token protocol as it must not be: one known fault each, for the checker to find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.token.messages import Gimme, Token
from solvent.protocols.token.node import Ring

if TYPE_CHECKING:
    from solvent.protocols.machine import Event
    from solvent.protocols.token.state import TokenState, TokenStep, Trap


class TrapIsToken(Ring):
    """T3: whatever comes is taken for the token, a search too."""

    def step(self, state: TokenState, event: Event) -> TokenStep:
        """Take one event."""
        message = getattr(event, "message", None)
        if isinstance(message, Gimme) and state.token is None:
            return self._visited(state, Token(visits=message.stamp))
        return super().step(state, event)


class KeepsIt(Ring):
    """A lender has the token still."""

    def _lend(self, state: TokenState, token: Token, trap: Trap) -> TokenStep:
        after, effects = super()._lend(state, token, trap)
        return replace(after, token=token), effects


class NeverReturns(Ring):
    """A borrower that is done passes the token on round the ring, and its lender waits for ever."""

    def _dispatch(self, state: TokenState) -> TokenStep:
        if state.token is not None and state.token.lender is not None:
            return replace(state, token=None), ()
        return super()._dispatch(state)
