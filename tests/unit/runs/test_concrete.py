"""Concrete workflows that were written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from solvent.errors import ReactionFailed
from solvent.hocl import parse
from solvent.runs.embedded import EmbeddedRun
from solvent.runs.functions import FUNCTIONS
from solvent.workflows.model import Service, Task, Value, Workflow

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.runs.report import Report

TWO_CALLS = """<GO, replace-one GO by A : <invoke(A, "add", (1, 2))>, B : <invoke(B, "add", (3, 4))>>"""


def run(text: str, function: Callable[[int, int], int]) -> Report:
    """Run a program whose rules call `add` for the tasks `A` and `B`."""
    tasks = tuple(Task(name, "add", (Value(0), Value(0))) for name in "AB")
    solution = parse(text, functions=FUNCTIONS).solution()
    workflow = Workflow("w", tasks, (Service("add", function=function),))
    return EmbeddedRun(workflow, solution=solution, max_seconds=200).run()


def test_a_product_may_have_two_calls() -> None:
    """Both calls are made, and each answer is where its call is written."""
    report = run(TWO_CALLS, lambda one, other: one + other)
    assert (report.results, report.calls) == ({"A": 3, "B": 7}, {"A": 1, "B": 1})
    assert report.succeeded


@pytest.mark.parametrize("wrong, states", [(1, {"A": "failed", "B": "done"}), (3, {"A": "done", "B": "failed"})])
def test_one_of_two_calls_of_a_product_may_fail(wrong: int, states: dict[str, str]) -> None:
    """The task of the call that failed has failed, and the other is done."""

    def add(one: int, other: int) -> int:
        if one == wrong:
            raise ValueError("wrong")
        return one + other

    assert run(TWO_CALLS, add).states == states


def test_a_fault_may_be_of_no_task() -> None:
    """What a rule makes of a fault need not be a task: the run ends, and no task has failed."""

    def add(_one: int, _other: int) -> int:
        raise ValueError("wrong")

    report = run("""<GO, replace-one GO by NOTED : invoke(A, "add", (1, 2))>""", add)
    assert (report.states, report.failures, report.succeeded) == ({}, [], False)


@pytest.mark.parametrize(
    "product",
    [
        'A : <invoke(A, "add", (1, 1 / 0))>',
        'A : <invoke(A, "add", (1, 2))>, B : <invoke(B, "add", (1, 1 / 0))>',
        'A : <invoke(A, "add", (1, 2))>, (1 / 0)',
    ],
)
def test_a_product_with_a_call_that_cannot_be_computed_fails(product: str) -> None:
    """The report says why, as of any other product that cannot be computed."""
    report = run(f"<GO, let rule = replace-one GO by {product} in rule>", lambda one, other: one + other)
    assert isinstance(report.error, ReactionFailed)
    assert "division by zero" in str(report.error)
