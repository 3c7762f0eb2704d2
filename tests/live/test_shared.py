"""Spaces of real processes on one host: data that goes from hand to hand, and calls in every order."""

from __future__ import annotations

import asyncio
import os
import resource
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from solvent.errors import DataProblem, Misuse
from solvent.handover import HandleState
from tests.live.shared_processes import MAX_SECONDS, Scene, count, counted, until

if TYPE_CHECKING:
    from collections.abc import Callable

PROCESSES = 8
CYCLES = 25


def test_eight_processes_count_exactly(place: Scene) -> None:
    """Processes that begin at the same time meet, and each finds what the one before left."""

    def work(_: Callable[[str], None]) -> None:
        with place.space() as space, space.handle("counter", size=8) as handle:
            count(handle, CYCLES)
            until(lambda: counted(handle) == PROCESSES * CYCLES)

    for child in [place.start(work) for _ in range(PROCESSES)]:
        child.end()


def test_the_founder_leaves_and_the_data_stays(place: Scene) -> None:
    """The first process may leave like any other."""

    def found(say: Callable[[str], None]) -> None:
        with place.space() as space, space.handle("m", initial=b"from the founder") as handle:
            handle.acquire()
            handle.release()
            say("done")
            until(lambda: len(space.members) == 2)

    child = place.start(found)
    assert child.hear() == "done"
    with place.space() as space, space.handle("m") as handle:
        child.end()
        until(lambda: len(space.members) == 1)
        assert bytes(handle.acquire(timeout=MAX_SECONDS)) == b"from the founder"


def test_the_last_process_takes_the_data_along_unless_it_is_to_be_kept(place: Scene) -> None:
    """Without a process there is no data, but for who says `keep`."""
    for keep, found in ((False, 0), (False, 0), (True, 0), (True, 1), (True, 2)):
        with place.space(keep=keep) as space, space.handle("counter", size=8) as handle:
            assert counted(handle) == found
            count(handle)


def test_an_array_is_mapped_and_read_only_after_the_release(place: Scene) -> None:
    """Who gets it next sees the numbers without being told the type; who had it cannot change it any more."""
    with place.space() as space, space.handle("grid", initial=np.arange(12.0).reshape(3, 4)) as handle:
        handle.acquire()
        mine = handle.array
        mine[1] *= 10
        handle.release()
        with pytest.raises(ValueError, match="read-only"):
            mine[0, 0] = 1
        with space.handle("grid") as other:
            other.acquire("read")
            assert other.array.tolist() == [[0, 1, 2, 3], [40, 50, 60, 70], [8, 9, 10, 11]]
            assert not other.array.flags.writeable
            other.acquire("read", offset=32, length=32)
            assert other.array.tolist() == [[40, 50, 60, 70]]
            other.acquire("write", offset=8, length=16)
            other.array[:] = 7
            other.release()
        handle.acquire()
        assert handle.array[0].tolist() == [0, 7, 7, 3]
        handle.acquire("write", offset=3, length=16)
        with pytest.raises(Misuse):
            _ = handle.array


def test_type_and_shape_are_those_of_who_made_it(place: Scene) -> None:
    """Who says another type gets an error and nothing is changed by it; a change of the size counts for all."""
    with place.space() as space, space.handle("grid", initial=np.arange(4.0)) as handle, space.handle("grid") as other:
        handle.acquire()
        handle.release()
        with space.handle("grid", array=((4,), "i8")) as third, pytest.raises(Misuse) as caught:
            third.acquire(timeout=MAX_SECONDS)
        assert (caught.value.code, "<f8" in caught.value.message, "<i8" in caught.value.message) == ("S105", True, True)
        other.acquire(timeout=MAX_SECONDS)
        assert other.array.tolist() == [0, 1, 2, 3]
        other.resize(48)
        other.array[4:] = 7
        other.release()
        handle.acquire(timeout=MAX_SECONDS)
        assert handle.array.tolist() == [0, 1, 2, 3, 7, 7]
        handle.release()
    with place.space() as space, space.handle("m", size=24) as handle, space.handle("m") as other:
        handle.acquire()
        handle.release()
        with space.handle("m", array=(3, float)) as third:
            third.acquire()
            third.array[:] = 1
            third.release()
        other.acquire()
        with pytest.raises(Misuse) as caught:
            _ = other.array
        assert caught.value.code == "D104"


