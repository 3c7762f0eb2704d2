"""`solvent check` looks at the rule libraries of a workflow: whether they are there, read, and can start a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli import controlled
from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

TASK = 6  # The line of the task that joins by the library.


def test_sound_library(tmp_path: Path) -> None:
    """A library that a run can use is in order."""
    file = controlled.put(tmp_path, controlled.PATTERN)
    result = solvent("check", file)
    assert (result.code, result.out, result.err) == (0, f"{file}: ok\n", "")


def test_library_that_is_missing(tmp_path: Path) -> None:
    """A file that is not there is told at the task that joins by it."""
    file = controlled.put(tmp_path, controlled.PATTERN.replace("two.hocl", "three.hocl"))
    result = solvent("check", file)
    assert (result.code, result.out, "error[W140]" in result.err) == (2, "", True)
    assert f"{file}:{TASK}:" in result.err


@pytest.mark.parametrize(
    "text, code, said",
    [
        (b"\xff\xfe\x00", "W140", "the pattern `two` cannot be read"),
        (b"<1>", "W141", "add `JOIN : <...>` to its solution"),
        (b"<JOIN : <VOTES : 0>>", "W141", "name its rules in its solution"),
    ],
    ids=["no text", "no JOIN", "no rules"],
)
def test_library_that_is_none(tmp_path: Path, text: bytes, code: str, said: str) -> None:
    """A file that is no library is told at the task that joins by it."""
    file = controlled.put(tmp_path, controlled.PATTERN)
    (tmp_path / "two.hocl").write_bytes(text)
    result = solvent("check", file)
    assert (result.code, result.out, f"error[{code}]" in result.err) == (2, "", True)
    assert said in result.err
    assert f"{file}:{TASK}:" in result.err


@pytest.mark.parametrize(
    "text, line",
    [("let a =\n  replace x by\n  y in\n<a, JOIN : <>>", 3), ("<JOIN : <>,\n,>", 2)],
    ids=["unbound", "syntax"],
)
def test_error_in_a_library_has_its_place(tmp_path: Path, text: str, line: int) -> None:
    """What is wrong inside a library is told with its own file and line."""
    file = controlled.put(tmp_path, controlled.PATTERN)
    (tmp_path / "two.hocl").write_text(text)
    result = solvent("check", file)
    assert (result.code, result.out) == (2, "")
    assert f"{tmp_path / 'two.hocl'}:{line}:" in result.err


def test_library_that_no_task_joins_by(tmp_path: Path) -> None:
    """A run reads every library that is named, so one that nobody uses must be there, too."""
    text = controlled.PATTERN.replace("{two: two.hocl}", "{two: two.hocl, three: three.hocl}")
    result = solvent("check", controlled.put(tmp_path, text), "--format", "json")
    (report,) = result.json["files"]
    assert (result.code, [one["code"] for one in report["errors"]]) == (2, ["W140"])
