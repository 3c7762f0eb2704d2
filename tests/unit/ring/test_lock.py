"""Tasks of one process that wait for the lock of a ring."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from solvent.errors import LockLost, Misuse, RingProblem
from solvent.protocols.machine import NodeId
from solvent.protocols.token.group.messages import Confirm, Epoch, Fence, Lock, Unlock
from solvent.ring import lock as locks
from solvent.ring import standstill
from solvent.ring.standstill import Standstill
from tests.loop import in_loop

AGAIN = Unlock(is_again=True)


def _fence(number: int) -> Fence:
    return Fence(Epoch(1, NodeId(2)), number)


class _Desk:
    """A queue, and what it asks of its node."""

    def __init__(self) -> None:
        self.asked = list[Any]()
        self.probes = list[Confirm]()
        self.standstill = Standstill(self.probes.append, 60.0, lambda: True)
        self.queue = locks.Queue(self.asked.append, self.standstill)
        self.done = list[Any]()

    def lock(self, timeout: float | None = None) -> locks.Lock:
        return locks.Lock(self.queue, timeout)

    async def use(self, name: str) -> None:
        async with self.lock() as lock:
            self.done.append((name, lock.fence.number))

    async def grant(self, number: int) -> None:
        self.queue.on_locked(_fence(number))
        await turns()


async def turns() -> None:
    """Let everything happen that can."""
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture(name="desk")
def _desk() -> _Desk:
    return _Desk()


@in_loop
async def test_tasks_get_the_lock_in_the_order_they_came(desk: _Desk) -> None:
    """The node asks once for all that wait, and each gets the lock by a grant of its own."""
    tasks = [asyncio.create_task(desk.use(name)) for name in "abc"]
    await turns()
    assert desk.asked == [Lock()]
    for number in (1, 2, 3):
        await desk.grant(number)
    await asyncio.gather(*tasks)
    assert desk.done == [("a", 1), ("b", 2), ("c", 3)]
    assert desk.asked == [Lock(), AGAIN, AGAIN, Unlock()]


@in_loop
async def test_a_task_that_wants_the_lock_again_says_so_as_it_leaves(desk: _Desk) -> None:
    """Leaving the lock and wanting it again is one request, which the token takes along."""

    async def twice() -> None:
        await desk.use("a")
        await desk.use("a")

    task = asyncio.create_task(twice())
    await turns()
    await desk.grant(1)
    await desk.grant(2)
    await task
    await turns()
    assert desk.asked == [Lock(), AGAIN, Unlock()]


@in_loop
async def test_who_is_cancelled_while_waiting_wants_the_lock_no_longer(desk: _Desk) -> None:
    """The wish of the last one that waits is taken back; that of one among others is not."""
    one, other = (asyncio.create_task(desk.use(name)) for name in "ab")
    await turns()
    one.cancel()
    await turns()
    assert desk.asked == [Lock()]
    other.cancel()
    await turns()
    assert desk.asked == [Lock(), Unlock()]
    assert desk.done == []


@in_loop
async def test_a_lock_that_comes_to_who_was_just_cancelled_goes_on(desk: _Desk) -> None:
    """Cancelled before the grant, though not woken yet: the next one gets it."""
    one, other = (asyncio.create_task(desk.use(name)) for name in "ab")
    await turns()
    one.cancel()
    await desk.grant(1)
    await other
    assert desk.done == [("b", 1)]


@in_loop
async def test_who_is_cancelled_after_the_grant_leaves_the_lock(desk: _Desk) -> None:
    """Granted, and cancelled before it ran: the lock is left, and the block never runs."""
    task = asyncio.create_task(desk.use("a"))
    await turns()
    desk.queue.on_locked(_fence(1))
    task.cancel()
    await turns()
    assert task.cancelled()
    assert desk.done == []
    assert desk.asked == [Lock(), Unlock()]


@in_loop
async def test_a_grant_that_nobody_waits_for_is_left_at_once(desk: _Desk) -> None:
    """Nobody keeps a lock that nobody wants."""
    await desk.grant(1)
    assert desk.asked == [Unlock()]


@in_loop
async def test_a_lost_lock_does_not_hide_another_error(desk: _Desk) -> None:
    """What the block raises is raised, with a note that the lock was lost."""
    task = asyncio.create_task(_lose(desk, ValueError("mine")))
    await turns()
    await desk.grant(1)
    desk.queue.on_lost(_fence(1))
    with pytest.raises(ValueError, match="mine") as raised:
        await task
    assert any("N201" in note for note in raised.value.__notes__)


async def _lose(desk: _Desk, fault: Exception | None) -> None:
    async with desk.lock() as lock:
        while not lock.is_lost:  # noqa: ASYNC110 - a lock has no event for it
            await asyncio.sleep(0)
        if fault is not None:
            raise fault


async def _stand_still(desk: _Desk, monkeypatch: pytest.MonkeyPatch) -> locks.Lock:
    """Give a lock whose process stood still for longer than the patience after it was entered."""
    desk.standstill.start()
    lock = desk.lock()
    task = asyncio.create_task(lock.__aenter__())
    await turns()
    await desk.grant(1)
    await task
    now = standstill._now()
    monkeypatch.setattr(standstill, "_now", lambda: now + 100.0)
    return lock


@in_loop
async def test_a_lock_in_doubt_is_left_when_the_task_is_cancelled(monkeypatch: pytest.MonkeyPatch, desk: _Desk) -> None:
    """Leaving waits for the others after a standstill; a task that is cancelled there gives the lock back."""
    lock = await _stand_still(desk, monkeypatch)
    task = asyncio.create_task(lock.__aexit__(None, None, None))
    await turns()
    task.cancel()
    await turns()
    assert task.cancelled()
    assert desk.asked == [Lock(), Unlock()]


@in_loop
async def test_a_lock_that_is_lost_is_not_confirmed(monkeypatch: pytest.MonkeyPatch, desk: _Desk) -> None:
    """`confirm` raises `LockLost` if the others have gone on, and nothing is given back that is not had."""
    lock = await _stand_still(desk, monkeypatch)
    confirming = asyncio.create_task(lock.confirm())
    await turns()
    desk.queue.on_lost(_fence(1))
    desk.standstill.on_confirmed(desk.probes[-1].number)
    with pytest.raises(LockLost, match="was lost"):
        await confirming
    with pytest.raises(LockLost, match="was lost"):
        await lock.__aexit__(None, None, None)
    await turns()
    assert desk.asked == [Lock()]


@in_loop
async def test_a_ring_that_is_over_wakes_all_that_wait(desk: _Desk) -> None:
    """Whoever waits for the lock, or comes later, hears why it will not come."""
    over = RingProblem("N202", "the ring was left")
    task = asyncio.create_task(desk.use("a"))
    await turns()
    desk.queue.end(over)
    with pytest.raises(RingProblem):
        await task
    with pytest.raises(RingProblem):
        await desk.use("b")


def test_fences_compare() -> None:
    """A later grant has the greater fence, and one of a later epoch a greater one than all before."""
    assert locks.Fence(1, 5, 9) < locks.Fence(1, 5, 10) < locks.Fence(2, 0, 1)


@in_loop
async def test_a_lock_is_entered_once_and_has_a_fence_then(desk: _Desk) -> None:
    """Before it is entered there is no fence; after it was, another is to be taken."""
    lock = desk.lock()
    with pytest.raises(Misuse, match="has not been entered"):
        _ = lock.fence
    with pytest.raises(Misuse, match="has not been entered"):
        await lock.confirm()
    task = asyncio.create_task(lock.__aenter__())
    await turns()
    await desk.grant(7)
    await task
    assert lock.fence == (1, 2, 7)
    with pytest.raises(Misuse, match="entered once"):
        await lock.__aenter__()
