"""What is wrong in one process of a space stays there: its neighbours go on."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from solvent.errors import Misuse, SolventError
from tests.live.shared_processes import MAX_SECONDS, PATIENCE, Scene, until
from tests.loop import in_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Odd(Exception):
    """What a handler of the user's own raises in the middle of a step."""


def break_in(space: Any, handle: Any = None, *, is_now: bool = False) -> None:
    """Have the next step of a process raise something, when a handle was acquired; or another thread make that step."""
    if handle is not None:
        handle.acquire()
    steps = space._node.host._steps
    real = steps.finish

    def broken() -> None:
        steps.finish = real
        raise Odd

    steps.finish = broken
    if is_now:
        thread = threading.Thread(target=space._node.wake)
        thread.start()
        thread.join()


def test_process_whose_part_has_ended_holds_up_nobody(place: Scene) -> None:
    """It lives on, and its neighbours still take it for dead, as far as the space is concerned."""

    def broken(say: Callable[[str], None]) -> None:
        with place.space() as space, space.handle("counter", size=8) as handle:
            handle.acquire()
            say("has it")
            working = space._node.host._working
            # As when a handler of the user's own raises in the middle of a step.
            with working.mutex:
                working.end(RuntimeError("broken"))
            try:
                handle.release()
            except SolventError as error:
                say(error.code)
            time.sleep(10 * MAX_SECONDS)

    with place.space() as space, space.handle("counter", size=8) as handle:
        child = place.start(broken)
        assert child.hear() == "has it"
        assert child.hear() == "S206"
        assert len(handle.acquire(timeout=MAX_SECONDS)) == 8
        handle.release()
        child.kill()


@pytest.mark.parametrize("size", [200.0, True, "9", -1, None])
def test_size_that_is_none_changes_nothing(place: Scene, size: Any) -> None:
    """What would be wrong for everybody is refused before anything is changed."""
    with place.space() as space, space.handle("data", size=100, keep_last=False) as handle:
        handle.acquire()[:4] = b"kept"
        with pytest.raises(Misuse) as caught:
            handle.resize(size)
        assert caught.value.code == "S102"
        assert len(handle.view) == 100
        handle.release()
        assert bytes(handle.acquire()[:4]) == b"kept"
        handle.release()


def test_part_of_a_handle_is_kept_where_something_else_is_said(place: Scene) -> None:
    """A mode, an offset or a length of a claim changes that and nothing else."""
    with place.space() as space, space.handle("data", size=100) as whole:
        whole.acquire()[:] = bytes(range(100))
        whole.release()
        with space.handle("data", offset=10, length=10) as part:
            seen = []
            for claim in ({}, {"mode": "read"}, {"length": 5}, {"offset": 20}):
                seen.append(bytes(part.acquire(**claim)))  # type: ignore[arg-type]
                part.release()
    assert [(one[0], len(one)) for one in seen] == [(10, 10), (10, 10), (10, 5), (20, 10)]


CLAIMS: list[dict[str, Any]] = [{}, {"offset": 10, "length": 10}]


@contextmanager
def locked(place: Scene) -> Iterator[None]:
    """Have somebody who does not ask for the lock write where the claims are."""
    with place.store() as store:
        region = store.region("m")
        assert region is not None
        with region.write(1 << 50, offset=10, length=10) as writing:
            writing.view[0] = 1
            yield
            writing.leave()


@pytest.mark.parametrize("claim", CLAIMS)
@in_loop
async def test_other_coroutines_go_on_while_one_waits_for_locked_memory(place: Scene, claim: dict[str, Any]) -> None:
    """Who acquires what another one of its host has locked waits, and the loop does not: else this would never end."""
    async with place.space(patience=100 * PATIENCE) as space, space.handle("m", size=100) as handle:
        await handle.acquire()
        handle.release()
        with locked(place):
            acquiring = asyncio.create_task(handle.acquire(**claim))
            done, _ = await asyncio.wait([acquiring], timeout=0.1)
            assert not done
        assert len(await acquiring) == claim.get("length", 100)


@pytest.mark.parametrize("claim", CLAIMS)
@in_loop
async def test_who_makes_data_waits_for_who_has_locked_what_was_left(place: Scene, claim: dict[str, Any]) -> None:
    """Memory that an earlier run has left is removed when nobody has it any more; it was an error at once."""
    async with place.space() as space, space.handle("m", size=100) as handle:
        with place.store() as store:
            store.create("m", 50)
            with locked(place):
                acquiring = asyncio.create_task(handle.acquire(**claim))
                done, _ = await asyncio.wait([acquiring], timeout=0.1)
                assert not done
        assert len(await acquiring) == claim.get("length", 100)


