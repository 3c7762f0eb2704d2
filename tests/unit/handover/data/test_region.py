"""Regions: who reads and writes a resource's memory, and what is noticed of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from solvent.errors import DataLost, DataProblem, Misuse, SolventError
from solvent.handover.data import region as region_module
from solvent.handover.data import writing as writing_module
from solvent.handover.data.memory import can_draft
from tests.unit.handover.data.regions import attached, die, made

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _code(act: Callable[[], object]) -> str:
    with pytest.raises(SolventError) as caught:
        act()
    return caught.value.code


def test_a_process_that_dies_while_it_writes_leaves_a_torn_region(tmp_path: Path) -> None:
    """Half-written bytes are no version, neither the old one nor the new one; the next write makes it whole again."""
    one = made(tmp_path, 100)
    other = attached(tmp_path)
    one.write(1).view[:50] = b"x" * 50
    die(one)
    assert (other.version, other.newest, other.is_busy()) == (None, None, False)
    for version in (0, 1):
        with pytest.raises(DataLost) as caught:
            other.read(version)
        assert caught.value.code == "D202"
    assert _code(lambda: other.recover(0)) == "D202"
    with other.write(2):
        pass
    assert other.version == 2


def test_two_cannot_write_the_same_stretch(tmp_path: Path) -> None:
    """The second is told; whoever writes another stretch is not disturbed, whether in this process or another one."""
    one = made(tmp_path, 100)
    other = attached(tmp_path)
    first = one.write(1, offset=0, length=50)
    for region in (one, other):
        assert _code(lambda region=region: region.write(2, offset=49, length=2)) == "D203"  # type: ignore[misc]
        assert _code(lambda region=region: region.write(2)) == "D203"  # type: ignore[misc]
        assert _code(lambda region=region: region.recover(0)) == "D203"  # type: ignore[misc]
    second, third = other.write(2, offset=50, length=25), one.write(3, offset=75, length=25)
    for writing in (first, second, third):
        writing.view[:] = bytes([writing.version]) * len(writing.view)
        writing.commit()
    assert bytes(one.read(2, offset=50, length=25)) == b"\x02" * 25
    assert (one.version, one.newest) == (None, None)
    assert _code(lambda: one.read(1)) == "D201"
    with other.write(4):
        pass
    assert one.version == 4


@pytest.mark.parametrize("offset,length", [(-1, 5), (0, 101), (100, 1), (5, 0), (50, -1), (101, None)])
def test_a_stretch_lies_inside(tmp_path: Path, offset: int, length: int | None) -> None:
    """A stretch that is empty or reaches out is refused."""
    region = made(tmp_path, 100)
    for act in (region.read, region.write, region.check):
        with pytest.raises(Misuse) as caught:
            act(0, offset=offset, length=length)
        assert caught.value.code == "D102"


def test_versions_count_from_zero(tmp_path: Path) -> None:
    """A negative number is no version."""
    region = made(tmp_path, 100)
    assert _code(lambda: region.write(-1)) == "D101"
    writing = region.write(1)
    assert _code(lambda: writing.commit(-5)) == "D101"


def test_removed_memory_is_gone_for_all(tmp_path: Path) -> None:
    """Who has it attached is told; its files are gone."""
    one = made(tmp_path, 100, keep_last=True)
    other = attached(tmp_path)
    with one.write(1):
        pass
    one.remove()
    assert other.is_removed()
    for act in (lambda: other.read(1), lambda: other.write(2), lambda: other.recover(1)):
        with pytest.raises(DataLost):
            act()
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_cannot_begin_leaves_nothing_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there is no room for the copy that is to be kept, others can write as before."""
    one = made(tmp_path, 100, keep_last=True)
    other = attached(tmp_path)

    def full(*_: object) -> None:
        raise DataProblem("D211", "no room")

    monkeypatch.setattr(region_module, "can_draft", lambda: False)
    monkeypatch.setattr(one._memory, "copy_out", full)
    assert _code(lambda: one.write(1)) == "D211"
    assert (other.version, other.is_busy(), one.is_busy()) == (0, False, False)
    with other.write(1):
        pass


def test_one_piece_too_many_is_refused_before_the_work_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts cannot be written any more, and everything can."""
    monkeypatch.setattr(region_module, "MAX_PIECES", 3)
    region = made(tmp_path, 100, keep_last=True)
    for start in (10, 20):
        region.write(start, offset=start, length=1).commit()
    assert _code(lambda: region.write(30, offset=30, length=1)) == "D207"
    assert not region.is_busy()
    region.write(40).commit()
    region.write(50, offset=30, length=1).commit()


@pytest.mark.skipif(not can_draft(), reason="this system does not tell which pages were changed")
@pytest.mark.parametrize("size", [20_000, 0])
def test_who_finishes_for_one_that_dies_just_then_has_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """It dies between two looks of who is about to write, and nobody else writes at the same time."""
    one, other, third = made(tmp_path, size, keep_last=True), attached(tmp_path), attached(tmp_path)
    writing = one.write(1)
    writing.resize(20_000)
    writing.view[:] = b"x" * 20_000
    with monkeypatch.context() as patch:
        patch.setattr(writing_module, "finish", None)
        with pytest.raises(TypeError):
            writing.commit()
    take, times = other._card.try_take, iter(range(20_000))

    def late(start: int, length: int) -> bool:
        if next(times) == 1:
            die(one)
        return take(start, length)

    monkeypatch.setattr(other._card, "try_take", late)
    writing = other.write(2)
    assert bytes(writing.view) == b"x" * 20_000
    assert _code(lambda: third.write(3)) == "D203"
    writing.commit()
    assert third.version == 2
