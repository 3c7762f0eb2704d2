"""The folder of a run: who is there, and what the dead left."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from solvent.errors import DataProblem
from solvent.handover.data.folder import Folder, Swept, sweep

if TYPE_CHECKING:
    from pathlib import Path


def _base(tmp_path: Path) -> Path:
    return tmp_path / "memory"


def _aged(folder: Folder, seconds: float) -> None:
    for path in folder.path.iterdir():
        old = path.stat().st_mtime - seconds
        os.utime(path, (old, old))


def test_runs_have_folders_of_their_own_that_nobody_else_can_enter(tmp_path: Path) -> None:
    """Processes of one run meet in one folder; other runs and other users do not."""
    one, other, third = (
        Folder("a", base=_base(tmp_path)),
        Folder("a", base=_base(tmp_path)),
        Folder("b", base=_base(tmp_path)),
    )
    assert one.path == other.path != third.path
    assert one.host == other.host != third.host
    assert {path.stat().st_mode & 0o777 for path in (one.base, one.path)} == {0o700}
    assert one.stem("x") != one.stem("y")
    for folder in (one, other, third):
        folder.leave()


def test_the_memory_of_the_dead_is_swept_and_that_of_the_living_is_not(tmp_path: Path) -> None:
    """A run without a process is removed when it is old enough; one with a process never is."""
    dead, alive = Folder("dead", base=_base(tmp_path)), Folder("alive", base=_base(tmp_path))
    (dead.path / "m.data").write_bytes(b"x" * 100_000)
    dead.abandon()
    assert sweep(_base(tmp_path)) == Swept()
    assert sweep(_base(tmp_path), older_seconds=0).runs == 1
    assert (dead.path.exists(), alive.path.exists()) == (False, True)
    alive.leave()
    assert sweep(_base(tmp_path), older_seconds=0) == Swept()
    assert sweep(tmp_path / "nowhere") == Swept()


def test_what_was_used_lately_waits_for_its_run(tmp_path: Path) -> None:
    """A run that was killed altogether and is started again at once finds its data; later it is swept."""
    dead = Folder("dead", base=_base(tmp_path))
    (dead.path / "m.data").write_bytes(b"x" * 100_000)
    dead.abandon()
    _aged(dead, 30)
    assert sweep(_base(tmp_path), older_seconds=60).runs == 0
    again = Folder("dead", base=_base(tmp_path))
    assert (again.path / "m.data").exists()
    again.abandon()
    _aged(dead, 60)
    swept = sweep(_base(tmp_path), older_seconds=60)
    assert (swept.runs, swept.bytes >= 100_000) == (1, True)


def test_a_folder_that_others_could_have_made_is_not_trusted(tmp_path: Path) -> None:
    """Whoever could put something into the folder could be read by it, so it must belong to the user alone."""
    open_to_all = tmp_path / "open"
    open_to_all.mkdir(mode=0o755)
    link = tmp_path / "link"
    target = tmp_path / "target"
    target.mkdir(mode=0o700)
    link.symlink_to(target)
    (tmp_path / "file").touch()
    for base in (open_to_all, link, tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(DataProblem) as caught:
            Folder("a", base=base)
        assert caught.value.code == "D212"
        assert ("chmod" in (caught.value.hint or "")) == (base == open_to_all)


def test_folders_around_it_are_not_made(tmp_path: Path) -> None:
    """A folder in one that is not there was rather misspelt than meant."""
    with pytest.raises(DataProblem) as caught:
        Folder("a", base=tmp_path / "not" / "there")
    assert (caught.value.code, list(tmp_path.iterdir())) == ("D212", [])


def test_nothing_else_is_swept(tmp_path: Path) -> None:
    """What lies in the folder and is not the memory of a run stays there."""
    base = _base(tmp_path)
    base.mkdir(mode=0o700)
    (base / "notes.txt").write_text("mine", encoding="utf-8")
    (base / "folder").mkdir()
    (base / "folder" / "file").touch()
    assert sweep(base, older_seconds=0) == Swept()
    assert sorted(path.name for path in base.rglob("*")) == ["file", "folder", "notes.txt"]
