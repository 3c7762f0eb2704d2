"""`solvent replay` of what agents have run: it compares values as they are written, and runs no code of a record."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

STORE = ("--store", "runs.db")
VALUES = """\
import numpy as np
from solvent import service, workflow

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
from solvent import attempt, service, workflow

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
    words = ("--agents", "1", "--ttl", "1", "--no-sync", "--name", name, *STORE)
    assert solvent("run", f"{name}.py", *words, cwd=folder).code == 0


def test_arrays_and_what_is_no_number_are_compared(tmp_path: Path) -> None:
    """Results that have no truth value, or are not equal to themselves, are the same if they are written the same."""
    run_by_agents(tmp_path, "odd", VALUES)
    result = solvent("replay", "odd", *STORE, cwd=tmp_path)
    assert (result.code, "the replay came to the same as the run odd\n" in result.err) == (0, True)


def test_a_condition_of_ones_own_needs_the_file(tmp_path: Path) -> None:
    """That and the option are said; with it, the replay comes to the same."""
    run_by_agents(tmp_path, "w", CHOICE)
    result = solvent("replay", "w", *STORE, cwd=tmp_path)
    assert (result.code, result.out) == (1, "")
    said = "error[R406]: the run `w` goes by the condition `w:big`, and only its own files say what that is\n"
    assert result.err == f"{said}  hint: `solvent replay w --file WORKFLOW --store runs.db`\n"
    again = solvent("replay", "w", *STORE, "--file", "w.py", cwd=tmp_path)
    assert (again.code, again.out) == (0, "a: -5\n")


def test_a_trace_at_another_scale_is_replayed(tmp_path: Path) -> None:
    """A replay compares the states of tasks by their names: the order in which a process has them means nothing."""
    names = [f"t{number}" for number in range(12)]
    trace = {
        "name": "wide",
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {"tasks": [{"name": one, "id": one, "parents": [], "children": []} for one in names]},
            "execution": {
                "makespanInSeconds": 1000,
                "executedAt": "2024-01-01T00:00:00+00:00",
                "tasks": [{"id": one, "runtimeInSeconds": 1000} for one in names],
            },
        },
    }
    (tmp_path / "wide.json").write_text(json.dumps(trace))
    words = ("--agents", "1", "--ttl", "1", "--no-sync", "--name", "wide", *STORE)
    assert solvent("run", "wide.json", "--scale", "0.00001", *words, cwd=tmp_path).code == 0
    for more in ((), ("--file", "wide.json")):
        result = solvent("replay", "wide", *more, *STORE, cwd=tmp_path)
        assert (result.code, "came to the same" in result.err) == (0, True), result.err
