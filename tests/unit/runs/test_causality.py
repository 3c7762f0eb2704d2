"""Statements about all orders of a workflow: each form holds where it should and fails where it should."""

from __future__ import annotations

import pytest

from solvent.errors import WorkflowProblem
from solvent.runs.causality import check_statements, violations
from solvent.runs.exploration import explore_workflow
from solvent.workflows.model import Arrived, Result, Route, Test, Value, Workflow
from tests.unit.runs.flows import flow, step

DIAMOND = flow(
    step("A", "told", Value(1)), step("B", "told", Result("A")), step("C", "told", Result("A")),
    step("D", "told", Result("B"), Result("C")),
)  # fmt: skip
CHOICE = flow(
    step("A", "told", Value(1), split="one", routes=(Route("B", Test("result == 1")), Route("C"))),
    step("B", "told", Result("A")), step("C", "told", Result("A")),
)  # fmt: skip
TWICE = flow(step("A", "told", Value(1), copies=2), step("B", "told", Result("A")))
LOCKED = flow(*(step(name, "told", Value(1), takes=("L",), gives=("L",)) for name in "AB"))
STUCK = flow(step("A", "told", Value(1), signal="go"))
FAILING = flow(step("A", "broken", copies=2))
CANCELLED = flow(step("A", "told", Value(1), ends="cancelled"))
LATE = flow(
    step("A", "told", Value(1)), step("B", "told", Result("A")), step("X", "told", Value(1)),
    step("M", "told", Result("X"), during=("A", "B")),
)  # fmt: skip


@pytest.mark.parametrize(
    "workflow, statement",
    [
        (DIAMOND, "A before D"), (DIAMOND, "B before D"), (DIAMOND, "A before each B"), (DIAMOND, "A not after B"),
        (DIAMOND, "D once"), (DIAMOND, "A runs 1"), (DIAMOND, "A runs 0..2"), (DIAMOND, "ends done"),
        (CHOICE, "C never"), (CHOICE, "one of B, C"), (CHOICE, "some of B, C"),
        (TWICE, "B twice"), (TWICE, "A before B"), (TWICE, "some of A, B"), (TWICE, "B runs 2"),
        (LOCKED, "A, B apart"), (LATE, "M not after B"), (LATE, "M runs 0..1"),
        (STUCK, "ends stuck"), (FAILING, "ends failed"), (CANCELLED, "ends cancelled"), (STUCK, "A never"),
        (STUCK, "ends done or stuck"),
    ],
)  # fmt: skip
def test_statement_holds(workflow: Workflow, statement: str) -> None:
    """A statement that is true in every order has no violation."""
    assert violations(explore_workflow(workflow), [statement]) == []


@pytest.mark.parametrize(
    "workflow, statement",
    [
        (DIAMOND, "B before C"), (DIAMOND, "D before A"), (DIAMOND, "C before each B"), (DIAMOND, "D not after A"),
        (DIAMOND, "B never"), (DIAMOND, "B twice"), (DIAMOND, "B runs 2"), (DIAMOND, "B runs 2..3"),
        (DIAMOND, "one of B, C"), (DIAMOND, "B, C apart"), (DIAMOND, "ends stuck or failed"),
        (CHOICE, "C once"), (CHOICE, "some of C"), (TWICE, "B once"), (TWICE, "A before each B"),
        (TWICE, "B apart"), (LATE, "M once"), (LATE, "M never"),
        (STUCK, "ends done"), (FAILING, "ends done"), (CANCELLED, "ends done"),
    ],
)  # fmt: skip
def test_statement_fails(workflow: Workflow, statement: str) -> None:
    """A statement that is false in one order is told, with a way to there."""
    (found,) = violations(explore_workflow(workflow), [statement])
    assert found.startswith(f"{statement}: ")
    assert found != f"{statement}: "


def test_way_is_told() -> None:
    """A violation tells what starts and what is done, in order, up to where the statement fails."""
    chain = flow(step("A", "told", Value(1), copies=1), step("B", "told", Result("A")))
    assert violations(explore_workflow(chain), ["B never"]) == [
        "B never: A starts, A done, B starts, B done, ends done"
    ]
    assert violations(explore_workflow(STUCK), ["ends done"]) == [
        "ends done: ends stuck, `A` waits for the signal `go`"
    ]


def test_only_what_fails_is_told() -> None:
    """Of several statements those that do not hold are given, in their order."""
    found = violations(explore_workflow(DIAMOND), ["D never", "A before B", "B, C apart"])
    assert [one.partition(":")[0] for one in found] == ["D never", "B, C apart"]


@pytest.mark.parametrize(
    "statement, said",
    [
        ("A hates B", "`A hates B` is no statement about a workflow"),
        ("", "`` is no statement about a workflow"),
        ("A before X", "`A before X` names `X`, which is not a task"),
        ("X not after A", "`X not after A` names `X`, which is not a task"),
        ("one of A, X", "`one of A, X` names `X`, which is not a task"),
        ("X, A apart", "names `X`, which is not a task"),
        ("X runs 3", "names `X`, which is not a task"),
        ("A runs three", "is no statement about a workflow"),
        ("ends happily", "a workflow cannot end `happily`"),
        ("ends done or happily", "a workflow cannot end `done or happily`"),
    ],
)
def test_what_is_no_statement_is_refused(statement: str, said: str) -> None:
    """A sentence that is none, or about what is no task, is refused before anything is explored."""
    with pytest.raises(WorkflowProblem) as refused:
        check_statements([statement], ["A", "B"])
    assert (refused.value.code, said in refused.value.message) == ("W143", True)


SPACED = flow(
    step("a b", "told", Value(1)), step("c, d", "told", Arrived(), after=("a b",)), step("E", "told", Value(1))
)  # fmt: skip


@pytest.mark.parametrize(
    "statement",
    [
        '"a b" before "c, d"', '"a b" before each "c, d"', '"a b" not after "c, d"', '"a b" once', '"E" once',
        '"c, d" runs 1', '"c, d" runs 0..2', 'some of "c, d", E', 'some of E, "c, d"', '"c, d", "a b" apart',
    ],
)  # fmt: skip
def test_tasks_with_blanks_in_their_names_can_be_named(statement: str) -> None:
    """A statement can be about any task, also one whose name has blanks: it stands in quotes."""
    assert violations(explore_workflow(SPACED), [statement]) == []


@pytest.mark.parametrize(
    "statement, said",
    [
        ('"a b" before E', '"a b" before E: a b starts, E starts'),
        ('one of "c, d", E', 'one of "c, d", E: '),
        ('"c, d" never', '"c, d" never: '),
    ],
)
def test_statement_about_blanks_fails(statement: str, said: str) -> None:
    """And what does not hold of it is told."""
    (found,) = violations(explore_workflow(SPACED), [statement])
    assert found.startswith(said)


@pytest.mark.parametrize("statement, name", [('"a c" once', "a c"), ('""  once', ""), ('A before "B', '"B')])
def test_quoted_names_of_no_task_are_refused(statement: str, name: str) -> None:
    """Quotes do not make a task."""
    with pytest.raises(WorkflowProblem) as refused:
        check_statements([statement], ["A", "a b"])
    told = f"`{statement}` names `{name}`, which is not a task" if name else "is no statement about a workflow"
    assert (refused.value.code, told in refused.value.message) == ("W143", True)
