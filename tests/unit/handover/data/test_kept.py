"""The kept copy, made where no drafts can be: what it saves, and what it cannot save."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.errors import DataLost
from solvent.handover.data import region as region_module
from solvent.handover.data.memory import Memory
from tests.unit.handover.data.regions import attached, die, made

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True, scope="module")
def _no_drafts() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(region_module, "can_draft", lambda: False)
        yield


def _write(region: object, version: int, **stretch: int) -> None:
    with region.write(version, **stretch) as writing:  # type: ignore[attr-defined]
        writing.view[:] = bytes([version]) * writing.view.nbytes


def test_a_torn_region_is_put_right(tmp_path: Path) -> None:
    """The last version survives the death of the process that was making the next one."""
    one = made(tmp_path, 100, keep_last=True)
    other = attached(tmp_path)
    _write(one, 1)
    one.write(2).view[:60] = b"x" * 60
    die(one)
    assert (other.version, other.newest) == (None, 1)
    other.recover(1)
    assert (other.version, bytes(other.read(1))) == (1, b"\x01" * 100)


def test_what_is_abandoned_is_put_back(tmp_path: Path) -> None:
    """Who gives a writing up leaves what was there before: the bytes, and their number."""
    region = made(tmp_path, 100, keep_last=True)
    _write(region, 1)
    writing = region.write(2)
    writing.resize(5000)
    writing.view[:] = b"x" * 5000
    writing.abandon()
    assert (region.version, region.size, bytes(region.read(1))) == (1, 100, b"\x01" * 100)
    writing = region.write(3, offset=10, length=10)
    writing.view[:] = b"x" * 10
    writing.abandon()
    assert (region.version, bytes(region.read(1))) == (1, b"\x01" * 100)


def test_only_the_last_version_is_kept(tmp_path: Path) -> None:
    """A version before the last is gone, and so is one that was never there."""
    region = made(tmp_path, 100, keep_last=True)
    for version in (1, 2, 3):
        _write(region, version)
    assert region.newest == 3
    for version in (1, 7):
        with pytest.raises(DataLost):
            region.recover(version)
    region.recover(2)
    assert bytes(region.read(2)) == b"\x02" * 100


@pytest.mark.parametrize("copied", [0, 50, 100])
def test_death_while_the_copy_is_made_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copied: int
) -> None:
    """The version that was being copied is still where it was, and half a copy is not taken for one."""
    one = made(tmp_path, 100, keep_last=True)
    other = attached(tmp_path)
    _write(one, 1)
    _write(one, 2)
    real = Memory.copy_out

    def die_in_the_middle(memory: Memory, path: Path, start: int, end: int) -> None:
        real(memory, path, start, start + copied)
        raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "copy_out", die_in_the_middle)
    with pytest.raises(KeyboardInterrupt):
        one.write(3)
    die(one)
    assert (other.version, other.newest) == (2, 2)
    with pytest.raises(DataLost):
        other.recover(1)


def test_a_version_is_not_copied_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept already is not copied again when a writing begins anew."""
    region = made(tmp_path, 100, keep_last=True)
    region.write(1).abandon()
    monkeypatch.setattr(Memory, "copy_out", None)
    region.write(1).commit()
    assert region.version == 1


def test_a_torn_stretch_is_put_right_alone(tmp_path: Path) -> None:
    """What others have written since stays as it is."""
    one = made(tmp_path, 100, keep_last=True)
    other = attached(tmp_path)
    _write(other, 1, offset=50, length=50)
    one.write(2, offset=0, length=20).view[:] = b"x" * 20
    die(one)
    with pytest.raises(DataLost):
        other.recover(1, offset=0, length=20)
    other.recover(0, offset=0, length=20)
    assert bytes(other.read(0, length=50)) + bytes(other.read(1, offset=50)) == bytes(50) + b"\x01" * 50


_STEPS = st.tuples(st.integers(0, 19), st.integers(1, 20), st.sampled_from(["commit", "abandon", "die"]))


@given(st.lists(_STEPS, max_size=8))
def test_whatever_happens_to_stretches_they_are_what_they_were(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, str]]
) -> None:
    """After any row of writes, changes of mind and deaths, all bytes are those of their last version."""
    folder = tmp_path_factory.mktemp("kept")
    made(folder, 20, keep_last=True).close()
    versions = [0] * 20
    for version, (start, wanted, ending) in enumerate(steps, 1):
        length = min(wanted, 20 - start)
        region = attached(folder)
        writing = region.write(version, offset=start, length=length)
        writing.view[: length // 2 + 1] = b"\xff" * (length // 2 + 1)
        if ending == "commit":
            writing.view[:] = bytes([version]) * length
            versions[start : start + length] = [version] * length
            writing.commit()
        elif ending == "abandon":
            writing.abandon()
        else:
            die(region)
            region = attached(folder)
            for one in region.sheet.kept:
                low, high = max(one.start, start), min(one.end, start + length)
                if low < high:
                    region.recover(one.version, offset=low, length=high - low)
        with region._memory.view(0, 20) as bytes_:
            assert list(bytes_) == versions
        assert [one.version for one in region.sheet.extents for _ in range(one.start, one.end)] == versions
        region.close()
