"""Arrays of handed-over data: how long they last, and what they cost."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.live.shared_processes import Scene


@pytest.mark.parametrize("keep_last", [True, False])
@pytest.mark.parametrize("ending", ["part", "read", "resized", "destroyed"])
def test_an_array_that_somebody_keeps_can_be_read_for_ever(place: Scene, ending: str, *, keep_last: bool) -> None:
    """Memory is mapped as long as there is an array over it, or one that was made from it, and no longer."""

    def work(_: Callable[[str], None]) -> None:
        with place.space() as space:
            with space.handle("grid", initial=np.full((100, 1000), 5.0), keep_last=keep_last) as handle:
                handle.acquire()
                handle.acquire("read" if ending == "read" else "write", length=80_000 if ending == "part" else None)
                kept = [handle.array, handle.array[3:4], np.ndarray((8,), "u1", handle.view)]
                if ending == "resized":
                    handle.resize(8_000_000)
                    assert [array.sum() for array in kept[1:]] == [5000, 84]
                handle.release()
                assert [array.sum() for array in kept[1:]] == [5000, 84]
            assert [array.sum() for array in kept[1:]] == [5000, 84]
        assert all(array.sum() >= 0 for array in kept)
        assert _is_mapped(place)
        kept.clear()
        assert not _is_mapped(place)

    place.start(work).end()


def _is_mapped(place: Scene) -> bool:
    """Tell whether this process has data of a place mapped; of others, tests before this one may have left some."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return any(f"{place.folder}/" in line and ".data" in line for line in lines)


def test_an_array_is_made_once_while_it_is_held(place: Scene) -> None:
    """To ask for it again and again costs nothing; after a change of size, and when it is held again, it is another."""
    with place.space() as space, space.handle("grid", array=((3, 4), float)) as handle:
        arrays = list[object]()
        for mode in ("write", "read"):
            handle.acquire(mode)
            arrays += [handle.array, handle.array]
        handle.acquire("write")
        handle.resize(64)
        arrays += [handle.array, handle.array]
        assert [one is other for one, other in itertools.pairwise(arrays)] == [True, False, True, False, True]
