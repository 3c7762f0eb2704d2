"""A call for each item of what is no list: an ordinary failure of that task, however the workflow is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

STEPS = """\
import os
from pathlib import Path

from solvent import attempt, service, workflow

@service
def begin(kind: str) -> list[int]:
    if kind == "generator":
        return (number for number in range(3))
    if kind == "text":
        return "abc"
    if kind == "short":
        return [1]
    if kind == "dictionary":
        return {1: 2}
    if kind == "dies once":
        mark = Path(__file__).with_name("died")
        if not mark.exists():
            mark.touch()
            os._exit(9)

@service
def double(number: int) -> int:
    return 2 * number

@service
def total(numbers: list[int]) -> int:
    return sum(numbers)

@service
def nothing_to_add(numbers: list[int] | None = None) -> list[int]:
    return []
"""
EACH = (
    STEPS
    + """\

@workflow
def work(kind: str = "none") -> int:
    return total(double.each(begin(kind)))
"""
)
INSTANCES = EACH.replace("double.each(begin(kind))", "double.many(over=0)(begin(kind))")
COUNT = EACH.replace("double.each(begin(kind))", "double.many(begin(kind))(1)")
ITEM = EACH.replace("double.each(begin(kind))", "double(begin(kind)[1])")
HEALED = EACH.replace("double.each(begin(kind))", "attempt(double.each(begin(kind)), otherwise=nothing_to_add())")
NONE = "`None`, which is no list; is a `return` missing in the service?"
GENERATOR = "Python's generator, which is no list; let the service return `list(...)` of it"
CASES = {
    "each, none": (EACH, "none", f"it is called for each item of {NONE}"),
    "each, generator": (EACH, "generator", f"it is called for each item of {GENERATOR}"),
    "each, text": (EACH, "text", "it is called for each item of a text, which is no list"),
    "each, dictionary": (EACH, "dictionary", "it is called for each item of Python's dict, which is no list"),
    "instances": (INSTANCES, "none", f"it is called for each item of {NONE}"),
    "count": (COUNT, "none", "it is started `None` times; is a `return` missing in the service?"),
    "item": (ITEM, "none", f"item 2 is taken of {NONE}"),
    "short": (ITEM, "short", "item 2 is taken of a list of 1"),
}


def _put(folder: Path, text: str) -> Path:
    file = folder / "work.py"
    file.write_text(text)
    return file


@pytest.mark.parametrize("text, kind, message", CASES.values(), ids=CASES)
def test_recorded_run_fails_with_a_clear_message(tmp_path: Path, text: str, kind: str, message: str) -> None:
    """The task fails, the run ends, and the record says both."""
    file, store = _put(tmp_path, text), tmp_path / "runs.db"
    result = solvent("run", file, "--input", f"kind={kind}", "--store", store, "--name", "one")
    assert (result.code, f"failed: {message}" in result.err) == (1, True)
    status = solvent("status", "one", "--store", store)
    assert (status.out.startswith("one: failed"), message in status.out) == (True, True)


def test_run_without_a_record_fails_with_the_same_message(tmp_path: Path) -> None:
    """It makes no difference whether a run is recorded."""
    text, kind, message = CASES["each, generator"]
    result = solvent("run", _put(tmp_path, text), "--input", f"kind={kind}", "--no-record")
    assert (result.code, f"failed: {message}" in result.err) == (1, True)


def test_alternative_takes_over(tmp_path: Path) -> None:
    """It is a failure like any other, so an alternative on failure applies."""
    result = solvent("run", _put(tmp_path, HEALED), "--store", tmp_path / "runs.db", "--format", "json")
    assert (result.code, result.json["results"]) == (0, {"total": 0})


def test_resumed_run_fails_with_the_same_message(tmp_path: Path) -> None:
    """A run that was killed before the failure, and resumed, records it too; another resume has nothing to do."""
    text, _, message = CASES["each, none"]
    file, store = _put(tmp_path, text), tmp_path / "runs.db"
    died = solvent("run", file, "--input", "kind=dies once", "--store", store, "--name", "one")
    assert died.code == 9
    result = solvent("resume", "one", "--store", store, "--take-over")
    assert (result.code, f"failed: {message}" in result.err) == (1, True)
    again = solvent("resume", "one", "--store", store)
    assert "H999" not in again.err
    status = solvent("status", "one", "--store", store)
    assert (status.out.startswith("one: failed"), message in status.out) == (True, True)


def test_agents_end_the_run(tmp_path: Path) -> None:
    """Agents do not give up: the run fails with the message, and its record says that it failed."""
    text, kind, message = CASES["each, none"]
    file, store = _put(tmp_path, text), tmp_path / "runs.db"
    result = solvent("run", file, "--input", f"kind={kind}", "--agents", "1", "--store", store, "--name", "one")
    assert (result.code, message in result.err, "A106" in result.err) == (1, True, False)
    assert solvent("status", "one", "--store", store).out.startswith("one: failed")
