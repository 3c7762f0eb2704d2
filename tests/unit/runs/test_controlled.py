"""Runs of workflows whose tasks run several times at once, are cancelled, wait for signals and end the case."""

from __future__ import annotations

from queue import SimpleQueue
from threading import Barrier, Event
from typing import Any

import pytest

from solvent.errors import LimitReached, SolventError
from solvent.runs.exploration import explore_workflow
from solvent.services import cancelled
from solvent.workflows.model import (
    Alternative,
    Arrived,
    Input,
    Many,
    Result,
    Route,
    Service,
    Signalled,
    Task,
    Test,
    Value,
    Workflow,
)
from tests.unit.runs.flows import PATIENCE, Held, events_of, flow, run, step

ARRIVED = Arrived()


# --- Several instances of one task.


def test_arrivals_start_instances_that_run_at_the_same_time() -> None:
    """Two arrivals at a multi-merge start two instances, and neither waits for the other to end."""
    both = Barrier(2)

    def meet(value: int) -> int:
        both.wait(PATIENCE)
        return value

    work = flow(
        step("A", "told", Value(1)), step("B", "told", Value(2)),
        step("M", "meet", ARRIVED, after=("A", "B"), join="any"),
        functions={"meet": meet},
    )  # fmt: skip
    report = run(work, jobs=2)
    assert report.succeeded
    assert (report.calls["M"], report.states["M"]) == (2, "done")


# --- Cancelling.


def test_running_call_of_a_cancelled_task_is_ended() -> None:
    """A call that asks whether it is cancelled hears so, and what it answers is passed to nobody."""
    held = Held("late")
    work = flow(
        step("Slow", "held"), step("Next", "told", Result("Slow")),
        step("Cancel", "met", cancels=("Slow",)), step("Last", "over", Result("Cancel")),
        functions={"held": held, "met": held.met, "over": held.over},
    )  # fmt: skip
    report = run(work)
    assert held.was_cancelled
    assert report.succeeded
    assert report.states == {"Slow": "cancelled", "Next": "unused", "Cancel": "done", "Last": "done"}
    assert events_of(report, "cancelled") == ["Slow"]


def test_late_result_of_a_call_that_does_not_listen_is_dropped() -> None:
    """A call that goes on although it is cancelled answers too late: nobody gets what it answers."""
    begun, go, over = Event(), Event(), Event()

    def deaf() -> str:
        begun.set()
        assert go.wait(PATIENCE)
        over.set()
        return "late"

    def last(_: Any) -> bool:
        go.set()
        return over.wait(PATIENCE)

    work = flow(
        step("Slow", "deaf"), step("Next", "told", Result("Slow")),
        step("Cancel", "begun", cancels=("Slow",)), step("Last", "last", Result("Cancel")),
        functions={"deaf": deaf, "begun": lambda: begun.wait(PATIENCE), "last": last},
    )  # fmt: skip
    report = run(work)
    assert (report.succeeded, report.results) == (True, {"Last": True})
    assert (report.states["Slow"], report.states["Next"]) == ("cancelled", "unused")


def test_queued_calls_of_a_cancelled_task_are_not_made() -> None:
    """Calls that wait for a job while their task is cancelled are never made."""
    held, begun = Held(), Event()
    called: SimpleQueue[int] = SimpleQueue()

    def work_on(number: int) -> Any:
        called.put(number)
        return held()

    def cancel() -> str:
        begun.set()
        return held.met()

    work = flow(
        step("First", "first"), step("Many", "work", Value([*range(60)]), after=("First",), many=Many(over=0)),
        step("Cancel", "cancel", cancels=("Many",)), step("Last", "over", Result("Cancel")),
        functions={
            "first": lambda: begun.wait(PATIENCE), "work": work_on, "cancel": cancel, "over": held.over,
        },
    )  # fmt: skip
    report = run(work, jobs=3)
    assert report.succeeded
    assert called.qsize() <= 3


