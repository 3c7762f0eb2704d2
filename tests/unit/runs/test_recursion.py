"""Workflows that call themselves and workflows with control flow inside others: how deep, and what is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from solvent.runs import nested
from solvent.runs.nested import MAX_DEPTH
from solvent.workflows.formats.files import load
from solvent.workflows.model import Arrived, Input, Result, Route, Service, Task, Test, Value, Workflow
from tests.unit.runs.flows import PATIENCE, Held, broken, flow, run, step

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.runs.report import Report

BOXES = """\
workflow: boxes
inputs: {n: 3}
services:
  fewer: {python: "tests.unit.runs.test_recursion:fewer"}
  more: {python: "tests.unit.runs.test_recursion:more"}
  again: {workflow: boxes.yaml}
tasks:
  Open: {service: fewer, in: [$n], split: one, to: {Inner: "CONDITION", Count: null}}
  Inner: {service: again, from: Open}
  Count: {service: more, in: [{arrived: one}], after: [Inner], join: any}
"""


def fewer(number: int) -> int:
    """Count one back."""
    return number - 1


def more(number: int) -> int:
    """Count one further."""
    return number + 1


def boxes(folder: Path, condition: str, number: int, **options: Any) -> Report:
    """Run a workflow that calls itself while a condition holds."""
    (folder / "boxes.yaml").write_text(BOXES.replace("CONDITION", condition))
    return run(load(folder / "boxes.yaml").workflow, {"n": number}, folder=folder, **options)


@pytest.mark.parametrize("number, result", [(1, 1), (2, 2), (5, 5)])
def test_workflow_calls_itself_until_it_decides_not_to(tmp_path: Path, number: int, result: int) -> None:
    """Each case is one of its own, and its result goes to the one around it."""
    report = boxes(tmp_path, "result > 0", number)
    assert (report.succeeded, report.results) == (True, {"Count": result})


def test_one_job_is_enough_for_recursion(tmp_path: Path) -> None:
    """A case inside another does not wait for the job that the other one holds."""
    assert boxes(tmp_path, "result > 0", 6, jobs=1).results == {"Count": 6}


def test_recursion_without_an_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A workflow that calls itself for ever fails when it is too deep, and that is said once."""
    monkeypatch.setattr(nested, "MAX_DEPTH", 100)
    report = boxes(tmp_path, "true", 1)
    (failure,) = report.failures
    assert (report.succeeded, failure.task) == (False, "Inner")
    told = "[W204] `boxes` is called more than 100 deep"
    assert failure.cause.count("W204") == 1
    assert told in failure.cause


@pytest.mark.soak
def test_deepest_recursion(tmp_path: Path) -> None:
    """So many cases inside each other as are allowed come to their end."""
    assert boxes(tmp_path, "result > 0", MAX_DEPTH + 1).results == {"Count": MAX_DEPTH + 1}


def test_one_case_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many cases inside each other as are allowed come to their end, and one more does not."""
    monkeypatch.setattr(nested, "MAX_DEPTH", 20)
    assert boxes(tmp_path, "result > 0", 21).succeeded
    assert not boxes(tmp_path, "result > 0", 22).succeeded


def test_stand_in_may_end_a_recursion(tmp_path: Path) -> None:
    """A workflow that calls itself and has an alternative may come to an end, and does."""
    text = """\
workflow: again
inputs: {n: 0}
services:
  more: {python: "tests.unit.runs.test_recursion:few"}
  again: {workflow: again.yaml}
  told: {python: "tests.unit.runs.flows:told"}
tasks:
  A: {service: more, in: [$n]}
  B: {service: again, from: A}
  Z: {service: told, in: [the end]}
alternatives:
  - {name: end, exits: {B: Z}}
