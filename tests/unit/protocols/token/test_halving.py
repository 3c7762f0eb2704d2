"""Searches by halving: whom they ask, and how many."""

from __future__ import annotations

from functools import cache
from math import ceil, log2
from typing import TYPE_CHECKING

import pytest

from solvent.protocols.machine import Configured, NodeId, Received, Requested, Send
from solvent.protocols.token.messages import Acquire, Gimme, Token
from solvent.protocols.token.node import Ring, TokenConfig, TokenState, ring_node
from solvent_lab.broken.token import strides_from_half, strides_from_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent_lab.variants import Variant


def stamps(size: int, place: int, *, has_been_round: bool) -> list[int]:
    """Give the stamps when the token rests at a place: after whole rounds, or in its first."""
    if has_been_round:
        return [10 * size - (place - node) % size for node in range(size)]
    return [node if node <= place else -1 for node in range(size)]


@cache
def machines_of(size: int) -> list[Configured[Ring, TokenState]]:
    """Make the nodes of a ring."""
    return [ring_node(TokenConfig(NodeId(node), size, max_rest=1)) for node in range(size)]


def search(seen: Sequence[int], place: int, requester: int) -> int | None:
    """Search for a token that rests: after how many messages it is lent, or None if it is not found."""
    size = len(seen)
    machines = machines_of(size)
    states = {place: TokenState(stamp=seen[place], token=Token(visits=seen[place]), rest=1)}
    _, effects = machines[requester].step(TokenState(stamp=seen[requester]), Requested(Acquire()))
    sender = NodeId(requester)
    for count in range(1, 2 * size):
        (sent,) = [effect for effect in effects if isinstance(effect, Send)]
        state = states.get(sent.to) or TokenState(stamp=seen[sent.to])
        _, effects = machines[sent.to].step(state, Received(sender, sent.message))
        sends = [effect for effect in effects if isinstance(effect, Send)]
        if not sends:
            return None
        if isinstance(sends[0].message, Token):
            assert sends[0].to == requester
            return count
        assert isinstance(sends[0].message, Gimme)
        sender = sent.to
    raise AssertionError("it goes on for ever")


@pytest.mark.parametrize("has_been_round", [True, False])
def test_a_search_finds_a_token_that_rests_in_rings_of_any_size(has_been_round: bool) -> None:  # noqa: FBT001
    """From everywhere, wherever it rests, after whole rounds or in the first, by log2 N messages, rounded up (T10)."""
    for size in (*range(2, 18), 31, 32, 33):
        most = 0
        for place in range(size):
            seen = stamps(size, place, has_been_round=has_been_round)
            for requester in set(range(size)) - {place}:
                found = search(seen, place, requester)
                assert found is not None
                most = max(most, found)
        assert most == ceil(log2(size))


def missed(variant: Variant, size: int) -> int:
    """Count from where, and for which places of the token, a search misses it."""
    with variant.applied():
        return sum(
            search(stamps(size, place, has_been_round=True), place, requester) is None
            for place in range(size)
            for requester in set(range(size)) - {place}
        )


def test_halved_distances_find_it_in_powers_of_two_only() -> None:
    """Half of N and half of that, rounded down, miss the token in all other rings; from N on, in all of more than 3."""
    assert {size for size in range(2, 20) if not missed(strides_from_half, size)} == {2, 4, 8, 16}
    assert {size for size in range(2, 20) if not missed(strides_from_whole, size)} == {2, 3}
