"""The token protocol as it must not be: one known fault each, for the checker to find."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.machine import SetTimer
from solvent.protocols.token.halving import Hop
from solvent.protocols.token.messages import Gimme, Token
from solvent.protocols.token.node import Ring
from solvent_lab.checker.registry import Variants
from solvent_lab.models.token import variant

if TYPE_CHECKING:
    from solvent.protocols.machine import Event, NodeId
    from solvent.protocols.token.state import TokenState, TokenStep

BROKEN = Variants()


@BROKEN.add(variant, "binary", 2)
class TrapIsToken(Ring):
    """T3: any message is taken for the token, even a search."""

    def step(self, state: TokenState, event: Event) -> TokenStep:
        message = getattr(event, "message", None)
        if isinstance(message, Gimme) and state.token is None:
            return self._visited(state, Token(visits=message.stamp))
        return super().step(state, event)


@BROKEN.add(variant, "binary", 4)
class KeepsIt(Ring):
    """A lender keeps the token."""

    def _lent(self, state: TokenState, to: NodeId, token: Token) -> TokenStep:
        after, effects = super()._lent(state, to, token)
        return replace(after, token=state.token), effects


@BROKEN.add(variant, "binary", 4)
class NeverReturns(Ring):
    """A borrower forgets the token, and its lender waits for ever."""

    def _on_borrowed(self, state: TokenState, _token: Token) -> TokenStep:
        return replace(state, token=None), ()


@BROKEN.add(variant, "found", 4)
class StridesFromWhole(Ring):
    """T1: a search carries its last distance, N at first, and goes half as far: the second time back where it began."""

    def _first_hop(self) -> Hop:
        return Hop(self.config.size // 2, 0, self.config.size)

    def _hop(self, behind: int, ahead: int, *, is_ahead: bool) -> Hop | None:
        stride = ahead // 2
        return Hop(stride if is_ahead else -stride, behind, stride) if stride else None


@BROKEN.add(variant, "found", 3)
class StridesFromHalf(StridesFromWhole):
    """T10: it carries N/2 at first; halves are rounded down, which asks the right nodes for powers of two alone."""

    def _first_hop(self) -> Hop:
        return Hop(self.config.size // 2, 0, self.config.size // 2)


@BROKEN.add(variant, "found", 3)
class StampsAlone(Ring):
    """T4: equal stamps count as older, so that a search before the first visit goes the wrong way."""

    def _is_ahead(self, here: NodeId, stamp: int, requester: NodeId, theirs: int) -> bool:
        del here, requester
        return stamp > theirs


@BROKEN.add(variant, "rests", 2)
class RestsForEver(Ring):
    """A resting token waits to be found: after one lost search it waits for ever."""

    def _dispatch(self, state: TokenState) -> TokenStep:
        after, effects = super()._dispatch(state)
        return after, tuple(effect for effect in effects if not isinstance(effect, SetTimer))


BROKEN["served-traps-stay"] = partial(
    variant, "no-clean-up", 3, is_lent_in_vain=False, title="T6: the token is lent to a node that was served long ago"
)

__all__ = ["BROKEN", "StridesFromHalf", "StridesFromWhole"]
