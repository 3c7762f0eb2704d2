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
LOOP = task("S"), task("A", "S", join="any"), task("B", "A", again=Route("A", UNDER_THREE)), task("E", "B")


def test_sources_and_destinations() -> None:
    """A task passes to those that come after it, and to those that it names as routes or to go back to."""
    found = shape(*LOOP)
    assert found.sources == {"S": (), "A": ("S", "B"), "B": ("A",), "E": ("B",)}
    assert {name: set(later) for name, later in found.destinations.items()} == {
        "S": {"A"}, "A": {"B"}, "B": {"E", "A"}, "E": set(),
    }  # fmt: skip
    routed = shape(task("A", split="one", routes=(Route("B", UNDER_THREE), Route("C"))), task("B"), task("C"))
    assert (routed.sources["B"], routed.sources["C"], routed.starts) == (("A",), ("A",), frozenset("A"))


def test_who_starts() -> None:
    """Tasks without sources start by themselves; of a loop that nobody enters, the one that is only gone back to."""
    assert shape(*DIAMOND).starts == {"A"}
    assert shape(*LOOP).starts == {"S"}
    assert shape(task("A"), task("B", "A", again=Route("A", UNDER_THREE))).starts == {"A"}
    assert shape(task("A", again=Route("A", UNDER_THREE))).starts == {"A"}
    assert shape(task("A"), task("B")).starts == {"A", "B"}


def test_way_back_to_a_first_task_does_not_keep_it_from_starting() -> None:
    """A task that starts by itself still does so when another may go back to it."""
    work = flow(
        step("A", "told", Value(1)), step("C", "told", Value(5)),
        step("B", "told", Arrived(), after=("A", "C"), join="any", again=Route("A", Test("result > 9"))),
    )  # fmt: skip
    assert run(work).calls == {"A": 1, "C": 1, "B": 2}


def test_what_lies_on_a_loop() -> None:
    """Tasks on a way round have the number of their loop; two loops have two numbers."""
    found = shape(*LOOP)
    assert found.loops.keys() == {"A", "B"}
    assert found.loops["A"] == found.loops["B"]
    two = shape(
        task("A", again=Route("A", UNDER_THREE)), task("B", "A", again=Route("B", UNDER_THREE), join="any"),
        task("C", "B"),
    )  # fmt: skip
    assert two.loops.keys() == {"A", "B"}
    assert two.loops["A"] != two.loops["B"]


def test_ranks_go_onward() -> None:
    """No task has a lower rank than one that leads to it, and those of a loop have the same."""
    found = shape(*LOOP)
    assert found.ranks["S"] < found.ranks["A"] == found.ranks["B"] < found.ranks["E"]
    for one, later in shape(*DIAMOND).destinations.items():
        assert all(shape(*DIAMOND).ranks[one] < shape(*DIAMOND).ranks[two] for two in later)


def test_upstream_first() -> None:
    """Tasks are put in the order in which tokens go; those of a loop in any."""
    assert shape(*DIAMOND).upstream_first(["D", "A"]) == ["A", "D"]
    found = shape(*LOOP).upstream_first(["E", "B", "A", "S"])
    assert (found[0], found[-1], sorted(found[1:-1])) == ("S", "E", ["A", "B"])
    assert shape(*LOOP).upstream_first(["A"]) == ["A"]


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


def test_stand_ins_are_no_part_of_the_shape() -> None:
    """A task that only stands in for another is neither started nor passed to."""
    tasks = task("A", copies=2), Task("B", "s", (Result("A"),)), Task("Z", "s", (Arrived(),), after=("A",))
    found = shape(*tasks, alternatives=(Alternative("other", {"B": "Z"}),))
    assert found.sources == {"A": (), "B": ("A",)}
    assert found.destinations == {"A": ("B",), "B": ()}


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


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("is_taken", [0, 1])
def test_merge_behind_a_loop_waits_for_its_end(rounds: int, is_taken: int) -> None:
    """A loop before a synchronizing merge counts once, when it is left, or not at all if it is not entered."""
    some = (Route("L", Test("result == 1")), Route("O", Test("true")))
    work = flow(
        step("A", "told", Value(is_taken), split="some", routes=some), step("O", "told", Value("O"), after=("A",)),
        step("L", "more", Arrived(), after=("A",), join="any", again=Route("L", Test(f"result <= {rounds}"))),
        step("E", "told", Result("L")), step("M", "told", Arrived("all"), after=("E", "O"), join="active"),
        functions={"more": lambda n: n + 1},
    )  # fmt: skip
    report = run(work)
    assert (report.succeeded, report.calls["M"]) == (True, 1)
    assert report.results == {"M": [rounds + 1, "O"] if is_taken else ["O"]}


def test_merge_inside_a_loop_starts_in_each_round() -> None:
    """A synchronizing merge in a loop gets in each round what was chosen in that round."""
    some = (Route("B", Test("result % 2 == 0")), Route("C", Test("result % 3 == 0")), Route("D", Test("true")))
    work = flow(
        step("S", "told", Value(0)), step("A", "more", Arrived(), after=("S",), join="any", split="some", routes=some),
        *(step(name, "told", Result("A")) for name in "BCD"),
        step("M", "told", Arrived("all"), after=("B", "C", "D"), join="active"),
        step("E", "first", Result("M"), again=Route("A", Test("result < 6"))),
        functions={"more": lambda n: n + 1, "first": lambda found: found[0]},
    )  # fmt: skip
    report = run(work)
    assert (report.succeeded, report.stuck) == (True, [])
    assert report.calls == {"S": 1, "A": 6, "B": 3, "C": 2, "D": 6, "M": 6, "E": 6}
