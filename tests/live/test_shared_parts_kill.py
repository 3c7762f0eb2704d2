"""Processes that have written parts and are killed: what they released is there as long as their host has another."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

import solvent
from tests.live.shared_processes import MAX_SECONDS, Scene, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.handover import BlockingHandle
    from tests.live.data_hosts import Child

SIZE, WHOLE = 192, (0, 192)


def _write(handle: BlockingHandle, text: bytes, start: int, end: int) -> None:
    """Fill a stretch; all of it is claimed as such."""
    if (start, end) == WHOLE:
        view = handle.acquire(timeout=MAX_SECONDS)
    else:
        view = handle.acquire(offset=start, length=end - start, timeout=MAX_SECONDS)
    view[:] = text * (end - start)
    handle.release()


def _read(handle: BlockingHandle) -> str:
    """Give the runs of all bytes, such as `a48 b144`."""
    content = bytes(handle.acquire("read", timeout=MAX_SECONDS)).decode()
    handle.release()
    runs = list[str]()
    while content:
        length = len(content) - len(content.lstrip(content[0]))
        runs.append(f"{content[0]}{length}")
        content = content[length:]
    return " ".join(runs)


def _writer(place: Scene, *stretches: tuple[bytes, int, int], then: tuple[int, int] | None = None) -> Child:
    """Start a process that has written some stretches, one after the other, and perhaps writes another one."""

    def work(say: Callable[[str], None]) -> None:
        with place.space() as mine, mine.handle("d", size=SIZE) as own:
            for stretch in stretches:
                _write(own, *stretch)
            if then is not None:
                own.acquire(offset=then[0], length=then[1] - then[0])[:] = b"x" * (then[1] - then[0])
            say("done")
            time.sleep(MAX_SECONDS)

    child = place.start(work)
    assert child.hear() == "done"
    return child


def test_a_part_outlives_its_writer(place: Scene) -> None:
    """Over what was written by who lives, and whatever of it is claimed next."""
    with place.space() as space, space.handle("d", size=SIZE) as handle:
        _write(handle, b"a", *WHOLE)
        _write(handle, b"A", 0, 48)
        _writer(place, (b"b", 24, 72), then=(100, 120)).kill()
        until(lambda: len(space.members) == 1)
        assert _read(handle) == "A24 b48 a120"
        _write(handle, b"c", 0, 30)
        assert _read(handle) == "c30 b42 a120"
        view = handle.acquire(timeout=MAX_SECONDS)
        assert bytes(view[28:32]) == b"ccbb"
        view[:24] = b"d" * 24
        handle.release()
        assert _read(handle) == "d24 c6 b42 a120"


def test_a_part_outlives_who_wrote_the_whole(place: Scene) -> None:
    """What lies beside the part is in the memory of the host as well."""
    with place.space() as space, space.handle("d", size=SIZE) as handle:
        child = _writer(place, (b"b", *WHOLE), (b"B", 100, 110))
        _write(handle, b"a", 0, 48)
        child.kill()
        until(lambda: len(space.members) == 1)
        assert _read(handle) == "a48 b52 B10 b82"
        _write(handle, b"c", *WHOLE)
        assert _read(handle) == "c192"


def test_parts_outlive_one_death_after_the_other(place: Scene) -> None:
    """Those of the dead too, when who vouched for them is killed; also where nothing of the whole is left."""
    with place.space() as space, space.handle("d", size=SIZE) as handle:
        first = _writer(place, (b"a", *WHOLE), (b"A", 0, 96))
        second = _writer(place, (b"b", 96, 192))
        third = _writer(place, (b"c", 40, 50))
        for child in (second, first, third):
            before = len(space.members)
            child.kill()
            until(lambda before=before: len(space.members) < before)  # type: ignore[misc]
        assert _read(handle) == "A40 c10 A46 b96"
        _write(handle, b"d", 90, 100)
        assert _read(handle) == "A40 c10 A40 d10 b92"


@pytest.mark.parametrize("torn", [48, None])
def test_data_that_is_torn_in_a_part_can_be_made_anew(place: Scene, torn: int | None) -> None:
    """Nobody has what was there before it was written in place, part or whole: it cannot be had any more; but made."""

    def work(say: Callable[[str], None]) -> None:
        with place.space() as mine, mine.handle("d") as own:
            own.acquire(offset=0, length=torn)[:48] = b"x" * 48
            say("holds")
            time.sleep(MAX_SECONDS)

    with place.space() as space, space.handle("d", size=SIZE, keep_last=False) as handle:
        _write(handle, b"a", *WHOLE)
        child = place.start(work)
        child.hear()
        child.kill()
        until(lambda: len(space.members) == 1)
        for stretch in ({}, {"offset": 40, "length": 20}):
            with pytest.raises(solvent.DataLost, match=r"S205.*`d` is lost") as caught:
                handle.acquire(timeout=MAX_SECONDS, **stretch)
            assert torn is None or "died while it wrote bytes 0 to 47 of 192" in caught.value.message
            assert "anew" in caught.value.hint
        assert bytes(handle.acquire(anew=True, timeout=MAX_SECONDS)) == bytes(SIZE)
        handle.release()
        _write(handle, b"b", 0, 10)
        assert _read(handle) == "b10 \x00182"
