"""What must be true of the token at every moment: functions over all nodes and what is under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.protocols.token.messages import Token

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def there_is_one_token(states: Sequence[Any], messages: Iterable[Any]) -> str | None:
    """It is at one node, or under way once."""
    here = [node for node, state in enumerate(states) if state.token is not None]
    under_way = sum(isinstance(message, Token) for message in messages)
    if len(here) + under_way == 1:
        return None
    return f"{under_way} tokens are under way, and others at nodes {here}"


def who_uses_it_has_it(states: Sequence[Any], _messages: Iterable[Any]) -> str | None:
    """Nobody acts without the token."""
    wrong = [node for node, state in enumerate(states) if state.is_used and state.token is None]
    return f"nodes {wrong} act without it" if wrong else None


def who_borrows_it_waits_for_it(states: Sequence[Any], messages: Iterable[Any]) -> str | None:
    """Where traps of those already served are dropped, the token is not lent in vain."""
    lent = [message.borrower for message in messages if isinstance(message, Token) and not message.is_returned]
    wrong = [node for node in lent if node is not None and not states[node].is_waiting]
    return f"it is lent to nodes {wrong}, which do not want it" if wrong else None


SAFETY = (there_is_one_token, who_uses_it_has_it)
