"""Every order in which a workflow can happen: what is explored, what is said when it is not all, what is refused."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from solvent.runs.causality import violations
from solvent.runs.exploration import Orders, explore_workflow
from solvent.workflows.model import (
    Arrived,
    Each,
    Input,
    Many,
    Result,
    Route,
    Signalled,
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


def test_exploration_that_is_stopped_says_so() -> None:
    """Whoever explores can stop it, and what was found until then is there and not complete."""
    found = Orders()
    assert explore_workflow(PARALLEL, should_stop=lambda: len(found.states) > 1, into=found) is found
    assert (found.is_complete, len(found.states) > 1) == (False, True)


def test_states_that_were_not_looked_at_are_not_final() -> None:
    """A state of an incomplete exploration in which more could happen is not taken for an end."""
    orders = explore_workflow(PARALLEL, max_states=2)
    assert orders.finals == []


def test_services_are_called_once_for_the_same_arguments() -> None:
    """A service is taken for a function: its answer is asked for once."""
    calls: list[int] = []

    def note(number: int) -> int:
        calls.append(number)
        return number

    tasks = step("A", "note", Value(1)), step("B", "note", Value(1)), step("C", "told", Result("A"), Result("B"))
    explore_workflow(flow(*tasks, functions={"note": note}))
    assert calls == [1, 1]


def test_signals_come_at_any_moment() -> None:
    """A transient signal may come too early or in time, a persistent one is always in time."""
    tasks = step("A", "told", Value(1)), step("W", "told", Result("A"), Signalled(), signal="go", is_transient=True)
    assert ends_of(flow(*tasks), signals=[("go", 1)]) == {"done", "stuck"}
    kept = step("W", "told", Result("A"), Signalled(), signal="go")
    assert ends_of(flow(tasks[0], kept), signals=[("go", 1)]) == {"done"}
    assert ends_of(flow(tasks[0], kept)) == {"stuck"}


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
