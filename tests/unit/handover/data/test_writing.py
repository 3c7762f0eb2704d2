"""Writings: from the first byte to the version."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from solvent.errors import DataProblem, Misuse
from solvent.handover.data import locks
from tests.unit.handover.data.regions import attached, made

if TYPE_CHECKING:
    from pathlib import Path

numpy = pytest.importorskip("numpy")


def test_a_view_ends_with_its_writing(tmp_path: Path) -> None:
    """Who writes too late is told so, and does not spoil what is somebody else's."""
    region = made(tmp_path, 100)
    with region.write(1) as writing:
        view = writing.view
        array = writing.array("u1")
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    del array
    with region.write(2) as writing:
        view = writing.view
    with pytest.raises(ValueError, match="released"):
        view[0] = 1
    for act in (lambda: writing.view, writing.commit, lambda: writing.resize(5), lambda: writing.describe("x")):
        with pytest.raises(Misuse) as caught:
            act()
        assert caught.value.code == "D103"
    writing.abandon()
    writing.leave()
    assert region.version == 2


def test_a_stretch_says_nothing_about_the_whole(tmp_path: Path) -> None:
    """An array over a stretch is given by its type, and does not become what the resource is."""
    region = made(tmp_path, 80)
    with region.write(1) as writing:
        writing.array("f8", (10,))
    with region.write(2, offset=8, length=16) as writing:
        writing.array("i4", (2, 2))[:] = 7
    assert region.sheet.form == "numpy <f8 10"


def test_unchanged_data_keeps_its_version(tmp_path: Path) -> None:
    """Who had the right to write and did not use it says so by the version that was there."""
    region = made(tmp_path, 100)
    region.write(1).commit(0)
    assert region.version == 0


def test_the_first_part_can_be_a_version_before_the_rest(tmp_path: Path) -> None:
    """What arrives piece by piece is there piece by piece, and stays if the rest does not come."""
    region = made(tmp_path, 100)
    writing = region.write(1)
    writing.view[:30] = b"a" * 30
    writing.commit_until(30)
    assert (writing.start, writing.view.nbytes) == (30, 70)
    assert bytes(attached(tmp_path).read(1, length=30)) == b"a" * 30
    writing.leave()
    assert [(one.start, one.end, one.version) for one in region.sheet.extents] == [(0, 30, 1), (30, 100, -2)]


def test_sizes_are_changed_by_who_writes_everything(tmp_path: Path) -> None:
    """Growing keeps what is there; a stretch cannot be resized, nor anything to less than nothing."""
    region = made(tmp_path, 10)
    with region.write(1) as writing:
        writing.view[:] = b"0123456789"
        writing.resize(20)
        assert bytes(writing.view) == b"0123456789" + bytes(10)
        writing.resize(5)
        assert bytes(writing.view) == b"01234"
        with pytest.raises(Misuse):
            writing.resize(-1)
    part = region.write(2, offset=0, length=2)
    with pytest.raises(Misuse):
        part.resize(5)
    part.commit()
    with pytest.raises(Misuse), region.write(3) as writing:
        writing.describe("x" * 1000)


def test_what_cannot_be_said_to_be_under_way_is_not_given_to_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who looks again after that has failed gets the bytes only when the card says so: others would believe them."""
    region, other = made(tmp_path, 100), attached(tmp_path)
    monkeypatch.setattr(locks, "_MAX_SHORT_SECONDS", 0.001)
    writing = region.write(1, offset=10, length=5)
    stopped = os.open(next(tmp_path.glob("*.card")), os.O_RDWR)
    assert locks.try_lock(stopped, 0, 1)
    for _ in range(2):
        with pytest.raises(DataProblem) as caught:
            _ = writing.view
        assert caught.value.code == "D203"
    os.close(stopped)
    writing.view[:] = b"later"
    with pytest.raises(DataProblem):
        other.read(0)
    writing.commit()
    assert bytes(other.read(1, offset=10, length=5)) == b"later"


@pytest.mark.parametrize("size", [-1, 2**70])
def test_what_is_no_size_is_refused_before_anything_is_changed(tmp_path: Path, size: int) -> None:
    """The bytes are still there."""
    region = made(tmp_path, 5)
    with region.write(1) as writing:
        with pytest.raises(Misuse) as caught:
            writing.resize(size)
        assert (caught.value.code, len(writing.view)) == ("D102", 5)
