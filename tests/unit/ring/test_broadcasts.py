"""Broadcasts that wait to be safe."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from solvent.errors import RingProblem
from solvent.ring.broadcasts import MAX_BYTES, MAX_COUNT, Said
from tests.loop import in_loop


@pytest.mark.parametrize("size,given", [(1, MAX_COUNT), (MAX_BYTES // 4, 4), (MAX_BYTES, 1)])
@in_loop
async def test_the_node_has_a_few_at_a_time(size: int, given: int) -> None:
    """What it appends at once stays small; one is always allowed."""
    asked = list[Any]()
    said = Said(asked.append)
    tasks = [asyncio.create_task(said.say(b"x" * size)) for _ in range(given + 3)]
    await asyncio.sleep(0)
    assert len(asked) == given
    said.on_safe(0, 0)
    assert len(asked) == given + 1
    for task in tasks:
        task.cancel()


@in_loop
async def test_who_waits_no_longer_takes_nothing_back() -> None:
    """Giving up does not mix up the places of later ones."""
    said = Said(lambda _: None)
    one, other = (asyncio.create_task(said.say(body)) for body in (b"a", b"b"))
    await asyncio.sleep(0)
    one.cancel()
    await asyncio.sleep(0)
    said.on_safe(0, 1)
    said.on_safe(1, 2)
    assert await other == 2


@in_loop
async def test_a_ring_that_is_over_wakes_all_that_wait() -> None:
    """Nobody waits for what will not be safe."""
    said = Said(lambda _: None)
    task = asyncio.create_task(said.say(b"a"))
    await asyncio.sleep(0)
    said.end(RingProblem("N202", "the ring was left"))
    with pytest.raises(RingProblem):
        await task
    with pytest.raises(RingProblem):
        await said.say(b"b")


@in_loop
async def test_what_nobody_can_tell_is_given_up() -> None:
    """Who waits hears that it is not known; that it is heard all the same later changes nothing for the others."""
    said = Said(lambda _: None)
    one = asyncio.create_task(said.say(b"a"))
    await asyncio.sleep(0)
    said.on_doubt(RingProblem("N204", "nobody can tell"))
    with pytest.raises(RingProblem, match="nobody can tell"):
        await one
    other = asyncio.create_task(said.say(b"b"))
    await asyncio.sleep(0)
    said.on_safe(0, 3)
    said.on_safe(1, 4)
    assert await other == 4
