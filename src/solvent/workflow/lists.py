"""Calls over lists, for workflows written in Python: the dot and the cross product.

    count.each(words)                     once for each word
    add.each(xs, ys)                      first with first, second with second
    add.cross(xs, ys)                     each with each, the last one changing fastest
    resize.each(images, width=100)        what is given by name stays the same in every call
    fit.cross(each(xs, ys), models)       groups nest

Lists are given by position, so that their order decides. The result is one list, in the order of the calls.
`Instances` is what `many` says: calls that need not all be waited for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Concatenate, Literal, TypeVar, overload

from msgspec.structs import replace

from solvent.workflow.control import Many
from solvent.workflow.flow import check_count, condition, refine, wait_for
from solvent.workflow.model import Each, Result, Value
from solvent.workflow.steps import Start, Step, problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solvent.workflow.building import Builder

R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")

How = Literal["dot", "cross"]


class Group:
    """Some lists that are combined before they are combined with others."""

    def __init__(self, how: How, lists: tuple[Any, ...]) -> None:
        self.how: How = how
        self.lists = lists


def each(*lists: Iterable[Any] | Group) -> Group:
    """Combine lists first with first, second with second, inside a larger combination."""
    return Group("dot", lists)


def cross(*lists: Iterable[Any] | Group) -> Group:
    """Combine lists each with each, inside a larger combination."""
    return Group("cross", lists)


def positions(how: How, lists: tuple[Any, ...]) -> tuple[tuple[Any, ...], Each]:
    """Put the lists of nested groups into one row and say how they are combined."""
    row: list[Any] = []

    def over(how: How, lists: tuple[Any, ...]) -> Each:
        parts: list[int | Each] = []
        for one in lists:
            if isinstance(one, Group):
                parts.append(over(one.how, one.lists))
                continue
            parts.append(len(row))
            row.append(_a_list(one))
        if not parts:
            raise problem("W154", "a call over lists needs a list", hint="count.each(words)")
        return Each(how, tuple(parts))

    combined = over(how, lists)
    return tuple(row), combined


def _a_list(value: Any) -> Any:
    if isinstance(value, Step | list | tuple):
        return value
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        raise problem(
            "W154",
            f"{value!r} is no list to take items from",
            hint="give what stays the same in every call by name: resize.each(images, width=100)",
        )
    return list(value)


class EachMethods:
    """The two methods, typed: the items of the lists must fit the parameters of the function.

    The typing asks only what the parameters at the lists' positions are; whether all others are given is found when
    the workflow is built.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it once."""
        raise NotImplementedError

    @overload
    def each(self: Callable[Concatenate[A, ...], R], a: Iterable[A], /, **same: Any) -> list[R]: ...
    @overload
    def each(self: Callable[Concatenate[A, B, ...], R], a: Iterable[A], b: Iterable[B], /, **same: Any) -> list[R]: ...
    @overload
    def each(
        self: Callable[Concatenate[A, B, C, ...], R], a: Iterable[A], b: Iterable[B], c: Iterable[C], /, **same: Any
    ) -> list[R]: ...
    @overload
    def each(self: Callable[..., R], group: Group, /, *lists: Any, **same: Any) -> list[R]: ...
    @overload
    def each(self: Callable[..., R], a: Any, group: Group, /, *lists: Any, **same: Any) -> list[R]: ...
    @overload
    def each(self: Callable[..., R], a: Any, b: Any, c: Any, d: Any, /, *lists: Any, **same: Any) -> list[R]: ...
    # mypy compares this `self` with the callables above, although every instance is one of them.
    def each(self, *lists: Any, **same: Any) -> Any:  # type: ignore[misc]
        """Call once for the first items of all lists, once for the second items, and so on."""
        return self._build_each("dot", lists, same)

    @overload
    def cross(self: Callable[Concatenate[A, ...], R], a: Iterable[A], /, **same: Any) -> list[R]: ...
    @overload
    def cross(self: Callable[Concatenate[A, B, ...], R], a: Iterable[A], b: Iterable[B], /, **same: Any) -> list[R]: ...
    @overload
    def cross(
        self: Callable[Concatenate[A, B, C, ...], R], a: Iterable[A], b: Iterable[B], c: Iterable[C], /, **same: Any
    ) -> list[R]: ...
    @overload
    def cross(self: Callable[..., R], group: Group, /, *lists: Any, **same: Any) -> list[R]: ...
    @overload
    def cross(self: Callable[..., R], a: Any, group: Group, /, *lists: Any, **same: Any) -> list[R]: ...
    @overload
    def cross(self: Callable[..., R], a: Any, b: Any, c: Any, d: Any, /, *lists: Any, **same: Any) -> list[R]: ...
    def cross(self, *lists: Any, **same: Any) -> Any:  # type: ignore[misc]
        """Call once for each combination of items, the last list changing fastest."""
        return self._build_each("cross", lists, same)

    def _build_each(self, how: How, lists: tuple[Any, ...], same: dict[str, Any]) -> Any:
        raise NotImplementedError


class Instances:
    """Several calls of a service for each start of a task, as `many` says it."""

    def __init__(
        self,
        count: object = None,
        *,
        over: int | None = None,
        need: int | None = None,
        cancel: bool = False,
        apart: bool = False,
        more: object = None,
        enough: object = None,
    ) -> None:
        if (count is None) == (over is None):
            raise problem("W154", "`many` takes a number of calls or a list", hint="give `count` or `over`")
        if apart and (need is not None or cancel or enough is not None):
            raise problem("W154", "calls that are `apart` are not waited for", hint="leave the other options out")
        for number in (count, need):
            if number is not None and not isinstance(number, Step):
                check_count("many", number)
        self._count = count
        self._many = Many(
            over=over,
            need=need,
            apart=apart,
            cancels=cancel,
            more=None if more is None else condition("many", more),
            enough=None if enough is None else condition("many", enough),
        )

    def put(self, builder: Builder, task: str) -> None:
        """Say it of a task."""
        many = self._many
        if self._count is not None:
            many = replace(many, count=self._number(builder, task))
        elif many.over is not None:
            slots = builder.task(task).slots
            slot = slots[many.over] if type(many.over) is int and 0 <= many.over < len(slots) else Value(None)
            if isinstance(slot, Value) and not isinstance(slot.value, list | tuple):
                raise problem(
                    "W154", f"`{task}` has no list as its argument {many.over}", hint="arguments count from 0"
                )
        refine(builder, task, many=many)

    def _number(self, builder: Builder, task: str) -> Any:
        """Say where the number of calls comes from; the task waits for a step that gives it."""
        if isinstance(self._count, Start):
            raise problem("W154", f"{self._count!r} is no number of calls", hint="let a step take it and give one")
        number = builder.argument(self._count)
        if isinstance(number, Result):
            wait_for(builder, task, number.task)
        return number


__all__ = ["EachMethods", "Group", "Instances", "cross", "each", "positions"]
