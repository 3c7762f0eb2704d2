"""Making memory, also where another process died while it made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from solvent.errors import DataProblem
from solvent.handover.data.card import Card
from solvent.handover.data.memory import Memory
from solvent.handover.data.region import opened
from tests.unit.handover.data.regions import attached, made

if TYPE_CHECKING:
    from pathlib import Path


def test_what_a_dead_maker_left_is_no_resource_and_does_not_stand_in_the_way(tmp_path: Path) -> None:
    """After each step of making it, the death of the maker leaves nothing that is taken for memory."""
    assert opened(tmp_path, "m") is None
    Memory(tmp_path / "m.data", is_own=True, is_new=True).close()
    assert opened(tmp_path, "m") is None
    (tmp_path / "m.card").touch()
    assert opened(tmp_path, "m") is None
    (tmp_path / "m.card").unlink()
    Card(tmp_path / "m.card", is_new=True).close()
    assert opened(tmp_path, "m") is None
    made(tmp_path, 100)
    assert attached(tmp_path).version == 0


def test_what_a_dead_remover_left_is_gone(tmp_path: Path) -> None:
    """Once it is said to be removed it is, whatever files are left."""
    region = made(tmp_path, 100)
    region._card.change(lambda sheet: replace(sheet, is_removed=True))
    region.close()
    assert opened(tmp_path, "m") is None
    assert made(tmp_path, 50).size == 50


def test_no_room_leaves_no_files(tmp_path: Path) -> None:
    """Memory that cannot be made is not half made."""
    with pytest.raises(DataProblem) as caught:
        made(tmp_path, 1 << 55)
    assert caught.value.code == "D211"
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_made_where_there_is_none(tmp_path: Path) -> None:
    """With a size, a file of the user's is made, or gets that size; without one it must be there."""
    region = made(tmp_path, 10, path=tmp_path / "new.bin")
    assert ((tmp_path / "new.bin").read_bytes(), region.size) == (bytes(10), 10)
    (tmp_path / "old.bin").write_bytes(b"12345")
    assert bytes(made(tmp_path, 3, path=tmp_path / "old.bin").read(0)) == b"123"
    with pytest.raises(DataProblem) as caught:
        made(tmp_path, None, path=tmp_path / "none.bin")
    assert caught.value.code == "D213"


@pytest.mark.parametrize("name", ["/dev/zero", "x" * 300])
def test_what_cannot_be_the_file_of_a_resource_is_told(tmp_path: Path, name: str) -> None:
    """Not everything that has a path can be given a length, and not every path can be had."""
    with pytest.raises(DataProblem) as caught:
        made(tmp_path, 100, path=tmp_path / name)
    assert (caught.value.code, name in caught.value.message) == ("D213", True)
