"""Rows of writings by all that share a memory, of everything and of parts, beside plain bytes that do the same."""

from __future__ import annotations

import mmap
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from solvent.errors import DataLost
from solvent.handover.data import region as region_module
from solvent.handover.data import writing as writing_module
from solvent.handover.data.card import version_of
from solvent.handover.data.memory import can_draft
from solvent.handover.data.writing import Drafting
from tests.unit.handover.data.regions import attached, die, made

if TYPE_CHECKING:
    from solvent.handover.data import Region, Writing

PAGE = mmap.PAGESIZE
FIRST = 3 * PAGE
TORN = 255
Change: TypeAlias = tuple[int, int] | int
"""Where to write and how much; or another size."""
Ending: TypeAlias = Literal["commit", "keep a view", "abandon", "die", "die noted"]


class Turn(NamedTuple):
    """What one does while it has all of it, or a part."""

    who: int
    part: tuple[int, int] | None
    changes: list[Change]
    ending: Ending


class World:
    """Three that share a memory, and what is to be found there."""

    def __init__(self, folder: Path, *, keep_last: bool, is_file: bool) -> None:
        self.folder = folder
        self.keep_last = keep_last
        self.is_file = is_file
        path = folder / "mine.bin" if is_file else None
        self.regions = [made(folder, FIRST, path=path, keep_last=keep_last), attached(folder), attached(folder)]
        self.data = bytearray(FIRST)
        #: The version of each byte; `TORN` where it has none.
        self.versions = bytearray(FIRST)
        #: That of no bytes, if there are none.
        self.last = 0
        self.late = list[memoryview]()

    def take(self, turn: Turn, version: int) -> None:
        """Let one have its turn, and do the same to the bytes."""
        size = len(self.data)
        if turn.part is not None and not size:
            return
        start, end = (0, size) if turn.part is None else _stretch(turn.part, size)
        stretch = {} if turn.part is None else {"offset": start, "length": end - start}
        writing = self.regions[turn.who].write(version, **stretch)
        assert bytes(writing.view) == self.data[start:end]
        data = self.data[start:end]
        for number, change in enumerate(turn.changes):
            if not isinstance(change, int):
                _put(writing, data, change, 1 + (7 * version + number) % 255)
            elif writing.is_whole:
                writing.resize(change)
                data = data[:change] + bytes(max(0, change - len(data)))
            assert bytes(writing.view) == data
        if turn.part is not None and end < size:
            self._write_beside((turn.who + 1) % 3, end, min(size, end + turn.part[1]), version + 1)
        if self._end(turn, writing):
            self.last = version
        elif self.keep_last:
            return
        else:
            self.last = TORN
        self.data[start:end] = data
        self.versions[start:end] = bytes([self.last]) * len(data)

    def _write_beside(self, who: int, start: int, end: int, version: int) -> None:
        """Let another one write the next part meanwhile, which may lie on the same page."""
        with self.regions[who].write(version, offset=start, length=end - start) as writing:
            assert bytes(writing.view) == self.data[start:end]
            writing.view[:] = self.data[start:end] = bytes([version]) * (end - start)
        self.versions[start:end] = bytes([version]) * (end - start)

    def _end(self, turn: Turn, writing: Writing) -> bool:
        """End it, and tell whether it became a version."""
        match turn.ending:
            case "abandon":
                writing.abandon()
                return False
            case "die":
                self._die(turn.who)
                return False
            case "die noted" if isinstance(writing, Drafting):
                with pytest.MonkeyPatch.context() as patch:
                    # Some bytes are in their places by then, but where only the version is put on the card.
                    patch.setattr(writing_module, "finish", _fall_dead)
                    try:
                        writing.commit()
                    except KeyboardInterrupt:
                        self._die(turn.who)
                return True
            # Who looks through a view at what was cut off of a file of the user's is killed.
            case "keep a view" if isinstance(writing, Drafting) and not self.is_file:
                self.late.append(writing.view[:])
        writing.commit()
        for view in self.late:
            view[:1] = b"L"[: len(view)]
        return True

    def _die(self, who: int) -> None:
        die(self.regions[who])
        self.regions[who] = attached(self.folder)

    def look(self, who: int) -> None:
        """Have the same as the bytes, and nothing that is torn."""
        region = self.regions[who]
        if self.keep_last:
            self._mend(region)
        assert region.size == len(self.data)
        for start, end, version in self._rows():
            if version == TORN:
                with pytest.raises(DataLost):
                    region.check(0, **_where(start, end))
            else:
                seen = region.read(version, **_where(start, end))
                assert bytes(seen) == self.data[start:end]

    def _mend(self, region: Region) -> None:
        """Put right what one left that died while it wrote in place."""
        for start, end, version in self._rows():
            if region.size != len(self.data):
                region.recover(version)
            elif version_of(region.sheet.extents) != version:
                region.recover(version, **_where(start, end))

    def _rows(self) -> list[tuple[int, int, int]]:
        if not self.versions:
            return [(0, 0, self.last)]
        return [(*found.span(), found[0][0]) for found in re.finditer(rb"(.)\1*", self.versions, re.DOTALL)]

    def fill(self, who: int, version: int) -> None:
        """Write all of it anew, if some is torn."""
        if any(row[2] == TORN for row in self._rows()):
            self.last = version
            self.data[:] = bytes([version]) * len(self.data)
            self.versions[:] = bytes([version]) * len(self.data)
            with self.regions[who].write(version) as writing:
                writing.view[:] = self.data

    def close(self) -> None:
        """Let go of everything."""
        for region in self.regions:
            region.close()


