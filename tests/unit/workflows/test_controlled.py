"""Joins, instances and data: what a task of a controlled workflow is started by, how often, and with what."""

from __future__ import annotations

from typing import Any

import pytest

from solvent.runs.embedded import EmbeddedRun
from solvent.workflows.model import Arrived, Control, Each, Input, Many, Result, Route, Task, Test, Value, Workflow
from tests.unit.runs.flows import Held, broken, flow, run, step

ALL = Arrived("all")
ARRIVED = Arrived()


def many(value: Any, words: Many, service: Any = None) -> Workflow:
    """Give a workflow of a task that makes a value, one of many instances for it, and one that takes the results."""
    return flow(
        step("A", "told", Value(value)),
        step("M", "work" if service else "told", Result("A"), many=words),
        step("N", "told", Result("M")),
        functions={"work": service} if service else {},
    )


# --- Many instances.


@pytest.mark.parametrize("count", [0, 1, 3])
def test_as_many_instances_as_a_task_says(count: int) -> None:
    """A task is called as often as another one's result says, and its result is the list of results; none is fine."""
    report = run(many(count, Many(Result("A"))))
    assert (report.succeeded, report.results) == (True, {"N": [count] * count})
    assert report.calls.get("M", 0) == count


@pytest.mark.parametrize(
    "count, cause",
    [
        ("many", "it is started a text times"),
        (-1, "it is started -1 times"),
        ([1], "it is started Python's List times"),
    ],
)
def test_count_that_is_no_number_fails(count: Any, cause: str) -> None:
    """A number of instances that is none fails the task, and says what it was."""
    report = run(many(count, Many(Result("A"))))
    assert (report.succeeded, report.states["M"], report.states["N"]) == (False, "failed", "unused")
    assert [failure.cause for failure in report.failures] == [cause]


def test_count_that_is_no_item_fails_as_such() -> None:
    """A number of instances that is an item of too short a list says that."""
    work = flow(step("A", "told", Value([1])), step("M", "told", Value(1), many=Many(Result("A", 2))))
    assert run(work).failures[0].cause == "item 2 is taken of a list of 1"


@pytest.mark.parametrize("items", [[], [1], [3, 1, 2], (2, 1)])
def test_an_instance_for_each_item(items: Any) -> None:
    """Results are in the order of the items, whoever is done first; of an empty list there are none."""
    report = run(many(items, Many(over=0), lambda n: n * 10))
    assert (report.succeeded, report.results) == (True, {"N": [n * 10 for n in items]})


def test_instance_that_fails_fails_its_task() -> None:
    """One instance of several fails, and nothing is passed on."""
    report = run(many([1, 2, 3], Many(over=0), lambda n: broken() if n == 2 else n))
    assert (report.succeeded, report.states["M"], report.states["N"], report.calls["M"]) == (
        False, "failed", "unused", 3,
    )  # fmt: skip
    assert [(failure.task, failure.cause) for failure in report.failures] == [("M", "RuntimeError: broken")]


def test_instances_that_are_not_needed_are_not_waited_for() -> None:
    """With enough results the next task starts while another instance runs, whose result is ignored."""
    held = Held()
    work = many([1, 2, 3], Many(over=0, need=2), lambda n: held() if n == 3 else n)
    tasks = (*work.tasks, step("Last", "release", Result("N")))
    functions = {"work": work.services[2].function, "release": held.release}
    report = run(flow(*tasks, functions=functions))
    assert (report.succeeded, report.calls["N"], held.was_cancelled) == (True, 1, False)


def test_instances_that_are_not_needed_are_cancelled() -> None:
    """With enough results the instances that still run are cancelled, if it is said so."""
    held = Held()
    work = many([1, 2, 3], Many(over=0, need=2, cancels=True), lambda n: held() if n == 3 else held.met() and n)
    tasks = (*work.tasks, step("Last", "over", Result("N")))
    report = run(flow(*tasks, functions={"work": work.services[2].function, "over": held.over}))
    assert (report.succeeded, held.was_cancelled, report.calls["N"]) == (True, True, 1)


@pytest.mark.parametrize("cancels", [False, True])
def test_need_of_more_than_there_are(cancels: bool) -> None:  # noqa: FBT001 - a value of each kind
    """Where fewer instances start than are needed, all of them are waited for."""
    assert run(many([1, 2], Many(over=0, need=5, cancels=cancels))).results == {"N": [1, 2]}
    assert run(many([], Many(over=0, need=5, cancels=cancels))).results == {"N": []}


