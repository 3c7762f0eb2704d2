"""Inputs, arguments and results are what annotations say: data becomes the classes that it stands for."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from pydantic import BaseModel

import solvent
from solvent import RunFailed, WorkflowProblem, service, workflow
from solvent.workflows.inputs import typed_inputs

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Item:
    """A dataclass inside another class."""

    name: str
    count: int = 1


class Order(msgspec.Struct):
    """A struct."""

    items: list[Item]
    when: dt.date | None = None


class Offer(BaseModel):
    """A model of pydantic."""

    price: float


@service
def look_at(*values: Any) -> list[Any]:
    """Return what comes in."""
    return list(values)


@workflow
def everything(  # noqa: PLR0917 - one of each type
    n: int, x: float, name: str, path: Path, order: Order, offer: Offer, other: Any = None
) -> list[Any]:
    """Take inputs of many types."""
    return look_at(n, x, name, path, order, offer, other)


GIVEN: dict[str, Any] = {
    "n": 3,
    "x": 2,
    "name": "a",
    "path": "a/b",
    "order": {"items": [{"name": "pen"}], "when": "2026-11-19"},
    "offer": {"price": 1.5},
    "other": {"a": 1},
}
TYPED = [3, 2.0, "a", Path("a/b"), Order([Item("pen")], dt.date(2026, 11, 19)), Offer(price=1.5), {"a": 1}]


def test_inputs_are_what_annotations_say() -> None:
    """Dates, paths, dataclasses, structs and models are made of plain data, also one inside the other."""
    found = solvent.run(everything, GIVEN).value
    assert found == TYPED
    assert [type(one) for one in found] == [type(one) for one in TYPED]


def test_instances_are_taken_as_they_are() -> None:
    """Python code gives the classes themselves, and what no JSON can hold is not looked at."""
    order = Order([])
    given = {**GIVEN, "order": order, "path": Path("c"), "x": 3, "n": range(3)}
    found = typed_inputs(everything.definition(), given)
    assert found["order"] is order
    assert (found["path"], found["n"]) == (Path("c"), range(3))


@pytest.mark.parametrize(
    "name, value, says",
    [
        ("n", "abc", "`n` is to be `int`: expected `int`, got `str`"),
        ("n", True, "`n` is to be `int`: expected `int`, got `bool`"),
        ("order", {"items": [{"name": 3}]}, r"is to be `Order`: expected `str`, got `int` - at `\$.items\[0\].name`"),
        ("offer", {}, "`offer` is to be `Offer`: 1 validation error for Offer"),
    ],
)  # fmt: skip
def test_an_input_of_another_type_is_refused(name: str, value: Any, says: str) -> None:
    """The error names the input, its type and the place in it, before anything runs."""
    with pytest.raises(WorkflowProblem, match=says) as caught:
        solvent.run(everything, {**GIVEN, name: value})
    assert caught.value.code == "W212"


def test_a_text_stands_for_itself_where_one_is_wanted() -> None:
    """What is a number in JSON is a text where the workflow takes one; an option that stands for nothing is named."""
    definition = everything.definition()
    assert typed_inputs(definition, {"name": 3, "n": 3}, {"name": "3", "n": "3"}) == {"name": "3", "n": 3}
    with pytest.raises(WorkflowProblem, match=r"`--input n=abc` is to be `int`: expected `int`, got `str`$"):
        typed_inputs(definition, {"n": "abc"}, {"n": "abc"})


def test_annotations_that_do_not_read_say_nothing() -> None:
    """A name that only a type checker knows is no error of who runs the workflow."""

    @workflow
    def flow(n: Unknown) -> list[Any]:  # type: ignore[name-defined]  # noqa: F821 - that is the point
        return look_at(n)

    assert solvent.run(flow, {"n": "abc"}).value == ["abc"]


@service
def answer() -> dict[str, Any]:
    """Return data, as a service over HTTP does."""
    return {"items": [{"name": "pen", "count": 2}]}


@service
def count(order: Order, *, extra: list[Item]) -> int:
    """Take what the data stands for."""
    return sum(one.count for one in [*order.items, *extra])


@workflow
def counting(extra: Any) -> int:
    """Pass data to a function that takes classes."""
    return count(answer(), extra=extra)


@pytest.mark.parametrize("options", [{}, {"processes": True}])
def test_data_becomes_what_a_function_takes(options: dict[str, Any], tmp_path: Path) -> None:
    """In one process, recorded, and in worker processes; data that does not fit fails the call."""
    extra = [{"name": "ink", "count": 3}]
    assert solvent.run(counting, {"extra": extra}, **options).value == 5
    assert solvent.run(counting, {"extra": extra}, store=str(tmp_path / "runs.db"), **options).value == 5
    with pytest.raises(RunFailed, match=r"its argument `extra` is no `list\[.*Item\]`: expected `str`, got `int`"):
        solvent.run(counting, {"extra": [{"name": 1}]}, **options)


@service(check=True)
def made(value: Any) -> list[Item]:
    """Return what may be something else."""
    return value  # type: ignore[no-any-return]


@service(check=True)
async def made_later(value: Any) -> int:
    """Return what may be something else."""
    return value  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "called, good, wanted, bad, says",
    [
        (made, [{"name": "a"}], [Item("a")], [{"name": 1}], r"is no `list\[.*Item\]`: expected `str`, got `int`"),
        (made_later, 3, 3, "3", "its result is no `int`: expected `int`, got `str`"),
    ],
)  # fmt: skip
def test_results_are_checked_where_that_is_asked(
    called: Callable[[Any], Any], good: Any, wanted: Any, bad: Any, says: str
) -> None:
    """A result becomes what the annotation says, or fails the call."""

    @workflow
    def flow(value: Any) -> Any:
        return called(value)

    assert solvent.run(flow, {"value": good}).value == wanted
    with pytest.raises(RunFailed, match=says):
        solvent.run(flow, {"value": bad})


def test_what_is_not_annotated_cannot_be_checked() -> None:
    """The error comes when the service is made."""
    with pytest.raises(WorkflowProblem, match="nothing says what `f` returns"):

        @service(check=True)
        def f(x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - that is the point
            return x