def test_a_file_is_handed_over_in_place(place: Scene, tmp_path: Path) -> None:
    """What is written is in the file, also when all processes have left."""
    path = tmp_path / "data"
    path.write_bytes(b"before")
    with place.space() as space, space.handle("file", file=path) as handle:
        view = handle.acquire()
        assert bytes(view) == b"before"
        view[:] = b"behind"
        handle.release()
        handle.acquire()
        handle.resize(9)[6:] = b"hand"[:3]
        handle.release()
    assert path.read_bytes() == b"behindhan"


@pytest.mark.parametrize("keep_last", [True, False])
def test_a_file_that_was_cut_is_an_error_and_no_death(place: Scene, tmp_path: Path, *, keep_last: bool) -> None:
    """Who acquires it is told, also if it had all of it mapped before; with its bytes back it can be had again."""
    path = tmp_path / "data"
    path.write_bytes(b"x" * 100_000)
    with place.space() as space, space.handle("file", file=path, keep_last=keep_last) as handle:
        handle.acquire()[0] = 1
        handle.release()
        for mode in ("write", "read"):
            os.truncate(path, 5)
            with pytest.raises(DataProblem) as caught:
                handle.acquire(mode, timeout=MAX_SECONDS)
            assert caught.value.code == "D213"
            os.truncate(path, 100_000)
            assert len(handle.acquire(mode, timeout=MAX_SECONDS)) == 100_000
            handle.release()
        if keep_last:
            handle.acquire(timeout=MAX_SECONDS)
            os.truncate(path, 0)
            with pytest.raises(DataProblem) as caught:
                handle.release()
            assert caught.value.code == "D213"


def test_the_view_is_withdrawn_by_the_release(place: Scene) -> None:
    """A view cannot be used when it is somebody else's turn; one to read cannot be written."""
    with place.space() as space, space.handle("m", size=10) as handle:
        view = handle.acquire()
        handle.release()
        with pytest.raises(ValueError, match="released"):
            view[0] = 1
        with pytest.raises(TypeError):
            handle.acquire("read")[0] = 1
        handle.release()
        with pytest.raises(Misuse) as caught:
            _ = handle.view
        assert caught.value.code == "S104"


def test_readers_read_together_and_parts_are_held_side_by_side(place: Scene) -> None:
    """Two handles hold the same to read, or different parts to write, at the same time."""
    with place.space() as space, space.handle("m", size=100) as one, space.handle("m") as other:
        one.acquire("read", timeout=MAX_SECONDS)
        assert bytes(other.acquire("read", timeout=MAX_SECONDS)[:1]) == b"\0"
        one.release()
        other.release()
        one.acquire(offset=0, length=50)[:] = b"a" * 50
        other.acquire(offset=50, length=50)[:] = b"b" * 50
        with pytest.raises(TimeoutError), space.handle("m") as third:
            third.acquire(offset=40, length=20, timeout=0.05)
        one.release()
        other.release()
        assert bytes(one.acquire()) == b"a" * 50 + b"b" * 50
        with pytest.raises(Misuse, match=r"from byte 200 on .* has 100"):
            one.acquire(offset=200)


def test_a_wait_that_is_too_long_ends_and_claims_nothing(place: Scene) -> None:
    """After a timeout the others are not held up by the claim, and it can be tried again."""
    with place.space() as space, space.handle("m", size=1) as one, space.handle("m") as other:
        one.acquire()
        with pytest.raises(TimeoutError):
            other.acquire(timeout=0.02)
        assert other.state == HandleState.VALID
        one.release()
        one.acquire(timeout=MAX_SECONDS)
        one.release()
        other.acquire(timeout=MAX_SECONDS)


def test_the_last_step_is_not_longer_than_the_wait(place: Scene) -> None:
    """Data that somebody writes without the lock is waited for, but not longer than was said."""
    with place.space() as space, space.handle("m", size=100, keep_last=False) as handle:
        handle.acquire()
        handle.release()
        with place.store() as store:
            region = store.region("m")
            assert region is not None
            writing = region.write(region.sheet.extents[0].version)
            with pytest.raises(TimeoutError):
                handle.acquire(timeout=0.05)
            writing.commit()
        handle.acquire(timeout=MAX_SECONDS)


