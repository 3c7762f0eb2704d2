"""Workflows as graphs to draw."""

from __future__ import annotations

from solvent.workflows.diagram import graph_of
from solvent.workflows.model import Alternative, Result, Task, Workflow

DIAMOND = Workflow(
    "flow",
    tuple(
        Task(name, "s", tuple(Result(one) for one in taken.split()))
        for name, taken in {"T1": "", "T2": "T1", "T3": "T1", "T4": "T2 T3", "T5": "T1"}.items()
    ),
    alternatives=(Alternative("fallback", {"T2": "T5"}),),
)


def test_boxes_say_what_tasks_do() -> None:
    """A box has the task's name, its service where that has another, and its state."""
    node = graph_of(DIAMOND, {"T1": "done"}).nodes[0]
    assert (node.lines, node.state, node.group, node.tip) == (
        (("", "T1"), ("service", "s")),
        "done",
        "s",
        "T1 · s · done",
    )


def test_alternatives_in_words() -> None:
    """The legend says what stands in for what, when, and what is watched."""
    assert graph_of(DIAMOND).legend == ("T5 instead of T2, on failure",)
    late = Alternative("late", {"a": "z"}, watch=("b",), on=("condition",), when="result < 1")
    assert late.explain() == "z instead of a, if result < 1, watching b"


def test_alternatives_for_several_reasons() -> None:
    """A line says all reasons, and of a function without a name that it rejects."""
    late = Alternative("late", {"a": "z"}, on=("timeout", "condition"), when="result < 1")
    assert late.explain() == "z instead of a, on timeout or if result < 1"
    rejecting = Alternative("c", {"a": "z"}, on=("condition",), predicate=lambda _: True)
    assert rejecting.explain() == "z instead of a, if its result is rejected"


def test_a_cycle_is_drawn_all_the_same() -> None:
    """A workflow that is wrong can still be looked at."""
    sources = {"a": "c", "b": "a", "c": "b", "d": "d nobody"}
    tasks = tuple(Task(name, "s", tuple(Result(one) for one in taken.split())) for name, taken in sources.items())
    assert len(graph_of(Workflow("flow", tasks)).edges) == 4
