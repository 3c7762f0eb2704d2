"""HOCLflow text as the paper lays it out, and what it takes to say the rest."""

from __future__ import annotations

import pytest

from solvent.errors import SolventError, WorkflowProblem
from solvent.lang.molecule import Symbol
from solvent.source import Source
from solvent.workflows.formats.hoclflow import is_hoclflow, read, write
from solvent.workflows.model import Alternative, Each, Input, Result, Service, Task, Value, Workflow

FIGURE_1 = """
<
  T1 : ⟨SRC : ⟨⟩, SRV : s1, IN : ⟨input⟩, DST : ⟨T2, T3⟩⟩,
  T2 : ⟨SRC : ⟨T1⟩, SRV : s2, IN : ⟨⟩, DST : ⟨T4⟩⟩,
  T3 : ⟨SRC : ⟨T1⟩, SRV : s3, IN : ⟨⟩, DST : ⟨T4⟩⟩,
  T4 : ⟨SRC : ⟨T2, T3⟩, SRV : s4, IN : ⟨⟩, DST : ⟨⟩⟩
>
"""
FIGURE_4 = """
<
  T1 : <SRC : <>, SRV : s1, IN : <"input">, DST : <T2>>,
  T2 : <SRC : <T1>, SRV : s2, IN : <>, DST : <T3>>,
  T3 : <SRC : <T2>, SRV : s3, IN : <>, DST : <>>,
  T4 : <SRC : <T1>, SRV : s4, IN : <>, DST : <T3>>,
  inject TRIGGER : (T4), BOND : (T1 : T2 : T4), BOND : (T3 : T2 : T4)
    with T2 : <RES : (?r), ?w> if r = FAILED
>
"""
FIGURE_4_TASKS = (
    Task("T1", "s1", (Value("input"),)),
    Task("T2", "s2", (Result("T1"),)),
    Task("T3", "s3", (Result("T2"),)),
    Task("T4", "s4", (Result("T1"),)),
)


def read_text(text: str) -> Workflow:
    """Read a workflow from HOCLflow."""
    return read(Source(text, "w.hocl"), name="w").workflow


def problem_of(text: str) -> str:
    """Give the code, the place and the message that reading a text ends in."""
    with pytest.raises(SolventError) as caught:
        read_text(text)
    problem = caught.value
    return f"{problem.code} {problem.place} {problem.message}"


def task_of(text: str) -> Task:
    """Read one task from what stands in it beside its service."""
    return read_text(f"<T : <SRV : s, {text}>>").tasks[0]


def test_figure_1_of_the_paper() -> None:
    """The paper's first workflow reads, brackets and all; a name in IN is an input."""
    assert read_text(FIGURE_1).tasks == (
        Task("T1", "s1", (Input("input"),)),
        Task("T2", "s2", (Result("T1"),)),
        Task("T3", "s3", (Result("T1"),)),
        Task("T4", "s4", (Result("T2"), Result("T3"))),
    )


def test_figure_4_of_the_paper() -> None:
    """TRIGGER and BOND make an alternative: T4 replaces T2 on failure."""
    workflow = read_text(FIGURE_4)
    assert workflow.tasks == FIGURE_4_TASKS
    assert workflow.alternatives == (Alternative("alternative 1", {"T2": "T4"}),)


def test_an_alternative_is_written_as_the_paper_does() -> None:
    """One task that replaces another needs no more than TRIGGER and BOND."""
    workflow = Workflow("w", FIGURE_4_TASKS, alternatives=(Alternative("fallback", {"T2": "T4"}),))
    assert write(workflow) == (
        "<\n"
        '  WORKFLOW : "w",\n'
        '  T1 : <SRC : <>, SRV : s1, IN : <"input">, DST : <T2>>,\n'
        "  T2 : <SRC : <T1>, SRV : s2, IN : <>, DST : <T3>>,\n"
        "  T3 : <SRC : <T2>, SRV : s3, IN : <>, DST : <>>,\n"
        "  T4 : <SRC : <T1>, SRV : s4, IN : <>, DST : <T3>>,\n"
        "  (fallback = inject TRIGGER : T4, BOND : (T1 : T2 : T4), BOND : (T3 : T2 : T4)\n"
        "    with T2 : <RES : (?result), ?w> if FAILED in result)\n"
        ">\n"
    )


def test_filters_and_composition() -> None:
    """FILTER picks items, several if several stand there, and DOT combines the results."""
    text = (
        "<T1 : <SRV : s1, DST : <T2, T4>>, T2 : <SRC : <FILTER : (T1 : 3), T1>, SRV : s2, DST : <T4>>,"
        " T4 : <SRC : <DOT, FILTER : (T1 : 1), FILTER : (T1, 2), T2, T1>, SRV : s4>>"
    )
    assert read_text(text).tasks[1:] == (
        Task("T2", "s2", (Result("T1", 3),)),
        Task("T4", "s4", (Result("T2"), Result("T1", 1), Result("T1", 2)), each=Each("dot", (0, 1, 2))),
    )


