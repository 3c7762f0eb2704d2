"""`solvent fmt`: printing, checking, writing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

UGLY = "let max=replace x,y by x if x>=y in // why\n<2,3,max>"
NICE = "let max = replace x, y by x if x >= y in  // why\n<2, 3, max>\n"


def test_fmt_prints() -> None:
    """Without options the layout is printed."""
    assert solvent("fmt", "-", typed=UGLY).out == NICE


def test_fmt_writes_and_checks(tmp_path: Path) -> None:
    """`--check` fails before and passes after `--write`, which keeps the file's permissions."""
    file = tmp_path / "a.hocl"
    file.write_text(UGLY)
    file.chmod(0o640)
    before = solvent("fmt", "--check", file)
    assert (before.code, "is not in the common layout" in before.err) == (1, True)
    assert solvent("fmt", "--write", file).code == 0
    assert (file.read_text(), file.stat().st_mode & 0o777) == (NICE, 0o640)
    assert solvent("fmt", "--check", file).code == 0


def test_fmt_shows_differences(tmp_path: Path) -> None:
    """`--diff` prints what would change, and changes nothing."""
    file = tmp_path / "a.hocl"
    file.write_text(UGLY)
    lines = solvent("fmt", "--diff", file).out.splitlines()
    assert "-<2,3,max>" in lines
    assert "+<2, 3, max>" in lines
    assert file.read_text() == UGLY


def test_fmt_goes_on_after_an_error(tmp_path: Path) -> None:
    """A file that is wrong is reported; the others are formatted all the same."""
    wrong, right = tmp_path / "wrong.hocl", tmp_path / "right.hocl"
    wrong.write_text("<1,")
    right.write_text(UGLY)
    assert solvent("fmt", "-w", wrong, right).code == 2
    assert (wrong.read_text(), right.read_text()) == ("<1,", NICE)
