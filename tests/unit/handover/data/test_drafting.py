"""Writings that keep the version before: whatever happens, one of the two is there."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

import pytest

from solvent.errors import DataProblem
from solvent.handover.data import writing as writing_module
from solvent.handover.data.memory import Draft, can_draft
from solvent.handover.data.writing import Drafting
from tests.unit.handover.data.regions import attached, die, made

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.handover.data import Region, Writing

pytestmark = pytest.mark.skipif(not can_draft(), reason="this system does not tell which pages were changed")
SIZE = 20_000


def _drafting(region: Region, version: int, **stretch: int) -> Writing:
    writing = region.write(version, **stretch)
    assert isinstance(writing, Drafting)
    return writing


def _write(region: Region, version: int, **stretch: int) -> None:
    with _drafting(region, version, **stretch) as writing:
        writing.view[:] = bytes([version]) * writing.view.nbytes


@pytest.mark.parametrize("stretch", [{}, {"offset": 100, "length": 9_000}])
@pytest.mark.parametrize("step", ["write", "noted", "copy", "finish"])
def test_death_at_any_step_leaves_a_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, stretch: dict[str, int]
) -> None:
    """Before the changes are noted down it is the one before; from then on the next, which anybody finishes."""
    monkeypatch.setattr(writing_module, "ROOM_BYTES", 0)
    one = made(tmp_path, SIZE, keep_last=True)
    other = attached(tmp_path)
    _write(one, 1)
    writing = _drafting(one, 2, **stretch)
    writing.view[:] = b"x" * writing.view.nbytes

    def fall_dead(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    where = writing._notes if step == "write" else writing_module  # type: ignore[attr-defined]
    monkeypatch.setattr(where, step, fall_dead)
    with pytest.raises(KeyboardInterrupt):
        writing.commit()
    die(one)
    monkeypatch.undo()
    start, length = stretch.get("offset", 0), stretch.get("length", SIZE)
    if step in ("write", "noted"):
        assert bytes(other.read(1)) == b"\x01" * SIZE
    else:
        assert bytes(other.read(2, offset=start, length=length)) == b"x" * length
        assert other.sheet.redo == ()
        if start:
            assert bytes(other.read(1, length=start)) == b"\x01" * start
            assert bytes(other.read(1, offset=start + length)) == b"\x01" * (SIZE - start - length)
    _write(other, 3)
    assert bytes(attached(tmp_path).read(3)) == b"\x03" * SIZE


def test_much_that_was_changed_is_never_there_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is noted down is dropped from the draft, and comes from the notes; runs of all kinds arrive."""
    monkeypatch.setattr(writing_module, "MUCH_BYTES", 1000)
    monkeypatch.setattr(writing_module, "_COPY_BYTES", 3 * mmap.PAGESIZE)
    dropped = list[tuple[int, int]]()
    real = Draft.drop

    def drop(draft: Draft, start: int, end: int) -> None:
        real(draft, start, end)
        dropped.append((start, end))
        assert not any(first < end and start < last for first, last in draft.changed(draft.end))

    monkeypatch.setattr(Draft, "drop", drop)
    size = 40 * mmap.PAGESIZE + 77
    one = made(tmp_path, size, keep_last=True)
    expected = bytearray(size)
    for version, (offset, length) in enumerate([(0, size), (5, size - 9), (10, 30_000)], 1):
        with _drafting(one, version, offset=offset, length=length) as writing:
            view = writing.view
            for start, end in ((0, 1), (length // 3, length // 2), (length - 1, length)):
                view[start:end] = bytes([version]) * (end - start)
                expected[offset + start : offset + end] = bytes([version]) * (end - start)
    assert bytes(attached(tmp_path).look()) == bytes(expected)
    assert len(dropped) > 9


@pytest.mark.parametrize("step", ["note", "noted", "put", "finish"])
def test_death_with_few_changes_leaves_a_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """The same where the changes are noted down on the card."""
    one = made(tmp_path, 20 * SIZE, keep_last=True)
    other = attached(tmp_path)
    writing = _drafting(one, 1)
    writing.view[100] = writing.view[-1] = 7

    def fall_dead(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    where = {"note": one._card, "put": one._memory}.get(step, writing_module)
    monkeypatch.setattr(where, step, fall_dead)
    with pytest.raises(KeyboardInterrupt):
        writing.commit()
    die(one)
    monkeypatch.undo()
    version = 0 if step in ("note", "noted") else 1
    view = other.read(version)
    assert (view[100], view[-1], sum(view)) == ((7, 7, 14) if version else (0, 0, 0))
    assert list(tmp_path.glob("*.redo")) == []


def test_a_version_that_is_being_made_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While its maker lives nobody else does its work, and nobody takes a part of it for a version."""
    one = made(tmp_path, SIZE, keep_last=True)
    other = attached(tmp_path)
    writing = _drafting(one, 1)
    writing.view[0] = 1
    real = writing_module.finish
    seen = list[object]()

    def look(*all_: object, **named: object) -> object:
        seen.extend((other.version, len(other.sheet.redo)))
        with pytest.raises(DataProblem):
            other.write(2)
        return real(*all_, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(writing_module, "finish", look)
    writing.commit()
    assert seen == [None, 1]
    assert (other.version, other.sheet.redo) == (1, ())


@pytest.mark.parametrize("ending", ["commit", "abandon"])
def test_room_that_was_asked_for_and_is_not_needed_is_given_back(tmp_path: Path, ending: str) -> None:
    """Who grows, and is then as short as before, or thinks better of it, has taken nothing."""
    region = made(tmp_path, SIZE, keep_last=True)
    before = region.path.stat().st_blocks
    writing = _drafting(region, 1)
    writing.resize(100 * SIZE)
    assert region.path.stat().st_blocks > 50 * before
    writing.resize(SIZE)
    getattr(writing, ending)()
    assert region.path.stat().st_blocks < 2 * before
    assert region.sheet.reach == 0


def test_no_room_for_the_changes_is_an_error_that_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writing goes on, and can be ended when there is room again."""
    region = made(tmp_path, SIZE, keep_last=True)
    writing = _drafting(region, 1)
    writing.view[:] = b"x" * SIZE

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.pwritev", full)
        with pytest.raises(DataProblem) as caught:
            writing.commit()
    assert (caught.value.code, region.version) == ("D211", 0)
    writing.commit()
    assert bytes(region.read(1)) == b"x" * SIZE


def test_what_the_bytes_are_is_said_with_the_version(tmp_path: Path) -> None:
    """Who gives up does not change it."""
    region = made(tmp_path, 80, keep_last=True)
    writing = _drafting(region, 1)
    writing.describe("new")
    writing.abandon()
    assert region.sheet.form == ""
    with _drafting(region, 1) as writing:
        writing.describe("new")
    with _drafting(region, 2) as writing:
        writing.describe("newer")
        writing.view[0] = 1
    assert attached(tmp_path).sheet.form == "newer"


def test_what_is_rewritten_again_and_again_is_copied_first(tmp_path: Path) -> None:
    """Several heavy versions in a row are kept by copies, until a look now and then finds a light one."""
    region = made(tmp_path, 200_000, keep_last=True)
    ways = list[bool]()
    for version in range(1, 41):
        with region.write(version) as writing:
            ways.append(isinstance(writing, Drafting))
            if version <= 20:
                writing.view[:] = bytes([version]) * 200_000
            else:
                writing.view[version] = 1
    assert ways == [True] * 3 + [False] * 13 + [True] + [False] * 15 + [True] * 8
    assert bytes(region.read(40)[:60]) == bytes([20]) * 21 + b"\x01" * 20 + bytes([20]) * 19
    assert region.sheet.kept == ()
    with region.write(41, offset=0, length=100_000) as part:
        assert isinstance(part, Drafting)


def test_a_single_heavy_version_changes_nothing(tmp_path: Path) -> None:
    """Who fills the data first, or once in a while, does not make the others copy it."""
    region = made(tmp_path, 200_000, keep_last=True)
    for version in range(1, 30):
        with _drafting(region, version) as writing:
            if version % 3:
                writing.view[:] = bytes([version]) * 200_000
            else:
                writing.view[0] = version