def test_arguments_in_order() -> None:
    """ARG gives constants, inputs and results in any order."""
    task = task_of('ARG : (A, 3, x, FILTER : (A : 2), RESULT : "b c", VALUE : RED, INPUT : "d e")')
    assert task.arguments == (
        Result("A"), Value(3), Input("x"), Result("A", 2), Result("b c"), Value(Symbol("RED")), Input("d e"),
    )  # fmt: skip


def test_keywords_order_and_nested_composition() -> None:
    """WITH, EACH and AFTER say what the paper has no words for."""
    task = task_of('IN : <1>, WITH : <"k" : A, "l" : 2>, EACH : CROSS : (0, DOT : (1, 2)), AFTER : <B>')
    each = Each("cross", (0, Each("dot", (1, 2))))
    assert task == Task("T", "s", (Value(1),), {"k": Result("A"), "l": Value(2)}, each, ("B",))


@pytest.mark.parametrize(
    "value",
    [None, True, -3, 2.5, float("inf"), 'a\n"b"', [], [1], [1, [2, None]], (1, "a"), {"k": {"l": [1]}}, Symbol("RED")],
    ids=repr,
)
def test_constants(value: object) -> None:
    """Constants of every kind are written and read back."""
    workflow = Workflow("w", (Task("T", "s", (Value(value),)),), inputs={"x": value})
    assert read_text(write(workflow)) == workflow


def test_a_workflow_as_a_service_stands_in_place() -> None:
    """A service may hold a workflow."""
    inner = Workflow("inner", FIGURE_4_TASKS)
    outer = Workflow("outer", (Task("T1", "w"),), (Service("w", "workflow", function=inner),))
    assert read_text(write(outer)) == outer


def test_places_point_at_names() -> None:
    """A task's place is its name in the text."""
    places = read(Source(FIGURE_4, "w.hocl")).places
    assert (places["task", "T2"].place, places["task", "T2"].text) == ("w.hocl:4:3", "T2")


@pytest.mark.parametrize(
    "text, problem",
    [
        ("<T1 : <SRC : <, SRV : s>>", "H120 w.hocl:1:15 expected a molecule, found `,`"),
        ("1, 2", "W107 w.hocl:1:1 a workflow is one solution of tasks"),
        ("<3>", "W107 w.hocl:1:2 a molecule of a workflow is written `name : value`"),
        ("<T1 : 3>", "W107 w.hocl:1:7 the task `T1` is a solution"),
        ("<T1 : <SRC : <>>>", "W107 w.hocl:1:2 the task `T1` has no service"),
        ("<T1 : <SVR : s>>", "W103 w.hocl:1:8 the task `T1` has no molecule `SVR`"),
        ("<T1 : <SRV : s, SRV : t>>", "W102 w.hocl:1:17 `SRV` stands here a second time"),
        ("<T1 : <SRV : s>, T1 : <SRV : s>>", "W102 w.hocl:1:18 a second task is called `T1`"),
        ("<T1 : <SRV : s, SRC : <FILTER : (T2 : 1)>>>",
         "W107 w.hocl:1:23 `SRC` filters `T2` but does not name it"),
        ("<T1 : <SRV : s, DST : <>>, T2 : <SRV : s, SRC : <T1>>>",
         "W108 w.hocl:1:23 `T2` takes from `T1`, but `DST` of `T1` does not name `T2`"),
        ("<T1 : <SRV : s, DST : <T2>>, T2 : <SRV : s, SRC : <>>>",
         "W108 w.hocl:1:23 `DST` of `T1` names `T2`, but `SRC` of `T2` does not name `T1`"),
        ("<T1 : <SRV : s, SRC : <T2>, ARG : (T3, 1)>>",
         "W108 w.hocl:1:23 `T1` takes from `T2` by SRC but not by ARG"),
        ("<T1 : <SRV : s>, replace x by x>",
         "W107 w.hocl:1:18 only rules that `inject` a TRIGGER stand in an abstract workflow"),
        ("<T1 : <SRV : s>, inject BOND : (A : B : C) with T1 : <RES : (?r), ?w> if FAILED in r>",
         "W107 w.hocl:1:18 an alternative needs a `TRIGGER`"),
        ("<T1 : <SRV : s>, inject TRIGGER : T2 with T1 : <?w> if true>",
         "W107 w.hocl:1:43 an alternative looks at the result of a task"),
        ("<SERVICE : s : <TIMEOUT : 3>>", "W107 w.hocl:1:12 the service `s` must say once what it calls"),
    ],
)  # fmt: skip
def test_problems(text: str, problem: str) -> None:
    """A wrong text is told what is wrong and where."""
    assert problem_of(text) == problem


def test_what_hoclflow_cannot_say_is_refused() -> None:
    """A value that is no molecule cannot be written."""
    with pytest.raises(WorkflowProblem, match="HOCLflow cannot say the value"):
        write(Workflow("w", (Task("T", "s", (Value({1}),)),)))


def test_abstract_workflows_are_told_from_programs() -> None:
    """Only a solution of tasks without rules in them is an abstract workflow."""
    assert is_hoclflow(Source(FIGURE_1))
    assert not is_hoclflow(Source("<1, 2>"))
    assert not is_hoclflow(Source("<1, "))
    assert not is_hoclflow(Source("<T1 : <SRV : s1, (replace x by 1)>>"))
