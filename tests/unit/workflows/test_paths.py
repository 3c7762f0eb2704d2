"""What the shape of a workflow says: who starts, what lies on a loop, which branches a join has."""

from __future__ import annotations

import pytest

from solvent.workflows.model import Alternative, Arrived, Control, Result, Route, Task, Test, Value, Workflow
from solvent.workflows.paths import Paths, paths_of
from tests.unit.runs.flows import flow, run, step

UNDER_THREE = Test("result < 3")


def task(name: str, *after: str, **words: object) -> Task:
    """Give a task that comes after others."""
    return Task(name, "s", after=after, control=Control(**words) if words else None)  # type: ignore[arg-type]


def shape(*tasks: Task, alternatives: tuple[Alternative, ...] = ()) -> Paths:
    """Give the shape of a workflow."""
    return paths_of(Workflow("w", tasks, alternatives=alternatives))


DIAMOND = task("A"), task("B", "A"), task("C", "A"), task("D", "B", "C", join="active")


def test_way_back_to_a_first_task_does_not_keep_it_from_starting() -> None:
    """A task that starts by itself still does so when another may go back to it."""
    work = flow(
        step("A", "told", Value(1)), step("C", "told", Value(5)),
        step("B", "told", Arrived(), after=("A", "C"), join="any", again=Route("A", Test("result > 9"))),
    )  # fmt: skip
    assert run(work).calls == {"A": 1, "C": 1, "B": 2}


@pytest.mark.parametrize(
    "tasks, branches",
    [
        (DIAMOND, {"B", "C"}),
        ((task("A"), task("B"), task("D", "A", "B")), {"A", "B"}),
        ((task("S"), task("A", "S"), task("A2", "A"), task("B", "S"), task("D", "A2", "B")), {"A", "A2", "B"}),
        ((task("S"), task("A", "S"), task("B", "S"), task("X", "B"), task("D", "A", "B")), {"A"}),
    ],
)
def test_branches_of_a_join(tasks: tuple[Task, ...], branches: set[str]) -> None:
    """The branches of a join are what leads only to it, back to where they part."""
    assert shape(*tasks).upstream("D") == branches


# --- Ways that are not taken: who merges what is active hears of it.


@pytest.mark.parametrize("value", range(8))
def test_merge_behind_choices_gets_what_was_chosen(value: int) -> None:
    """Whatever is chosen, also nothing behind a choice behind a choice, a synchronizing merge starts once."""
    some = (Route("B", Test("result % 2 == 1")), Route("C", Test("result > 1")), Route("O"))
    one = (Route("D", Test("result > 5")), Route("E", Test("result > 3")), Route("F"))
    work = flow(
        step("A", "told", Value(value), split="some", routes=some), step("B", "told", Value("B"), after=("A",)),
        step("C", "told", Result("A"), split="one", routes=one), step("D", "told", Value("D"), after=("C",)),
        step("E", "told", Value("E"), after=("C",)), step("F", "told", Value("F"), after=("C",)),
        step("O", "told", Value("O"), after=("A",)),
        step("M", "told", Arrived("all"), after=("B", "D", "E", "O"), join="active"),
    )  # fmt: skip
    report = run(work)
    chosen = ["B"] * (value % 2) + (["D"] if value > 5 else ["E"] if value > 3 else []) + ["O"] * (value == 0)
    assert (report.succeeded, report.stuck, report.calls.get("M", 0)) == (True, [], 1 if chosen else 0)
    assert report.results.get("M", []) == chosen
