"""Rings on TCP, all nodes in this process: what users do with them, and what they do wrong."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from solvent.errors import Misuse, NodeProblem, RingProblem
from tests.live.networks import until
from tests.live.ring_members import free_places
from tests.loop import in_loop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from solvent.ring import Ring

PATIENCE = 0.5


@asynccontextmanager
async def rings(count: int, **options: Any) -> AsyncIterator[list[Ring]]:
    """Open a ring of so many first members."""
    places = options.pop("peers", None) or free_places(count)
    async with AsyncExitStack() as stack:
        options = {"patience": PATIENCE, **options}
        nodes = [solvent.ring.join(node=node, peers=places, **options) for node in range(count)]
        await asyncio.gather(*[stack.enter_async_context(node) for node in nodes])
        yield nodes


async def heard(ring: Ring, count: int, after: int | None = None) -> list[tuple[int, int, Any]]:
    """Wait for so many messages."""
    found = []
    async for message in ring.messages(after=after):
        found.append((message.place, message.origin, message.data))
        if len(found) == count:
            break
    return found


@in_loop
async def test_all_hear_the_same_and_one_has_the_lock() -> None:
    """Whatever many tasks of many nodes do at once, the lock is one and the order is one."""
    inside = 0
    fences = []

    async def use(ring: Ring, name: str) -> None:
        nonlocal inside
        for number in range(5):
            async with ring.lock() as lock:
                inside += 1
                assert inside == 1
                await asyncio.sleep(0)
                await lock.confirm()
                fences.append(lock.fence)
                inside -= 1
            place = await ring.broadcast([name, number])
            assert place <= ring.place

    # Nobody is missed here, however busy the machine is.
    async with rings(4, patience=60.0) as nodes:
        await asyncio.gather(*[use(ring, f"{ring.node}{task}") for ring in nodes for task in "abc"])
        everything = await asyncio.gather(*[heard(ring, 60) for ring in nodes])
        assert all(one == everything[0] for one in everything)
        said = [data for _, _, data in everything[0]]
        for name in {name for name, _ in said}:
            assert [number for one, number in said if one == name] == [0, 1, 2, 3, 4]
    assert fences == sorted(set(fences))
    assert len(fences) == 60


@in_loop
async def test_what_is_looked_at() -> None:
    """A node knows its number, its address, the members and where the token is or went."""
    async with rings(2) as (one, other):
        assert (one.node, other.node) == (0, 1)
        assert one.members == other.members == {0: one.address, 1: other.address}
        async with other.lock():
            status = other.status()
            assert (status.has_token, status.holder, status.ring) == (True, 1, (0, 1))
        assert one.status().epoch == 0
        await one.broadcast("hello")
        assert one.place == one.status().place == 0
        assert one.counters.messages_sent > 0


@in_loop
async def test_listeners_begin_where_they_want() -> None:
    """From the beginning, from now, or after a place; messages end with the ring."""
    async with rings(2) as (one, other):
        for number in range(3):
            await one.broadcast(number)
        now = asyncio.create_task(heard(one, 1, after=one.place))
        await asyncio.sleep(0)
        place = await other.broadcast("new")
        assert await now == [(place, 1, "new")]
        assert [data for _, _, data in await heard(other, 4)] == [0, 1, 2, "new"]
        assert [data for _, _, data in await heard(other, 2, after=1)] == [2, "new"]
        rest = asyncio.create_task(heard(one, 99))
        await asyncio.sleep(0)
    assert len(await rest) == 4


@in_loop
async def test_a_lock_with_a_timeout_and_one_that_is_cancelled() -> None:
    """Who gives up waiting does not get the lock later, and others do."""
    async with rings(2) as (one, other):
        async with one.lock():
            with pytest.raises(TimeoutError):
                async with other.lock(timeout=0.02):
                    raise AssertionError
            waiting = asyncio.create_task(other.lock().__aenter__())
            await asyncio.sleep(0.02)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        async with asyncio.timeout(200):
            async with one.lock():
                pass
            async with other.lock():
                pass


@in_loop
async def test_a_task_that_never_waits_lets_others_have_the_lock() -> None:
    """Even who takes the lock again and again without a pause hears that others want it."""
    async with rings(2) as (one, other):
        is_over = False

        async def greedy() -> int:
            count = 0
            while not is_over:
                async with one.lock():
                    count += 1
            return count

        task = asyncio.create_task(greedy())
        async with asyncio.timeout(200):
            for _ in range(3):
                async with other.lock():
                    pass
        is_over = True
        assert await task > 0


@in_loop
async def test_nodes_come_and_go() -> None:
    """A newcomer knows one address; all learn where it is. Who leaves is gone; who is dead is removed."""
    async with rings(2) as (one, other):
        await one.broadcast("before")
        async with solvent.ring.join(join=one.address, patience=PATIENCE) as new:
            assert set(other.members) == {0, 1, new.node}
            assert other.members[new.node] == new.address
            assert new.members == one.members
            async with new.lock() as lock:
                await lock.confirm()
                assert lock.fence[0] >= 1
            place = await new.broadcast("I am new")
            assert (await heard(other, 1, after=place - 1)) == [(place, new.node, "I am new")]
            # Through another one than the one it knew.
            async with solvent.ring.join(node=9, join=["127.0.0.1:1", new.address], patience=PATIENCE) as newest:
                await newest.broadcast("I too")
                await newest.leave()
            with pytest.raises(RingProblem) as over:
                await newest.broadcast("gone")
            assert over.value.code == "N202"
        await until(lambda: set(one.members) == {0, 1})
        with pytest.raises(Misuse, match="no member"):
            await one.remove(9)
        with pytest.raises(Misuse, match="leave"):
            await one.remove(0)


@in_loop
async def test_a_dead_member_is_removed() -> None:
    """Two of four go without a word; when one has been removed, the others can lose another."""
    async with rings(4) as (one, other, third, fourth):
        await fourth._node.close()
        await one.remove(3)
        assert set(one.members) == {0, 1, 2}
        await third._node.close()
        assert await other.broadcast("two of three are most") > 0


@in_loop
async def test_a_restart_from_a_journal_tells_everything_again(tmp_path: Path) -> None:
    """A node that is started again with its journal is the same member, and hears all messages from the first."""
    places = free_places(2)
    options: dict[str, Any] = {"peers": places, "patience": PATIENCE, "journal": tmp_path}
    async with rings(2, peers=places, journal=tmp_path) as (one, other):
        await other.broadcast("a")
        await other._node.close()
        async with solvent.ring.join(node=1, **options) as again:
            await one.broadcast("b")
            assert [data for _, _, data in await heard(again, 2)] == ["a", "b"]
            async with again.lock():
                pass
            assert set(again.members) == {0, 1}
            # A newcomer does not know that its contact has come back, nor the contact where the newcomer is.
            async with solvent.ring.join(join=again.address, patience=PATIENCE) as new:
                assert (await heard(new, 2))[1][2] == "b"
    async with rings(2, peers=places, journal=tmp_path) as (one, other):
        await other.broadcast("c")
        assert [data for _, _, data in await heard(one, 3)] == ["a", "b", "c"]


@in_loop
async def test_a_node_may_come_back_elsewhere(tmp_path: Path) -> None:
    """The others find it where it says that it is, though they were told otherwise."""
    places = free_places(3)
    async with rings(3, peers=places, journal=tmp_path) as (one, other, _):
        await other.broadcast("here")
        await other._node.close()
        moved = {**places, 1: free_places(1)[0]}
        async with solvent.ring.join(node=1, peers=moved, patience=PATIENCE, journal=tmp_path) as again:
            await again.broadcast("there")
            async with again.lock():
                pass
            await one.broadcast("heard")
            assert [data for _, _, data in await heard(again, 3)] == ["here", "there", "heard"]


@in_loop
async def test_a_node_that_forgot_what_it_was_is_refused(tmp_path: Path) -> None:
    """Started again without the journal it had, or without ever having had one, it would make a second token."""
    places = free_places(3)
    async with rings(3, peers=places, journal=tmp_path) as (_, other, __):
        await other.broadcast("a")
        await other._node.close()
        with pytest.raises(RingProblem) as refused:
            async with solvent.ring.join(node=1, peers=places, patience=PATIENCE):
                raise AssertionError
        assert refused.value.code == "N203"
        # It can come back as what it was.
        async with solvent.ring.join(node=1, peers=places, patience=PATIENCE, journal=tmp_path) as again:
            await again.broadcast("b")


@pytest.mark.parametrize("change", [{"secret": "another"}, {"secret": False}, {"name": "another"}])
@in_loop
async def test_strangers_are_refused(change: dict[str, str]) -> None:
    """Who does not know the name and the secret of a ring does not get in, and hears why."""
    options = {"secret": "ours", "name": "the ring"}
    async with rings(2, **options) as (one, _):
        with pytest.raises(NodeProblem) as refused:
            async with solvent.ring.join(join=one.address, **{**options, **change}):
                raise AssertionError
        assert refused.value.code == "N132"
        async with solvent.ring.join(join=one.address, patience=PATIENCE, **options) as new:
            await new.broadcast("welcome")


@in_loop
async def test_who_has_the_lock_does_not_leave() -> None:
    """It would wait for itself."""
    async with solvent.ring.join() as ring:
        async with ring.lock():
            with pytest.raises(Misuse, match="this node has the lock"):
                await ring.leave()
        await ring.leave()


@in_loop
async def test_who_is_cancelled_while_leaving_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Ctrl-C does: the node must not go on without anybody who could end it."""
    ring, is_leaving = solvent.ring.join(), asyncio.Event()

    async def leave() -> None:
        is_leaving.set()
        await asyncio.Event().wait()

    async def use() -> None:
        async with ring:
            monkeypatch.setattr(ring, "_leave", leave)

    using = asyncio.create_task(use())
    await is_leaving.wait()
    using.cancel()
    with pytest.raises(asyncio.CancelledError):
        await using
    assert ring._node.is_closed


