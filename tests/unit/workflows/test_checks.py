"""What is wrong with a workflow is said all at once."""

from __future__ import annotations

import pytest

from solvent.workflows.checks import check
from solvent.workflows.formats.files import load_text
from solvent.workflows.model import REQUIRED, Alternative, Each, Input, Policy, Result, Service, Task, Value, Workflow
from tests.unit.workflows.diamond import DIAMOND

SERVICES = (Service("s", "shell", "date"),)
CHAIN = (
    Task("T1", "s"),
    Task("T2", "s", (Result("T1"),)),
    Task("T3", "s", (Result("T2"),)),
    Task("T4", "s", (Result("T1"),)),
)


def said_of(*tasks: Task, alternatives: tuple[Alternative, ...] = (), results: tuple[str, ...] = ()) -> list[str]:
    """Give the codes and messages about a workflow of these tasks."""
    workflow = Workflow("w", tasks, SERVICES, alternatives, {"x": 1}, results)
    return [f"{problem.code} {problem.message}" for problem in check(workflow)]


def test_a_sound_workflow_has_no_problems() -> None:
    """Nothing is wrong with a workflow that uses every field."""
    timeout = Service("s4", "hocl", "other.hocl", policy=Policy(timeout=1.0))
    services = tuple(timeout if one.name == "s4" else one for one in DIAMOND.services)
    assert check(Workflow("w", DIAMOND.tasks, services, DIAMOND.alternatives, DIAMOND.inputs)) == []


@pytest.mark.parametrize(
    "tasks, said",
    [
        ((Task("A", "s", (Result("A"),)),), ["W120 these tasks wait for each other: A → A"]),
        (
            (Task("A", "s", after=("C",)), Task("B", "s", (Result("A"),)), Task("C", "s", (Result("B"),))),
            ["W120 these tasks wait for each other: A → B → C → A"],
        ),
        (
            tuple(Task(one[0], "s", after=(*one[1:],)) for one in ("ACB", "BA", "CB", "DE", "EDA")),
            ["W120 these tasks wait for each other: A → B → A", "W120 these tasks wait for each other: D → E → D"],
        ),
        ((Task("A", "s", (Result("B"),)),), ["W121 `A` takes from `B`, which is not a task"]),
        ((Task("A", "s", after=("B",)),), ["W121 `A` waits for `B`, which is not a task"]),
        (
            (Task("A", "s", (Input("z"),)),),
            ["W122 `A` takes the input `z`, which the workflow does not have"],
        ),
        ((Task("A", "t"),), ["W123 `A` calls `t`, which is not a service"]),
        ((Task("A", "s"), Task("A", "s")), ["W124 two tasks are called `A`"]),
        (
            (Task("A", "s", (Value([1]),), each=Each("dot", (0, 1, 0))),),
            [
                "W125 `A` goes over its argument 1, but it has 1, from 0 to 0",
                "W125 `A` goes over its argument 0 twice",
            ],
        ),
        (
            (Task("A", "s", (Value(3),), each=Each("dot", (Each("cross", ()), 0))),),
            ["W125 `A` goes over its argument 0, which is not a list: 3", "W125 `A` combines no arguments by `cross`"],
        ),
        (
            (Task("A", "s"), Task("B", "s", (Result("A", 0),))),
            ["W125 `B` takes item 0 of `A`; items count from 1"],
        ),
    ],
)
def test_tasks(tasks: tuple[Task, ...], said: list[str]) -> None:
    """Cycles, unknown names, repeated names and impossible compositions are found."""
    assert sorted(said_of(*tasks)) == sorted(said)


def test_services_that_call_nothing() -> None:
    """A service without a target is found, whatever its kind."""
    services = (Service("a"), Service("b", "replay"), Service("c", "replay", options={"seconds": -1}))
    found = check(Workflow("w", (), services))
    assert [(one.code, one.message) for one in found] == [
        ("W126", "the service `a` does not say what it calls"),
        ("W126", "the service `c` replays no number of seconds: -1"),
    ]


@pytest.mark.parametrize(
    "alternative, said",
    [
        (Alternative("a", {}), ["W127 the alternative `a` replaces nothing"]),
        (Alternative("a", {"T2": "T9"}), ["W121 the alternative `a` calls `T9`, which is not a task"]),
        (Alternative("a", {"T9": "T4"}), ["W121 the alternative `a` replaces `T9`, which is not a task"]),
        (
            Alternative("a", {"T2": "T4"}, watch=("T9",)),
            ["W121 the alternative `a` watches `T9`, which is not a task"],
        ),
        (
            Alternative("a", {"T2": "T4"}, on=("condition",)),
            ["W127 the alternative `a` applies on a condition, but has none"],
        ),
        (
            Alternative("a", {"T2": "T4"}, when="result < 1"),
            ["W127 the alternative `a` has a condition, but does not apply on one"],
        ),
        (
            Alternative("a", {"T2": "T4"}, on=("condition",), when="result +"),
            ["W130 the condition of `a` is not valid HOCL: `result +`: something is missing at its end"],
        ),
        (
            Alternative("a", {"T2": "T4"}, on=("timeout",)),
            ["W127 the alternative `a` applies on a time-out, but `s` has none"],
        ),
        (
            Alternative("a", {"T2": "T4"}, watch=("T4",)),
            ["W127 the alternative `a` watches only `T4`, which runs only after it has applied"],
        ),
        (Alternative("a", {"T1": "T4"}), ["W129 the alternative `a` replaces `T1`, but `T4` needs its result"]),
        (
            Alternative("a", {"T1": "T3"}),
            ["W129 the alternative `a` replaces `T1`, but `T3` needs its result"],
        ),
        (
            Alternative("a", {"T3": "T2"}),
            ["W128 `T3` takes from `T2`, which runs only if `a` applies"],
        ),
    ],
)
def test_alternatives(alternative: Alternative, said: list[str]) -> None:
    """Alternatives that could never apply or never end are found."""
    assert said_of(*CHAIN, alternatives=(alternative,)) == said


