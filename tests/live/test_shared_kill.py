"""Spaces whose processes are killed: the others go on, with the last version that was released."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.live.shared_processes import MAX_SECONDS, PATIENCE, Scene, until

if TYPE_CHECKING:
    from collections.abc import Callable


def test_what_a_killed_holder_had_released_comes_back(place: Scene) -> None:
    """What it was writing when it was killed counts for nothing; what it had released before is there."""
    with place.space() as space, space.handle("m") as handle:
        child = place.holder(content=b"released", then="torn, and by far longer than that")
        handle.request()
        assert not handle.test()
        child.kill()
        assert bytes(handle.acquire(timeout=MAX_SECONDS)[:9]) == b"released\0"
        until(lambda: len(space.members) == 1)


def test_a_killed_founder_is_replaced(place: Scene) -> None:
    """The first process has no part that others could not take over."""
    founder = place.holder(content=b"released", then="torn")
    child, _ = place.serve()
    with place.space() as space, space.handle("m") as handle:
        founder.kill()
        assert bytes(handle.acquire(timeout=MAX_SECONDS)[:9]) == b"released\0"
        handle.release()
        with place.space() as another, another.handle("m") as own:
            assert bytes(own.acquire("read", timeout=MAX_SECONDS)[:8]) == b"released"
        until(lambda: len(space.members) == 2)
    child.kill()


def test_killed_waiters_hold_nobody_up(place: Scene) -> None:
    """Who waited when it was killed is passed over."""
    with place.space() as space, space.handle("m", size=8) as handle:
        handle.acquire()

        def wait(say: Callable[[str], None]) -> None:
            with place.space() as mine, mine.handle("m") as own:
                own.request()
                say("waits")
                own.acquire()

        waiters = [place.start(wait) for _ in range(2)]
        for waiter in waiters:
            assert waiter.hear() == "waits"
        with space.handle("m") as other:
            other.request()
            for waiter in waiters:
                waiter.kill()
            handle.release()
            other.acquire(timeout=MAX_SECONDS)


def test_a_stopped_process_of_this_host_is_not_taken_for_dead(place: Scene) -> None:
    """The system says that it lives, so it is waited for, however long it is silent."""
    with place.space() as space, space.handle("m") as handle:
        child = place.holder(content=b"released")
        os.kill(child.number, signal.SIGSTOP)
        with pytest.raises(TimeoutError):
            handle.acquire(timeout=2 * PATIENCE)
        assert len(space.members) == 2
        child.kill()
        handle.acquire(timeout=MAX_SECONDS)
