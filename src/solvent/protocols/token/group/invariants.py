"""What must be true of a group at every moment: functions over the states of all nodes and what is under way.

States of nodes that are down are None.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

from solvent.protocols.token.group.messages import Passed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from solvent.protocols.token.group.log import Log
    from solvent.protocols.token.group.messages import Epoch


_FEW = 8


def no_epoch_has_two_tokens(states: Sequence[Any], messages: Iterable[Any]) -> str | None:
    """A token is at one node, or under way once."""
    seen: Counter[Epoch] = Counter(message.epoch for message in messages if isinstance(message, Passed))
    for state in _up(states):
        if state.inner is not None and state.inner.token is not None:
            seen[state.epoch] += 1
        if state.early is not None:
            seen[state.early[1].epoch] += 1
    for epoch, times in seen.items():
        if times > 1:
            return f"there are {times} tokens of epoch {epoch.number} of node {epoch.node}"
    return None


def who_acts_has_the_token(states: Sequence[Any], _messages: Iterable[Any]) -> str | None:
    """Nobody has the lock or writes without the token, but who begins an epoch and makes it."""
    for node, state in enumerate(states):
        if state is None or (state.fence is None and state.granted is None and not state.is_appending):
            continue
        if not state.is_beginning and (state.inner is None or state.inner.token is None):
            return f"node {node} acts without it"
    return None


def no_older_epoch_is_heeded(states: Sequence[Any], _messages: Iterable[Any]) -> str | None:
    """Who takes part in a ring has promised nothing newer."""
    for node, state in enumerate(states):
        if state is not None and state.inner is not None and state.epoch != state.promised:
            return f"node {node} is in the ring of {state.epoch} and has promised {state.promised}"
    return None


def equal_epochs_mean_equal_lines(states: Sequence[Any], _messages: Iterable[Any]) -> str | None:
    """If two logs have lines of one epoch at one place, they are the same up to there."""
    up = _up(states)
    # Of many nodes only neighbours are compared, lest it takes too long.
    for one, other in combinations(up, 2) if len(up) <= _FEW else pairwise(up):
        wrong = _differ(one.log, other.log, min(one.log.length, other.log.length))
        if wrong is not None:
            return wrong
    return None


def what_is_safe_is_the_same_everywhere(states: Sequence[Any], _messages: Iterable[Any]) -> str | None:
    """Of any two nodes one's safe lines begin with the other's."""
    up = _up(states)
    if not up:
        return None
    longest = max(up, key=lambda state: state.committed)
    for state in up:
        first = max(state.log.base, longest.log.base)
        for place in range(first, state.committed):
            if state.log.lines[place] != longest.log.lines[place]:
                return f"line {place} is safe, and there are two of it"
    return None


def _up(states: Sequence[Any]) -> list[Any]:
    return [state for state in states if state is not None]


def _differ(one: Log, other: Log, end: int) -> str | None:
    is_below_equal = False
    for place in range(end - 1, max(one.base, other.base) - 1, -1):
        mine, theirs = one.lines[place], other.lines[place]
        if mine == theirs:
            is_below_equal = True
        elif is_below_equal or mine.epoch == theirs.epoch:
            return f"line {place} differs below or at a place where epochs are equal"
    return None


SAFETY = (
    no_epoch_has_two_tokens,
    who_acts_has_the_token,
    no_older_epoch_is_heeded,
    equal_epochs_mean_equal_lines,
    what_is_safe_is_the_same_everywhere,
)


class Order:
    """The common order, put together of what everybody hears; for one run, by whoever watches all nodes."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, Any]] = []
        self._next: dict[tuple[int, int], int] = {}

    def heard(self, node: int, life: int, place: int, what: Any) -> str | None:
        """Take what a node delivered at a place; tell what is wrong with it.

        Each hears the same as the others, in the same order and without a gap; who came later begins later.
        """
        at = self._next.get((node, life))
        if at is None:
            at = bisect_left(self.lines, place, key=lambda line: line[0])
        if at == len(self.lines):
            if self.lines and place <= self.lines[-1][0]:
                return f"node {node} hears {what!r} at place {place}, and others went past it"
            self.lines.append((place, what))
        elif self.lines[at] != (place, what):
            return f"node {node} hears {what!r} at place {place}, and others {self.lines[at]}"
        self._next[(node, life)] = at + 1
        return None


__all__ = ["SAFETY", "Order"]
