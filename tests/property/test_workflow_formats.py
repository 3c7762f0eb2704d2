"""Workflows go into each format and come back the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import given, note

from solvent.workflows.checks import check
from solvent.workflows.formats.files import load_text, write
from solvent.workflows.formats.wfformat import RunRecord, TaskRecord, export_run, validate
from solvent.workflows.formats.yaml.writer import plain_workflow
from tests.property.amounts import examples
from tests.property.written_workflows import workflows
from tests.unit.workflows.schema import VALIDATOR

if TYPE_CHECKING:
    from solvent.workflows.model import Workflow


def read_back(workflow: Workflow, suffix: str) -> str:
    """Write a workflow in a format, and show what is read from it."""
    text = write(workflow, suffix=suffix)
    note(text)
    # Python holds `1 == 1.0 == True`, so what is shown is compared.
    return repr(load_text(text, name=f"other{suffix}").workflow)


@examples(50)
@given(workflows())
def test_writing_then_reading_is_identity(workflow: Workflow) -> None:
    """A workflow written in any format reads back as itself."""
    assert {read_back(workflow, suffix) for suffix in (".yaml", ".json", ".hocl")} == {repr(workflow)}


@examples(50)
@given(workflows(is_controlled=True))
def test_control_flow_is_written_and_read(workflow: Workflow) -> None:
    """A workflow whose tasks join, split, repeat, wait and cancel reads back as itself."""
    assert {read_back(workflow, suffix) for suffix in (".yaml", ".json", ".hocl")} == {repr(workflow)}


@examples(20)
@given(workflows() | workflows(is_controlled=True))
def test_written_files_follow_the_schema(workflow: Workflow) -> None:
    """What is written for any workflow is valid by the published schema."""
    assert [error.message for error in VALIDATOR.iter_errors(plain_workflow(workflow))] == []


@examples(20)
@given(workflows())
def test_exported_runs_are_valid_traces(workflow: Workflow) -> None:
    """A run of any workflow, whatever applied, exports to a valid WfFormat document and can be imported."""
    records = tuple(TaskRecord(task.name, 0.0, 1.0) for task in workflow.tasks)
    adaptations = tuple(one.name for one in workflow.alternatives)
    document = export_run(workflow, RunRecord(records, 1.0, "2026-01-01", adaptations=adaptations))
    if workflow.tasks:
        assert validate(document) == []
        imported = load_text(json.dumps(document), name="trace.json").workflow
        assert len(imported.tasks) == len(workflow.tasks)


@examples(20)
@given(workflows())
def test_checking_never_fails(workflow: Workflow) -> None:
    """Every workflow can be checked, and every problem can be shown."""
    assert all(problem.show() for problem in check(workflow))