def test_results_that_may_never_come() -> None:
    """Results name tasks that exist and that run without an alternative."""
    said = said_of(*CHAIN, alternatives=(Alternative("a", {"T2": "T4"}),), results=("T4", "T9"))
    assert said == [
        "W121 `results` names `T9`, which is not a task",
        "W128 `results` names `T4`, which runs only if `a` applies",
    ]


def test_problems_have_places_and_hints() -> None:
    """Each problem points into the file and guesses what was meant, and all come at once."""
    text = (
        "services: {sort: {shell: sort}}\n"
        "tasks:\n"
        "  first: {service: sort}\n"
        "  second: {service: sorrt, from: [frist]}\n"
        "results: [secnd]\n"
    )
    loaded = load_text(text, name="w.yaml")
    found = [(one.code, one.place, one.hint) for one in check(loaded.workflow, loaded.places)]
    assert found == [
        ("W123", "w.yaml:4:3", "did you mean `sort`?"),
        ("W121", "w.yaml:4:3", "did you mean `first`?"),
        ("W121", "w.yaml:5:11", "did you mean `second`?"),
    ]


def test_a_long_chain_is_checked() -> None:
    """Neither the depth of a workflow nor the length of a circle is limited."""
    tasks = [Task(f"T{at}", "s", (Result(f"T{at - 1}"),)) for at in range(1, 20_000)]
    assert said_of(Task("T0", "s"), *tasks) == []
    (said,) = said_of(Task("T0", "s", after=("T19999",)), *tasks)
    assert said == "W120 these tasks wait for each other: T0 → T1 → T2 → T3 → T4 → T5 → ... → T0"


@pytest.mark.parametrize(
    "when, said",
    [
        ("result < lenght(result)", "calls `lenght`, which is unknown: `result < lenght(result)`"),
        ("reslt < 3", "uses `reslt`, which is unknown: `reslt < 3`"),
        ("result, 1", "is neither true nor false: `result, 1`"),
        ("3", "is neither true nor false: `3`"),
    ],
)
def test_condition_is_looked_at_in_the_file(when: str, said: str) -> None:
    """A condition is checked for the names and functions it uses, with its place in the file."""
    text = "services: {s: {shell: date}}\ntasks: {A: {service: s}, B: {service: s}}\nalternatives:\n"
    loaded = load_text(text + f"  - exits: {{A: B}}\n    on: condition\n    when: '{when}'\n")
    (problem,) = check(loaded.workflow, loaded.places)
    assert problem.message.startswith(f"the condition of `alternative 1` {said}")
    assert (problem.code, problem.span and problem.span.line) == ("W130", 6)


@pytest.mark.parametrize("when", ["result < 3", "!(1 in result) || result == true", "true", "first(result) > 2 // so"])
def test_sound_conditions(when: str) -> None:
    """Comparisons, built-in functions and comments are fine in conditions."""
    assert said_of(*CHAIN, alternatives=(Alternative("a", {"T2": "T4"}, on=("condition",), when=when),)) == []


TWO = (*CHAIN, Task("T5", "s", (Result("T1"),)))


@pytest.mark.parametrize(
    "second, why",
    [
        (Alternative("b", {"T2": "T5"}), "on failure"),
        (Alternative("b", {"T2": "T5"}, on=("timeout",), watch=("T2", "T3")), "on a time-out"),
    ],
)
def test_two_alternatives_for_one_outcome_are_refused(second: Alternative, why: str) -> None:
    """Two alternatives may not replace the same task for the same outcome."""
    said = said_of(*TWO, alternatives=(Alternative("a", {"T2": "T4"}), second))
    assert said[-1] == f"W135 the alternatives `a` and `b` both replace `T2` {why}"


@pytest.mark.parametrize(
    "second",
    [
        Alternative("b", {"T2": "T5"}, on=("condition",), when="result > 3"),
        Alternative("b", {"T2": "T5"}, watch=("T3",)),
        Alternative("b", {"T4": "T5"}),
    ],
)
def test_alternatives_for_other_outcomes_are_fine(second: Alternative) -> None:
    """Alternatives with other reasons, other watched tasks or other tasks to replace live side by side."""
    assert said_of(*TWO, alternatives=(Alternative("a", {"T2": "T4"}), second)) == []


def test_empty_name() -> None:
    """A task needs a name."""
    assert said_of(Task("", "s")) == ["W136 a task has no name"]


def test_inputs_of_an_inner_workflow() -> None:
    """An inner workflow gets the inputs it has, all that it needs, and is sound itself."""
    inner = Workflow("inner", (Task("A", "s", (Input("x"),)), Task("B", "t")), SERVICES, (), {"x": REQUIRED, "y": 1})
    service = Service("w", "workflow", function=inner)
    tasks = (
        Task("T1", "w"),
        Task("T2", "w", (Value(1),) * 3),
        Task("T3", "w", keywords={"x": Value(1), "z": Value(2)}),
    )
    assert [f"{one.code} {one.message}" for one in check(Workflow("outer", tasks, (service,)))] == [
        "W123 in `w`: `B` calls `t`, which is not a service",
        "W132 `T1` does not give `inner` its input `x`, which has no default",
        "W131 `T2` gives `inner` 3 inputs, but it has 2",
        "W131 `T3` gives `z` to `inner`, which has no such input",
    ]