"""
    (tmp_path / "again.yaml").write_text(text)
    report = run(load(tmp_path / "again.yaml").workflow, folder=tmp_path)
    assert (report.succeeded, report.results) == (True, {"B": "the end"})


def few(number: int) -> int:
    """Count up to 2."""
    return more(number) if number < 2 else broken()


# --- Control flow inside.


def outer(inner: Workflow, **options: Any) -> Report:
    """Run a workflow whose only task is another."""
    return run(Workflow("outer", (Task("T", "inner"),), (Service("inner", "workflow", function=inner),)), **options)


@pytest.mark.parametrize(
    "inner, cause",
    [
        (flow(step("W", "told", signal="go")), "[W203] it is stuck: `W` waits for the signal `go`"),
        (flow(step("E", "told", ends="cancelled")), "[W201] its task `E` has cancelled it"),
        (flow(step("B", "broken", copies=2)), "[W201] its task `B` failed: RuntimeError: broken"),
        (
            flow(step("A", "told", Value(1), split="one", routes=(Route("B", Test("result > 1")),)), Task("B", "told")),
            "[W201] its task `A` failed: none of its routes holds for its result",
        ),
    ],
    ids=["stuck", "cancelled", "failed", "unrouted"],
)
def test_inner_workflow_that_does_not_succeed_says_why(inner: Workflow, cause: str) -> None:
    """A workflow inside that is stuck, cancelled or failed fails its task."""
    report = outer(inner)
    assert (report.succeeded, [failure.cause for failure in report.failures]) == (False, [cause])


def test_inner_workflow_gives_the_ends_it_reached() -> None:
    """Of a workflow that goes by choice only the end that was reached is the result."""
    routes = (Route("B", Test("result == 1")), Route("C"))
    inner = flow(
        step("A", "told", Value(1), split="one", routes=routes), step("B", "told", Value("b")),
        step("C", "told", Value("c")),
    )  # fmt: skip
    inner = Workflow("inner", inner.tasks, inner.services, results=("B", "C"))
    tasks = (inner.tasks[0], *(Task(one.name, one.service, one.arguments, after=("A",)) for one in inner.tasks[1:]))
    assert outer(Workflow("inner", tasks, inner.services)).results == {"T": "b"}


def test_inner_workflow_that_ends_early_succeeds() -> None:
    """A case inside that a task ends is done, with the results that are there; the calls inside are ended."""
    held = Held()
    inner = flow(
        step("Slow", "held"), step("E", "met", ends="case"), functions={"held": held, "met": held.met},
    )  # fmt: skip
    report = outer(inner)
    assert (report.succeeded, report.results) == (True, {"T": "met"})
    assert held.ended.wait(PATIENCE)
    assert held.was_cancelled


def test_cancelled_task_ends_the_workflow_inside() -> None:
    """Cancelling a task that is a workflow ends the calls of that one too."""
    held = Held()
    inner = flow(step("Slow", "held"), step("Next", "told", Result("Slow"), copies=2), functions={"held": held})
    around = flow(
        Task("T", "inner"), step("Cancel", "met", cancels=("T",)), step("Last", "over", Result("Cancel")),
        functions={"met": held.met, "over": held.over},
    )  # fmt: skip
    services = (*around.services, Service("inner", "workflow", function=inner))
    report = run(Workflow("outer", around.tasks, services))
    assert (report.succeeded, held.was_cancelled, report.states["T"]) == (True, True, "cancelled")


def test_inputs_of_instances_of_a_workflow() -> None:
    """A task that is a workflow can be started several times, each with what arrived."""
    inner = flow(step("A", "told", Input("x"), copies=2), step("B", "told", Result("A")), inputs={"x": 0})
    around = flow(
        step("X", "told", Value(1)), step("Y", "told", Value(2)),
        step("T", "inner", Arrived(), after=("X", "Y"), join="any"),
        step("All", "told", Arrived("all"), after=("T",), threads=2),
    )  # fmt: skip
    services = (*around.services, Service("inner", "workflow", function=inner))
    report = run(Workflow("outer", around.tasks, services))
    assert report.succeeded
    assert sorted(report.results["All"]) == [1, 2]