@in_loop
async def test_a_ring_of_one_is_never_tired() -> None:
    """Two tasks take turns for as long as they like."""
    async with solvent.ring.join() as ring:

        async def lock_often() -> None:
            for _ in range(150):
                async with ring.lock():
                    pass

        await asyncio.gather(lock_often(), lock_often())


@in_loop
async def test_a_task_that_broadcasts_in_a_loop_lets_others_run() -> None:
    """Also where nobody else is needed for it."""
    async with solvent.ring.join() as ring:
        listening = asyncio.create_task(heard(ring, 3))
        while not listening.done():
            await ring.broadcast("again")
        assert [data for _, _, data in await listening] == ["again"] * 3


def test_a_first_member_is_among_the_peers() -> None:
    """Otherwise the others would not count it, and it would."""
    with pytest.raises(Misuse, match="node 5 is not among the first members"):
        solvent.ring.join(node=5, peers={0: "127.0.0.1:7000", 1: "127.0.0.1:7001"})


@in_loop
async def test_a_contact_that_is_not_there_is_an_error() -> None:
    """Whoever joins needs somebody to join."""
    with pytest.raises(NodeProblem) as nobody:
        async with solvent.ring.join(join=free_places(1)[0]):
            raise AssertionError
    assert nobody.value.code == "N130"


