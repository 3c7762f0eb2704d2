"""Processes that have written parts and leave: what they wrote is there for whoever is left."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.live.shared_processes import MAX_SECONDS, Scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.handover import BlockingHandle
    from solvent.handover.claiming import Mode
    from tests.live.data_hosts import Child

STEP, TIMES = 1000, 40


def _count(handle: BlockingHandle, offset: int) -> None:
    """Count in a part."""
    view = handle.acquire(offset=offset, length=8, timeout=MAX_SECONDS)
    view[:] = (int.from_bytes(view, "little") + 1).to_bytes(8, "little")
    handle.release()


def _counted(handle: BlockingHandle, *offsets: int) -> list[int]:
    """Tell how far it was counted in some parts."""
    view = handle.acquire(timeout=MAX_SECONDS)
    found = [int.from_bytes(view[offset : offset + 8], "little") for offset in offsets]
    handle.release()
    return found


def _leaver(place: Scene, host: str, address: str, offset: int) -> Child:
    """Start a process that counts in a part and leaves the resource, again and again."""

    def work(say: Callable[[str], None]) -> None:
        with place.space(host, join=address) as space:
            for _ in range(TIMES):
                with space.handle("d") as handle:
                    _count(handle, offset)
        say("done")

    return place.start(work)


def _other(place: Scene, host: str, address: str, mode: Mode) -> Child:
    """Start a process that claims all, now and then, until the last byte says that it is enough."""

    def work(say: Callable[[str], None]) -> None:
        with place.space(host, join=address) as space, space.handle("d") as handle:
            say("claims")
            while not handle.acquire(mode, timeout=MAX_SECONDS)[-1]:
                handle.release()
                time.sleep(0.002)
        say("done")

    child = place.start(work)
    assert child.hear() == "claims"
    return child


def _end(handle: BlockingHandle) -> None:
    """Let it be enough."""
    handle.acquire(timeout=MAX_SECONDS)[-1] = 1
    handle.release()


@pytest.mark.parametrize("hosts, modes", [(1, ["write"]), (2, ["read"]), (2, ["read", "write"])])
def test_parts_outlive_the_departure_of_their_writers(place: Scene, hosts: int, modes: list[Mode]) -> None:
    """Who writes a part and leaves is missed by nobody, though others claim all in the same moment."""
    there = f"host{hosts - 1}"
    with place.space("host0") as space, space.handle("d", size=2 * STEP) as handle:
        handle.acquire()
        handle.release()
        others = [_other(place, there, space.address, mode) for mode in modes]
        leavers = [_leaver(place, "host0", space.address, 0), _leaver(place, there, space.address, STEP)]
        assert [one.hear() for one in leavers] == ["done", "done"]
        assert _counted(handle, 0, STEP) == [TIMES, TIMES]
        _end(handle)
        assert [one.hear() for one in others] == ["done"] * len(others)


def test_many_parts_of_many_that_have_left_are_one_again(place: Scene) -> None:
    """However many parts are written by processes that leave, there is room for more."""
    parts = 600
    with place.space() as space, space.handle("d", size=8 * parts) as handle:
        handle.acquire()
        handle.release()

        def work(say: Callable[[str], None]) -> None:
            with place.space() as mine:
                for part in range(parts):
                    with mine.handle("d") as own:
                        _count(own, 8 * part)
            say("done")

        assert place.start(work).hear() == "done"
        assert _counted(handle, *range(0, 8 * parts, 8)) == [1] * parts
