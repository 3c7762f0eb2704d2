"""WfFormat 1.5: traces in, runs out, and what is wrong with either."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from solvent.errors import WorkflowProblem
from solvent.workflows.formats.files import load, load_text
from solvent.workflows.formats.wfformat import RunRecord, TaskRecord, export_run, validate
from solvent.workflows.model import Alternative, Result, Service, Task, Workflow
from tests.repo.project import ROOT

if TYPE_CHECKING:
    from pathlib import Path

TRACES = sorted((ROOT.parent / "shared" / "data" / "wfinstances").glob("*.json"))
TRACE: dict[str, Any] = {
    "name": "small",
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {"name": "a", "id": "A", "parents": [], "children": ["B"]},
                {"name": "b", "id": "B", "parents": ["A"], "children": []},
            ]
        },
        "execution": {
            "makespanInSeconds": 3,
            "executedAt": "2026-01-01T00:00:00",
            "tasks": [{"id": "A", "runtimeInSeconds": 2}],
        },
    },
}
FALLBACK = Workflow(
    "fall back",
    (
        Task("T1", "s1"),
        Task("T 2", "s2", (Result("T1"),)),
        Task("T3", "s3", (Result("T 2"),)),
        Task("T4", "s4", (Result("T1"),)),
    ),
    alternatives=(Alternative("other", {"T 2": "T4"}),),
)


def changed(path: str, value: Any) -> dict[str, Any]:
    """Give the small trace with one part changed, or taken out."""
    document = copy.deepcopy(TRACE)
    *above, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    inside: Any = document
    for part in above:
        inside = inside[part]
    if value is None:
        del inside[last]
    else:
        inside[last] = value
    return document


def test_a_trace_becomes_a_workflow_that_replays_it() -> None:
    """Tasks take from their parents and wait as long as they ran, scaled; without a record they take no time."""
    assert load_text(json.dumps(TRACE), name="w.json", scale=0.5).workflow == Workflow(
        "small",
        (Task("A", "A"), Task("B", "B", (Result("A"),))),
        (Service("A", "replay", options={"seconds": 1.0}), Service("B", "replay", options={"seconds": 0.0})),
    )


@pytest.mark.parametrize("file", TRACES, ids=lambda file: file.stem)
def test_recorded_traces_are_read_and_their_runs_are_valid(file: Path) -> None:
    """Real traces validate and load, and a run of them exports to a valid document with the same edges."""
    document = json.loads(file.read_text(encoding="utf-8"))
    assert validate(document) == []
    workflow = load(file, scale=0.01).workflow
    records = tuple(TaskRecord(task.name, 0.0, 1.0) for task in workflow.tasks)
    exported = export_run(workflow, RunRecord(records, 1.0, "2026-01-01T00:00:00+00:00"))
    assert validate(exported) == []
    edges = [(task["id"], set(task["parents"])) for task in document["workflow"]["specification"]["tasks"]]
    assert [(task["id"], set(task["parents"])) for task in exported["workflow"]["specification"]["tasks"]] == edges


def test_an_adapted_run_shows_who_took_over() -> None:
    """The alternative that applied is a parent of those that took its result; names become identifiers."""
    records = (TaskRecord("T1", 0.0, 1.0), TaskRecord("T 2", 1.0, 1.5, 3, "failed"), TaskRecord("T4", 1.5, 2.0))
    document = export_run(FALLBACK, RunRecord(records, 2.0, "2026-01-01", "node1", adaptations=("other",)))
    assert validate(document) == []
    tasks = {task["id"]: task for task in document["workflow"]["specification"]["tasks"]}
    assert {name: task["parents"] for name, task in tasks.items()} == {
        "T1": [], "T_2": ["T1"], "T3": ["T_2", "T4"], "T4": ["T1"],
    }  # fmt: skip
    assert document["workflow"]["execution"]["tasks"][1] == {
        "id": "T_2", "runtimeInSeconds": 0.5, "machines": ["node1"], "startInSeconds": 1.0, "attempts": 3,
        "state": "failed",
    }  # fmt: skip


def test_an_alternative_that_never_applied_is_left_out() -> None:
    """Tasks that slept through the run are not in its trace."""
    document = export_run(FALLBACK, RunRecord((TaskRecord("T1", 0.0, 1.0),), 2.0, "2026-01-01"))
    assert [task["id"] for task in document["workflow"]["specification"]["tasks"]] == ["T1", "T_2", "T3"]
    assert validate(document) == []


def test_a_task_that_was_opened_again_has_one_record() -> None:
    """Two records of one task become one, from the first start to the last end."""
    records = (TaskRecord("T1", 0.0, 1.0), TaskRecord("T1", 4.0, 5.0, 2))
    (task,) = export_run(FALLBACK, RunRecord(records, 5.0, "2026-01-01"))["workflow"]["execution"]["tasks"]
    assert (task["startInSeconds"], task["runtimeInSeconds"], task["attempts"]) == (0.0, 5.0, 3)


@pytest.mark.parametrize(
    "path, value, flaw",
    [
        ("name", None, "the document: lacks `name`"),
        ("name", "", "name: must not be empty"),
        ("workflow", 3, "workflow: must be an object"),
        ("workflow.specification.tasks", [], "workflow.specification.tasks: must not be empty"),
        ("workflow.specification.tasks.0.id", 3, "workflow.specification.tasks.0.id: must be a text"),
        ("workflow.specification.tasks.0.children", [],
         "workflow.specification.tasks.1.parents.0: `B` names the parent `A`, which does not name the child `B`"),
        ("workflow.specification.tasks.1.parents", [],
         "workflow.specification.tasks.0.children.0: `A` names the child `B`, which does not name the parent `A`"),
        ("workflow.specification.files", [{"id": "f", "sizeInBytes": -1}],
         "workflow.specification.files.0.sizeInBytes: must be at least 0"),
        ("workflow.execution.makespanInSeconds", "3", "workflow.execution.makespanInSeconds: must be a number"),
        ("workflow.execution.tasks.0.runtimeInSeconds", -1.5,
         "workflow.execution.tasks.0.runtimeInSeconds: must be at least 0"),
        ("workflow.execution.tasks.0.id", "C", "workflow.execution.tasks.0.id: `C` is no task of the specification"),
        ("workflow.execution.machines", [{"nodeName": "n", "system": "plan9"}],
         "workflow.execution.machines.0.system: must be linux or macos or windows, not `plan9`"),
    ],
)  # fmt: skip
def test_flaws(path: str, value: Any, flaw: str) -> None:
    """Each flaw of a document is named with its place in it."""
    assert validate(changed(path, value)) == [flaw]


def test_a_circle_is_a_flaw() -> None:
    """Tasks that are each other's parents are found."""
    document = changed("workflow.specification.tasks.0.parents", ["B"])
    document["workflow"]["specification"]["tasks"][1]["children"] = ["A"]
    assert validate(document) == ["workflow.specification.tasks: 2 tasks wait for each other in a circle: `A`, `B`"]


def test_a_wrong_trace_is_told_where() -> None:
    """Reading a trace whose ends disagree names the line."""
    text = json.dumps(changed("workflow.specification.tasks.0.children", []), indent=1)
    with pytest.raises(WorkflowProblem, match="names the parent `A`") as caught:
        load_text(text, name="w.json")
    assert (caught.value.code, caught.value.place) == ("W110", "w.json:17:7")


def test_a_negative_run_time_is_told_where() -> None:
    """No task can be replayed for less than no time: the line of its record is named."""
    text = json.dumps(changed("workflow.execution.tasks.0.runtimeInSeconds", -1), indent=1)
    with pytest.raises(WorkflowProblem, match=r"tasks\.0\.runtimeInSeconds: must be at least 0") as caught:
        load_text(text, name="w.json")
    assert (caught.value.code, caught.value.place) == ("W110", "w.json:31:6")


def test_older_versions_are_refused() -> None:
    """A trace of another layout is told how to become one of this."""
    with pytest.raises(WorkflowProblem, match=r"this is a trace of WfFormat 1\.4"):
        load_text(json.dumps(changed("schemaVersion", "1.4")), name="w.json")