def test_calls_out_of_order_do_what_the_paper_says(place: Scene) -> None:
    """A second request drops the first; a release of nothing is ignored; after destroy all is until created anew."""
    with place.space() as space, space.handle("m", size=1) as one, space.handle("m") as two, space.handle("m") as three:
        one.acquire()
        two.request()
        three.request()
        assert (two.state, three.test()) == (HandleState.REQ, False)
        two.request()
        one.release()
        # The second request has its place behind the one that came between.
        three.acquire(timeout=MAX_SECONDS)
        assert two.state == "req"
        two.release()
        two.release()
        assert two.state == "req"
        three.release()
        until(two.test)
        assert two.state == "grant"
        two.acquire()
        assert two.state == "locked"
        two.destroy()
        assert two.state == "invalid"
        two.request()
        two.release()
        two.destroy()
        assert (two.state, two.test()) == (HandleState.INVALID, False)
        with pytest.raises(Misuse) as caught:
            two.acquire()
        assert caught.value.code == "S103"
        one.acquire(timeout=MAX_SECONDS)
        one.release()
        two.create().acquire(timeout=MAX_SECONDS)


def test_files_are_closed_with_the_last_handle_and_too_many_are_an_error(place: Scene) -> None:
    """A process that has had many resources has no more files open than before, and finds what it left."""

    def work(say: Callable[[str], None]) -> None:
        with place.space() as space:
            for number in range(30):
                with space.handle(f"m{number}", size=9000) as handle:
                    handle.acquire()[:] = bytes([number]) * 9000
            files = len(list(Path("/proc/self/fd").iterdir()))
            resource.setrlimit(resource.RLIMIT_NOFILE, (files + 20, files + 20))
            with space.handle("m7") as handle:
                say(str(handle.acquire()[8999]))
            with ExitStack() as stack:
                handles = [stack.enter_context(space.handle(f"m{number}")) for number in range(30)]
                with pytest.raises(Misuse) as caught:
                    _ = [handle.acquire(timeout=MAX_SECONDS) for handle in handles]
            say(caught.value.code)

    child = place.start(work)
    assert (child.hear(), child.hear()) == ("7", "D107")
    child.end()


def test_threads_of_one_process_take_turns(place: Scene) -> None:
    """Several threads, each with a handle of its own, exclude each other."""
    with place.space() as space, space.handle("counter", size=8) as handle:
        assert counted(handle) == 0

        def work() -> None:
            with space.handle("counter") as own:
                count(own, CYCLES)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(MAX_SECONDS)
        assert counted(handle) == 4 * CYCLES


def test_coroutines_take_turns(place: Scene) -> None:
    """Several tasks of one process, and those of another, count exactly; who is cancelled claims nothing."""

    async def run(tasks: int) -> int:
        async with place.space() as space:

            async def work() -> None:
                async with space.handle("counter", size=8) as own:
                    for _ in range(10):
                        own.request()
                        view = await own.acquire()
                        view[:8] = (int.from_bytes(view[:8], "little") + 1).to_bytes(8, "little")
                        await asyncio.sleep(0)
                        own.release()

            await asyncio.gather(*(work() for _ in range(tasks)))
            async with space.handle("counter") as own, space.handle("counter") as other:
                await own.acquire()
                waiting = asyncio.create_task(other.acquire())
                await asyncio.sleep(0.01)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
                with pytest.raises(TimeoutError):
                    await other.acquire(timeout=0.01)
                number = int.from_bytes(own.view[:8], "little")
                own.release()
            async with space.handle("here", size=1) as gate:
                (await gate.acquire())[0] += 1
                gate.release()
                while (await gate.acquire("read"))[0] < 2:
                    gate.release()
                    await asyncio.sleep(0.01)
            return number

    child = place.start(lambda say: say(str(asyncio.run(run(4)))))
    mine = asyncio.run(run(4))
    theirs = int(child.hear())
    child.end()
    assert max(mine, theirs) == 80


def test_a_lock_needs_no_data(place: Scene) -> None:
    """Without a word about data a handle is a lock."""
    with place.space() as space, space.handle("lock") as one, space.handle("lock") as other:
        assert len(one.acquire()) == 0
        with pytest.raises(TimeoutError):
            other.acquire(timeout=0.01)
        one.release()
        other.acquire(timeout=MAX_SECONDS)


def test_what_is_read_first_is_made_first(place: Scene) -> None:
    """Who wants to read, or a part, before anybody has written makes the data all the same."""
    with (
        place.space() as space,
        space.handle("m", initial=b"abc") as handle,
        space.handle("n", initial=b"xyz") as other,
    ):
        assert bytes(handle.acquire("read", timeout=MAX_SECONDS)) == b"abc"
        assert bytes(other.acquire(offset=1, length=1, timeout=MAX_SECONDS)) == b"y"