def _fall_dead(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def _where(start: int, end: int) -> dict[str, int]:
    return {"offset": start, "length": end - start} if end else {}


def _stretch(part: tuple[int, int], size: int) -> tuple[int, int]:
    start = part[0] % size
    return start, min(size, start + part[1])


def _put(writing: Writing, data: bytearray, where: tuple[int, int], value: int) -> None:
    if data:
        start, end = _stretch(where, len(data))
        writing.view[start:end] = data[start:end] = bytes([value]) * (end - start)


_PLACES = st.sampled_from([0, 1, 100, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 3 * PAGE, 5 * PAGE + 7, 9 * PAGE])
_STRETCHES = st.tuples(_PLACES, _PLACES.filter(bool))
_TURNS = st.builds(
    Turn,
    st.integers(0, 2),
    st.none() | _STRETCHES,
    st.lists(_STRETCHES | _PLACES, max_size=4),
    st.sampled_from(["commit", "commit", "keep a view", "abandon", "die", "die noted"]),
)
_SHRUNK = Turn(0, None, [(PAGE, PAGE), (0, 4), PAGE], "commit")
_REGROWN = Turn(1, None, [3 * PAGE, (PAGE, 2 * PAGE)], "commit")
_TOUCHED = Turn(0, None, [(0, 1)], "commit")
_PART = Turn(1, (PAGE, 100), [(0, 50)], "commit")
_RESIZED = Turn(2, None, [PAGE + 1, (0, 100)], "die")


@pytest.mark.parametrize("drafts", [True, False])
@given(turns=st.lists(_TURNS, max_size=10), keep_last=st.booleans(), is_file=st.booleans())
@example(turns=[_SHRUNK, _REGROWN, _TOUCHED], keep_last=True, is_file=False)
@example(turns=[_TOUCHED, _PART, _RESIZED, _TOUCHED], keep_last=True, is_file=False)
@example(turns=[Turn(0, None, [(0, 3 * PAGE), 100, 9 * PAGE], "commit")], keep_last=True, is_file=False)
def test_all_see_what_plain_bytes_would_be(*, drafts: bool, turns: list[Turn], keep_last: bool, is_file: bool) -> None:
    """After any row of writes, changes of size, parts, changes of mind and deaths, everybody has the same bytes."""
    if drafts and not can_draft():
        pytest.skip("this system does not tell which pages were changed")
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        if not drafts:
            patch.setattr(region_module, "can_draft", lambda: False)
        world = World(Path(name), keep_last=keep_last, is_file=is_file)
        for number, turn in enumerate(turns, 1):
            world.take(turn, 3 * number)
            for who in range(3):
                world.look((turn.who + who) % 3)
            world.fill(turn.who, 3 * number + 2)
        world.close()
