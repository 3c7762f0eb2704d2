"""What a run says that comes to no end: who waits for what."""

from __future__ import annotations

from threading import Event
from typing import Any

from solvent.workflows.model import Arrived, Result, Route, Task, Test, Value
from tests.unit.runs.flows import PATIENCE, broken, flow, run, step

ALL = Arrived("all")
ONE_OF_TWO = step("A", "told", Value(1), split="one", routes=(Route("B", Test("result == 1")), Route("C")))
B, C = step("B", "told", Result("A")), step("C", "told", Result("A"))


def unsound(*tasks: Task, **options: Any) -> list[str]:
    """Run a workflow that the checks would refuse, and say who waits."""
    from solvent.runs.embedded import run_workflow

    report = run_workflow(flow(*tasks, **options))
    assert (report.succeeded, report.failures, report.error) == (not report.stuck, [], None)
    return report.stuck


def test_one_that_waits_for_all_says_who_is_missing() -> None:
    """A synchronization after an exclusive choice waits for what was not chosen."""
    assert unsound(ONE_OF_TWO, B, C, step("D", "told", Result("B"), Result("C"))) == [
        "`D` waits for `C`; `B` has arrived"
    ]


def test_one_that_waits_for_the_first_says_who_is_missing() -> None:
    """A partial join that gets too few waits for one of the others."""
    first = step("D", "told", ALL, after=("B", "C"), join="first", need=2)
    assert unsound(ONE_OF_TWO, B, C, first) == ["`D` waits for `C`; `B` has arrived"]


WAITING = ["`C` waits for the signal `go`", "`D` waits for `C`; `B` has arrived"]


def test_one_that_waits_for_the_active_says_who_is_missing() -> None:
    """A synchronizing merge waits for a source that has a token and cannot start."""
    tasks = step("A", "told", Value(1)), B, step("C", "told", Result("A"), signal="go")
    assert unsound(*tasks, step("D", "told", ALL, after=("B", "C"), join="active")) == WAITING


def test_one_that_waits_for_the_active_in_a_loop_says_who_is_missing() -> None:
    """A synchronizing merge that something comes back to tells what it waits for all the same."""
    tasks = step("A", "told", Value(1)), B, step("C", "told", Result("A"), signal="go")
    merge = step("D", "told", ALL, after=("B", "C"), join="active")
    last = step("E", "told", Result("D"), again=Route("D", Test("len(result) > 5")))
    assert unsound(*tasks, merge, last) == WAITING


def test_one_that_waits_for_a_lock_says_which() -> None:
    """A lock that nobody gives back keeps the next one waiting."""
    take = step("A", "told", Value(1), takes=("L",))
    assert unsound(take, step("B", "told", Result("A"), takes=("L",))) == ["`B` waits for the lock `L`"]
    two = step("B", "told", Result("A"), takes=("L", "M"), gives=("L", "M"))
    assert unsound(take, two) == ["`B` waits for the lock `L`, `M`"]


def test_one_that_waits_for_an_offer_says_so() -> None:
    """A token at a task that is part of a deferred choice, but comes from elsewhere, finds no offer."""
    offer = step("A", "told", Value(1), split="deferred", routes=(Route("B"), Route("C")))
    either = step("B", "told", ALL, after=("A", "X"), join="any"), step("C", "told", Result("A"), signal="never")
    assert unsound(offer, step("X", "told", Value(1)), *either) == ["`B` waits for an offer that another has taken"]


def test_one_whose_milestone_has_passed_is_not_stuck() -> None:
    """A task that came too late for its milestone is simply not done."""
    begun = Event()
    tasks = (
        step("A", "told", Value(1)), step("B", "begin", Result("A")), step("Wait", "wait"),
        step("Late", "told", Result("Wait"), during=("A", "B")),
    )  # fmt: skip
    report = run(flow(*tasks, functions={"begin": lambda _: begun.set(), "wait": lambda: begun.wait(PATIENCE)}))
    assert (report.succeeded, report.stuck, report.states["Late"]) == (True, [], "unused")


def test_all_that_wait_are_told() -> None:
    """Everyone who waits has a line, and a long list of sources is cut."""
    many = [step(f"T{number:02}", "told", Value(1), signal="go") for number in range(10)]
    sync = step("D", "told", ALL, after=("S", *(task.name for task in many)))
    found = unsound(step("S", "told", Value(1), copies=1), *many, sync)
    assert len(found) == 11
    missing = ", ".join(f"`T0{number}`" for number in range(7))
    assert f"`D` waits for {missing} and 3 others; `S` has arrived" in found


def test_run_that_failed_is_not_stuck_too() -> None:
    """What waits for a task that failed is no news."""
    report = run(flow(step("A", "broken", copies=2), step("B", "told", Result("A"), signal="go")))
    assert (report.stuck, [failure.task for failure in report.failures]) == ([], ["A"])


def test_ended_case_is_not_stuck() -> None:
    """What waits when the case is ended does not matter any more."""
    report = run(flow(step("A", "told", Value(1), ends="case"), step("B", "told", Value(1), signal="go")))
    assert (report.stuck, report.succeeded) == ([], True)


def test_stopped_run_is_not_stuck() -> None:
    """A run that was stopped says that, and not who waits."""
    work = flow(step("A", "told", Value(1), signal="go"), step("B", "wait"), functions={"wait": broken})
    report = run(work, should_stop=lambda: True)
    assert (report.stuck, report.error is not None) == ([], True)
