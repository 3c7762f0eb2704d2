"""Programs: reading texts, files, molecules and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import solvent
from solvent.hocl.program import read_text
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from pathlib import Path


def test_program_from_a_file(tmp_path: Path) -> None:
    """A program is read from a file, which its errors name."""
    file = tmp_path / "a.hocl"
    file.write_text("<1, ω>", encoding="utf-8")
    with pytest.raises(solvent.NameProblem) as caught:
        solvent.hocl.load(file)
    assert caught.value.place == f"{file}:1:5"


def test_mark_at_the_start_of_a_file_is_ignored(tmp_path: Path) -> None:
    """A byte order mark is no part of the program."""
    file = tmp_path / "a.hocl"
    file.write_bytes(b"\xef\xbb\xbf<1>")
    assert solvent.hocl.load(str(file)).solution() == Solution([1])


def test_file_that_is_not_text(tmp_path: Path) -> None:
    """A file that is not UTF-8 text is a clear error."""
    file = tmp_path / "a.hocl"
    file.write_bytes(b"<1, \xff>")
    with pytest.raises(solvent.ProgramError) as caught:
        read_text(file)
    assert (caught.value.code, caught.value.hint) == ("H100", "programs are UTF-8 text files")
    assert "byte 4" in caught.value.message


def test_file_that_is_not_there(tmp_path: Path) -> None:
    """A file that cannot be read is a clear error."""
    with pytest.raises(solvent.Misuse) as caught:
        solvent.hocl.load(tmp_path / "none.hocl")
    assert caught.value.code == "H304"
    with pytest.raises(solvent.Misuse):
        solvent.hocl.load(tmp_path)


def test_file_over_the_limit(tmp_path: Path) -> None:
    """A file of 50 MB is refused by its size."""
    file = tmp_path / "large.hocl"
    with file.open("wb") as stream:
        stream.truncate(50_000_000)
    with pytest.raises(solvent.SolventError) as caught:
        solvent.hocl.load(file)
    assert caught.value.code == "H100"


def test_molecules_from_text() -> None:
    """Molecules are read with commas between them."""
    assert solvent.hocl.molecules('1, "a" : 2, <3>') == [1, ("a", 2), Solution([3])]


def test_rule_from_text() -> None:
    """One rule is read, and named if asked."""
    assert solvent.hocl.rule("replace x by x").name is None
    named = solvent.hocl.rule("replace-one x by x", name="r")
    assert (named.name, named.one_shot) == ("r", True)


@pytest.mark.parametrize("text", ["1", "<1>", "replace x by x, 1) , (1", "(replace x by x), 2"])
def test_text_that_is_not_one_rule(text: str) -> None:
    """What is not one rule is refused."""
    with pytest.raises(solvent.SolventError):
        solvent.hocl.rule(text)
