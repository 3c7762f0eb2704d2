"""A user who may read a store and not write to it can look at its runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import Result, environment, solvent

if TYPE_CHECKING:
    from collections.abc import Iterator

FLOW = "workflow: w\nservices: {s: {shell: echo hello}}\ntasks: {t: {service: s}}\n"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder with a store of one run, both without write permission."""
    made = Path(tempfile.mkdtemp(prefix="solvent-test-"))
    try:
        (made / "w.yaml").write_text(FLOW)
        assert solvent("run", "w.yaml", "--store", "runs.db", "--name", "r1", cwd=made).code == 0
        assert solvent("submit", "w.yaml", "--store", "runs.db", "--name", "r2", cwd=made).code == 0
        for one in made.rglob("*"):
            one.chmod(0o555 if one.is_dir() else 0o444)
        made.chmod(0o555)
        yield made
    finally:
        made.chmod(0o755)
        shutil.rmtree(made, ignore_errors=True)


def _as_reader(folder: Path, *words: str) -> Result:
    """Run a command as a user who may not write; root may write everywhere, unless it gives up that capability."""
    command = [sys.executable, "-m", "solvent", *words]
    if os.getuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root needs `setpriv` to give up its permission to write everywhere")
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--", *command]
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=200, check=False
    )
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "words,said",
    [
        (("status",), "r1  done"),
        (("status", "r1"), "r1: done"),
        (("logs", "r1"), "t"),
        (("timeline", "r1"), "r1: done"),
        (("resume", "r1"), "t: hello"),
    ],
)
def test_commands_that_only_look_read_a_store_without_write_permission(
    folder: Path, words: tuple[str, ...], said: str
) -> None:
    """The runs of a file that cannot be written, in a folder that cannot be written, are shown."""
    before = {one.name: one.stat().st_mtime_ns for one in folder.iterdir()}
    result = _as_reader(folder, *words, "--store", "runs.db")
    assert (result.code, said in result.out) == (0, True), result.out + result.err
    assert {one.name: one.stat().st_mtime_ns for one in folder.iterdir()} == before


def test_a_command_that_writes_says_that_the_store_can_only_be_read(folder: Path) -> None:
    """`cancel` of a store that cannot be written says so, and what to do."""
    result = _as_reader(folder, "cancel", "r2", "--store", "runs.db")
    assert result.code == 2
    assert "E415" in result.err


def _put_beside(folder: Path, data: bytes) -> None:
    """Leave a log beside the store, and no index of it, as a copy of the files or a crash may."""
    folder.chmod(0o755)
    for one in folder.glob("runs.db-*"):
        if one.is_file():
            one.unlink()
    log = folder / "runs.db-wal"
    log.write_bytes(data)
    log.chmod(0o444)
    folder.chmod(0o555)


def test_a_store_with_an_empty_log_is_read(folder: Path) -> None:
    """A `-wal` file without content, and without its `-shm` file, keeps nobody from reading."""
    _put_beside(folder, b"")
    result = _as_reader(folder, "status", "--store", "runs.db")
    assert (result.code, "r1  done" in result.out) == (0, True), result.out + result.err


def test_a_store_whose_log_cannot_be_read_says_what_to_do(folder: Path) -> None:
    """A `-wal` file with changes, without its `-shm` file, is named, and so is what to do."""
    _put_beside(folder, b"\x37\x7f\x06\x82" + bytes(5000))
    result = _as_reader(folder, "status", "--store", "runs.db")
    assert (result.code, result.out) == (2, "")
    assert "SQLITE" not in result.err
    assert "runs.db-shm" in result.err
    assert "hint: " in result.err
