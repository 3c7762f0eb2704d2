"""Control flow that has no sound meaning is refused before it runs, and what is sound is not."""

from __future__ import annotations

from typing import Any

import pytest

from solvent.runs.exploration import explore_workflow
from solvent.workflows.checks import check
from solvent.workflows.formats.files import load_text
from solvent.workflows.model import (
    Alternative,
    Argument,
    Arrived,
    Control,
    Each,
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
from tests.growth import executed_lines

SERVICES = (Service("s", function=lambda *_: 1),)
HOLDS, FAILS = Test("result == 1"), Test("result == 2")


def one(name: str, *after: str, given: tuple[Argument, ...] = (), each: Each | None = None, **control: Any) -> Task:
    """Make a task."""
    return Task(name, "s", given, after=after, each=each, control=Control(**control) if control else None)


def flow(*tasks: Task, **more: Any) -> Workflow:
    """Make a workflow."""
    return Workflow("w", tasks, SERVICES, **more)


def said_of(workflow: Workflow) -> list[str]:
    """Give the codes and messages about a workflow."""
    return [f"{problem.code} {problem.message}" for problem in check(workflow)]


def ends_of(workflow: Workflow) -> set[str]:
    """Give how a workflow can end; nothing if it does not within some states."""
    return {state.end for state in explore_workflow(workflow, max_states=60).finals}


A, B, C = one("A"), one("B", "A"), one("C", "A")
CHOICE = (one("X", split="one", routes=(Route("A", HOLDS), Route("B"))), one("A", "X"), one("B", "X"))
OFFER = (one("X", split="deferred"), one("A", "X"), one("B", "X"))

# --- Words.

WORDS = [
    ((one("A", routes=(Route("Z"),)),), "W121 `A` goes on to `Z`, which is not a task"),
    ((one("A", again=Route("Z", HOLDS)),), "W121 `A` goes back to `Z`, which is not a task"),
    ((one("A", cancels=("Z",)),), "W121 `A` cancels `Z`, which is not a task"),
    ((one("A", completes=("Z",)),), "W121 `A` completes `Z`, which is not a task"),
    ((A, one("B", "A", during=("A", "Z"))), "W121 `B` names in `during` `Z`, which is not a task"),
    ((A, one("B", "A", join="majority")), "W137 `B` joins by `majority`, which is neither a way to join nor a pattern"),
    ((A, one("B", "A", join="first", need=2)), "W137 `B` waits for the first 2 of 1"),
    ((A, one("B", "A", join="first", need=0)), "W137 `B` cannot wait for 0 arrivals"),
    ((A, one("B", "A", join="any", need=2)), "W137 `B` joins by `any`, which takes no number"),
    ((A, one("B", "A", threads=0)), "W137 `B` has 0 as its number of `threads`"),
    ((one("A", copies=0),), "W137 `A` has 0 as its number of `threads`"),
    (
        (A, one("B", "A", join="any", threads=2)),
        "W137 `B` waits for 2 arrivals of each source, but joins by `any`",
    ),
    (
        (A, one("B", "A", join="any", cancels_rest=True)),
        "W137 `B` cancels the branches that are left after the `first`, but joins by `any`",
    ),
    ((one("A", split="one"), B), "W137 `A` chooses where to go on, but no route has a condition"),
    (
        (one("A", split="some", routes=(Route("B"),)), B),
        "W137 `A` chooses where to go on, but no route has a condition",
    ),
    (
        (one("A", split="one", routes=(Route("B"), Route("C"), Route("A", FAILS)), join="any"), B, C),
        "W137 `A` never goes on to `C`: it has no condition, and neither has `B`",
    ),
    (
        (one("A", routes=(Route("B", HOLDS),)), B),
        "W137 `A` never asks about the condition of `B`: its split is `all`",
    ),
    (
        (one("A", join="any"), one("B", "A", again=Route("A"))),
        "W137 `B` goes back to `A` again and again: it has no condition",
    ),
    ((one("A", cancels=("A",)),), "W137 `A` cancels itself"),
    (
        (A, one("B", completes=("A",))),
        "W137 `B` completes `A`, which does not gather the results of instances",
    ),
    (
        (one("A", many=Many(Value(2), apart=True)), one("B", completes=("A",))),
        "W137 `B` completes `A`, which does not gather the results of instances",
    ),
    ((one("A", is_transient=True),), "W137 `A` loses a signal that comes too early, but waits for none"),
    ((A, one("B", "A", during=("A", "B"))), "W137 `B` cannot start between `A` and `B`"),
    (
        (*OFFER, one("Y", split="deferred", routes=(Route("A"),))),
        "W137 `A` is offered by both `X` and `Y`",
    ),
    ((one("A", given=(Signalled(),)),), "W137 `A` takes what comes with a signal, but waits for none"),
    (
        (one("X", split="deferred", copies=2), one("A", "X"), one("B", "X")),
        "W137 `X` makes an offer that one task takes, but passes it on 2 times",
    ),
    ((one("A", given=(Arrived(),), join="any"),), "W137 `A` takes what has arrived, but no task passes anything to it"),
    ((one("A", takes=("L",)),), "W139 `A` takes the lock `L`, and no task gives it back"),
    ((one("A", gives=("L",)),), "W139 `A` gives back the lock `L`, which no task takes"),
    ((one("A", takes=("L", "L"), gives=("L",)),), "W139 `A` takes the lock `L` twice"),
    (
        (one("A", takes=("L",), gives=("L",)), one("B", gives=("L",)), one("C", "B")),
        "W139 `B` gives back the lock `L`, but neither takes it nor comes after one that does",
    ),
    (
        (one("B", gives=("L",)), one("A", "B", takes=("L",))),
        "W139 `B` gives back the lock `L`, but neither takes it nor comes after one that does",
    ),
]


@pytest.mark.parametrize("tasks, said", WORDS, ids=[said for _, said in WORDS])
def test_words_that_mean_nothing(tasks: tuple[Task, ...], said: str) -> None:
    """Words that contradict each other or name nothing are refused."""
    assert said_of(flow(*tasks)) == [said]


INSTANCES = [
    (Many(), "W137 `A` says neither how many instances it has and what list they are for"),
    (Many(Value(2), over=0), "W137 `A` says both how many instances it has and what list they are for"),
    (Many(over=1), "W125 `A` has instances for its argument 1, but it has 1, from 0 to 0"),
    (Many(Value(0)), "W125 `A` cannot have 0 instances"),
    (Many(Input("n")), "W122 `A` takes the input `n`, which the workflow does not have"),
    (Many(Result("Z")), "W121 `A` takes from `Z`, which is not a task"),
    (Many(Value(2), need=3), "W137 `A` waits for 3 results of 2 instances"),
    (Many(Value(2), need=0), "W137 `A` cannot wait for 0 results"),
    *(
        (
            Many(Value(2), apart=True, **{key: value}),  # type: ignore[arg-type]
            f"W137 the instances of `A` are `apart`, so nobody gathers results, and `{word}` means nothing",
        )
        for word, key, value in [
            ("need", "need", 1),
            ("cancel", "cancels", True),
            ("more", "more", HOLDS),
            ("enough", "enough", HOLDS),
        ]
    ),
    (
        Many(Value(2), enough=Test("result +")),
        "W130 the condition of `A` for enough results is not valid HOCL: `result +`: something is missing at its end",
    ),
]


@pytest.mark.parametrize("many, said", INSTANCES, ids=[said for _, said in INSTANCES])
def test_instances_that_cannot_be(many: Many, said: str) -> None:
    """So are numbers and lists of instances."""
    assert said_of(flow(one("A", given=(Value([1]),), many=many))) == [said]


def test_instances_over_what_is_no_list() -> None:
    """An argument that is known to be no list has no items, and two ways to go over lists are one too many."""
    many = Many(over=0)
    told = "W125 `A` has instances for its argument 0, which is not a list: 3"
    assert said_of(flow(one("A", given=(Value(3),), many=many))) == [told]
    both = flow(one("A", given=(Value([3]),), each=Each("dot", (0,)), many=many))
    assert said_of(both) == ["W137 `A` has both `each` and `instances`"]


def test_locks_for_nobody() -> None:
    """A lock is for one task at least."""
    workflow = flow(one("A", takes=("L",), gives=("L",)), locks={"L": 0})
    assert said_of(workflow) == ["W139 the lock `L` is for 0 tasks"]


def test_a_wrong_condition_is_shown_where_it_stands() -> None:
    """The place of a problem with a route is the route."""
    text = (
        "services: {s: {shell: date}}\ntasks:\n  A:\n    service: s\n    split: one\n"
        '    to:\n      B: "result +"\n      C: null\n  B: {service: s}\n'
        '  C: {service: s, again: {to: Z, when: "1 <"}}\n'
    )
    loaded = load_text(text)
    found = check(loaded.workflow, loaded.places)
    assert [problem.code for problem in found] == ["W130", "W121", "W130"]
    spans = [problem.span for problem in found if problem.span is not None]
    assert [text[span.start :].partition(":")[0] for span in spans] == ["B", "again", "again"]


# --- Tasks that can never start.

NEVER = [
    ((*CHOICE, one("J", "A", "B")), "W144 `J` waits for all of `A`, `B`, and whichever way `X` goes on, less arrives"),
    ((*OFFER, one("J", "A", "B")), "W144 `J` waits for all of `A`, `B`, and whichever way `X` goes on, less arrives"),
    (
        (*CHOICE, one("C"), one("J", "A", "B", "C", join="first", need=3), one("K", "J")),
        "W144 `J` waits for 3 of `A`, `B`, `C`, and whichever way `X` goes on, less arrives",
    ),
    (
        (one("X", split="some", routes=(Route("A", HOLDS), Route("B"))), *CHOICE[1:], one("J", "A", "B")),
        "W144 `J` waits for all of `A`, `B`, and whichever way `X` goes on, less arrives",
    ),
    (
        (
            one("S"),
            one("X", "S", join="any", split="one", routes=(Route("A", HOLDS), Route("B"))),
            *CHOICE[1:],
            one("J", "A", "B", again=Route("X", FAILS)),
        ),
        "W144 `J` waits for all of `A`, `B`, and whichever way `X` goes on, less arrives",
    ),
    (
        (one("A", copies=2), one("B", "A", threads=3), one("C", "B")),
        "W144 `B` can never start: it waits for 3 tokens of `A`, and less arrives",
    ),
    (
        (A, one("B", "A"), one("H", "B", "C"), one("C", "H", again=Route("B", FAILS))),
        "W120 these tasks wait for each other: B → H → C → B",
    ),
    (
        (one("S"), one("H", "S"), one("B", "H", again=Route("H", FAILS))),
        "W120 these tasks wait for each other: H → B → H",
    ),
    ((one("A", "B"), one("B", "A"), one("C", join="any")), "W120 these tasks wait for each other: A → B → A"),
    (
        (one("A"), one("B", "A"), one("M", "B", during=("A", "B"))),
        "W144 `M` can start only before `B` has started, but comes only after it",
    ),
]


@pytest.mark.parametrize("tasks, said", NEVER, ids=range(len(NEVER)))
def test_tasks_that_never_start(tasks: tuple[Task, ...], said: str) -> None:
    """What waits for something that never comes is refused, and really does not start."""
    workflow = flow(*tasks)
    assert said_of(workflow) == [said]
    first = said.split("`")[1] if "`" in said else said.split(": ")[1].partition(" → ")[0]
    assert not any(state.started[first] for state in explore_workflow(workflow, max_states=60).states)


def test_hints_say_what_to_do() -> None:
    """A loop whose first task waits for both ways is told to wait for one of them."""
    (problem,) = check(flow(*NEVER[7][0]))
    assert problem.hint == "let `H` start by each that arrives, `S` or the way back: `join: any`"
    (problem,) = check(flow(*NEVER[9][0]))
    assert problem.hint == "let it come from a task before `B`, or take `during` out"


ENDLESS = [
    (one("S"), one("H", "S", "B", join="any"), one("B", "H")),
    (one("S"), one("H", "S", "B", join="any"), one("B", "H"), one("C", "B")),
    (one("H", join="any"), one("B", "H", routes=(Route("H"),))),
    (
        one("S"),
        one("H", "S", "C", "D", join="any", split="one", routes=(Route("C", HOLDS), Route("D"))),
        one("C", "H"),
        one("D", "H"),
    ),
]


@pytest.mark.parametrize("tasks", ENDLESS, ids=range(len(ENDLESS)))
def test_loops_that_are_never_left(tasks: tuple[Task, ...]) -> None:
    """A loop in which every task goes on inside it is refused, and really does not end."""
    workflow = flow(*tasks)
    (said,) = said_of(workflow)
    assert said.startswith("W145 nothing leads out of the loop H → ")
    assert ends_of(workflow) == set()


SOUND = [
    (*CHOICE, one("J", "A", "B", join="any")),
    (*CHOICE, one("J", "A", "B", join="active")),
    (*CHOICE, one("C"), one("J", "A", "B", "C", join="first", need=2)),
    (*OFFER, one("J", "A", "B", join="any")),
    (one("S"), one("H", "S", join="any"), one("B", "H", again=Route("H", FAILS)), one("C", "B")),
    (one("H", join="any"), one("B", "H", again=Route("H", FAILS))),
    (one("S"), one("H", "S", "B", join="first"), one("B", "H")),
    (one("S"), one("H", "S", "B", join="any"), one("B", "H"), one("E", "S", ends="case")),
    (one("S"), one("A", "S"), one("B", "S"), one("M", "S", during=("A", "B"))),
    (*CHOICE, one("M", "A", during=("A", "B"))),
    (one("A", copies=2), one("B", "A", threads=2)),
    (
        one("A"),
        one("X", "A", join="any", split="one", routes=(Route("B", HOLDS), Route("C"))),
        one("B", "X"),
        one("C", "X"),
    ),
    (one("A", takes=("L",)), one("B", "A", gives=("L",))),
    (one("A", takes=("L",)), one("B", "A"), one("C", "B", gives=("L",))),
    (one("A", takes=("L",), sends=("go",)), one("B", signal="go", gives=("L",))),
    (one("A", takes=("L",)), one("B", "A"), one("C"), one("D", "C", during=("A", "E"), gives=("L",)), one("E", "B")),
    (A, one("B", "A", given=(Arrived(),))),
    (one("A", given=(Value([1, 2]),), many=Many(over=0)), one("B", "A")),
]


@pytest.mark.parametrize("tasks", SOUND, ids=range(len(SOUND)))
def test_what_is_sound_is_not_refused(tasks: tuple[Task, ...]) -> None:
    """Workflows that end well in every order are not refused."""
    workflow = flow(*tasks)
    assert said_of(workflow) == []
    assert "done" in ends_of(workflow)


def test_what_may_go_wrong_is_left_to_the_run() -> None:
    """A join of a branch that is always taken and one that may be is not refused: the run says who waits."""
    split = one("X", split="some", routes=(Route("A", FAILS), Route("B", HOLDS)))
    workflow = flow(split, one("A", "X"), one("B", "X"), one("J", "A", "B"))
    assert said_of(workflow) == []
    assert ends_of(workflow) == {"stuck"}


# --- Alternatives.

REGION = (one("S"), one("A", "S", join="any"), one("B", "A"), one("Y", "S"), one("Z", "S"))
MANY = one("A", "S", many=Many(Value(2)))


@pytest.mark.parametrize(
    "alternative, changed, why",
    [
        (Alternative("a", {"A": "Y"}), (), ""),
        (Alternative("a", {"A": "Y"}, watch=("A",)), (), ""),
        (Alternative("a", {"A": "Y"}), (one("Y", "S", ends="case"),), ""),
        (Alternative("a", {"A": "Y", "B": "Z"}), (), "replaces several tasks at once"),
        (Alternative("a", {"A": "Y"}, also=("B",)), (), "replaces several tasks at once"),
        (Alternative("a", {"A": "Y"}, watch=("B",)), (), "watches other tasks than the one it replaces"),
        (Alternative("a", {"A": "Y"}), (one("Y", "Z"),), "calls `Y`, which takes from `Z`, and `A` does not"),
        (
            Alternative("a", {"A": "Y"}),
            (one("Y", "S", join="any"),),
            "calls `Y`, which does more than be called or end the case",
        ),
        (Alternative("a", {"A": "Y"}), (MANY,), "replaces `A`, which has several instances"),
        (
            Alternative("a", {"A": "Y"}),
            (one("Y", "S", given=(Value([1]),), each=Each("dot", (0,))),),
            "calls `Y`, which goes over other lists than `A`",
        ),
    ],
)
def test_alternatives_in_control_flow(alternative: Alternative, changed: tuple[Task, ...], why: str) -> None:
    """Where control flow is, an alternative is one task in the place of another."""
    new = {task.name: task for task in changed}
    tasks = tuple(new.get(task.name, task) for task in REGION)
    said = [f"W138 the alternative `a` {why}, which tasks with control flow cannot do"] if why else []
    assert said_of(flow(*tasks, alternatives=(alternative,))) == said


def test_a_task_that_stands_in_is_no_destination() -> None:
    """Control flow names the task that is replaced, not the one that stands in for it."""
    tasks = (one("S", cancels=("Y",)), *REGION[1:])
    said = said_of(flow(*tasks, alternatives=(Alternative("a", {"A": "Y"}),)))
    assert said == ["W128 `S` cancels `Y`, which runs only if `a` applies"]


# --- Size.


def test_large_workflows_are_checked_quickly() -> None:
    """A choice in a long chain of them costs little more than in a short one, though it could be asked about all."""

    def lines(size: int) -> int:
        tasks = [one("J0")]
        for at in range(size):
            routes = (Route(f"A{at}", HOLDS), Route(f"B{at}"))
            last = Task(tasks[-1].name, "s", after=tasks[-1].after, control=Control("any", split="one", routes=routes))
            ways = (one(f"A{at}", f"J{at}"), one(f"B{at}", f"J{at}"))
            tasks[-1:] = [last, *ways, one(f"J{at + 1}", f"A{at}", f"B{at}", join="any")]
        workflow = flow(*tasks)
        assert check(workflow) == []
        return executed_lines(lambda: check(workflow))

    assert lines(1_000) < 30 * lines(100)
