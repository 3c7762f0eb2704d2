"""Workflows written in Python become the model that was meant."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import pytest

from solvent import attempt, cross, each, http, program, service, shell, workflow
from solvent.errors import WorkflowProblem
from solvent.workflows.model import REQUIRED, Alternative, Each, Input, Policy, Result, Service, Task, Value


@service(timeout=5, retries=2)
def fetch(url: str) -> str:
    """Get a page."""
    return f"page of {url}"


@service
def clean(text: str) -> list[str]:
    return text.split()


@service
def clean_slowly(text: str) -> list[str]:
    return text.split()


@service
def judge(words: list[str], strict: bool = False) -> float:  # noqa: FBT001, FBT002 - as a user writes it
    return len(words) / 2 if strict else 1.0


@service
async def ask(text: str) -> str:
    return text


@service
def describe(words: list[str]) -> tuple[int, float]:
    return len(words), 0.5


@service
def combine(one: float, two: float) -> float:
    return one + two


@workflow
def grade(text: str, strict: bool = False) -> float:  # noqa: FBT001, FBT002 - as a user writes it
    return judge(clean(text), strict=strict)


def test_calls_become_tasks() -> None:
    """A call makes a task named after its function, whose arguments are inputs, results and constants."""

    @workflow
    def pipeline(url: str = "http://localhost/", limit: int = 3) -> float:
        return judge(clean(fetch(url)), strict=True)

    made = pipeline.definition()
    assert (made.name, made.results) == ("pipeline", ("judge",))
    assert made.inputs == {"url": "http://localhost/", "limit": 3}
    assert made.tasks == (
        Task("fetch", "fetch", (Input("url"),)),
        Task("clean", "clean", (Result("fetch"),)),
        Task("judge", "judge", (Result("clean"),), {"strict": Value(True)}),
    )


def test_a_service_is_described_once() -> None:
    """A service called twice is in the model once, with its policy; its tasks are numbered."""

    @workflow
    def twice(url: str) -> tuple[str, str]:
        return fetch(url), fetch(url)

    made = twice.definition()
    assert made.inputs == {"url": REQUIRED}
    assert [task.name for task in made.tasks] == ["fetch", "fetch_2"]
    assert made.services == (
        Service("fetch", target=f"{__name__}:fetch", policy=Policy(timeout=5, retries=2), function=fetch),
    )
    assert made.results == ("fetch", "fetch_2")


def test_outside_a_workflow_a_service_is_its_function() -> None:
    """Outside a workflow a call runs the function, which keeps its name and its docstring."""
    assert clean("a b") == ["a", "b"]
    assert (fetch.__name__, fetch.__doc__) == ("fetch", "Get a page.")
    assert inspect.iscoroutinefunction(ask)


def test_a_service_is_pickled_by_name() -> None:
    """A worker process finds a service where a function of that name would be."""
    assert clean.__reduce__() == "clean"
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(clean.named("other"))


def test_tasks_may_be_named_and_ordered() -> None:
    """`named` chooses a task's name and `after` what it waits for."""

    @workflow
    def ordered(url: str) -> str:
        first = fetch.named("T1")(url)
        return ask.named("T2").after(first)("now")

    assert ordered.definition().tasks == (
        Task("T1", "fetch", (Input("url"),)),
        Task("T2", "ask", (Value("now"),), after=("T1",)),
    )


def test_items_are_filters() -> None:
    """An item of a result counts from 0 in Python and from 1 in the model; unpacking gives items too."""

    @workflow
    def items(text: str) -> float:
        words = clean(text)
        count, share = describe(clean(words[2]))
        return combine(count, share)

    assert items.definition().tasks[1:] == (
        Task("clean_2", "clean", (Result("clean", 3),)),
        Task("describe", "describe", (Result("clean_2"),)),
        Task("combine", "combine", (Result("describe", 1), Result("describe", 2))),
    )


def test_what_a_filter_cannot_say_is_a_task() -> None:
    """Items of inputs, items by key or from the end, and lists of steps become tasks of their own."""

    @workflow
    def more(texts: list[str]) -> list[str]:
        return clean(texts[-1])

    assert more.definition().tasks[0] == Task("item", "item", (Input("texts"), Value(-1)))

    @workflow
    def gathered(text: str) -> float:
        return judge([fetch(text), fetch("b"), "c"])

    assert gathered.definition().tasks[2:] == (
        Task("list", "list", (Result("fetch"), Result("fetch_2"), Value("c"))),
        Task("judge", "judge", (Result("list"),)),
    )


def test_calls_over_lists() -> None:
    """`each` is the dot product, `cross` the cross product; groups nest, and what is named stays the same."""

    @workflow
    def sweep(xs: list[float], ys: list[float], zs: list[float]) -> tuple[Any, ...]:
        fit = shell("fit {0} {1} {2}")
        return (
            combine.each(xs, ys),
            combine.cross(xs, ys),
            fit.cross(each(xs, ys), zs, seed=1),
            fit.each(zs, cross(xs, ys)),
        )

    made = sweep.definition()
    assert [task.each for task in made.tasks] == [
        Each("dot", (0, 1)),
        Each("cross", (0, 1)),
        Each("cross", (Each("dot", (0, 1)), 2)),
        Each("dot", (0, Each("cross", (1, 2)))),
    ]
    assert made.tasks[2].keywords == {"seed": Value(1)}


