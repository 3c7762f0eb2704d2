"""Locks on stretches of files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from solvent.errors import DataProblem
from solvent.handover.data import locks
from solvent.handover.data.locks import give_first_byte, is_locked, take_first_byte, try_lock, unlock

if TYPE_CHECKING:
    from pathlib import Path


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT)


def test_two_open_files_exclude_each_other(tmp_path: Path) -> None:
    """A stretch that one open file has is not given to another of the same process, unless they do not overlap."""
    one, other = _opened(tmp_path / "f"), _opened(tmp_path / "f")
    assert try_lock(one, 10, 10)
    assert not try_lock(other, 19, 5)
    assert try_lock(other, 20, 5)
    assert is_locked(other, 0, 0)
    assert not is_locked(other, 0, 10)
    unlock(one, 10, 10)
    assert try_lock(other, 10, 10)
    assert not is_locked(other, 0, 0)
    os.close(one)
    os.close(other)


def test_a_lock_to_the_end_has_no_end(tmp_path: Path) -> None:
    """A length of zero reaches beyond everything that may be written later."""
    one, other = _opened(tmp_path / "f"), _opened(tmp_path / "f")
    assert try_lock(one, 5, 0)
    assert not try_lock(other, 1 << 40, 1)
    assert try_lock(other, 0, 5)
    os.close(one)
    assert try_lock(other, 1 << 40, 1)
    os.close(other)


def test_a_short_lock_that_is_long_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for a lock that is held for microseconds does not wait for ever."""
    monkeypatch.setattr(locks, "_MAX_SHORT_SECONDS", 0.001)
    one, other = _opened(tmp_path / "f"), _opened(tmp_path / "f")
    take_first_byte(one)
    with pytest.raises(DataProblem, match="card locked"):
        take_first_byte(other)
    give_first_byte(one)
    take_first_byte(other)
    os.close(one)
    os.close(other)