@in_loop
async def test_misuse_is_told() -> None:
    """A ring is entered before it is used, and once."""
    ring = solvent.ring.join()
    with pytest.raises(Misuse, match="not been entered"):
        await ring.broadcast("early")
    with pytest.raises(Misuse, match="not been entered"):
        ring.lock()
    with pytest.raises(Misuse, match="not been entered"):
        _ = ring.members
    async with ring:
        with pytest.raises(Misuse, match="cannot be broadcast"):
            await ring.broadcast(object())
        with pytest.raises(Misuse, match="entered once"):
            await ring.__aenter__()
        assert await ring.broadcast("alone") == 0
    with pytest.raises(RingProblem):
        await ring.broadcast("late")
    with pytest.raises(RingProblem):
        async with ring.lock():
            raise AssertionError


@in_loop
async def test_first_members_wait_for_enough_of_them() -> None:
    """Of three, two do nothing at first: one of them may have forgotten what it was, and the third may know it."""
    places = free_places(3)
    nodes = [solvent.ring.join(node=node, peers=places, patience=0.1) for node in range(3)]
    entering = [asyncio.create_task(node.__aenter__()) for node in nodes[:2]]
    await asyncio.sleep(0.2)
    assert not any(task.done() for task in entering)
    async with nodes[2] as other:
        await asyncio.gather(*entering)
        assert await other.broadcast("we are enough") == 0
        for node in nodes[:2]:
            await node.__aexit__(None, None, None)
