"""Where a result goes: routes and their conditions, ways back, and services that stand in for others."""

from __future__ import annotations

from itertools import count
from threading import Barrier
from typing import Any

import pytest

from solvent.workflows.model import Alternative, Arrived, Policy, Result, Route, Service, Task, Test, Value, Workflow
from tests.unit.runs.flows import PATIENCE, Held, broken, flow, run, step, told

ARRIVED = Arrived()


def split(value: Any, how: str, *routes: tuple[str, Test | None], **parts: Any) -> Workflow:
    """Give a workflow in which `A` passes a value on to some of the tasks that its routes name."""
    ways = tuple(Route(name, test) for name, test in routes)
    tasks = [step("A", "told", Value(value), split=how, routes=ways)]
    return flow(*tasks, *(step(name, "told", Result("A")) for name, _ in routes), **parts)


def raising(_: Any) -> bool:
    """Raise."""
    raise LookupError("no such thing")


@pytest.mark.parametrize(
    "value, taken", [(1, {"B"}), (5, {"B", "C"}), (-5, {"C"}), (-1, {"D", "E"})]
)  # fmt: skip
def test_some_routes_are_taken(value: int, taken: set[str]) -> None:
    """Every route whose condition holds is taken; those without a condition only where none does."""
    some = ("B", Test("result > 0")), ("C", Test(predicate=lambda n: abs(n) > 3)), ("D", None), ("E", None)
    report = run(split(value, "some", *some))
    assert (report.succeeded, {*report.results}) == (True, taken)


@pytest.mark.parametrize("how", ["one", "some"])
def test_result_without_a_route_fails_its_task(how: str) -> None:
    """Where no route holds the task has failed, and says why."""
    report = run(split(0, how, ("B", Test("result > 0")), ("C", Test("result < 0"))))
    (failure,) = report.failures
    assert (report.succeeded, report.states["A"], report.states["B"]) == (False, "failed", "unused")
    assert (failure.kind, failure.cause) == ("UNROUTED", "none of its routes holds for its result")


@pytest.mark.parametrize(
    "test, cause",
    [
        (Test("result > 0"), "`result > 0` cannot be computed: "),
        (Test("1 / (len(result) - 4) > 0"), "cannot be computed: "),
        (Test(predicate=raising), "LookupError: no such thing"),
    ],
)
def test_condition_that_cannot_be_computed_does_not_hold(test: Test, cause: str) -> None:
    """A condition that cannot be asked of a result is as one that does not hold, and the failure says so."""
    (failure,) = run(split("text", "one", ("B", test), ("C", Test('result == "other"')))).failures
    assert failure.kind == "UNROUTED"
    assert failure.cause.startswith("none of its routes holds for its result: ")
    assert cause in failure.cause
    report = run(split("text", "one", ("B", test), ("C", None)))
    assert (report.succeeded, report.results) == (True, {"C": "text"})


def test_failed_choice_is_stood_in_for() -> None:
    """Another service takes over where no route holds for a result."""
    stands = Alternative("other", {"A": "Z"})
    work = split(0, "one", ("B", Test("result > 0")), ("C", Test("result < 0")))
    tasks = (*work.tasks, step("Z", "told", Value(7)))
    report = run(Workflow("flow", tasks, work.services, (stands,)))
    assert (report.succeeded, report.results) == (True, {"B": 7})


# --- Ways back.


def loop(test: Test, service: Any, **parts: Any) -> Workflow:
    """Give a workflow that counts from 0 and goes back while a condition holds."""
    return flow(
        step("S", "told", Value(0)),
        step("A", "work", ARRIVED, after=("S",), join="any", again=Route("A", test)),
        step("B", "told", Result("A")),
        functions={"work": service},
        **parts,
    )


def test_way_back_whose_condition_raises_is_left() -> None:
    """A condition that cannot be asked does not hold: the loop is left."""
    report = run(loop(Test(predicate=raising), lambda n: n + 1))
    assert (report.succeeded, report.results) == (True, {"B": 1})


@pytest.mark.parametrize(
    "answer",
    [
        [1],
        {"a": 1},
        1,
        "a",
    ],
)
def test_predicate_is_asked_of_every_result(answer: Any) -> None:
    """A function that decides by more than the result is asked anew each time, also about a result as before."""
    asked = count(1)
    report = run(loop(Test(predicate=lambda _: next(asked) < 3), lambda _: answer), max_seconds=1.0)
    assert (report.error, report.calls["A"]) == (None, 3)


# --- Stand-ins.


