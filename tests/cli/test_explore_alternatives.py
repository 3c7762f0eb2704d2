"""`solvent explore` with alternatives: a stand-in that runs is counted, and the step that it replaces is not done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli import controlled
from tests.cli.command import solvent

if TYPE_CHECKING:
    from pathlib import Path

PAGES = """\
from solvent import attempt, service, workflow

@service
def fetch(name: str) -> str:
    raise ConnectionError(f"{name} does not answer")

@service
def fetch_copy(name: str) -> str:
    return f"the old copy of {name}"

@service
def count_words(text: str) -> int:
    return len(text.split())

@workflow
def pages(name: str = "news") -> int:
    return count_words(attempt(fetch(name), otherwise=fetch_copy(name)))
"""
CHAIN = """\
tasks:
  A: {service: broken}
  B: {service: broken}
  C: {service: one}
  D: {service: same, from: A}
alternatives: [{name: second, exits: {A: B}}, {name: third, exits: {B: C}}]
"""
ALL_BROKEN = CHAIN.replace("C: {service: one}", "C: {service: broken}")
CHOICE = """\
tasks:
  A: {service: broken, split: one, to: {B: "result == 1", C: null}}
  S: {service: one}
  B: {service: same, in: [{arrived: one}]}
  C: {service: same, in: [{arrived: one}]}
alternatives: [{name: spare, exits: {A: S}}]
"""
ENDING = """\
tasks:
  A: {service: broken}
  S: {service: one, ends: true}
  B: {service: same, from: A}
alternatives: [{name: spare, exits: {A: S}}]
"""
REJECTED = """\
tasks:
  A: {service: one}
  S: {service: same, in: [3]}
  B: {service: same, from: A}
alternatives: [{name: spare, exits: {A: S}, on: condition, when: "result < 2"}]
"""
CANCELLED = """\
tasks:
  A: {service: broken}
  S: {service: one}
  B: {service: same, from: A}
  C: {service: one, cancels: [A, B]}
alternatives: [{name: spare, exits: {A: S}}]
"""
PARALLEL = """\
tasks:
  A: {service: broken}
  S: {service: one}
  B: {service: one}
alternatives: [{name: spare, exits: {A: S}}]
"""
LONG = """\
tasks:
  A: {service: broken}
  R: {service: one}
  S: {service: same, from: R}
  B: {service: same, from: A}
alternatives: [{name: spare, exits: {A: S}}]
"""
PAIR = """\
tasks:
  A: {service: broken}
  B: {service: one}
  S: {service: one}
  T: {service: one}
  D: {service: same, in: [{from: A}, {from: B}]}
alternatives: [{name: spare, exits: {A: S, B: T}}]
"""


def test_stand_in_of_a_step_that_fails_is_counted(tmp_path: Path) -> None:
    """The stand-in runs once and is done; the step it replaces has started and is never done."""
    file = tmp_path / "pages.py"
    file.write_text(PAGES)
    words = [
        word for one in ("fetch_copy once", "fetch_copy before count_words", "ends done") for word in ("--holds", one)
    ]
    result = solvent("explore", file, *words)
    assert (result.code, result.err) == (0, "")
    assert "runs    fetch 1, fetch_copy 1, count_words 1\n" in result.out
    result = solvent("explore", file, "--holds", "fetch before count_words")
    assert (result.code, result.out.splitlines()[-1]) == (
        1,
        "  fetch starts, fetch replaced, fetch_copy starts, fetch_copy done, count_words starts",
    )


@pytest.mark.parametrize(
    "text,end,runs",
    [
        (CHAIN, "done", {"A": 1, "B": 1, "C": 1, "D": 1}),
        (ALL_BROKEN, "failed", {"A": 1, "B": 1, "C": 1, "D": 0}),
        (CHOICE, "done", {"A": 1, "S": 1, "B": 1, "C": 0}),
        (ENDING, "done", {"A": 1, "S": 1, "B": 0}),
        (REJECTED, "done", {"A": 1, "S": 1, "B": 1}),
        (controlled.SPARE, "done", {"A": 1, "H": 3, "B": 3, "S": 3, "C": 3}),
    ],
)
def test_tasks_are_counted_as_in_a_run(tmp_path: Path, text: str, end: str, runs: dict[str, int]) -> None:
    """An exploration counts as many runs of each task as a run of the workflow makes."""
    file = controlled.put(tmp_path, text)
    found = solvent("explore", file, "--format", "json").json
    assert (found["ends"], found["runs"]) == ({end: 1}, [runs])
    calls = solvent("run", file, "--format", "json").json["calls"]
    assert {task: calls.get(task, 0) for task in runs} == runs


def test_stand_in_that_is_cancelled_is_not_done(tmp_path: Path) -> None:
    """Whether the step or its stand-in is withdrawn, neither counts as done."""
    file = controlled.put(tmp_path, CANCELLED)
    found = solvent("explore", file, "--format", "json").json
    assert found["ends"].keys() == {"done"}
    assert {(one["S"], one["B"]) for one in found["runs"]} == {(0, 0), (1, 0), (1, 1)}
    assert solvent("explore", file, "--holds", "S before B", "--holds", "B runs 0..1").code == 0
    # Withdrawn after it had started: done less often than started, and never less than not at all.
    assert solvent("explore", file, "--holds", "A before B").code == 1


def test_step_and_its_stand_in_do_not_run_at_once(tmp_path: Path) -> None:
    """A step runs until it fails, beside what else runs then; its stand-in runs only afterwards."""
    file = controlled.put(tmp_path, PARALLEL)
    assert solvent("explore", file, "--holds", "A, S apart").code == 0
    assert solvent("explore", file, "--holds", "A, B apart").code == 1
    assert solvent("explore", file, "--holds", "S, B apart").code == 1


@pytest.mark.parametrize("text", [LONG, PAIR])
def test_alternative_that_cannot_be_explored_is_refused(tmp_path: Path, text: str) -> None:
    """An alternative of several tasks is not explored, and not counted wrongly."""
    result = solvent("explore", controlled.put(tmp_path, text))
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error[W142]: the alternative `spare` ")