@pytest.mark.parametrize("enough", [Test("len(result) >= 2"), Test(predicate=lambda found: len(found) >= 2)])
def test_results_that_are_enough(enough: Test) -> None:
    """The first list of results for which the condition holds is passed on; later results are ignored."""
    held = Held(3)
    work = many([1, 2, 3], Many(over=0, enough=enough), lambda n: held() if n == 3 else n)
    tasks = (*work.tasks, step("Last", "release", Result("N")))
    report = run(flow(*tasks, functions={"work": work.services[2].function, "release": held.release}))
    assert (report.succeeded, report.calls["N"]) == (True, 1)


def test_no_instances_apart_are_done() -> None:
    """A task whose instances are apart is done also if there are none."""
    report = run(many([], Many(over=0, apart=True)))
    assert (report.succeeded, report.states["M"], report.states["N"]) == (True, "done", "unused")


@pytest.mark.xfail(reason="where no instance passes anything on, nobody tells the merge that nothing will come")
def test_no_instances_apart_are_not_waited_for() -> None:
    """A synchronizing merge does not wait for instances when there are none."""
    work = flow(
        step("A", "told", Value([])), step("M", "told", Result("A"), many=Many(over=0, apart=True)),
        step("B", "told", Value(1), after=("A",)), step("D", "told", ALL, after=("M", "B"), join="active"),
    )  # fmt: skip
    report = run(work)
    assert (report.stuck, report.results) == ([], {"D": [1]})


def test_task_completes_the_instances_of_another() -> None:
    """When a task is done that completes another, that one goes on with what it has, and the rest is cancelled."""
    held = Held()
    tasks = (
        step("M", "work", Value([1, 2]), many=Many(over=0)), step("N", "told", Result("M")),
        step("Done", "met", completes=("M",)), step("Last", "over", Result("N")),
    )  # fmt: skip
    functions = {"work": lambda _: held(), "met": held.met, "over": held.over}
    report = run(flow(*tasks, functions=functions))
    assert (report.succeeded, held.was_cancelled, report.calls["N"]) == (True, True, 1)
    assert report.states["M"] == "done"


def test_completing_what_has_not_started_or_is_over_does_nothing() -> None:
    """A task that completes another is done also if that one has not started, never starts, or is over."""
    instances = step("M", "told", Result("A"), many=Many(over=0))
    before = flow(
        step("Done", "told", Value([1]), completes=("M",)), step("A", "told", Result("Done")), instances,
    )  # fmt: skip
    assert run(before).results == {"M": [1]}
    after = flow(step("A", "told", Value([1])), instances, step("Done", "told", Result("M"), completes=("M",)))
    assert run(after).results == {"Done": [1]}
    routes = (Route("A", Test("result == 2")), Route("Done"))
    never = flow(
        step("S", "told", Value(1), split="one", routes=routes), Task("A", "told", after=("S",)), instances,
        step("Done", "told", Result("S"), completes=("M",)),
    )  # fmt: skip
    report = run(never)
    assert (report.succeeded, report.results, report.states["M"]) == (True, {"Done": 1}, "unused")


# --- Joins and what they hand over.


def split(value: int, **join: Any) -> Workflow:
    """Give a workflow that chooses between `B`, `C` or both, and joins them again."""
    routes = (Route("B", Test("result > 0")), Route("C", Test("result % 2 == 0")))
    return flow(
        step("A", "told", Value(value), split="some", routes=routes), step("B", "told", Value("b"), after=("A",)),
        step("C", "told", Value(["c1", "c2"]), after=("A",)),
        step("D", "told", Result("B"), Result("C"), Result("C", item=2), ALL, **join),
    )  # fmt: skip


@pytest.mark.parametrize(
    "value, found",
    [
        (1, ["b", None, None, ["b"]]),
        (0, [None, ["c1", "c2"], "c2", [["c1", "c2"]]]),
        (2, ["b", ["c1", "c2"], "c2", ["b", ["c1", "c2"]]]),
    ],
)
def test_synchronizing_merge_gets_what_is_there(value: int, found: list[Any]) -> None:
    """What was not chosen is nothing for who merges, as a result and as an item of one."""
    report = run(split(value, join="active"))
    assert (report.succeeded, report.results) == (True, {"D": found})