def test_call_that_is_set_up_while_its_task_is_cancelled_is_not_made() -> None:
    """An instance that is asked for by the result that is enough is not called."""
    many = Many(over=0, need=1, cancels=True, more=Test("result > 0"))
    work = flow(step("Many", "told", Value([1]), many=many), step("Next", "told", Result("Many")))
    report = run(work)
    assert (report.succeeded, report.results, report.calls["Many"]) == (True, {"Next": [1]}, 1)


def test_lock_of_a_cancelled_task_is_given_back() -> None:
    """A task that waits for a lock starts when the one that holds it is cancelled."""
    held = Held()
    work = flow(
        step("Slow", "held", takes=("L",), gives=("L",)), step("Cancel", "met", cancels=("Slow",)),
        step("Next", "told", Result("Cancel"), takes=("L",), gives=("L",)),
        functions={"held": held, "met": held.met},
    )  # fmt: skip
    report = run(work)
    assert (report.succeeded, report.results["Next"]) == (True, "met")


def test_lock_of_a_cancelled_section_is_given_back() -> None:
    """A lock that is held from one task to another is free again when both are cancelled."""
    held = Held()
    work = flow(
        step("First", "held", takes=("L",)), step("Second", "told", Result("First"), gives=("L",)),
        step("Cancel", "met", cancels=("First", "Second")),
        step("Next", "told", Result("Cancel"), takes=("L",), gives=("L",)),
        functions={"held": held, "met": held.met},
    )  # fmt: skip
    report = run(work)
    assert (report.stuck, report.results.get("Next")) == ([], "met")


def test_cancelling_in_a_loop_does_not_hurt_the_next_round() -> None:
    """What is cancelled in one round can be started and done in the next one."""
    held = Held("late")
    numbers = iter([1, 2])

    def slow(number: int) -> str:
        return held(number) if number == 1 else f"round {number}"

    def judge(number: int) -> int:
        if number == 1:
            held.met()
        return number

    work = flow(
        step("S", "told", Value(0)),
        step("Round", "next", ARRIVED, after=("S",), join="any", split="all"),
        step("Slow", "slow", Result("Round")),
        step("Judge", "judge", Result("Round"), split="one",
             routes=(Route("Cancel", Test("result == 1")), Route("Wait"))),
        step("Cancel", "told", Result("Judge"), cancels=("Slow",), routes=(Route("Round"),)),
        step("Wait", "told", Result("Judge")),
        step("Use", "told", Result("Slow"), Result("Wait")),
        functions={"slow": slow, "judge": judge, "next": lambda _: next(numbers)},
    )  # fmt: skip
    report = run(work)
    assert (report.succeeded, report.results) == (True, {"Use": ["round 2", 2]})
    assert report.calls["Slow"] == 2
    assert held.ended.wait(PATIENCE)
    assert held.was_cancelled


# --- The end of a case.


# --- Signals.


@pytest.mark.parametrize("is_transient", [False, True])
def test_signal_of_another_task_starts_one_that_waits(*, is_transient: bool) -> None:
    """A task sends a signal with its result; one that waits already gets it, transient or not."""
    held = Held(5)

    def watch(event: Any) -> None:
        if (event.kind, event.task) == ("done", "A"):
            held.go.set()

    work = flow(
        step("A", "told", Value(1)), step("Sender", "held", sends=("go",)),
        step("W", "told", Result("A"), Signalled(), signal="go", is_transient=is_transient),
        functions={"held": held},
    )  # fmt: skip
    report = run(work, watch=watch)
    assert (report.succeeded, report.results) == (True, {"Sender": 5, "W": [1, 5]})


def test_each_signal_starts_one_waiting_instance() -> None:
    """Two tokens need two signals, and a third one is left over."""
    work = flow(
        step("A", "told", Value(1), copies=2), step("W", "told", Result("A"), Signalled(), signal="go"),
    )  # fmt: skip
    assert run(work, signals=[(0.0, "go", 1)]).stuck == ["`W` waits for the signal `go`"]
    report = run(work, signals=[(0.0, "go", number) for number in (1, 2, 3)])
    assert (report.succeeded, report.calls["W"]) == (True, 2)


