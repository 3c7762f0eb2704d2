"""Parts that are written on one host and belong to data on another: they are with the data when their claim is over."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

import solvent
from solvent.handover.copying import Copying
from solvent.handover.data import Store
from tests.live.shared_processes import MAX_SECONDS, Scene, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.handover import BlockingHandle
    from tests.live.data_hosts import Child

SIZE = 300


def _part(handle: BlockingHandle, text: bytes, start: int) -> None:
    view = handle.acquire(offset=start, length=len(text), timeout=MAX_SECONDS)
    view[:] = text
    handle.release()


def _made(handle: BlockingHandle) -> None:
    """Make the data here."""
    handle.acquire(timeout=MAX_SECONDS)[:] = b"." * SIZE
    handle.release()


def _content(handle: BlockingHandle) -> bytes:
    found = bytes(handle.acquire("read", timeout=MAX_SECONDS))
    handle.release()
    return found


def _writer(place: Scene, host: str, address: str, *parts: tuple[bytes, int]) -> Child:
    """Start a process that has written some parts, and does nothing from then on."""

    def work(say: Callable[[str], None]) -> None:
        with place.space(host, join=address) as mine, mine.handle("m") as own:
            for part in parts:
                _part(own, *part)
            say("done")
            time.sleep(MAX_SECONDS)

    child = place.start(work)
    assert child.hear() == "done"
    return child


def _expected(*parts: tuple[bytes, int]) -> bytes:
    content = bytearray(b"." * SIZE)
    for text, start in parts:
        content[start : start + len(text)] = text
    return bytes(content)


def test_a_part_is_there_though_the_host_that_wrote_it_is_gone(place: Scene) -> None:
    """Also with one copy, since it is with the rest of the data; so is what was written over it."""
    parts = (b"first", 10), (b"second", 12), (b"third", 200)
    with place.space("one") as space, space.handle("m", size=SIZE, copies=1) as handle:
        _made(handle)
        for _ in range(3):
            place.serve("three", join=space.address)
        child = _writer(place, "two", space.address, *parts)
        child.kill()
        place.remove("two")
        until(lambda: len(space.members) == 4)
        assert _content(handle) == _expected(*parts)
        _part(handle, b"last", 11)
        assert _content(handle) == _expected(*parts, (b"last", 11))


def test_parts_of_several_hosts_outlive_the_host_that_has_the_data(place: Scene) -> None:
    """Two hosts have each of them before it counts: those that are left have one of these."""
    parts = [(bytes([letter]) * 20, 30 * number) for number, letter in enumerate(b"abcdef")]

    def work(say: Callable[[str], None]) -> None:
        with place.space("two", join=space.address) as mine, mine.handle("m", size=SIZE) as own:
            _made(own)
            say("made")
            time.sleep(MAX_SECONDS)

    with place.space("one") as space:
        place.serve("three", join=space.address)
        place.serve("four", join=space.address)
        until(lambda: len(space.members) == 3)
        child = place.start(work)
        assert child.hear() == "made"
        with space.handle("m") as handle:
            _part(handle, *parts[0])
            _writer(place, "three", space.address, *parts[1:3])
            _part(handle, *parts[3])
            _writer(place, "four", space.address, *parts[4:])
            child.kill()
            place.remove("two")
            assert _content(handle) == _expected(*parts)


def test_a_host_that_came_later_becomes_a_copy(place: Scene) -> None:
    """It has nothing of the data when a part is released, and everything when the release returns."""
    with place.space("one") as space, space.handle("m", size=SIZE) as handle:
        _made(handle)
        place.serve("two", join=space.address)
        until(lambda: len(space.members) == 2)
        parts = (b"parts", 10), (b"more", 100)
        for number, part in enumerate(parts, 1):
            _part(handle, *part)
            assert handle.trouble is None
            store = place.store("two")
            region = store.region("m")
            assert region is not None
            assert bytes(region.look()) == _expected(*parts[:number])
            assert region.sheet.level[1] == number
            store.close()


@pytest.mark.parametrize("is_brought", [False, True])
def test_a_part_of_who_dies_while_it_releases_is_there_or_not(place: Scene, *, is_brought: bool) -> None:
    """Before the data's host has it nothing has happened; afterwards it counts, though its writer never said so."""

    def work(say: Callable[[str], None]) -> None:
        def die(*_: object, **__: object) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        with place.space("two", join=space.address) as mine, mine.handle("m") as own:
            made = Copying.made
            Copying.made = lambda *of: (made(*of), die())[0]  # type: ignore[method-assign]
            if not is_brought:
                Store.give = die  # type: ignore[method-assign]
            view = own.acquire(offset=10, length=5, timeout=MAX_SECONDS)
            view[:] = b"parts"
            say("holds")
            own.release()

    with place.space("one") as space, space.handle("m", size=SIZE) as handle:
        place.serve("two", join=space.address)
        place.serve("one", join=space.address)
        until(lambda: len(space.members) == 3)
        _made(handle)
        child = place.start(work)
        assert child.hear() == "holds"
        assert _content(handle) == _expected(*([(b"parts", 10)] if is_brought else []))


def test_a_part_of_who_was_stopped_and_taken_for_dead_is_not_taken(place: Scene) -> None:
    """It is brought too late: the others have gone on, and what they wrote there since stays."""
    late = place.folder / "late"

    def work(say: Callable[[str], None]) -> None:
        with place.space("two", join=space.address) as mine, mine.handle("m") as own:
            view = own.acquire(offset=10, length=5, timeout=MAX_SECONDS)
            view[:] = b"stale"
            say("holds")
            until(late.exists)
            try:
                own.release()
            except solvent.SpaceProblem as problem:
                say(problem.code)
            time.sleep(MAX_SECONDS)

    with place.space("one") as space, space.handle("m", size=SIZE) as handle:
        place.serve("one", join=space.address)
        place.serve("three", join=space.address)
        _made(handle)
        child = place.start(work)
        assert child.hear() == "holds"
        os.kill(child.number, signal.SIGSTOP)
        _part(handle, b"fresh", 10)
        assert _content(handle) == _expected((b"fresh", 10))
        late.touch()
        os.kill(child.number, signal.SIGCONT)
        assert child.hear() == "S203"
        assert _content(handle) == _expected((b"fresh", 10))
