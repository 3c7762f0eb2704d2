"""Every order in which a workflow can happen: what is explored, what is said when it is not all, what is refused."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from solvent.errors import Misuse, WorkflowProblem
from solvent.runs.causality import violations
from solvent.runs.exploring import Orders, explore_workflow
from solvent.workflows.model import (
    Alternative,
    Arrived,
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
from tests.unit.runs.flows import flow, run, step

ARRIVED = Arrived()
PARALLEL = flow(
    *(step(name, "told", Value(1), copies=1, sends=("x",)) for name in "ABC"), step("W", "told", signal="x")
)


def ends_of(workflow: Workflow, *arguments: Any, **options: Any) -> set[str]:
    """Give how the orders of a workflow end."""
    return {state.end for state in explore_workflow(workflow, *arguments, **options).finals}


def test_plain_workflow_can_be_explored() -> None:
    """A workflow without control flow has orders too."""
    orders = explore_workflow(flow(step("A", "told", Value(1)), step("B", "told", Value(1))))
    assert orders.is_complete
    assert ends_of(flow(step("A", "told", Value(1)))) == {"done"}
    assert violations(orders, ["A before B"])
    assert violations(orders, ["B before A"])
    assert not violations(orders, ["A once", "B once"])


def test_exploration_that_is_cut_says_so() -> None:
    """Where there are more states than are allowed, what was found is not complete."""
    orders = explore_workflow(PARALLEL)
    assert orders.is_complete
    cut = explore_workflow(PARALLEL, max_states=len(orders.states) - 1)
    assert (cut.is_complete, len(cut.states)) == (False, len(orders.states) - 1)


def test_exploration_that_is_stopped_says_so() -> None:
    """Whoever explores can stop it, and what was found until then is there and not complete."""
    found = Orders()
    assert explore_workflow(PARALLEL, should_stop=lambda: len(found.states) > 1, into=found) is found
    assert (found.is_complete, len(found.states) > 1) == (False, True)


def test_states_that_were_not_looked_at_are_not_final() -> None:
    """A state of an incomplete exploration in which more could happen is not taken for an end."""
    orders = explore_workflow(PARALLEL, max_states=2)
    assert orders.finals == []


def test_endless_loop_has_few_states_if_it_repeats_itself() -> None:
    """A loop over the same value comes back to the states it had, but for how often its tasks ran."""
    back = Route("A", Test("result == 1"))
    work = flow(step("S", "told", Value(1)), step("A", "told", ARRIVED, after=("S",), join="any", again=back))
    orders = explore_workflow(work, max_states=50)
    assert (orders.is_complete, orders.finals) == (False, [])


def test_services_are_called_once_for_the_same_arguments() -> None:
    """A service is taken for a function: its answer is asked for once."""
    calls: list[int] = []

    def note(number: int) -> int:
        calls.append(number)
        return number

    tasks = step("A", "note", Value(1)), step("B", "note", Value(1)), step("C", "told", Result("A"), Result("B"))
    explore_workflow(flow(*tasks, functions={"note": note}))
    assert calls == [1, 1]


def test_services_can_be_given() -> None:
    """Services that are no Python functions can be explored with functions in their place."""
    work = Workflow("w", (step("A", "s", Value(1), copies=2),), (Service("s", "shell", "true"),))
    with pytest.raises(WorkflowProblem) as refused:
        explore_workflow(work)
    assert refused.value.code == "W142"
    assert ends_of(work, services={"s": lambda n: n}) == {"done"}


def test_asynchronous_services_are_explored() -> None:
    """A coroutine function is a function too."""

    async def more(n: int) -> int:
        return n + 1

    routes = (Route("B", Test("result == 2")), Route("C"))
    work = flow(
        step("A", "more", Value(1), split="one", routes=routes), step("B", "told", Result("A")),
        step("C", "told", Result("A")), functions={"more": more},
    )  # fmt: skip
    assert violations(explore_workflow(work), ["B once", "C never", "ends done"]) == []


def test_signals_come_at_any_moment() -> None:
    """A transient signal may come too early or in time, a persistent one is always in time."""
    tasks = step("A", "told", Value(1)), step("W", "told", Result("A"), Signalled(), signal="go", is_transient=True)
    assert ends_of(flow(*tasks), signals=[("go", 1)]) == {"done", "stuck"}
    kept = step("W", "told", Result("A"), Signalled(), signal="go")
    assert ends_of(flow(tasks[0], kept), signals=[("go", 1)]) == {"done"}
    assert ends_of(flow(tasks[0], kept)) == {"stuck"}


def test_unknown_signal_is_refused() -> None:
    """A signal that no task waits for cannot come."""
    with pytest.raises(Misuse, match="waits for the signal `gone`") as refused:
        explore_workflow(PARALLEL, signals=[("gone", 1)])
    assert (refused.value.code, refused.value.hint) == ("H316", "signals: x")


@pytest.mark.parametrize("test", [{"when": "result < 0"}, {"predicate": lambda n: n < 0}])
def test_stand_ins_are_explored(test: dict[str, Any]) -> None:
    """Another service takes over in an exploration as in a run."""
    tasks = step("A", "told", Value(-1), copies=2), step("B", "told", Result("A")), step("Z", "told", Value(1))
    other = Alternative("other", {"A": "Z"}, on=("condition",), **test)
    routes = (Route("C", Test("result > 0")), Route("D"))
    split = step("B", "told", Result("A"), split="one", routes=routes)
    work = flow(tasks[0], split, tasks[2], Task("C", "told", after=("B",)), Task("D", "told", after=("B",)),
                alternatives=(other,))  # fmt: skip
    assert violations(explore_workflow(work), ["C twice", "D never", "ends done"]) == []


def test_composition_is_explored() -> None:
    """A task that is called for each item is one event."""
    work = flow(
        step("A", "told", Value([1, 2])),
        step("B", "add", Result("A"), Input("n"), each=Each("cross", (0, 1)), copies=2),
        functions={"add": lambda a, b: a + b}, inputs={"n": [10, 20]},
    )  # fmt: skip
    assert violations(explore_workflow(work), ["A before B", "B once", "ends done"]) == []


@pytest.mark.parametrize(
    "many, argument",
    [
        (Many(Result("A")), Value(1)),
        (Many(over=0), Result("A")),
    ],
)  # fmt: skip
def test_instances_of_what_is_no_list_fail_as_in_a_run(many: Many, argument: Any) -> None:
    """What fails in a run because a list or a number is none fails in an exploration too."""
    work = flow(step("A", "told", Value("text")), step("M", "told", argument, many=many))
    assert run(work).states["M"] == "failed"
    assert ends_of(work) == {"failed"}


def test_each_state_is_reached_from_the_first() -> None:
    """A way to a state begins where nothing has happened, and ends there."""
    orders = explore_workflow(PARALLEL)
    for number, state in enumerate(orders.states):
        way = orders.way_to(number)
        assert (way[0], way[-1]) == (orders.states[0], state)


def test_exploration_stops_before_its_first_state() -> None:
    """What happens at once at the beginning may never end either; then nothing has happened, and nothing is wrong."""
    orders = explore_workflow(PARALLEL, should_stop=lambda: True)
    assert (orders.is_complete, len(orders.states), orders.finals) == (False, 1, [])
    assert orders.states[0].started == dict.fromkeys("ABCW", 0)
    assert not violations(orders, ["A before B", "B not after A", "ends done"])


def test_tokens_that_multiply_without_end_do_not_keep_exploring_from_stopping() -> None:
    """What commutes with all else happens at once, and may never end: a loop that passes on in two instances."""
    twice = Many(count=Value(2), over=None, need=None, apart=True, cancels=False, more=None, enough=None)
    workflow = flow(
        step(
            "A",
            "told",
            join="active",
            split="some",
            routes=(Route("C", Test("result > 6")), Route("E", Test("result < 8"))),
        ),
        step("B", "told", ARRIVED, after=("A",), join="any"),
        step(
            "C",
            "told",
            ARRIVED,
            after=("A",),
            join="active",
            split="one",
            routes=(Route("E", Test("result > 8")), Route("F", Test("result < 6"))),
        ),
        step(
            "E",
            "told",
            ARRIVED,
            after=("A", "B", "C"),
            join="all",
            split="some",
            routes=(Route("F", Test("result > 5")),),
        ),
        step(
            "F",
            "told",
            ARRIVED,
            after=("E",),
            join="all",
            routes=(Route("C"), Route("B"), Route("A")),
            during=("B", "C"),
            many=twice,
        ),
    )
    asked = count()
    orders = explore_workflow(workflow, services={"told": lambda *_: 3}, should_stop=lambda: next(asked) > 20)
    assert not orders.is_complete
