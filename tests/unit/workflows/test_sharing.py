"""Resources of workflows written in Python."""

from __future__ import annotations

from typing import Any

import pytest

from solvent import attempt, resource, service, workflow
from solvent.errors import WorkflowProblem
from solvent.workflows.checks import check
from solvent.workflows.model import Claim, Input, Resource


@service
def sweep(grid: Any, times: int = 1) -> float:
    """Change a grid."""
    return float(times)


def problem_of(function: Any) -> WorkflowProblem:
    """Give the problem that building a workflow ends in."""
    with pytest.raises(WorkflowProblem) as caught:
        workflow(function).definition()
    assert caught.value.span is not None
    return caught.value


def test_a_resource_is_an_argument() -> None:
    """A call takes a resource to write, to read, or some rows of it."""

    @workflow
    def heat(n: int = 4) -> float:
        grid = resource("grid", shape=(n, 3), dtype="float32", save="grid.npy")
        first, second = sweep(grid[:2]), sweep(grid[2:4])
        return sweep.after(first, second)(grid.read, times=2)

    flow = heat.definition()
    assert flow.resources == (Resource("grid", (Input("n"), 3), "float32", save="grid.npy"),)
    assert [task.arguments[0] for task in flow.tasks] == [
        Claim("grid", "write", 0, 2), Claim("grid", "write", 2, 2), Claim("grid", "read"),
    ]  # fmt: skip
    assert check(flow) == []


def test_arrays_and_others_are_told_apart() -> None:
    """One length is a shape; bytes and files have none."""

    @workflow
    def flow(path: str) -> float:
        resource("row", shape=7)
        resource("table", size=10, undo=False)
        return sweep(resource("file", file=path))

    assert flow.definition().resources == (
        Resource("row", (7,)), Resource("table", size=10, undo=False), Resource("file", file=Input("path")),
    )  # fmt: skip


@pytest.mark.parametrize(
    "build, code, said",
    [
        (lambda: [resource("g", size=1), resource("g", size=1)], "W152", "there is a resource `g` already"),
        (lambda: resource("g"), "W161", "the resource `g` has no size"),
        (lambda: resource("g", size=3, dtype=int), "W161", "the resource `g` has a dtype and is no array"),
        (lambda: resource("g", shape=sweep(1)), "W161", "the result of `sweep` is not known before the run"),
        (lambda: resource("g", size=3)[1], "W162", "the resource `g` is divided into stretches only"),
        (lambda: resource("g", size=3)[2:1], "W162", "2 to 1 is no stretch of the resource `g`"),
        (lambda: resource("g", size=3)[1:][1:], "W162", "a stretch of a stretch of the resource `g` is taken"),
        (lambda: sweep([resource("g", size=3)]), "W162", "a resource is an argument by itself"),
        (lambda: attempt(sweep(1), otherwise=resource("g", size=3)), "W162", "a resource is an argument by itself"),
        (lambda: resource("g", size=3), "W153", "`flow` returns the resource `g`"),
        (
            lambda: sweep.after(resource("g", size=3))(1),
            "W155",
            "`after` takes steps of the workflow, not the resource",
        ),
        (lambda: resource("g", size=3) + 1, "W150", "the resource `g` has no value yet"),
    ],
)
def test_what_cannot_be_done_with_resources(build: Any, code: str, said: str) -> None:
    """A misuse is an error at its place."""

    def flow() -> Any:
        return build()

    found = problem_of(flow)
    assert (found.code, found.message[: len(said)]) == (code, said)


def test_outside_a_workflow_there_are_no_resources() -> None:
    """A resource belongs to the workflow that is being built."""
    with pytest.raises(WorkflowProblem) as caught:
        resource("grid", shape=3)
    assert caught.value.code == "W156"
