"""A holder that is stopped while another process of its host goes on: what it writes late reaches nobody."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from tests.live.shared_processes import MAX_SECONDS, Scene, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.handover import BlockingHandle
    from solvent.handover.claiming import Mode
    from tests.live.data_hosts import Child

SIZE = 8192


@contextmanager
def _stopped(place: Scene, *, versions: int = 1, **options: Any) -> Iterator[tuple[BlockingHandle, Child]]:
    """Give a handle on the host of a process that holds `m`, has written to it, and is stopped.

    That one has released some versions before. When it goes on it writes once more and releases; it says why it could
    not, or nothing. Processes of two other hosts take it for dead.
    """

    def work(say: Callable[[str], None]) -> None:
        try:
            with place.space("here", join=address) as mine, mine.handle("m") as own:
                for _ in range(versions):
                    own.acquire(timeout=MAX_SECONDS)[:] = b"r" * SIZE
                    own.release()
                view = own.acquire(timeout=MAX_SECONDS)
                view[:] = b"s" * SIZE
                late = view[:]
                say("holds")
                os.kill(os.getpid(), signal.SIGSTOP)
                late[:] = b"l" * SIZE
                own.release()
                late[:] = b"l" * SIZE
            say("nothing")
        except solvent.SpaceProblem as problem:
            say(problem.code)

    # The founder is on another host: one of the same host would wait for a process that lives.
    _, address = place.serve("one")
    place.serve("two", join=address)
    with place.space("here", join=address) as space, space.handle("m", size=SIZE, **options) as handle:
        handle.acquire(timeout=MAX_SECONDS)[:] = b"r" * SIZE
        handle.release()
        child = place.start(work)
        assert child.hear() == "holds"
        os.waitpid(child.number, os.WUNTRACED)
        yield handle, child


def _go_on(child: Child) -> None:
    """Let the stopped process go on, until it has heard that it takes part no more."""
    os.kill(child.number, signal.SIGCONT)
    assert child.hear() == "S203"
    child.end()


@pytest.mark.parametrize("versions", [1, 4], ids=["in a draft", "in place"])
def test_a_reader_sees_nothing_of_a_late_release(place: Scene, versions: int) -> None:
    """It reads the last released version, before the stopped process goes on and afterwards."""
    with _stopped(place, versions=versions) as (handle, child):
        view = handle.acquire("read", timeout=MAX_SECONDS)
        assert bytes(view) == b"r" * SIZE
        _go_on(child)
        assert bytes(view) == b"r" * SIZE
        handle.release()
        assert bytes(handle.acquire("read", timeout=MAX_SECONDS)) == b"r" * SIZE


@pytest.mark.parametrize("versions", [1, 4], ids=["in a draft", "in place"])
def test_the_next_holder_writes_while_the_last_one_is_stopped(place: Scene, versions: int) -> None:
    """It begins from the last released version; what it releases stays when the stopped process goes on."""
    with _stopped(place, versions=versions) as (handle, child):
        view = handle.acquire(timeout=MAX_SECONDS)
        assert bytes(view) == b"r" * SIZE
        view[:4] = b"next"
        handle.release()
        _go_on(child)
        assert bytes(handle.acquire("read", timeout=MAX_SECONDS)) == b"next" + b"r" * (SIZE - 4)


@pytest.mark.parametrize("mode", ["read", "write"])
def test_data_that_a_stopped_process_writes_in_place_is_lost(place: Scene, mode: Mode) -> None:
    """With `keep_last=False` there is no version to go back to: `DataLost`, and late writes miss what is made anew."""
    with _stopped(place, keep_last=False) as (handle, child):
        with pytest.raises(solvent.DataLost, match="S205"):
            handle.acquire(mode, timeout=MAX_SECONDS)
        handle.acquire(anew=True, timeout=MAX_SECONDS)[:4] = b"anew"
        handle.release()
        _go_on(child)
        assert bytes(handle.acquire("read", timeout=MAX_SECONDS)) == b"anew" + bytes(SIZE - 4)


def test_memory_that_outlived_its_space_has_no_epoch(place: Scene) -> None:
    """A space that begins anew counts epochs from zero, and writes to what was kept of one that had a repair."""
    for content in (b"one ", b"two "):
        with place.space(keep=True) as space, space.handle("m", size=100) as handle:
            place.serve()[0].kill()
            until(lambda space=space: len(space.members) == 1)  # type: ignore[misc]
            handle.acquire(timeout=MAX_SECONDS)[:4] = content
            handle.release()
    with place.space(keep=True) as space, space.handle("m", size=100) as handle:
        view = handle.acquire(timeout=MAX_SECONDS)
        assert bytes(view[:4]) == b"two "
        view[:4] = b"new "
        handle.release()
        assert bytes(handle.acquire("read", timeout=MAX_SECONDS)[:4]) == b"new "
