"""What goes wrong while a workflow is built says what, where and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from solvent import attempt, service, shell, workflow
from solvent.errors import WorkflowProblem

if TYPE_CHECKING:
    from collections.abc import Callable


@service
def fetch(url: Any) -> Any:
    return url


def _code(body: Callable[[Any], Any], *inputs: str) -> str:
    """Trace a function that must not be a workflow and give the error's code."""
    with pytest.raises(WorkflowProblem) as caught:
        workflow(name="flow")(body).definition()
    assert caught.value.hint, "an error says what to do"
    assert caught.value.span is not None, "an error says where"
    assert caught.value.span.source.name == __file__
    return caught.value.code


USES: dict[str, Callable[[Any], Any]] = {
    "if": lambda x: 1 if fetch(x) else 2,
    "for": lambda x: [fetch(item) for item in fetch(x)],
    "+": lambda x: fetch(x) + 1,
    "1 +": lambda x: 1 + fetch(x),
    "==": lambda x: fetch(x) == 1,
    "<": lambda x: x < 1,
    "in": lambda x: 1 in fetch(x),
    "len": lambda x: len(fetch(x)),
    "f-string": lambda x: fetch(f"{x}/page"),
    "attribute": lambda x: fetch(x).upper(),
    "call": lambda x: x(),
    "assignment": lambda x: x.__setitem__(0, 1),
}


@pytest.mark.parametrize("use", USES)
def test_a_step_has_no_value_yet(use: str) -> None:
    """Using a step's value while the workflow is built is an error at that place."""
    assert _code(USES[use]) == "W150"


def test_the_error_points_at_the_expression() -> None:
    """The excerpt marks the expression, not the whole line."""

    def body(x: Any) -> Any:
        return fetch(x) + 1

    with pytest.raises(WorkflowProblem) as caught:
        workflow(body).definition()
    assert caught.value.span is not None
    assert caught.value.span.text == "fetch(x) + 1"
    assert caught.value.message == (
        "the result of `fetch` has no value yet: it is calculated with while the workflow is being built"
    )


def test_a_step_of_another_workflow_is_refused() -> None:
    """A step belongs to one workflow: neither another one nor a plain call takes it."""
    leaked: list[Any] = []
    workflow(lambda x: leaked.append(fetch(x))).definition()
    assert _code(lambda _: fetch(leaked[0])) == "W151"
    with pytest.raises(WorkflowProblem) as caught:
        fetch(leaked[0])
    assert caught.value.code == "W151"


def test_a_name_is_given_once() -> None:
    """Two tasks may not be given the same name."""
    assert _code(lambda x: fetch.named("T1")(fetch.named("T1")(x))) == "W152"


@pytest.mark.parametrize("returned", [3, "x", {"a": 1}])
def test_a_workflow_returns_steps(returned: object) -> None:
    """What a workflow returns must be steps of it; an input is none."""
    with pytest.raises(WorkflowProblem) as caught:
        workflow(lambda _: returned).definition()
    assert caught.value.code == "W153"
    with pytest.raises(WorkflowProblem) as caught:
        workflow(lambda x: x).definition()
    assert caught.value.code == "W153"


def test_arguments_must_fit_the_function() -> None:
    """Arguments that the function does not take are refused when the workflow is built."""
    assert _code(lambda x: fetch(x, 2)) == "W154"
    assert _code(lambda x: fetch.each(x, other=2)) == "W154"
    assert _code(lambda _: fetch.each(3)) == "W154"
    assert _code(lambda _: fetch.each()) == "W154"


WRONG: dict[str, Callable[[Any], Any]] = {
    "an input": lambda x: attempt(x, otherwise=fetch(x)),
    "an item": lambda x: attempt(fetch(x)[0], otherwise=fetch(x)),
    "itself": lambda x: attempt(one := fetch(x), otherwise=one),
    "fewer exits": lambda x: attempt((fetch(x), fetch(x)), otherwise=(fetch(x),)),
    "twice on failure": lambda x: attempt(attempt(fetch(x), otherwise=1), otherwise=2),
    "one for two": lambda x: [attempt(fetch(x), otherwise=one) for one in [fetch(x)] * 2],
    "no condition": lambda x: attempt(fetch(x), otherwise=1, on="condition"),
    "condition unused": lambda x: attempt(fetch(x), otherwise=1, on="failure", when="result = 1"),
    "unknown trigger": lambda x: attempt(fetch(x), otherwise=1, on="rain"),  # type: ignore[arg-type]
    "watching a value": lambda x: attempt(fetch(x), otherwise=1, watch=3),
    "a function over lists": lambda x: fetch.otherwise(lambda url: url).each(x),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_alternatives_that_make_no_sense(wrong: str) -> None:
    """An alternative that could not be carried out is refused when it is declared."""
    assert _code(WRONG[wrong]) == "W155"


def test_what_belongs_in_a_workflow() -> None:
    """Attempts, calls over lists and commands do nothing outside a workflow."""
    outside: list[Callable[[], Any]] = [
        lambda: attempt(1, otherwise=2),
        lambda: fetch.each([1]),
        shell("ls"),
        lambda: fetch.otherwise(fetch)(1),
    ]
    codes = []
    for use in outside:
        with pytest.raises(WorkflowProblem) as caught:
            use()
        codes.append(caught.value.code)
    assert codes == ["W156"] * 4


def test_a_workflow_does_not_call_itself() -> None:
    """A workflow that is a task of itself, directly or not, would have no end."""

    @workflow
    def outer(x: Any) -> Any:
        return middle(x)

    @workflow
    def middle(x: Any) -> Any:
        return outer(x)

    with pytest.raises(WorkflowProblem) as caught:
        outer.definition()
    assert caught.value.code == "W157"


def test_inputs_have_names() -> None:
    """A workflow function takes named inputs only."""

    def body(*xs: Any) -> Any:
        return fetch(xs)

    with pytest.raises(WorkflowProblem) as caught:
        workflow(body).definition()
    assert caught.value.code == "W154"
