"""Whether a run succeeded."""

from __future__ import annotations

from solvent.runs.embedded import run_workflow
from solvent.workflows.model import Service, Task, Workflow


def test_failed_task_that_is_no_result_counts() -> None:
    """A run in which a task failed has not succeeded, although every result is there."""
    services = (Service("bad", "shell", "exit 1"), Service("good", "shell", "echo 1"))
    report = run_workflow(Workflow("w", (Task("A", "good"), Task("B", "bad")), services, results=("A",)))
    assert (report.results, report.states) == ({"A": "1"}, {"A": "done", "B": "failed"})
    assert not report.succeeded
