"""What a task waits for before it starts: locks, signals, offers, milestones, and all of it at once."""

from __future__ import annotations

from itertools import product
from threading import Event, Lock
from typing import Any

import pytest

from solvent.runs.causality import violations
from solvent.runs.exploration import explore_workflow
from solvent.workflows.model import Arrived, Many, Result, Route, Signalled, Test, Value
from tests.unit.runs.flows import PATIENCE, Held, flow, run, step


@pytest.mark.parametrize("signal, offer, locks, during", [*product((0, 1), (0, 1), (0, 1, 2), (0, 1))])
@pytest.mark.parametrize("instances", [None, Many(over=0), Many(over=0, more=Test("false"))])
def test_all_that_is_waited_for_together(signal: int, offer: int, locks: int, during: int, instances: Any) -> None:
    """A task starts when it has everything it waits for, whatever that is, and gives its locks back."""
    names = ("L", "M")[:locks]
    words: dict[str, Any] = {"takes": names, "gives": names, "many": instances}
    words |= {"signal": "go"} if signal else {}
    words |= {"during": ("A", "Z")} if during else {}
    tasks = [
        step("A", "told", Value([1, 2]), split="deferred" if offer else "all"),
        step("T", "told", Result("A"), **words), step("Z", "told", Result("A"), signal="end"),
        step("Next", "told", Result("T"), takes=names, gives=names),
    ]  # fmt: skip
    if offer:
        tasks[-2] = step("Z", "told", Value(1), signal="end")
        tasks.append(step("O", "told", Result("A"), signal="never"))
    tasks.append(step("Next2", "told", Arrived(), after=("Next",), join="any", sends=("end",)))
    report = run(flow(*tasks), signals=[(0.0, "go", None)] if signal else [])
    assert (report.succeeded, report.stuck) == (True, [])
    assert report.results["Next2"] in ([[1, 2]] if instances is None or not instances.apart else [1, 2])
    if signal:
        assert "T" not in run(flow(*tasks)).calls


# --- Locks.


@pytest.mark.parametrize("places", [1, 2, 3])
def test_lock_is_held_by_so_many(places: int) -> None:
    """Not more tasks hold a lock at the same time than it has places, and these do."""
    inside, most, guard, full = [0], [0], Lock(), Event()

    def enter() -> None:
        with guard:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            if inside[0] == places:
                full.set()
        assert full.wait(PATIENCE)
        with guard:
            inside[0] -= 1

    tasks = [step(f"T{number}", "enter", takes=("L",), gives=("L",)) for number in range(6)]
    report = run(flow(*tasks, functions={"enter": enter}, locks={"L": places}), jobs=6)
    assert (report.succeeded, most[0]) == (True, places)


def test_lock_is_not_held_while_a_signal_is_awaited() -> None:
    """A task that waits for a lock and a signal keeps nobody out until it has both."""
    held = Held()
    tasks = (
        step("W", "told", Value(1), takes=("L",), gives=("L",), signal="go"),
        step("T", "told", Value(2), takes=("L",), gives=("L",), sends=("go",)),
    )  # fmt: skip
    report = run(flow(*tasks, functions={"held": held}))
    assert (report.succeeded, report.results) == (True, {"W": 1, "T": 2})


def test_two_locks_are_taken_at_once() -> None:
    """Tasks that take the same locks in different orders do not block each other, in no order of events."""
    tasks = (
        step("A", "told", Value(1), takes=("L", "M"), gives=("L", "M")),
        step("B", "told", Value(1), takes=("M", "L"), gives=("M", "L")),
        step("C", "told", Value(1), takes=("M",), gives=("M",)),
    )  # fmt: skip
    assert violations(explore_workflow(flow(*tasks)), ["A, B apart", "B, C apart", "A, C apart", "ends done"]) == []
    assert run(flow(*tasks)).succeeded


def test_instances_of_one_task_share_its_lock() -> None:
    """A task that runs several times waits for itself."""
    work = flow(step("A", "told", Value(1), copies=3), step("B", "told", Result("A"), takes=("L",), gives=("L",)))
    assert violations(explore_workflow(work), ["B apart", "B runs 3", "ends done"]) == []


