"""Processes that the others have gone on without: they make no version, and their memory is moved away from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from solvent.errors import DataLost, DataProblem
from solvent.handover.data.card import Fenced
from tests.unit.handover.data.regions import attached, made

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.handover.data import Region

SIZE = 20_000


def _filled(folder: Path, *, keep_last: bool = True, versions: int = 1) -> Region:
    """Make `matrix`, with some versions that change all of it."""
    region = made(folder, SIZE, keep_last=keep_last)
    for version in range(1, versions + 1):
        with region.write(version) as writing:
            writing.view[:] = bytes([version]) * SIZE
    return region


@pytest.mark.parametrize("size", [4, SIZE], ids=["a few bytes", "all bytes"])
def test_who_has_not_heard_of_an_epoch_makes_no_version(tmp_path: Path, size: int) -> None:
    """It can as soon as it has heard; what it wrote is not lost meanwhile."""
    region, other, heard = _filled(tmp_path), attached(tmp_path), [4]
    other.fence(3)
    writing = region.write(2)
    writing.epoch = lambda: heard[0]
    writing.view[:size] = b"n" * size
    other.fence(5)
    with pytest.raises(Fenced):
        region.fence(4)
    with pytest.raises(Fenced) as caught:
        writing.commit()
    assert caught.value.code == "D203"
    assert other.version == 1
    heard[0] = 5
    writing.commit()
    assert bytes(other.read(2)) == b"n" * size + b"\1" * (SIZE - size)


@pytest.mark.parametrize("versions", [1, 4], ids=["in a draft", "in place"])
def test_memory_is_moved_away_from_who_writes_there(tmp_path: Path, versions: int) -> None:
    """The version before goes along; what is written, released or given up late reaches nobody."""
    region, other = _filled(tmp_path, versions=versions), attached(tmp_path)
    writing = region.write(9)
    writing.view[:] = b"s" * SIZE
    late = writing.view[:]
    other.move(tmp_path, "m")
    here = attached(tmp_path)
    assert not here.is_taken()
    if here.version != versions:
        here.recover(versions)
    with here.write(10) as mine:
        assert bytes(mine.view) == bytes([versions]) * SIZE
        mine.view[:4] = b"next"
    late[:] = b"l" * SIZE
    writing.abandon()
    late[:] = b"l" * SIZE
    assert bytes(here.read(10)) == b"next" + bytes([versions]) * (SIZE - 4)
    assert other.is_removed()
    assert (here.birth, here.sheet.stamps > 0) == (region.birth, True)


def test_memory_is_moved_again_and_again(tmp_path: Path) -> None:
    """Each time its files have other names; those from before are removed."""
    region = _filled(tmp_path)
    for version in range(2, 5):
        stopped = region.write(9)
        stopped.view[0] = 0
        attached(tmp_path).move(tmp_path, "m")
        region = attached(tmp_path)
        with region.write(version) as writing:
            writing.view[:] = bytes([version]) * SIZE
    assert {path.name.split(".")[0] for path in tmp_path.glob("m*")} == {"m", "m-3"}
    assert [path.name for path in tmp_path.glob("m.*")] == ["m.card"]


def test_a_size_that_was_being_changed_is_as_before_after_a_move(tmp_path: Path) -> None:
    """Also where it was changed in place, and all there was is what was kept."""
    region = _filled(tmp_path, versions=4)
    stopped = region.write(9)
    stopped.resize(10)
    attached(tmp_path).move(tmp_path, "m")
    here = attached(tmp_path)
    assert bytes(here.read(4)) == b"\4" * SIZE


def test_what_is_torn_stays_so_after_a_move(tmp_path: Path) -> None:
    """Where no version is kept there is none to move."""
    region = _filled(tmp_path, keep_last=False)
    region.write(2).view[:4] = b"torn"
    attached(tmp_path).move(tmp_path, "m")
    with pytest.raises(DataLost) as caught:
        attached(tmp_path).check(1)
    assert caught.value.code == "D202"


def test_a_fence_outlives_a_move(tmp_path: Path) -> None:
    """Who had not opened the memory before has not heard either."""
    region, other = _filled(tmp_path), attached(tmp_path)
    other.fence(7)
    region.write(2).view[0] = 0
    other.move(tmp_path, "m")
    writing = attached(tmp_path).write(3)
    writing.epoch = lambda: 6
    with pytest.raises(Fenced):
        writing.commit()


def test_a_file_of_the_users_is_not_moved(tmp_path: Path) -> None:
    """It is where it is; who wants it waits until nobody writes there."""
    path = tmp_path / "own.bin"
    path.write_bytes(bytes(100))
    region = made(tmp_path, None, path=path)
    region.write(1).view[0] = 1
    with pytest.raises(DataProblem) as caught:
        attached(tmp_path).move(tmp_path, "m")
    assert caught.value.code == "D203"