def test_a_task_without_sources_starts_once_for_each_signal() -> None:
    """It waits for the first one; what comes after that starts it again, and what follows it too."""
    lock = {"takes": ("L",), "gives": ("L",)}
    for words in ({}, lock):
        work = flow(step("W", "told", Signalled(), signal="go", **words), step("D", "told", Result("W")))
        assert run(work).stuck == ["`W` waits for the signal `go`" + (" and the lock `L`" if words else "")]
        report = run(work, signals=[(0.0, "go", 1), (0.0, "go", 2), (0.2, "go", 3)])
        assert (report.calls, report.stuck, report.results) == ({"W": 3, "D": 3}, [], {"D": 3})


def test_a_signal_that_does_not_come_in_time_fails_the_task() -> None:
    """An alternative may take over; one that comes in time starts the task, whatever comes later."""
    first = step("A", "told", Value(1))
    late = step("W", "told", Result("A"), Signalled(), signal="go", timeout=0.05)
    report = run(flow(first, late))
    assert [(one.task, one.kind, one.cause) for one in report.failures] == [
        ("W", "TIMEOUT", "the signal `go` did not come within 0.05 s")
    ]
    spare = Task("B", "told", (Result("A"),))
    saved = flow(first, late, spare, alternatives=(Alternative("late", {"W": "B"}, on=("timeout",)),))
    assert (run(saved).results, run(saved).states["W"]) == ({"W": 1}, "replaced")
    assert run(saved, signals=[(0.0, "go", 3)]).results == {"W": [1, 3]}
    alone = flow(step("W", "told", Signalled(), signal="go", timeout=0.05))
    assert [one.kind for one in run(alone).failures] == ["TIMEOUT"]
    report = run(alone, signals=[(0.0, "go", 3), (0.2, "go", 4)])
    assert (report.calls, report.failures) == ({"W": 2}, [])


def test_a_sub_workflow_waits_for_a_time_too() -> None:
    """What waits in it fails when its time is over, and with it the call."""
    inner = flow(step("W", "told", signal="never", timeout=0.05))
    outer = Workflow("outer", (Task("S", "inner"),), (Service("inner", "workflow", function=inner),))
    report = run(outer)
    assert [(one.task, one.kind) for one in report.failures if "/" not in one.task] == [("S", "FAILED")]
    assert "did not come within" in report.failures[0].cause


def test_in_some_orders_the_signal_comes_too_late() -> None:
    """Exploration tries both."""
    late = step("W", "told", Signalled(), after=("A",), signal="go", timeout=3600.0)
    orders = explore_workflow(flow(step("A", "told", Value(1)), late), signals=[("go", 1)])
    assert {one.end for one in orders.finals} == {"done", "failed"}


def test_run_ends_although_signals_are_still_to_come() -> None:
    """A run in which nobody waits for the signal is over at once."""
    work = flow(
        step("A", "told", Value(1), split="one", routes=(Route("B", Test("result == 1")), Route("W"))),
        step("B", "told", Result("A")), step("W", "told", Result("A"), signal="go"),
    )  # fmt: skip
    report = run(work, signals=[(3600.0, "go", None)])
    assert (report.succeeded, report.results) == (True, {"B": 1})


def test_signal_with_what_cannot_be_passed_on() -> None:
    """A value that no task could get is refused as a misuse, before anything runs."""
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(SolventError):
        run(flow(step("W", "told", Signalled(), signal="go")), signals=[(0.0, "go", endless)])


# --- Names, jobs, processes, limits.


