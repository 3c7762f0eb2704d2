"""`solvent replay` of what agents have run: it compares values as they are written, and runs no code of a record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

SPACE = ("--space", "runs.db")
VALUES = """\
import numpy as np
from solvent.workflow import service, workflow

@service
def array() -> object:
    return np.arange(5.0)

@service
def no_number() -> object:
    return [float("nan"), {"deep": float("nan")}]

@workflow
def odd() -> object:
    return array(), no_number()
"""
CHOICE = """\
from solvent.workflow import attempt, service, workflow

def big(x: int) -> bool:
    return x > 3

@service
def a(x: int) -> int:
    return x

@service
def b(x: int) -> int:
    return -x

@workflow
def w(x: int = 5) -> int:
    return attempt(a(x), otherwise=b(x), when=big)
"""


def run_by_agents(folder: Path, name: str, text: str) -> None:
    """Write a workflow, and have it run."""
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    words = ("--agents", "1", "--ttl", "1", "--no-sync", "--name", name, *SPACE)
    assert solvent("run", f"{name}.py", *words, cwd=folder).code == 0


def test_arrays_and_what_is_no_number_are_compared(tmp_path: Path) -> None:
    """Results that have no truth value, or are not equal to themselves, are the same if they are written the same."""
    run_by_agents(tmp_path, "odd", VALUES)
    result = solvent("replay", "odd", *SPACE, cwd=tmp_path)
    assert (result.code, "the replay came to the same as the run odd\n" in result.err) == (0, True)


def test_a_condition_of_ones_own_needs_the_file(tmp_path: Path) -> None:
    """That and the option are said; with it, the replay comes to the same."""
    run_by_agents(tmp_path, "w", CHOICE)
    result = solvent("replay", "w", *SPACE, cwd=tmp_path)
    assert (result.code, result.out) == (1, "")
    said = "error[R406]: the run `w` goes by the condition `w:big`, and only its own files say what that is\n"
    assert result.err == f"{said}  hint: `solvent replay w --file WORKFLOW --space runs.db`\n"
    again = solvent("replay", "w", *SPACE, "--file", "w.py", cwd=tmp_path)
    assert (again.code, again.out) == (0, "a: -5\n")
