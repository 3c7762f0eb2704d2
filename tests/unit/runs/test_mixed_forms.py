"""Tasks of a workflow with control flow come to the same, whichever form they have."""

from __future__ import annotations

from typing import Any

import pytest

from solvent.runs.embedded import run_workflow
from solvent.runs.exploration import gated
from solvent.workflows.checks import check
from solvent.workflows.forms import forms_of
from solvent.workflows.model import (
    Alternative,
    Arrived,
    Control,
    Result,
    Route,
    Service,
    Task,
    Test,
    Value,
    Workflow,
)
from solvent.workflows.shards import divided


def add(*numbers: int) -> int:
    """Add numbers."""
    return sum(numbers)


def refuse(*_: Any) -> int:
    """Fail."""
    raise ValueError("no")


SERVICES = (Service("add", function=add), Service("refuse", function=refuse))
CHOICE = (
    Task("C", "add", (Value(1),), control=Control(split="one", routes=(Route("X", Test("result < 0")), Route("Y")))),
    Task("X", "add", (Result("C"),)),
    Task("Y", "add", (Result("C"),)),
    Task("A", "add", (Value(2),)),
)
"""Y is chosen; what waits for X waits for ever."""


def flow(*tasks: Task, alternatives: tuple[Alternative, ...] = ()) -> Workflow:
    """Make a workflow that is sound."""
    found = Workflow("w", tasks, SERVICES, alternatives)
    assert check(found) == []
    return found


@pytest.mark.parametrize("condition, times", [("result < 0", 1), ("result > 0", 2)])
def test_a_task_that_starts_by_itself_and_is_gone_back_to(condition: str, times: int) -> None:
    """It starts once by itself, and once more for each time that another task goes back to it."""
    back = Task("B", "add", (Value(3),), control=Control(again=Route("A", Test(condition))))
    workflow = flow(Task("A", "add", (Value(2),)), back, Task("D", "add", (Result("A"),)))
    report = run_workflow(workflow)
    assert report.calls == run_workflow(gated(workflow)).calls == {"A": times, "B": 1, "D": times}


def test_what_is_behind_a_first_that_may_be_cancelled_is_a_gate() -> None:
    """One that is cancelled after its start may start again, so what it passes to may, too."""
    workflow = flow(
        Task("A", "add", (Value(1),)),
        Task("B", "add", (Value(2),)),
        Task("J", "add", (Arrived("one"),), after=("A", "B"), control=Control(join="first")),
        Task("K", "add", (Result("A"),), control=Control(cancels=("J",))),
        Task("F", "add", (Result("J"),)),
    )
    assert "F" in forms_of(workflow).gates


@pytest.mark.parametrize(
    "tasks, alternatives, text",
    [
        # A flat task that takes one result, and comes after another task.
        ((Task("T", "add", (Result("A"),), after=("X",)),), (), "`T` waits for `X`; `A` has arrived"),
        ((Task("T", "add", (Result("A"), Result("X"))),), (), "`T` waits for `X`; `A` has arrived"),
        # A replaceable one.
        (
            (Task("T", "add", (Result("A"), Result("X"))), Task("T2", "add", (Result("A"),))),
            (Alternative("other", {"T": "T2"}),),
            "`T` waits for `X`; `A` has arrived",
        ),
        # One that an alternative has woken.
        (
            (
                Task("XX", "add", (Result("X"),)),
                Task("D", "add", (Result("A"),)),
                Task("Bad", "refuse", (Result("D"),)),
                Task("A2", "add", (Result("X"),)),
                Task("Bad2", "add", (Value(3),)),
            ),
            (Alternative("other", {"A": "A2", "Bad": "Bad2"}, watch=("Bad",)),),
            "`A2` waits for `X`",
        ),
    ],
)
def test_a_task_of_any_form_that_waits_for_ever_is_told(
    tasks: tuple[Task, ...], alternatives: tuple[Alternative, ...], text: str
) -> None:
    """The run has not succeeded, and says what the task waits for."""
    report = run_workflow(flow(*CHOICE, *tasks, alternatives=alternatives))
    assert (report.succeeded, report.stuck) == (False, [text])


@pytest.mark.parametrize("control", [None, Control()])
def test_a_task_whose_result_was_rejected_is_replaced(control: Control | None) -> None:
    """Also where the other service was called in its own instance, since a gate is behind it."""
    tasks = (
        Task("C", "add", (Value(1),)),
        Task("T", "add", (Result("C"),)),
        Task("T2", "add", (Result("C"), Value(9))),
        Task("U", "add", (Result("T"),), control=control),
    )
    rejecting = Alternative("other", {"T": "T2"}, on=("condition",), when="result < 5")
    report = run_workflow(flow(*tasks, alternatives=(rejecting,)))
    assert (report.states, report.results) == ({"C": "done", "T": "replaced", "T2": "done", "U": "done"}, {"U": 10})


def test_an_offer_to_nobody_is_divided() -> None:
    """A deferred choice without ways joins no tasks."""
    assert divided(flow(Task("C", "add", control=Control(split="deferred")), Task("B", "add")), 4) == [["C"], ["B"]]
