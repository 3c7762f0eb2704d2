"""Rule libraries of the user's own: joins that a workflow brings along as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from solvent.errors import WorkflowProblem
from solvent.lang.molecule import Symbol
from solvent.lang.solution import Solution
from solvent.runs.causality import violations
from solvent.runs.exploration import explore_workflow
from solvent.workflows.libraries import Library
from solvent.workflows.model import Arrived, Many, Value, Workflow
from tests.unit.runs.flows import flow, run, step

if TYPE_CHECKING:
    from pathlib import Path

# A task starts with every so many arrivals, whoever they are from.
BATCH = """\
let batch_take =
  replace PASS : tj : ti : n::int : r, GATE : tj : <LACKS : k::int, TAKEN : <?t>, FROM : f::int, ?w>
  by GATE : tj : <LACKS : (k - 1), TAKEN : <ti : n : r, t>, FROM : f, w>
  if n >= f && k > 0 in
let batch_start =
  replace GATE : tj : <LACKS : 0, SIZE : q, TAKEN : <?t>, FROM : f, ?w>
  by GATE : tj : <LACKS : q, SIZE : q, TAKEN : <>, FROM : f, w>, FLAG_INVOKE : tj : f : <t> in
<batch_take, batch_start, JOIN : <LACKS : NUMBER, SIZE : NUMBER, TAKEN : <>, KNOWN : <SOURCES>, OF : COUNT>>
"""


def batches(need: int, count: int = 4, **words: Any) -> Workflow:
    """Give a workflow whose last task joins by the library."""
    names = [f"T{number}" for number in range(count)]
    sources = [step(name, "told", Value(number)) for number, name in enumerate(names)]
    last = step("Batch", "told", Arrived("all"), after=tuple(names), join="batch", need=need, **words)
    return flow(*sources, last, patterns={"batch": "batch.hocl"})


def test_library_says_when_a_task_starts(tmp_path: Path) -> None:
    """A task that joins by a library starts as its rules say, with the tokens that they give."""
    (tmp_path / "batch.hocl").write_text(BATCH)
    report = run(batches(2), folder=tmp_path)
    assert (report.succeeded, report.calls["Batch"], len(report.results["Batch"])) == (True, 2, 2)
    assert run(batches(4), folder=tmp_path).results["Batch"] == [0, 1, 2, 3]


def test_library_is_explored(tmp_path: Path) -> None:
    """The orders of a workflow with a library can be explored."""
    (tmp_path / "batch.hocl").write_text(BATCH)
    orders = explore_workflow(batches(3, 3), folder=tmp_path)
    assert violations(orders, ["Batch once", "T0 before Batch", "T2 before Batch", "ends done"]) == []


def test_library_goes_with_other_words(tmp_path: Path) -> None:
    """What joins by a library can wait for signals and locks, and have instances."""
    (tmp_path / "batch.hocl").write_text(BATCH)
    work = batches(2, signal="go", takes=("L",), gives=("L",), many=Many(over=0))
    report = run(work, folder=tmp_path, signals=[(0.0, "go", None), (0.0, "go", None)])
    assert (report.succeeded, report.calls["Batch"], len(report.results["Batch"])) == (True, 4, 2)


def test_join_by_a_library_can_be_cancelled(tmp_path: Path) -> None:
    """A gate that is cancelled has at first again what the library says."""
    (tmp_path / "batch.hocl").write_text(BATCH)
    work = batches(4)
    tasks = (*work.tasks, step("Cancel", "told", Value(1), after=("Batch",), cancels=("Batch",)))
    report = run(Workflow("flow", tasks, work.services, patterns=work.patterns), folder=tmp_path)
    assert (report.succeeded, report.results) == (True, {"Cancel": 1})


@pytest.mark.xfail(reason="what lies in a gate of a library is not looked at, so a run that waits there seems done")
def test_library_that_lacks_tokens_is_stuck(tmp_path: Path) -> None:
    """A task that waits for more arrivals than come is told, as with every other join."""
    (tmp_path / "batch.hocl").write_text(BATCH)
    report = run(batches(3, 4), folder=tmp_path)
    assert (report.calls["Batch"], bool(report.stuck)) == (1, True)


def test_gates_do_not_share_solutions() -> None:
    """Two tasks that join by one library have gates of their own."""
    library = Library([], [(Symbol("TAKEN"), Solution([]))])
    one, other = library.gate([], 1), library.gate([], 1)
    one[0][1].add(5)
    assert (len(one[0][1]), len(other[0][1])) == (1, 0)


def test_library_that_cannot_be_read(tmp_path: Path) -> None:
    """A file that is not there is told before anything runs."""
    with pytest.raises(WorkflowProblem, match="the pattern `batch` cannot be read") as refused:
        run(batches(2), folder=tmp_path)
    assert refused.value.code == "W140"


def test_rule_that_fails_while_it_runs_has_its_place(tmp_path: Path) -> None:
    """A product of a library's rule that cannot be computed stops the run, with its file and line."""
    (tmp_path / "batch.hocl").write_text(BATCH.replace("(k - 1)", "(k / 0)"))
    report = run(batches(2), folder=tmp_path)
    assert report.error is not None
    assert "batch.hocl:3:" in str(report.error)
