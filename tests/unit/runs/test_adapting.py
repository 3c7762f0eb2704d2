"""Runs in which calls are out while their arguments change, results that cannot be judged, and long lists."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from solvent.runs.embedded import run_workflow
from solvent.services import cancelled
from solvent.workflows.model import Alternative, Each, Result, Service, Task, Value, Workflow
from tests.growth import executed_lines

if TYPE_CHECKING:
    from solvent.runs.report import Report

CALL_SECONDS = 200.0
"""Seconds that no call should ever take in full."""


def run(tasks: list[Task], functions: dict[str, Any], alternatives: list[Alternative] | None = None) -> Report:
    """Run a workflow of functions."""
    services = tuple(Service(name, function=function) for name, function in functions.items())
    return run_workflow(Workflow("w", tuple(tasks), services, tuple(alternatives or ())), max_seconds=60)


def late_fault(slow: Any) -> tuple[Report, list[Any]]:
    """Run a workflow in which `C` complains about `A` while `H` is still busy with it, and `D` takes both."""
    seen: list[Any] = []

    def complain(value: int) -> str:
        if value == 1:
            raise ValueError(value)
        return f"c{value}"

    def join(left: str, right: str) -> str:
        seen.append((left, right))
        return left + right

    functions = {
        "a": lambda: 1,
        "a2": lambda: 2,
        "h": slow,
        "c": complain,
        "d": join,
        "h2": lambda value: f"spare{value}",
    }
    tasks = [
        Task("A", "a"), Task("A2", "a2"), Task("H", "h", (Result("A"),)), Task("H2", "h2", (Result("A"),)),
        Task("C", "c", (Result("A"),)), Task("D", "d", (Result("H"), Result("C"))),
    ]  # fmt: skip
    alternatives = [Alternative("late", {"A": "A2"}, watch=("C",)), Alternative("own", {"H": "H2"})]
    return run(tasks, functions, alternatives), seen


def test_a_call_whose_argument_is_called_off_is_not_waited_for() -> None:
    """The task behind it is called once, with new results only."""
    stop = threading.Event()

    def slow(value: int) -> str:
        if value == 1:
            stop.wait(CALL_SECONDS)
        return f"h{value}"

    report, seen = late_fault(slow)
    stop.set()
    assert seen == [("h2", "c2")]
    assert report.results == {"D": "h2c2"}
    assert report.seconds < CALL_SECONDS


def test_a_fault_over_an_argument_that_was_called_off_does_not_count() -> None:
    """A call that would have failed on the old argument does not make its own alternative apply."""

    def slow(value: int) -> str:
        if value == 1:
            end = time.monotonic() + CALL_SECONDS
            while not cancelled() and time.monotonic() < end:
                time.sleep(0.005)
            raise ValueError("outdated")
        return f"h{value}"

    report, seen = late_fault(slow)
    assert seen == [("h2", "c2")]
    assert [one["alternative"] for one in report.adaptations] == ["late"]


@pytest.mark.parametrize("result", [None, "text", {"a": 1}, (1, 2), object()])
def test_a_condition_that_cannot_be_computed_rejects_and_says_why(result: Any) -> None:
    """A result that a condition cannot judge is not relied upon."""
    tasks = [Task("A", "a"), Task("B", "b")]
    alternative = Alternative("other", {"A": "B"}, on=("condition",), when="result + 1 < 3")
    report = run(tasks, {"a": lambda: result, "b": lambda: 7}, [alternative])
    assert report.results == {"A": 7}
    assert "cannot be computed" in report.adaptations[0]["cause"]


@pytest.mark.parametrize("needs", ["its result", "its end"])
def test_a_result_that_was_given_up_is_there_for_tasks_that_wake_later(needs: str) -> None:
    """An alternative that applies after another gave a finished task up has that task's result."""
    has_stood_in, seen = threading.Event(), []

    def fail(*_: int) -> None:
        raise ValueError

    def fail_late() -> None:
        has_stood_in.wait(CALL_SECONDS)
        raise ValueError

    def stand_in() -> int:
        has_stood_in.set()
        return 2

    tasks = [
        Task("A", "a"), Task("B", "fail", (Result("A"),)), Task("C", "fail_late"), Task("B2", "stand_in"),
        Task("C2", "note", (Result("A"),)) if needs == "its result" else Task("C2", "note", after=("A",)),
    ]  # fmt: skip
    functions = {"a": lambda: 1, "fail": fail, "fail_late": fail_late, "stand_in": stand_in}
    functions["note"] = lambda *given: seen.append(given)
    alternatives = [Alternative("early", {"B": "B2"}, also=("A",)), Alternative("late", {"C": "C2"})]
    report = run(tasks, functions, alternatives)
    assert (report.succeeded, seen) == (True, [(1,)] if needs == "its result" else [()])


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt, SystemExit])
def test_a_predicate_that_raises_rejects_and_says_why(error: type[BaseException]) -> None:
    """Also what ends a process is an error of the predicate like any other: it is the cause, and the run goes on."""

    def raising(_: Any) -> bool:
        raise error("not now")

    tasks = [Task("A", "a"), Task("B", "b")]
    alternative = Alternative("other", {"A": "B"}, on=("condition",), predicate=raising)
    report = run(tasks, {"a": dict, "b": lambda: 7}, [alternative])
    assert (report.error, report.results) == (None, {"A": 7})
    assert "not now" in report.adaptations[0]["cause"]


