"""Makes the run of a workflow: a plain one, or one whose tasks join and split by patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.hocl.process_settings import few_collections
from solvent.runs.workflow import WorkflowRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.runs.report import Report
    from solvent.workflows.model import Workflow


def run_of(workflow: Workflow, inputs: Mapping[str, Any] | None = None, **options: Any) -> WorkflowRun:
    """Make the run of a workflow; see `WorkflowRun` for the options."""
    if workflow.is_controlled:
        from solvent.runs.controlled import ControlledRun

        return ControlledRun(workflow, inputs, **options)
    return WorkflowRun(workflow, inputs, **options)


def run_workflow(workflow: Workflow, inputs: Mapping[str, Any] | None = None, **options: Any) -> Report:
    """Run a workflow in this process; see `WorkflowRun` for the options."""
    with few_collections():
        run = run_of(workflow, inputs, **options)
        report = run.run()
        run.dissolve()
    return report


__all__ = ["run_of", "run_workflow"]
