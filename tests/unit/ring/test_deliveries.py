"""Listeners to the messages of a ring."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from solvent.errors import Misuse, RingProblem
from solvent.ring.deliveries import Heard, RingMessage
from tests.loop import in_loop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


def _filled(count: int, kept: int = 100) -> Heard:
    heard = Heard(kept)
    for number in range(count):
        heard.add(RingMessage(2 * number, 0, number))
    return heard


async def _all(messages: AsyncIterator[RingMessage]) -> list[Any]:
    return [message.data async for message in messages]


def _listened(heard: Heard, after: int | None = None) -> list[Any]:
    heard.end(None)
    return asyncio.run(_all(heard.listen(after)))


def test_what_is_not_kept_any_more_cannot_be_asked_for() -> None:
    """Nobody misses messages without knowing."""
    heard = _filled(5, kept=2)
    assert _listened(heard, 4) == [3, 4]
    with pytest.raises(Misuse) as refused:
        asyncio.run(_all(heard.listen(3)))
    assert refused.value.code == "P343"


@in_loop
async def test_several_listeners_hear_the_same_at_their_own_pace() -> None:
    """Who comes later and who is slow miss nothing; all end with the ring."""
    heard = Heard(1)
    first = asyncio.create_task(_all(heard.listen(None)))
    slow = heard.listen(None)
    for number in range(4):
        heard.add(RingMessage(number, 0, number))
        await asyncio.sleep(0)
    heard.end(None)
    assert await first == [0, 1, 2, 3]
    # It had not begun when messages were forgotten.
    assert await _all(slow) == [3]


@in_loop
async def test_one_that_stops_listening_does_not_stop_others() -> None:
    """A cancelled listener takes nobody with it."""
    heard = Heard(10)
    one, other = (asyncio.create_task(_all(heard.listen(None))) for _ in range(2))
    await asyncio.sleep(0)
    one.cancel()
    await asyncio.sleep(0)
    heard.add(RingMessage(0, 0, "a"))
    heard.end(None)
    assert await other == ["a"]


@in_loop
async def test_a_fault_ends_listening() -> None:
    """Listeners hear what there was, and then why there is no more."""
    heard = _filled(1)
    heard.end(RingProblem("N205", "the node failed"))
    messages = heard.listen(None)
    assert (await anext(messages)).data == 0
    with pytest.raises(RingProblem):
        await anext(messages)


def test_the_place_is_that_of_the_last_message() -> None:
    """Before the first it is -1."""
    assert Heard(3).place == -1
    assert _filled(3).place == 4