def test_chain_of_stand_ins() -> None:
    """One that stands in for another can be stood in for itself; if the last one fails, it is told of."""
    chain = Alternative("first", {"A": "Y"}), Alternative("second", {"Y": "Z"})
    tasks = (
        step("A", "broken", Value(1), copies=2),
        step("B", "told", Result("A")),
        Task("Y", "broken"),
        Task("Z", "ok"),
    )
    work = flow(*tasks, functions={"ok": lambda: "ok"}, alternatives=chain)
    report = run(work)
    assert (report.succeeded, report.results, report.calls["B"]) == (True, {"B": "ok"}, 2)
    failing = run(flow(*tasks, functions={"ok": broken}, alternatives=chain))
    assert failing.states == {"A": "replaced", "B": "unused", "Y": "replaced", "Z": "failed"}
    assert [(failure.task, failure.cause) for failure in failing.failures] == [("Z", "RuntimeError: broken")]
    assert not failing.succeeded


def test_predicate_judges_each_of_two_results_that_land_together() -> None:
    """Of two results of one task at the same time only the rejected one is replaced."""
    both = Barrier(2)

    def wait_for_both(_: int) -> bool:
        # All predicates before this one have judged both results by then.
        both.wait(PATIENCE)
        return False

    alternatives = (
        Alternative("negative", {"M": "Z"}, on=("condition",), predicate=lambda n: n < 0),
        Alternative("never", {"M": "Y"}, on=("condition",), predicate=wait_for_both),
    )
    work = flow(
        step("A", "told", Value(1)), step("B", "told", Value(-1)),
        step("M", "told", ARRIVED, after=("A", "B"), join="any"),
        step("E", "note", Result("M"), join="any"),
        step("Y", "told", Value(50)), step("Z", "told", Value(100)),
        functions={"note": (noted := list[int]()).append}, alternatives=alternatives,
    )  # fmt: skip
    report = run(work, jobs=2)
    assert report.succeeded
    assert [one["alternative"] for one in report.adaptations] == ["negative"]
    assert sorted(noted) == [1, 100]


def test_stand_in_only_for_what_it_is_for() -> None:
    """A failure is not replaced by what is for time-outs only, and a time-out is."""
    held = Held()
    other = Alternative("other", {"A": "Z"}, on=("timeout",))
    tasks = step("A", "work", copies=2), step("B", "told", Result("A")), step("Z", "told", Value("in time"))
    work, tell = Service("work", function=broken, policy=Policy(timeout=60)), Service("told", function=told)
    failing = run(Workflow("flow", tasks, (work, tell), (other,)))
    assert (failing.succeeded, failing.failures[0].kind) == (False, "FAILED")
    work = Service("work", function=held, policy=Policy(timeout=0.05))
    report = run(Workflow("flow", tasks, (work, tell), (other,)))
    assert (report.succeeded, report.results) == (True, {"B": "in time"})


@pytest.mark.parametrize("how", ["case", "cancelled"])
@pytest.mark.parametrize("words", [{"copies": 2}, {"split": "one", "routes": (Route("B", Test("true")),)}])
def test_stand_in_that_ends_the_case(how: str, words: dict[str, Any]) -> None:
    """What stands in may end the case in place of passing on; other calls are ended."""
    held = Held()
    tasks = (
        step("A", "fail", **words), step("B", "told", Result("A")), step("Slow", "held"),
        step("Z", "told", Value("sorry"), ends=how),
    )  # fmt: skip
    functions: dict[str, Any] = {"held": held, "fail": lambda: held.met() and broken()}
    report = run(flow(*tasks, functions=functions, alternatives=(Alternative("other", {"A": "Z"}),)))
    assert (report.ended_by, report.is_cancelled, report.succeeded) == ("Z", how == "cancelled", how == "case")
    assert (report.states["B"], report.states["Slow"], report.states["Z"]) == ("unused", "cancelled", "done")


def test_stand_in_of_a_cancelled_task_is_cancelled() -> None:
    """A call that is made in place of a cancelled task is ended like the task's own."""
    held = Held()
    work = flow(
        step("A", "broken", copies=2), step("B", "told", Result("A")), step("Z", "held"),
        step("Cancel", "met", cancels=("A",)), step("Last", "over", Result("Cancel")),
        functions={"held": held, "met": held.met, "over": held.over}, alternatives=(Alternative("other", {"A": "Z"}),),
    )  # fmt: skip
    report = run(work)
    assert (report.succeeded, held.was_cancelled, report.results) == (True, True, {"Last": "over"})
    assert (report.states["Z"], report.states["B"]) == ("cancelled", "unused")
