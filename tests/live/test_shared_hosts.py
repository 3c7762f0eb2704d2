"""Spaces over several hosts: data goes over connections, straight from who has it, and survives who leaves or dies."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

import solvent
from solvent.handover import HandleState
from tests.live.shared_processes import MAX_SECONDS, Scene, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.handover import BlockingHandle

SIZE = 3_000_000
TOTAL = 5000


def test_parts_that_were_written_on_different_hosts_come_together(place: Scene) -> None:
    """Two hosts write different parts at the same time; whoever has all has both."""
    with place.space("one") as space, space.handle("grid", initial=np.zeros((4, 1000))) as handle:
        handle.acquire()
        handle.release()

        def work(say: Callable[[str], None]) -> None:
            with place.space("two", join=space.address) as mine, mine.handle("grid") as own:
                own.acquire(offset=8000, length=16000)
                own.array[:] = 2
                say("holds")
                own.release()
                until(lambda: _sum(own) == TOTAL)
                say("has all")

        child = place.start(work)
        assert child.hear() == "holds"
        handle.acquire(offset=0, length=8000, timeout=MAX_SECONDS)
        handle.array[:] = 1
        handle.release()
        handle.acquire("read", timeout=MAX_SECONDS)
        assert handle.array[:, 0].tolist() == [1, 2, 2, 0]
        handle.release()
        assert child.hear() == "has all"
        child.end()
        handle.acquire(timeout=MAX_SECONDS)
        assert handle.array.sum() == TOTAL


def _sum(handle: BlockingHandle) -> float:
    handle.acquire("read", timeout=MAX_SECONDS)
    found = float(handle.array.sum())
    handle.release()
    return found


def test_fetching_begins_with_the_grant_and_not_with_acquire(place: Scene) -> None:
    """When it is its turn the data comes, whatever the process does meanwhile."""
    with place.space("one") as space, space.handle("m", initial=b"x" * SIZE) as handle:
        handle.acquire()
        child, _ = place.serve("two", join=space.address)
        handle.release()
        with place.space("two") as other, other.handle("m") as own:
            own.request()
            until(own.test)
            assert own.state == HandleState.GRANT
            assert bytes(own.acquire(timeout=MAX_SECONDS)[-3:]) == b"xxx"
        child.kill()


def test_who_leaves_hands_the_data_to_another_host_first(place: Scene) -> None:
    """A process that leaves with the last version is gone only when another host has it."""

    def work(say: Callable[[str], None]) -> None:
        with place.space("two", join=space.address) as mine, mine.handle("m", initial=b"y" * SIZE) as own:
            own.acquire()[:1] = b"z"
            own.release()
            say("done")

    with place.space("one") as space:
        child = place.start(work)
        assert child.hear() == "done"
        child.end()
        with space.handle("m") as handle:
            view = handle.acquire(timeout=MAX_SECONDS)
            assert (bytes(view[:2]), len(view)) == (b"zy", SIZE)


def test_the_death_of_a_process_elsewhere_is_noticed_by_its_silence(place: Scene) -> None:
    """Most of the others go on; the version that they have is the one that counts."""
    with place.space("one") as space, space.handle("m", initial=b"released") as handle:
        handle.acquire()
        handle.release()
        other, _ = place.serve("three", join=space.address)
        child = place.holder("two", join=space.address, content=b"unheard ")
        handle.request()
        child.kill()
        assert bytes(handle.acquire(timeout=MAX_SECONDS)) == b"released"
        other.kill()


def test_who_was_taken_for_dead_is_told_and_can_come_back(place: Scene) -> None:
    """A process that stood still for too long has lost what it held, and may enter again."""

    def work(say: Callable[[str], None]) -> None:
        with place.space("two", join=space.address) as mine, mine.handle("m") as own:
            own.acquire(timeout=MAX_SECONDS)[:] = b"stopped!"
            say("holds")
            try:
                while True:
                    time.sleep(0.02)
                    own.test()
            except solvent.SpaceProblem as problem:
                say(problem.code)
        with place.space("two", join=space.address) as mine, mine.handle("m") as own:
            say(bytes(own.acquire("read", timeout=MAX_SECONDS)).decode())

    with place.space("one") as space, space.handle("m", initial=b"released") as handle:
        handle.acquire()
        handle.release()
        other, _ = place.serve("three", join=space.address)
        child = place.start(work)
        assert child.hear() == "holds"
        os.kill(child.number, signal.SIGSTOP)
        handle.acquire(timeout=MAX_SECONDS)[:] = b"went on "
        handle.release()
        os.kill(child.number, signal.SIGCONT)
        assert child.hear() == "S203"
        assert child.hear() == "went on "
        child.end()
        other.kill()


def test_a_release_that_came_too_late_is_told_at_the_end_of_the_space(place: Scene) -> None:
    """A holder was stopped, others went on, and it releases at once: leaving the space raises what happened."""

    def work(say: Callable[[str], None]) -> None:
        try:
            with place.space("two", join=space.address) as mine, mine.handle("m") as own:
                own.acquire(timeout=MAX_SECONDS)[:] = b"stopped!"
                say("holds")
                os.kill(os.getpid(), signal.SIGSTOP)
                own.release()
            say("nothing")
        except solvent.SpaceProblem as problem:
            say(problem.code)

    with place.space("one") as space, space.handle("m", initial=b"released") as handle:
        handle.acquire()
        handle.release()
        place.serve("three", join=space.address)
        child = place.start(work)
        assert child.hear() == "holds"
        os.waitpid(child.number, os.WUNTRACED)
        handle.acquire(timeout=MAX_SECONDS)[:] = b"went on "
        handle.release()
        os.kill(child.number, signal.SIGCONT)
        assert child.hear() == "S203"
        child.end()


def test_one_process_of_each_host_goes_on_though_most_die_at_once(place: Scene) -> None:
    """Each host knows for certain of its own; together they need no majority, and lose nothing that was released."""
    with place.space("one") as space, space.handle("m", size=100) as handle:
        handle.acquire()
        handle.release()
        other, _ = place.serve("two", join=space.address)
        children = [place.serve(host, join=space.address)[0] for host in ("one", "two", "one", "two", "two", "two")]
        last = place.holder("two", join=space.address, content=b"released", then="not yet.")
        for child in (*children, last):
            os.kill(child.number, signal.SIGKILL)
        assert bytes(handle.acquire(timeout=MAX_SECONDS)[:8]) == b"released"
        assert len(space.members) == 2
        other.kill()


def test_nobody_at_the_address_and_a_wrong_secret_are_told(place: Scene) -> None:
    """Who cannot come in is told why."""
    with place.space("one") as space:
        with pytest.raises(solvent.SpaceProblem) as caught, place.space("two", join=space.address, secret=b"wrong"):
            pass
        assert caught.value.code == "S202"