@pytest.mark.parametrize("name", ["a b", "x-1", "GATE", "PASS", "START", "CANCEL", "WANT", "1", "ünï", "LAST"])
def test_any_name_will_do(name: str) -> None:
    """A task may be called like a word of the rules, or by what is no symbol."""
    other = f"{name} 2"
    work = flow(
        step("S", "told", Value(0)),
        step(name, "count", ARRIVED, after=("S",), join="any", again=Route(name, Test("result < 2"))),
        step(other, "told", Result(name), takes=("L",), gives=("L",), signal="go", cancels=("S",)),
        functions={"count": lambda n: n + 1},
    )
    report = run(work, signals=[(0.0, "go", None)])
    assert (report.succeeded, report.results, report.calls[name]) == (True, {other: 2}, 2)
    assert run(work).stuck == [f"`{other}` waits for the signal `go` and the lock `L`"]


@pytest.mark.parametrize(
    "words",
    [{"copies": 2}, {"ends": "case"}, {"takes": ("L",), "gives": ("L",)}, {"many": Many(Value(2))}, {"join": "any"}],
)
def test_workflow_of_one_task(words: dict[str, Any]) -> None:
    """A task alone starts once, whatever its control says."""
    report = run(flow(step("T", "told", Value(1), **words)))
    assert (report.succeeded, report.results) == (True, {"T": [1, 1] if "many" in words else 1})


def test_one_job_is_enough_for_tasks_that_share_locks() -> None:
    """A task that waits for a lock takes no job from the one that holds it."""
    tasks = [step(f"T{n}", "told", Value(n), takes=("L", "M"), gives=("M", "L")) for n in range(5)]
    section = [step("A", "told", Value(1), takes=("L",)), step("B", "told", Result("A"), gives=("L",))]
    report = run(flow(*tasks, *section), jobs=1)
    assert report.succeeded
    assert set(report.states.values()) == {"done"}


def test_calls_in_processes() -> None:
    """The calls of a controlled workflow can be made in worker processes."""
    tasks = (
        step("A", "abs", Value(-2), takes=("L",), gives=("L",)),
        step("B", "abs", Value(-3), takes=("L",), gives=("L",)),
        step("M", "abs", Arrived("all"), after=("A", "B"), many=Many(over=0)),
    )
    report = run(Workflow("flow", tasks, (Service("abs", target="operator:abs"),)), processes=True, jobs=2)
    assert (report.succeeded, report.results) == (True, {"M": [2, 3]})


def test_running_call_in_a_process_is_ended() -> None:
    """A call in a worker process that is cancelled is not waited for, whatever it does."""
    tasks = step("Slow", "sleep", Value(3600)), step("Cancel", "abs", Value(1), cancels=("Slow",))
    services = Service("sleep", target="time:sleep"), Service("abs", target="operator:abs")
    report = run(Workflow("flow", tasks, services), processes=True, jobs=2)
    assert (report.succeeded, report.states["Slow"]) == (True, "cancelled")


def test_run_is_interrupted() -> None:
    """Whoever runs a workflow can stop it, also one that waits for a signal; the calls that are out are ended."""
    held = Held()
    work = flow(step("A", "held"), step("W", "told", signal="go"), functions={"held": held})
    report = run(work, signals=[(3600.0, "go", None)], should_stop=held.begun.is_set)
    assert isinstance(report.error, LimitReached)
    assert (report.error.code, report.succeeded) == ("H504", False)
    assert report.states == {"A": "interrupted", "W": "waiting"}
    assert held.ended.wait(PATIENCE)
    assert held.was_cancelled


def test_calls_outside_of_a_run_are_not_cancelled() -> None:
    """Nothing is left of a run that cancelled its calls: a later run of the same workflow is not cancelled."""
    seen: list[bool] = []

    def ask(number: int) -> int:
        seen.append(cancelled())
        return number

    tasks = step("A", "ask", Input("n")), step("B", "told", Result("A"), cancels=("A",))
    work = flow(*tasks, functions={"ask": ask}, inputs={"n": 1})
    assert [run(work, {"n": n}).results for n in (1, 2)] == [{"B": 1}, {"B": 2}]
    assert seen == [False, False]
