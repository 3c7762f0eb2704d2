"""Cards: every change is seen as a whole or not at all."""

from __future__ import annotations

import errno
import os
import struct
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from solvent.errors import DataProblem, Misuse
from solvent.handover.data import card as card_module
from solvent.handover.data.card import MAX_PIECES, Card, Extent, Sheet, whole

if TYPE_CHECKING:
    from pathlib import Path

SHEET = Sheet("matrix", 7, 100, whole(100, 0, 0))


def _card(path: Path) -> Card:
    card = Card(path, is_new=True)
    card.begin(SHEET)
    return card


def test_half_a_change_is_none(tmp_path: Path) -> None:
    """A process that dies between the sheet and its number has changed nothing."""
    card = _card(tmp_path / "c")
    card.change(lambda sheet: replace(sheet, stamps=1))
    torn = bytearray((tmp_path / "c").read_bytes())
    card.change(lambda sheet: replace(sheet, stamps=2))
    card.close()
    # The sheet of the second change is there, or the first half of it, and the number is still that of the first.
    for kept in (10, 1000):
        written = bytearray((tmp_path / "c").read_bytes())
        place = 4096 + (struct.unpack_from("Q", written, 8)[0] & 1) * 16384
        torn[place : place + kept] = written[place : place + kept]
        (tmp_path / "half").write_bytes(torn)
        half = Card(tmp_path / "half")
        assert half.sheet() == replace(SHEET, stamps=1)
        half.change(lambda sheet: replace(sheet, stamps=9))
        assert half.sheet().stamps == 9
        half.close()


def test_a_card_that_was_never_finished_is_told_from_one_that_was(tmp_path: Path) -> None:
    """What a process left that died while it made a card is no card."""
    (tmp_path / "empty").touch()
    with pytest.raises(DataProblem) as caught:
        Card(tmp_path / "empty")
    assert caught.value.code == "D206"
    unfinished = Card(tmp_path / "c", is_new=True)
    assert not unfinished.is_finished()
    unfinished.begin(SHEET)
    assert unfinished.is_finished()
    unfinished.close()


def test_damage_is_an_error(tmp_path: Path) -> None:
    """A card whose sheet does not fit its checksum is not believed."""
    _card(tmp_path / "c").close()
    data = bytearray((tmp_path / "c").read_bytes())
    data[4096 + 16384 + 30] ^= 1
    (tmp_path / "c").write_bytes(data)
    card = Card(tmp_path / "c")
    with pytest.raises(DataProblem) as caught:
        card.sheet()
    assert caught.value.code == "D206"
    card.close()


_MANY = tuple(Extent(2**40 + n, 2**40 + n + 1, 2**40 + n, 2**40 + n) for n in range(5000))


def test_a_card_has_room_for_thousands_of_pieces(tmp_path: Path) -> None:
    """However many there are, all that have the card open see them, and see it when there are few again."""
    one = _card(tmp_path / "c")
    other = Card(tmp_path / "c")
    for count in (300, 5000, 4999, 3, 2, 5000, 1):
        one.change(lambda sheet, count=count: replace(sheet, extents=_MANY[:count]))
        later = Card(tmp_path / "c")
        assert other.sheet().extents == later.sheet().extents == _MANY[:count]
        later.close()
    one.close()
    with pytest.raises(Misuse):
        one.sheet()
    other.close()


def test_half_a_long_change_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that dies while it writes a long sheet, or has no room for it, has changed nothing."""
    card = _card(tmp_path / "c")
    for count in (4000, 3999):
        card.change(lambda sheet, count=count: replace(sheet, extents=_MANY[:count]))
    real = os.pwrite

    def full(file: int, data: bytes, place: int) -> int:
        if len(data) < 1000:
            raise OSError(errno.ENOSPC, "no space")
        return real(file, data[: len(data) // 2], place)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(DataProblem) as caught:
            card.change(lambda sheet: replace(sheet, extents=_MANY[:3500]))
    assert caught.value.code == "D211"
    later = Card(tmp_path / "c")
    assert later.sheet().extents == card.sheet().extents == _MANY[:3999]
    card.change(lambda sheet: replace(sheet, extents=_MANY[:3500]))
    assert later.sheet().extents == _MANY[:3500]
    later.close()
    card.close()


def test_there_is_room_for_as_many_pieces_as_are_allowed(tmp_path: Path) -> None:
    """Whatever their numbers are, and whether or not the last version of each is kept as well."""
    most = 2**62
    row = (Extent(most, most, most, most),) * (MAX_PIECES + 1000)
    card = _card(tmp_path / "c")
    card.change(lambda sheet: replace(sheet, extents=row, kept=row))
    assert card.sheet().kept == row
    card.close()


def test_more_pieces_than_a_card_has_room_for_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is too long is an error that changes nothing."""
    monkeypatch.setattr(card_module, "_FAR_BYTES", 100_000)
    card = _card(tmp_path / "c")
    with pytest.raises(DataProblem) as caught:
        card.change(lambda sheet: replace(sheet, extents=_MANY))
    assert caught.value.code == "D207"
    assert card.sheet() == SHEET
    card.close()