def test_multi_merge_gets_one_at_a_time() -> None:
    """Each arrival starts the task with what arrived, and nothing of the other."""
    seen: list[Any] = []
    work = split(2, join="any")
    tasks = (*work.tasks[:3], Task("D", "see", work.tasks[3].arguments, control=work.tasks[3].control))
    run(flow(*tasks, functions={"see": lambda *values: seen.append(values)}))
    both = [("b", None, None, ["b"]), (None, ["c1", "c2"], "c2", [["c1", "c2"]])]
    assert sorted(seen, key=str) == sorted(both, key=str)


def test_threads_are_in_the_order_in_which_they_were_sent() -> None:
    """What one source sent first comes first in the list of what arrived."""
    routes = (Route("A", Test("result > 1")), Route("D", Test("true")))
    work = flow(
        step("S", "told", Value(9)), step("A", "fewer", ARRIVED, after=("S",), join="any", split="some", routes=routes),
        step("D", "told", ALL, after=("A",), threads=8),
        functions={"fewer": lambda n: n - 1},
    )  # fmt: skip
    assert run(work).results == {"D": [8, 7, 6, 5, 4, 3, 2, 1]}


# --- Data.


@pytest.mark.parametrize(
    "each, found",
    [(Each("dot", (0, 1)), [11, 22]), (Each("cross", (0, 1)), [11, 21, 12, 22]), (Each("dot", (0,)), None)],
)
def test_composition_of_data(each: Each, found: list[int] | None) -> None:
    """A task of a controlled workflow can be called for each combination of items, in each round anew."""
    other: Any = Input("other") if found else Value(10)
    work = flow(
        step("A", "told", Value([1, 2]), copies=2), step("B", "add", Result("A"), other, each=each),
        step("C", "told", ALL, after=("B",), threads=2),
        functions={"add": lambda a, b: a + b}, inputs={"other": [10, 20]},
    )  # fmt: skip
    report = run(work)
    assert report.succeeded
    assert report.results == {"C": [found or [11, 12]] * 2}


def test_item_of_a_result_that_is_too_short_fails() -> None:
    """An item that a result does not have fails the task that takes it."""
    work = flow(step("A", "told", Value([1]), copies=2), step("B", "told", Result("A", item=2)))
    report = run(work)
    assert (report.states["B"], report.failures[0].cause) == ("failed", "item 2 is taken of a list of 1")


def test_keywords_of_instances() -> None:
    """Arguments by name are passed by name, also those that instances go over."""
    work = flow(step("S", "told", Value(1)), functions={"named": lambda a, *, b: (a, b)})
    task = Task("M", "named", (Result("S"),), {"b": Value([5, 6])}, control=Control(many=Many(over=1)))
    assert run(Workflow("flow", (*work.tasks, task), work.services)).results == {"M": [(1, 5), (1, 6)]}


# --- What is left of it.


def left_after(workflow: Workflow) -> int:
    """Run a workflow and count the molecules that are left."""
    made = EmbeddedRun(workflow)
    assert made.run().succeeded
    return len(list(made.solution))


@pytest.mark.parametrize("what", ["cancelling", "offers"])
def test_rounds_of_a_loop_leave_nothing_behind(what: str) -> None:
    """A loop of many rounds has no more molecules in the end than one of few."""
    locked: dict[str, Any] = {"takes": ("L",), "gives": ("L",)}

    def loop(rounds: int) -> Workflow:
        back = Route("R", Test(f"result < {rounds}"))
        first = step("S", "told", Value(0))
        again: dict[str, Any] = {"after": ("S",), "join": "any"}
        if what == "cancelling":
            tasks = [
                step("R", "more", ARRIVED, **again), step("Slow", "told", Result("R")),
                step("C", "told", Result("R"), cancels=("Slow",), again=back),
            ]  # fmt: skip
        else:
            tasks = [
                step("R", "more", ARRIVED, split="deferred", **again), step("B", "told", Result("R"), **locked),
                step("C", "told", Result("R"), **locked),
                step("J", "told", ARRIVED, after=("B", "C"), join="any", again=back),
            ]  # fmt: skip
        return flow(first, *tasks, functions={"more": lambda n: n + 1})

    # The last result of `Slow` stays, if it was ever faster than what cancels it.
    assert left_after(loop(30)) <= left_after(loop(3)) + (what == "cancelling")
