"""The token protocol as it must not be: one known fault each, for the checker to find."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from solvent.protocols.machine import SetTimer
from solvent.protocols.token import node
from solvent.protocols.token.messages import Gimme, Token
from solvent.protocols.token.node import Hop, Now
from solvent_lab.checker.registry import Variants
from solvent_lab.models.token import variant as model
from solvent_lab.variants import variant

if TYPE_CHECKING:
    from solvent.protocols.machine import NodeId

BROKEN = Variants()


@BROKEN.add(model, "binary", 2)
@variant(node, "on_gimme")
def trap_is_token(on_gimme: Any, now: Now, sender: NodeId, gimme: Gimme) -> None:
    """T3: any message is taken for the token, even a search."""
    if now.state.token is None:
        node.on_token(now, Token(visits=gimme.stamp))
    else:
        on_gimme(now, sender, gimme)


@BROKEN.add(model, "binary", 4)
@variant(node, "lend")
def keeps_it(lend: Any, now: Now, to: NodeId, token: Token) -> None:
    """A lender keeps the token."""
    kept = now.state.token
    lend(now, to, token)
    now.state.token = kept


@BROKEN.add(model, "binary", 4)
@variant(node, "hand_on")
def never_returns(_hand_on: Any, now: Now, _token: Token) -> None:
    """A borrower forgets the token, and its lender waits for ever."""
    now.state.token = None


@BROKEN.add(model, "found", 4)
@variant(node, "across")
def strides_from_whole(_across: Any, size: int) -> Hop:
    """T1: a search carries its last distance, N at first, and goes half as far: the second time back where it began."""
    return Hop(size // 2, 0, size)


@BROKEN.add(model, "found", 3)
@variant(node, "across")
def strides_from_half(_across: Any, size: int) -> Hop:
    """T10: it carries N/2 at first; halves are rounded down, which asks the right nodes for powers of two alone."""
    return Hop(size // 2, 0, size // 2)


@strides_from_whole.also(node, "onward")
@strides_from_half.also(node, "onward")
def half_as_far(_onward: Any, behind: int, ahead: int, *, is_ahead: bool) -> Hop | None:
    """Go half as far as the last time."""
    stride = ahead // 2
    return Hop(stride if is_ahead else -stride, behind, stride) if stride else None


@BROKEN.add(model, "found", 3)
@variant(node, "is_token_ahead")
def stamps_alone(_is_token_ahead: Any, _here: NodeId, stamp: int, _requester: NodeId, theirs: int) -> bool:
    """T4: equal stamps count as older, so that a search before the first visit goes the wrong way."""
    return stamp > theirs


@BROKEN.add(model, "rests", 2)
@variant(node, "dispatch")
def rests_for_ever(dispatch: Any, now: Now) -> None:
    """A resting token waits to be found: after one lost search it waits for ever."""
    dispatch(now)
    now.effects[:] = [effect for effect in now.effects if not isinstance(effect, SetTimer)]


BROKEN["served-traps-stay"] = partial(
    model, "no-clean-up", 3, is_lent_in_vain=False, title="T6: the token is lent to a node that was served long ago"
)

__all__ = ["BROKEN", "strides_from_half", "strides_from_whole"]