def test_a_predicate_may_take_its_time() -> None:
    """While predicates think, other tasks go on and other predicates think too."""
    both = threading.Barrier(2, timeout=CALL_SECONDS)

    def think(_: Any) -> bool:
        both.wait()
        return False

    tasks = [Task("A", "a"), Task("B", "a"), Task("A2", "a"), Task("B2", "a")]
    alternatives = [
        Alternative("one", {"A": "A2"}, on=("condition",), predicate=think),
        Alternative("two", {"B": "B2"}, on=("condition",), predicate=think),
    ]
    assert run(tasks, {"a": lambda: 1}, alternatives).results == {"A": 1, "B": 1}


def test_the_second_of_two_conditions_on_one_task_is_tried_when_the_first_is_used_up() -> None:
    """Two alternatives watch one task: each applies in its turn, as long as its condition holds."""
    tasks = [
        Task("X", "x", (Value(1),)), Task("Y", "x", (Value(2),)), Task("X2", "x", (Value(10),)),
        Task("Y2", "x", (Value(20),)), Task("S", "s", (Result("X"), Result("Y"))),
    ]  # fmt: skip
    alternatives = [
        Alternative("p", {"X": "X2"}, on=("condition",), when="result < 30", watch=("S",)),
        Alternative("q", {"Y": "Y2"}, on=("condition",), when="result < 30", watch=("S",)),
    ]
    report = run(tasks, {"x": lambda value: value, "s": lambda x, y: x + y}, alternatives)
    assert report.results == {"S": 30}
    assert sorted(one["alternative"] for one in report.adaptations) == ["p", "q"]


def test_a_list_in_itself_fails_its_task_and_no_more() -> None:
    """What cannot be passed on is a fault of the task that gave it."""

    def endless() -> list[Any]:
        found: list[Any] = []
        found.append(found)
        return found

    report = run([Task("A", "a"), Task("B", "b")], {"a": endless, "b": lambda: 1})
    assert report.states == {"A": "failed", "B": "done"}
    assert report.results == {"B": 1}
    assert "cannot be passed on" in report.failures[0].cause


def test_a_call_for_each_of_many_items_costs_the_same_for_each() -> None:
    """Reactions grow with the items; looking through the list at each step would make this take minutes."""
    tasks = [Task("A", "a"), Task("B", "b", (Result("A"),), each=Each("dot", (0,)))]

    def lines(size: int) -> int:
        def whole() -> None:
            report = run(tasks, {"a": lambda: list(range(size)), "b": lambda value: value + 1})
            assert report.results["B"] == list(range(1, size + 1))

        return executed_lines(whole)

    assert lines(1_000) < 20 * lines(100)
