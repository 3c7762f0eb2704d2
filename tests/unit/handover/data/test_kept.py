"""The kept copy, made where no drafts can be: what it saves, and what it cannot save."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
