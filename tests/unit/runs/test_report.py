"""Whether a run succeeded."""

from __future__ import annotations

import pytest

from solvent.errors import LimitReached
from solvent.runs.embedded import run_workflow
from solvent.runs.report import Report
from solvent.workflows.model import Service, Task, Workflow


def test_failed_task_that_is_no_result_counts() -> None:
    """A run in which a task failed has not succeeded, although every result is there."""
    services = (Service("bad", "shell", "exit 1"), Service("good", "shell", "echo 1"))
    report = run_workflow(Workflow("w", (Task("A", "good"), Task("B", "bad")), services, results=("A",)))
    assert (report.results, report.states) == ({"A": "1"}, {"A": "done", "B": "failed"})
    assert not report.succeeded


@pytest.mark.parametrize("state", ["done", "failed", "waiting", "replaced", "unused"])
def test_result_must_be_done(state: str) -> None:
    """A run has succeeded if every task that stands for a result is done."""
    assert Report("w", states={"A": state}, results_of=("A",)).succeeded is (state == "done")


def test_replaced_task_does_not_count() -> None:
    """A task that failed and was replaced is no failure of the run."""
    assert Report("w", states={"A": "replaced", "B": "done"}, results_of=("B",)).succeeded


def test_stopped_run_has_not_succeeded() -> None:
    """A run that was stopped has not succeeded."""
    assert not Report("w", error=LimitReached("H504", "interrupted")).succeeded
