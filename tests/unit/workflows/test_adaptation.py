"""Each way in which an alternative may apply, with the number of calls of every task."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from solvent.runs.embedded import run_workflow
from solvent.workflows.model import Alternative, Policy, Result, Service, Task, Workflow

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.runs.report import Report

A, B, C, D = Result("A"), Result("B"), Result("C"), Result("D")


def run(
    tasks: tuple[Task, ...], *alternatives: Alternative, policy: Policy | None = None, **functions: Callable[..., Any]
) -> Report:
    """Run tasks, each with the service of its name, which by default puts that name around its arguments.

    A policy is for those that do otherwise.
    """
    services = [
        Service(
            task.service,
            function=functions.get(task.name, lambda *given, name=task.name: [name, *given]),
            policy=policy if policy is not None and task.name in functions else Policy(),
        )
        for task in tasks
    ]
    return run_workflow(Workflow("adaptive", tasks, tuple(services), alternatives), jobs=2)


def task(name: str, *sources: Result) -> Task:
    """Give a task that takes whole results."""
    return Task(name, name.lower(), sources)


def fail(*_: Any) -> None:
    """Fail, as a service may."""
    raise ValueError


def test_on_timeout() -> None:
    """A task that takes too long is replaced by an alternative on time-outs, one that fails is not."""
    tasks = (task("A"), task("B", A), task("X"))
    spare = Alternative("x", {"A": "X"}, on=("timeout",))
    done = threading.Event()
    slow = run(tasks, spare, policy=Policy(timeout=0.05), A=lambda: done.wait(200))
    done.set()
    assert (slow.results, slow.calls) == ({"B": ["B", ["X"]]}, {"A": 1, "X": 1, "B": 1})
    failed = run(tasks, spare, A=fail)
    assert (failed.results, failed.calls) == ({}, {"A": 1})
    assert failed.states == {"A": "failed", "B": "waiting", "X": "unused"}


def test_a_sub_workflow_with_several_entries_and_exits() -> None:
    """Two tasks are replaced by four: two entries, two exits; what they serve and are served by stays."""
    before = (task("A"), task("B"), task("C", A), task("D", B), task("E", C, D))
    inside = (task("P", A), task("Q", B), task("X", Result("P"), Result("Q")), task("Y", Result("Q")))
    report = run((*before, *inside), Alternative("both", {"C": "X", "D": "Y"}), C=fail)
    assert report.results == {"E": ["E", ["X", ["P", ["A"]], ["Q", ["B"]]], ["Y", ["Q", ["B"]]]]}
    assert {name: report.calls[name] for name in "ABPQXYE"} == dict.fromkeys("ABPQXYE", 1)
    assert report.calls["C"] == 1


def test_an_alternative_of_an_alternative() -> None:
    """When what stands in fails too, its own alternative stands in for it; if that fails, the task has failed."""
    tasks = (task("A"), task("B", A), task("X"), task("Y"))
    chain = (Alternative("x", {"A": "X"}), Alternative("y", {"X": "Y"}))
    report = run(tasks, *chain, A=fail, X=fail)
    assert (report.results, report.calls) == ({"B": ["B", ["Y"]]}, {"A": 1, "X": 1, "Y": 1, "B": 1})
    report = run(tasks, *chain, A=fail, X=fail, Y=fail)
    assert (report.results, report.calls) == ({}, {"A": 1, "X": 1, "Y": 1})
    assert [failed.task for failed in report.failures] == ["Y"]


def test_several_failures_at_once() -> None:
    """Failures beside and behind each other are replaced each by its own; an alternative takes from an alternative."""
    tasks = (task("A"), task("B"), task("C", A), task("D", B, C), task("X"), task("Y"), task("Z", A))
    spares = (Alternative("x", {"A": "X"}), Alternative("y", {"B": "Y"}), Alternative("z", {"C": "Z"}))
    report = run(tasks, *spares, A=fail, B=fail, C=fail)
    assert report.results == {"D": ["D", ["Y"], ["Z", ["X"]]]}
    assert report.calls == dict.fromkeys("ABCDXYZ", 1)


def test_a_fault_noticed_three_steps_later() -> None:
    """A task far below rejects what came from the first; all between is called again, and what is beside is not."""
    tasks = (task("A"), task("B", A), task("C", B), task("D", C), task("E"), task("F", D, Result("E")), task("X"))
    spare = Alternative("x", {"A": "X"}, watch=("D",), on=("condition",), predicate=lambda result: "A" in str(result))
    report = run(tasks, spare, D=lambda given: given)
    assert report.results == {"F": ["F", ["C", ["B", ["X"]]], ["E"]]}
    assert report.calls == {"A": 1, "B": 2, "C": 2, "D": 2, "E": 1, "F": 1, "X": 1}


def test_one_task_in_the_place_of_two() -> None:
    """One exit may stand for two tasks, also where one task takes from both."""
    report = run((task("A"), task("B"), task("C", A, B), task("X")), Alternative("x", {"A": "X", "B": "X"}), B=fail)
    assert report.results == {"C": ["C", ["X"], ["X"]]}
    assert (report.calls["X"], report.calls["C"]) == (1, 1)
