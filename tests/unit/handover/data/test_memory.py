"""The bytes of a resource: files that are mapped, and grow and shrink under those that map them."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

import pytest

from solvent.errors import DataProblem
from solvent.handover.data.memory import Memory

if TYPE_CHECKING:
    from pathlib import Path

PAGE = mmap.PAGESIZE


def _memory(path: Path, size: int) -> Memory:
    memory = Memory(path, is_own=True, is_new=True)
    memory.reserve(size)
    return memory


def test_shrinking_gives_memory_back_and_kills_nobody(tmp_path: Path) -> None:
    """Who still looks at what was cut off sees zeros; so does who gets it again."""
    one = _memory(tmp_path / "d", 100 * PAGE)
    view = one.view(0, 100 * PAGE)
    view[:] = b"x" * len(view)
    blocks = (tmp_path / "d").stat().st_blocks
    one.resize(100 * PAGE, PAGE + 10)
    assert (tmp_path / "d").stat().st_blocks < blocks / 10
    assert (view[PAGE + 9], view[PAGE + 10], view[50 * PAGE]) == (ord("x"), 0, 0)
    one.resize(PAGE + 10, 2 * PAGE)
    assert bytes(one.view(PAGE + 10, 2 * PAGE)) == bytes(PAGE - 10)
    one.close()


def test_memory_that_ends_within_a_page_can_shrink(tmp_path: Path) -> None:
    """The file may end on the page where the new end is; what is cut off is zero when it comes back."""
    one = _memory(tmp_path / "d", PAGE + 2)
    one.view(0, PAGE + 2)[:] = b"x" * (PAGE + 2)
    one.resize(PAGE + 2, PAGE + 1)
    one.resize(PAGE + 1, PAGE + 4)
    assert bytes(one.view(PAGE, PAGE + 4)) == b"x" + bytes(3)
    one.close()


def test_what_is_cut_off_is_zero_where_no_memory_can_be_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There it keeps its room, and what was in it does not come back."""
    monkeypatch.delattr(mmap, "MADV_REMOVE")
    one = _memory(tmp_path / "d", 10 * PAGE)
    one.view(0, 10 * PAGE)[:] = b"x" * (10 * PAGE)
    one.resize(10 * PAGE, PAGE + 10)
    one.resize(PAGE + 10, 10 * PAGE)
    assert bytes(one.view(0, 10 * PAGE)) == b"x" * (PAGE + 10) + bytes(9 * PAGE - 10)
    one.close()


def test_removed_memory_is_free_at_once(tmp_path: Path) -> None:
    """The file goes, its bytes are given back although somebody has them mapped, and a file of the user's stays."""
    one = _memory(tmp_path / "d", 10 * PAGE)
    view = one.view(0, 10 * PAGE)
    view[:3] = b"abc"
    one.remove()
    assert not (tmp_path / "d").exists()
    assert bytes(view[:3]) == bytes(3)
    one.close()
    (tmp_path / "mine").write_bytes(b"abc")
    mine = Memory(tmp_path / "mine", is_own=False)
    mine.remove()
    assert (tmp_path / "mine").read_bytes() == b"abc"
    mine.close()


def test_a_stretch_is_copied_out_and_back(tmp_path: Path) -> None:
    """A copy of a stretch lies at the same place of another file, and can be put back."""
    memory = _memory(tmp_path / "d", 100)
    memory.view(0, 100)[:] = bytes(range(100))
    memory.copy_out(tmp_path / "k", 20, 50)
    memory.view(0, 100)[:] = bytes(100)
    memory.copy_in(tmp_path / "k", 30, 40)
    assert bytes(memory.view(0, 100)) == bytes(30) + bytes(range(30, 40)) + bytes(60)
    with pytest.raises(DataProblem) as caught:
        memory.copy_in(tmp_path / "k", 40, 60)
    assert caught.value.code == "D206"
    memory.close()