def test_an_alternative_on_failure() -> None:
    """`attempt` gives the first step, and the second stands in for it."""

    @workflow
    def healing(text: str) -> float:
        words = attempt(clean(text), otherwise=clean_slowly(text))
        return judge(words)

    made = healing.definition()
    assert made.alternatives == (Alternative("instead_of_clean", {"clean": "clean_slowly"}),)
    assert made.task("judge").arguments == (Result("clean"),)
    assert made.dormant == {"clean_slowly": "instead_of_clean"}


def test_alternatives_of_alternatives() -> None:
    """An attempt may be what is done otherwise, and `otherwise` may be chained: the same comes out."""

    @workflow
    def nested(url: str) -> str:
        return attempt(fetch(url), otherwise=attempt(ask(url), otherwise="nothing"))

    @workflow
    def chained(url: str) -> str:
        return fetch.otherwise(ask).otherwise(lambda url: ask(fetch(url)))(url)

    assert [one.exits for one in nested.definition().alternatives] == [{"ask": "value"}, {"fetch": "ask"}]
    made = chained.definition()
    assert [one.exits for one in made.alternatives] == [{"fetch": "ask"}, {"ask": "ask_2"}]
    assert set(made.dormant) == {"ask", "ask_2", "fetch_2"}


def test_conditions_and_later_faults() -> None:
    """A condition is HOCL or a function; a later step may decide, and more may be given up."""

    def is_low(score: float) -> bool:
        return score < 0.9

    @workflow
    def watched(text: str) -> float:
        raw = fetch(text)
        words = clean(raw)
        score = attempt(judge(words), otherwise=judge.named("better")(words, strict=True), when=is_low)
        attempt(words, otherwise=clean_slowly(raw), when="result < 0.5", watch=score, also=raw, name="reopen")
        attempt(raw, otherwise=ask(text), on=("timeout", "condition"), when="size(result) = 0")
        return score

    assert watched.definition().alternatives == (
        Alternative("instead_of_judge", {"judge": "better"}, on=("condition",), predicate=is_low),
        Alternative(
            "reopen",
            {"clean": "clean_slowly"},
            also=("fetch",),
            on=("condition",),
            when="result < 0.5",
            watch=("judge",),
        ),
        Alternative("instead_of_fetch", {"fetch": "ask"}, on=("timeout", "condition"), when="size(result) = 0"),
    )


def test_several_exits() -> None:
    """A sub-workflow stands in for several steps at once, each exit for one of them."""

    @workflow
    def region(text: str) -> float:
        words, page = attempt((clean(text), fetch(text)), otherwise=(clean_slowly(text), ask(text)))
        return judge([page, words[0]])

    assert region.definition().alternatives[0].exits == {"clean": "clean_slowly", "fetch": "ask"}


def test_a_stand_in_that_is_used_elsewhere_gets_a_twin() -> None:
    """What stands in sleeps until it is needed, so a step that the workflow uses anyway does not sleep itself."""

    @workflow
    def shared(text: str) -> tuple[str, str]:
        page = fetch(text)
        return attempt(ask(page), otherwise=page), page

    made = shared.definition()
    assert made.alternatives[0].exits == {"ask": "value"}
    assert made.dormant == {"value": "instead_of_ask"}


def test_a_workflow_is_a_task_of_another() -> None:
    """A workflow called in a workflow is a task of kind `workflow`, whose inputs are named."""

    @workflow
    def both(text: str) -> float:
        return combine(grade(text), grade("other", strict=True))

    made = both.definition()
    inner = made.service("grade")
    assert inner is not None
    assert (inner.kind, inner.function) == ("workflow", grade.definition())
    assert len(made.services) == 2
    assert made.tasks[1] == Task("grade_2", "grade", keywords={"text": Value("other"), "strict": Value(True)})


def test_other_services_are_called_alike() -> None:
    """Commands, requests and HOCL programs are services too, named after what they call."""

    @workflow
    def mixed(path: str) -> Any:
        rows = shell("sort -n {0}", timeout=3)(path)
        score = http("post", "http://localhost:8000/score")(rows)
        return program("lib/max.hocl", name="greatest")(score)

    assert mixed.definition().services == (
        Service("sort", "shell", "sort -n {0}", policy=Policy(timeout=3)),
        Service("score", "http", "http://localhost:8000/score", "POST"),
        Service("greatest", "hocl", "lib/max.hocl"),
    )


def test_two_functions_of_one_name_are_two_services() -> None:
    """Services that differ get different names although their functions have the same."""

    @workflow
    def namesakes(path: str) -> Any:
        return shell("sort -r {0}")(shell("sort {0}")(path))

    made = namesakes.definition()
    assert [one.name for one in made.services] == ["sort", "sort_2"]
    assert [task.service for task in made.tasks] == ["sort", "sort_2"]


def test_a_workflow_without_return_has_the_results_of_its_last_tasks() -> None:
    """A function that returns nothing leaves it to the model which results count."""

    @workflow
    def silent(url: str) -> None:
        clean(fetch(url))

    assert silent.definition().outcomes == ("clean",)


def test_a_failing_trace_leaves_nothing_behind() -> None:
    """After an error in a workflow function, services run again as functions."""

    @workflow
    def broken(url: str) -> str:
        raise KeyError(fetch(url) and url)

    with pytest.raises(WorkflowProblem):
        broken.definition()
    assert clean("x") == ["x"]