def test_lock_of_many_instances_is_given_back_when_they_are_cancelled() -> None:
    """A task of many instances that is cancelled gives its lock back."""
    held = Held()
    work = flow(
        step("M", "held", Value([1, 2]), many=Many(over=0), takes=("L",), gives=("L",)),
        step("Cancel", "met", cancels=("M",)), step("Next", "told", Result("Cancel"), takes=("L",), gives=("L",)),
        functions={"held": held, "met": held.met},
    )  # fmt: skip
    assert run(work).stuck == []


def offer(**first: Any) -> list[Any]:
    """Give a deferred choice between two tasks that wait for signals."""
    return [
        step("A", "told", Value(1), split="deferred", **first),
        step("B", "told", Result("A"), Signalled(), signal="b"),
        step("C", "told", Result("A"), Signalled(), signal="c"),
    ]


def test_offers_are_taken_one_by_one() -> None:
    """Two offers can be taken by different tasks, or both by one."""
    work = flow(step("S", "told", Value(0), copies=2), *[
        step("A", "told", Result("S"), split="deferred"), *offer()[1:],
    ])  # fmt: skip
    both = run(work, signals=[(0.0, "b", 1), (0.0, "c", 2)])
    assert (both.succeeded, both.calls["B"], both.calls["C"]) == (True, 1, 1)
    same = run(work, signals=[(0.0, "b", 1), (0.0, "b", 2)])
    assert (same.succeeded, same.calls["B"], same.states["C"]) == (True, 2, "unused")


def test_running_task_keeps_the_offer_it_has_taken() -> None:
    """A second offer that another task takes does not disturb the one that runs with the first."""
    held = Held("slow")

    def watch(event: Any) -> None:
        if (event.kind, event.task) == ("done", "C"):
            held.go.set()

    tasks = (
        step("S", "told", Value(0), copies=2), step("A", "told", Result("S"), split="deferred"),
        step("B", "held", Result("A"), signal="b"), step("C", "told", Result("A"), signal="c"),
        step("Begun", "met", sends=("c",)), step("D", "told", Result("B")),
    )  # fmt: skip
    work = flow(*tasks, functions={"held": held, "met": held.met})
    report = run(work, signals=[(0.0, "b", None)], watch=watch)
    assert (report.succeeded, report.results["D"], report.states["C"]) == (True, "slow", "done")


# --- Milestones.


def test_milestone_is_open_between_two_tasks() -> None:
    """A task starts after the first is done and before the second starts, and several times if it can."""
    held = Held()
    tasks = (
        step("A", "told", Value(1)), step("Wait", "held", Result("A")), step("Z", "told", Result("Wait")),
        step("S", "told", Value(1), copies=2), step("T", "told", Result("S"), during=("A", "Z")),
        step("All", "release", Arrived("all"), after=("T",), threads=2),
    )  # fmt: skip
    report = run(flow(*tasks, functions={"held": held, "release": held.release}))
    assert (report.succeeded, report.calls["T"], report.results) == (True, 2, {"Z": "held", "All": "released"})


def test_two_milestones_may_end_with_one_task() -> None:
    """The task that ends two milestones ends both at once."""
    tasks = (
        step("A", "told", Value(1)), step("Z", "told", Result("A")), step("S", "told", Value(1)),
        step("T", "told", Result("S"), during=("A", "Z")), step("U", "told", Result("S"), during=("A", "Z")),
    )  # fmt: skip
    orders = explore_workflow(flow(*tasks))
    assert violations(orders, ["T not after Z", "U not after Z", "A before T", "Z once", "ends done"]) == []
    assert len({(state.started["T"], state.started["U"]) for state in orders.finals}) == 4


def test_task_that_ends_a_milestone_may_run_several_times() -> None:
    """A task that another one's milestone ends with runs as often as it would without that."""
    tasks = (
        step("A", "told", Value(0)), step("S", "told", Value(0)), step("T", "told", Result("S"), during=("A", "Z")),
        step("Z", "more", Arrived(), after=("A",), join="any", again=Route("Z", Test("result < 3"))),
    )  # fmt: skip
    report = run(flow(*tasks, functions={"more": lambda n: n + 1}))
    assert (report.stuck, report.results["Z"]) == ([], 3)