@pytest.mark.parametrize("claim", CLAIMS)
@in_loop
async def test_coroutine_that_waits_for_locked_memory_can_be_cancelled(place: Scene, claim: dict[str, Any]) -> None:
    """It does not wait until that is free, as long as that may take."""
    async with place.space(patience=100 * PATIENCE) as space, space.handle("m", size=100) as handle:
        await handle.acquire()
        handle.release()
        with locked(place):
            acquiring = asyncio.create_task(handle.acquire(**claim))
            await asyncio.wait([acquiring], timeout=0.1)
            acquiring.cancel()
            done, _ = await asyncio.wait([acquiring], timeout=MAX_SECONDS)
            assert done
            assert acquiring.cancelled()


@pytest.mark.parametrize("claim", CLAIMS)
def test_ctrl_c_ends_a_wait_for_locked_memory(place: Scene, claim: dict[str, Any]) -> None:
    """It is not put off until that is free, and nothing is claimed any more."""

    def interrupt(handle: Any) -> None:
        until(lambda: handle._cycle is not None and handle._cycle.is_settled)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with place.space(patience=100 * PATIENCE) as space, space.handle("m", size=100) as handle:
        handle.acquire()
        handle.release()
        with locked(place):
            thread = threading.Thread(target=interrupt, args=(handle,))
            thread.start()
            with pytest.raises(KeyboardInterrupt):
                handle.acquire(**claim)
            thread.join()
            assert handle.state == "valid"


def test_error_in_the_step_that_ends_a_handle_is_what_its_user_sees(place: Scene) -> None:
    """That the process takes part no longer is no second error over it."""
    with pytest.raises(Odd), place.space() as space, space.handle("m", size=8) as handle:
        break_in(space, handle)


def test_error_in_the_step_that_leaves_a_space_leaves_nothing_open(place: Scene) -> None:
    """Its memory and its connections are closed all the same."""
    opening = place.space()
    with pytest.raises(Odd), opening as space:
        break_in(space)
    assert not opening._node.is_here
    with pytest.raises(Misuse):
        opening._node.store.names()


def test_error_while_others_wait_is_raised_in_no_thread_of_the_space(
    place: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits to take part is told; what undoes that in the background has nothing to say."""
    unheard = list[Any]()
    monkeypatch.setattr(threading, "excepthook", unheard.append)
    with place.space() as space:
        handle = space.handle("m", size=8)
        waiting = handle._wait

        def broken(is_so: Callable[[], bool], end: float | None) -> None:
            if handle._resource.handles:
                break_in(space, is_now=True)
            waiting(is_so, end)

        handle._wait = broken  # type: ignore[method-assign]
        with pytest.raises(SolventError) as caught:
            handle.create()
    assert caught.value.code == "S206"
    assert isinstance(caught.value.__cause__, Odd)
    for thread in threading.enumerate():
        if thread.name.startswith("solvent-leave"):
            thread.join(MAX_SECONDS)
    assert not unheard


def test_who_held_something_when_its_part_ended_is_told_at_the_end_of_its_block(place: Scene) -> None:
    """What it wrote counts for nothing, and nothing else would have said so."""
    with place.space() as space:
        with pytest.raises(SolventError) as caught, space.handle("m", size=8) as handle:
            break_in(space, handle, is_now=True)
        assert caught.value.code == "S206"
        assert isinstance(caught.value.__cause__, Odd)


def test_who_was_told_that_its_part_ended_is_not_told_again(place: Scene) -> None:
    """Neither at the end of its handle's block nor of the space's."""
    with place.space() as space, space.handle("m", size=8) as handle:
        break_in(space, handle, is_now=True)
        with pytest.raises(SolventError) as caught:
            handle.release()
        assert caught.value.code == "S206"


def test_end_of_a_space_tells_of_what_was_held_without_a_block(place: Scene) -> None:
    """What is still held at the end is released; where that cannot be, it is said."""
    with pytest.raises(SolventError) as caught, place.space() as space:
        break_in(space, space.handle("m", size=8).create(), is_now=True)
    assert caught.value.code == "S206"


def test_who_only_waited_when_its_part_ended_leaves_without_a_word(place: Scene) -> None:
    """It has lost nothing, and wants nothing any more."""
    with place.space() as space, space.handle("m", size=8) as handle:
        handle.request()
        break_in(space, is_now=True)
