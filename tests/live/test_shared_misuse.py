"""Spaces used in ways that they are not made for: interrupted, shared by threads, cancelled, left half done."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from solvent.errors import Misuse, SolventError, SpaceProblem
from solvent.handover import HandleState, admission
from solvent.handover.contents import Access
from solvent.handover.data.folder import Roll
from solvent.handover.keeping import Keeping
from solvent.net.direct import DirectHost
from solvent.net.status_files import Poster
from tests.live.shared_processes import MAX_SECONDS, Scene, until
from tests.loop import in_loop

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from solvent.handover import BlockingHandle
    from solvent.handover.space import Opening

NOBODY = "127.0.0.1:9"


class _Boom(Exception):
    """What a signal's handler raises."""


def _turn(handle: BlockingHandle) -> None:
    """Have it, change it, and give it back."""
    view = handle.acquire(timeout=MAX_SECONDS)
    view[0] = (view[0] + 1) % 256
    handle.release()


def _turns(handle: BlockingHandle) -> None:
    for _ in range(3):
        _turn(handle)


def _fail_half_way(handle: BlockingHandle) -> None:
    with handle:
        handle.acquire()[:3] = b"hal"
        raise _Boom


# ------------------------------------------------------------------------------------------------------ interrupts


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize(
    "owner, method", [(DirectHost, "request"), (Keeping, "access"), (Access, "commit"), (Keeping, "data_of")]
)
def test_an_interrupt_between_a_handle_and_the_lock_leaves_no_claim(
    place: Scene, monkeypatch: pytest.MonkeyPatch, owner: type, method: str, *, is_after: bool
) -> None:
    """Wherever Ctrl-C comes, others get the resource afterwards, as it was released last."""
    real = getattr(owner, method)
    calls = 0

    def interrupted(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls in shots and not is_after:
            signal.raise_signal(signal.SIGINT)
        result = real(*arguments, **options)
        if calls in shots and is_after:
            signal.raise_signal(signal.SIGINT)
        return result

    with place.space() as space, space.handle("x", size=5000) as one, space.handle("x") as other:
        _turn(one)
        monkeypatch.setattr(owner, method, interrupted)
        for shot in (1, 2):
            calls, shots = 0, {shot}
            with pytest.raises(KeyboardInterrupt):
                _turns(one)
            _turn(other)
            _turn(one)


def test_whatever_a_handler_raises_withdraws_the_claim(place: Scene) -> None:
    """A handler of one's own that raises, while `acquire` waits."""

    def on_alarm(*_: object) -> None:
        raise _Boom

    before = signal.signal(signal.SIGALRM, on_alarm)
    try:
        with place.space() as space, space.handle("x", size=8) as one, space.handle("x") as other:
            one.acquire()
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(_Boom):
                other.acquire()
            assert other.state is HandleState.VALID
            one.release()
            _turn(one)
    finally:
        signal.signal(signal.SIGALRM, before)


def _is_left(opening: Opening) -> bool:
    """Tell whether nothing of a space is open any more."""
    with pytest.raises(Misuse):
        opening._node.store.names()
    return not opening._node.is_here


@pytest.mark.parametrize("owner, method", [(Poster, "stop"), (DirectHost, "close"), (Roll, "leave")])
def test_a_space_whose_end_is_interrupted_is_left(
    place: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, method: str
) -> None:
    """Else others would wait for this process as long as it lives."""
    real = getattr(owner, method)

    def interrupted(*arguments: Any) -> None:
        real(*arguments)
        raise KeyboardInterrupt

    opening = place.space(board=tmp_path / "board")
    with pytest.raises(KeyboardInterrupt), opening:
        monkeypatch.setattr(owner, method, interrupted)
    assert _is_left(opening)


def test_a_space_that_cannot_be_told_of_is_left(place: Scene, tmp_path: Path) -> None:
    """S107 is an error before the block; nobody would ever leave the block."""
    board = tmp_path / "board"
    board.write_text("no folder")
    opening = place.space(board=board)
    with pytest.raises(Misuse, match="board"):
        opening.__enter__()
    assert _is_left(opening)
    opening = place.space(board=board)
    with pytest.raises(Misuse, match="board"):
        asyncio.run(opening.__aenter__())
    assert _is_left(opening)


# ------------------------------------------------------------------------------------------- threads and tasks


def test_a_handle_has_one_thread_at_a_time(place: Scene) -> None:
    """The second is told, the first is unharmed, and nothing is left that others wait for."""
    told = list[str]()

    def work() -> None:
        for _ in range(100):
            try:
                _turn(shared)
            except Misuse as error:
                told.append(error.code)

    with place.space() as space, space.handle("x", size=8) as other, space.handle("x") as shared:
        _turn(other)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(MAX_SECONDS)
        _turn(other)
        assert set(told) <= {"S106"}
        other.acquire()
        thread = threading.Thread(target=_turn, args=(shared,))
        thread.start()
        until(lambda: shared.state is HandleState.BLOCKED)
        for claim in (shared.acquire, shared.request):
            with pytest.raises(Misuse) as caught:
                claim()
            assert caught.value.code == "S106"
        other.release()
        thread.join(MAX_SECONDS)
        _turn(other)


@pytest.mark.parametrize("is_cancelled", [False, True])
@in_loop
async def test_a_handle_is_blocked_only_while_somebody_waits(place: Scene, *, is_cancelled: bool) -> None:
    """After a wait that took too long, or was cancelled, what is requested is only requested."""
    async with place.space() as space, space.handle("x", size=8) as other, space.handle("x") as handle:
        await other.acquire()
        waiting = asyncio.create_task(handle.acquire(timeout=None if is_cancelled else 0.01))
        if is_cancelled:
            await asyncio.to_thread(until, lambda: handle.state is HandleState.BLOCKED)
            waiting.cancel()
        # What was raised is kept, and with it all that had to do with it.
        (problem,) = await asyncio.gather(waiting, return_exceptions=True)
        handle.request()
        assert (handle.state, type(problem)) == (
            HandleState.REQ,
            asyncio.CancelledError if is_cancelled else TimeoutError,
        )


def test_another_thread_may_drop_the_claim_of_one_that_waits(place: Scene) -> None:
    """The one that waits is told, and what is claimed next with the handle stays."""
    codes = list[str]()

    def wait() -> None:
        try:
            shared.acquire()
        except SolventError as error:
            codes.append(error.code)

    with place.space() as space, space.handle("x", size=8) as other, space.handle("x") as shared:
        _turn(other)
        other.acquire()
        thread = threading.Thread(target=wait)
        thread.start()
        until(lambda: shared.state is HandleState.BLOCKED)
        shared.withdraw()
        shared.request()
        thread.join(MAX_SECONDS)
        assert codes == ["S204"]
        other.release()
        _turn(shared)
        _turn(other)


@in_loop
async def test_a_handle_has_one_task_at_a_time(place: Scene) -> None:
    """The second is told at once, and the first gets what it waits for."""
    async with place.space() as space, space.handle("x", size=8) as other, space.handle("x") as shared:
        await other.acquire()
        first = asyncio.create_task(shared.acquire())
        await asyncio.sleep(0)
        with pytest.raises(Misuse) as caught:
            await shared.acquire()
        assert caught.value.code == "S106"
        other.release()
        assert len(await first) == 8
        # The task that got it is over: whoever goes on with the handle has it.
        assert len(await shared.acquire()) == 8
        shared.release()
        await other.acquire(timeout=MAX_SECONDS)


# --------------------------------------------------------------------------------------------------- half done


@pytest.mark.parametrize("keep_last, found", [(True, b"whole"), (False, b"halle")])
def test_what_is_half_done_when_something_is_raised_does_not_count(
    place: Scene, found: bytes, *, keep_last: bool
) -> None:
    """The last released version stays; without `keep_last` there is none to go back to."""
    with (
        place.space() as space,
        space.handle("x", initial=b"-----", keep_last=keep_last) as handle,
        space.handle("x") as other,
    ):
        handle.acquire()[:] = b"whole"
        handle.release()
        with pytest.raises(_Boom):
            _fail_half_way(space.handle("x"))
        assert bytes(other.acquire(timeout=MAX_SECONDS)) == found
        other.release()
        with space.handle("x") as leaving:
            leaving.acquire()[:] = b"ended"
        assert bytes(other.acquire(timeout=MAX_SECONDS)) == b"ended"


def test_what_is_held_when_the_space_is_left_is_released(place: Scene) -> None:
    """Also by who does not use the `with` block of the handle; and calls afterwards are ignored, or errors."""
    with place.space() as space, space.handle("x", size=4) as stays:
        with place.space() as mine:
            handle = mine.handle("x", size=4).create()
            handle.acquire()[:] = b"last"
        assert bytes(stays.acquire(timeout=MAX_SECONDS)) == b"last"
        handle.release()
        handle.destroy()
        assert handle.state is HandleState.INVALID
        with pytest.raises(Misuse) as caught:
            handle.create()
        assert caught.value.code == "S103"


def test_a_copy_of_the_process_leaves_the_block_without_a_word(place: Scene) -> None:
    """The child of a fork has nothing of the space, and takes nothing from its parent."""
    with place.space() as space, space.handle("x", size=4) as handle:
        handle.acquire()[:] = b"mine"
        number = os.fork()
        if not number:
            try:
                handle.__exit__(None, None, None)
                handle.destroy()
                space._node.depart()
                os._exit(7)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 7
        handle.release()
        assert bytes(handle.acquire(timeout=MAX_SECONDS)) == b"mine"


# ------------------------------------------------------------------------------------------- entering in vain


@in_loop
async def test_who_is_cancelled_on_the_way_in_leaves_nothing_behind(
    place: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is at the address, or somebody has just let it in: no thread goes on, and no member is there."""
    # Who waited to be let in would wait for ever.
    monkeypatch.setattr(admission, "MAX_ENTER_SECONDS", math.inf)

    async def enter(**options: Any) -> None:
        async with place.space("elsewhere" if options else "here", **options):
            await asyncio.sleep(MAX_SECONDS)

    async with place.space() as space:
        for delay in (0, 0.001, 0.005, 0.02):
            task = asyncio.create_task(enter())
            await asyncio.sleep(delay)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await enter(join=NOBODY)
        await asyncio.to_thread(until, lambda: len(space.members) == 1 and not _threads("solvent-enter"))


def _threads(name: str) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith(name)]


@in_loop
async def test_a_handle_whose_creation_is_cancelled_takes_no_part(place: Scene) -> None:
    """And can be created afterwards."""
    async with place.space() as space:
        handle = space.handle("x", size=4)
        for delay in (0, 0.001):
            task = asyncio.create_task(handle.create())
            await asyncio.sleep(delay)
            task.cancel()
            await asyncio.wait([task])
            handle.destroy()
            assert handle.state is HandleState.INVALID
        await handle.create()
        await handle.acquire(timeout=MAX_SECONDS)


def test_another_secret_on_the_same_host_is_told_at_once(place: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is to who joins by an address, and not when the wait to be let in is over: here it never is."""
    monkeypatch.setattr(admission, "MAX_ENTER_SECONDS", math.inf)
    with place.space(), pytest.raises(SpaceProblem) as caught, place.space(secret=b"another"):
        pass
    assert (caught.value.code, "secret" in caught.value.message) == ("S202", True)


def test_another_name_is_told_as_who_enters_sees_it(place: Scene, tmp_path: Path) -> None:
    """Whose name is which is to be understood."""
    with (
        place.space() as space,
        pytest.raises(SpaceProblem) as caught,
        solvent.shared.join("another", folder=tmp_path / "there", join=space.address, secret=b"of the tests"),
    ):
        pass
    assert "to this process, since it belongs to the run `another`" in caught.value.message


# --------------------------------------------------------------------------------------------------- bad input


def test_fences_grow_with_each_claim(place: Scene) -> None:
    """Also where the same process has it again, whether it was released or withdrawn."""
    with place.space() as space, space.handle("x") as one, space.handle("x") as other:
        fences = list[int]()
        for handle, end in [(one, one.release), (one, one.withdraw), (one, one.release), (other, other.release)] * 3:
            handle.acquire(timeout=MAX_SECONDS)
            fences.append(handle.fence)
            end()
        assert fences == sorted(set(fences))


def test_what_cannot_be_a_name_or_a_time_is_refused_at_the_call(place: Scene) -> None:
    """With an error that says so."""
    with place.space() as space:
        calls: list[Callable[[], Any]] = [
            lambda name=name: space.handle(name)  # type: ignore[misc]
            for name in (5, b"x", None, "", "\ud800", "x" * 501)
        ]
        with space.handle("x", size=4) as handle:
            calls += [lambda seconds=seconds: handle.acquire(timeout=seconds) for seconds in ("1", True, float("nan"))]  # type: ignore[misc]
            for call in calls:
                with pytest.raises(Misuse) as caught:
                    call()
                assert caught.value.code == "S102"
            handle.acquire()
            assert handle.path is not None
            assert handle.path.stat().st_size >= 4
