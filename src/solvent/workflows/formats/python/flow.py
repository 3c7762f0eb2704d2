"""The words for control flow in workflows written in Python.

    @workflow
    def order(text: str) -> str:
        request = read(text)
        simple, hard = answer(request), ask_expert(request)
        choose(request, ("size(result) < 100", simple), otherwise=hard)      # one of the two goes on
        return publish(any_of(simple, hard))                                # and starts this

Some words are handed to a call and say what starts it (`any_of`, `first_of`, `active_of`, `joined_by`, `all_threads`,
`signal_value`; also in `after`). All others take a step, say more about its task and give the step back. They only
fill the `Control` of tasks, where it is said what each part means. A condition is HOCL text about `result`, or a
function of it.

Calls over lists are the dot and the cross product.

    count.each(words)                     once for each word
    add.each(xs, ys)                      first with first, second with second
    add.cross(xs, ys)                     each with each, the last one changing fastest
    resize.each(images, width=100)        what is given by name stays the same in every call
    fit.cross(each(xs, ys), models)       groups nest

Lists are given by position, so that their order decides. The result is one list, in the order of the calls.
`Instances` is what `many` says: calls that need not all be waited for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Concatenate, Literal, TypeAlias, TypeVar, cast, overload

from msgspec.structs import replace

from solvent.workflows.formats.python.builder import Start, Step, builder_for, problem
from solvent.workflows.formats.python.collectors import SAME
from solvent.workflows.model import Arrived, Control, Each, Many, Result, Route, Signalled, Test, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from solvent.workflows.formats.python.builder import Builder

T = TypeVar("T")

When: TypeAlias = "str | Callable[[T], object]"
"""A condition: HOCL text about `result`, or a function of it."""

TAKEN = ("all", "any", "first", "active", "cancel", "threads")
"""Names that no pattern can have: the ways to join that every workflow has, and what files say beside them."""

# ------------------------------------------------------------------------------------------------- joins


def any_of(*steps: T) -> T:
    """Start the call that takes this once for each of the steps that arrives, with its result."""
    return cast("T", _join("any_of", steps, "one", join="any"))


# The type of a number that is not written out says nothing about it: then a list is expected.
@overload
def first_of(*steps: T, need: Literal[1] = 1, cancel: bool = False) -> T: ...  # type: ignore[overload-overlap]


@overload
def first_of(*steps: T, need: int, cancel: bool = False) -> list[T]: ...


def first_of(*steps: Any, need: int = 1, cancel: bool = False) -> Any:
    """Start the call with the first that arrives, or with the list of the first `need`; the rest is ignored.

    With `cancel` what is still at work on the other branches is cancelled.
    """
    _check_need("first_of", need, len(steps))
    return _join("first_of", steps, "one" if need == 1 else "all", join="first", need=need, cancels_rest=cancel)


def active_of(*steps: T) -> list[T]:
    """Start the call with the list of all that arrive, as soon as no other of the steps can still arrive."""
    return cast("list[T]", _join("active_of", steps, "all", join="active"))


def joined_by(pattern: str, *steps: T, need: int = 1) -> list[T]:
    """Start the call by the rules of a library that `@workflow(patterns={...})` names; `need` is a number for them."""
    known = builder_for("joined_by").patterns
    if pattern not in known:
        hint = f"it has {', '.join(known)}" if known else f'@workflow(patterns={{"{pattern}": "{pattern}.hocl"}})'
        raise problem("W154", f"the workflow has no pattern `{pattern}`", hint=hint)
    check_count("joined_by", need)
    return cast("list[T]", _join("joined_by", steps, "all", join=pattern, need=need))


def all_threads(step: T, count: int) -> list[T]:
    """Start the call with the list of so many results of one step, which arrive one after the other."""
    check_count("all_threads", count)
    return cast("list[T]", _join("all_threads", (step,), "all", threads=count))


def _join(word: str, steps: Sequence[object], which: Literal["one", "all"], **control: Any) -> Start:
    builder = builder_for(word)
    if not steps:
        raise problem("W154", f"`{word}` needs steps", hint=f"{word}(a, b)")
    sources = tuple(dict.fromkeys([_whole(builder, step, word) for step in steps]))
    common: dict[str, Any] = {"join": "all", "need": 1, "cancels_rest": False, "threads": 1}
    written = f"{word}({', '.join(sources)})"
    return Start(builder, Arrived(which), written, common | control, sources)


def _whole(builder: Builder, step: object, word: str) -> str:
    """Return the task of a step; an item of a result becomes a task of its own."""
    task = builder.task_of(step, f"`{word}`")
    if isinstance(step, Step) and step.argument != Result(task):
        return builder.task_of(builder.add_task(SAME, (step,)), word)
    return task


# ---------------------------------------------------------------------------------------- splits and loops


def choose(step: T, *routes: tuple[When[T], object], otherwise: object = None) -> T:
    """Go on with one step: that of the first condition that holds of the result, or `otherwise`."""
    return _split("choose", "one", step, routes, otherwise)


def choose_some(step: T, *routes: tuple[When[T], object], otherwise: object = None) -> T:
    """Go on with the steps of all conditions that hold of the result; with `otherwise` if none does."""
    return _split("choose_some", "some", step, routes, otherwise)


def deferred(step: T, *later: object) -> T:
    """Offer the result to several steps; the first that can start takes it, and the others lose it."""
    builder, task = _task("deferred", step)
    routes = [Route(_onward(builder, "deferred", task, one)) for one in later]
    _route(builder, task, "deferred", routes)
    return step


def repeat(last: T, *, back_to: object, when: When[T]) -> T:
    """Go back to an earlier step as long as a condition holds of the result, and onwards otherwise.

    The earlier step, or what stands in for it, is then called with the result of `last` in place of what it takes from
    the step before it.
    Inputs and constants stay the same.
    """
    builder, task = _task("repeat", last)
    first = _task("repeat", back_to)[1]
    refine(builder, task, again=Route(first, condition("repeat", when)))
    _enter(builder, first)
    return last


def _split(
    word: str, split: Literal["one", "some"], step: T, routes: Sequence[tuple[When[T], object]], otherwise: object
) -> T:
    builder, task = _task(word, step)
    found = []
    for route in routes:
        if type(route) is not tuple or len(route) != 2:
            hint = f'{word}(a, ("result > 0", b), otherwise=c)'
            raise problem("W155", f"`{word}` takes pairs of a condition and a step", hint=hint)
        test = condition(word, route[0])
        found.append(Route(_onward(builder, word, task, route[1]), test))
    if otherwise is not None:
        found.append(Route(_onward(builder, word, task, otherwise)))
    _route(builder, task, split, found)
    return step


def _route(builder: Builder, task: str, split: str, routes: Sequence[Route]) -> None:
    if not any(route.test is not None for route in routes) and split != "deferred":
        raise problem("W155", f"there is nothing to choose after `{task}`", hint="name conditions and steps after it")
    if len(routes) < 2 and split == "deferred":
        raise problem("W155", f"there is nothing to defer after `{task}`", hint="name two steps after it, or more")
    if len({route.task for route in routes}) < len(routes):
        raise problem("W155", f"`{task}` is to go on to one step twice", hint="give each step one condition")
    refine(builder, task, split=split, routes=tuple(routes))


def _onward(builder: Builder, word: str, task: str, later: object) -> str:
    """Return the task of a step that comes after a task, and see to it that it does; it may lie further back."""
    name = _task(word, later)[1]
    if task not in builder.task(name).sources:
        if _leads_to(builder, name, task):
            _enter(builder, name)
        else:
            wait_for(builder, name, task)
    return name


def _leads_to(builder: Builder, first: str, last: str) -> bool:
    todo, seen = [last], set[str]()
    while todo:
        name = todo.pop()
        if name == first:
            return True
        if name not in seen:
            seen.add(name)
            todo += builder.task(name).sources
    return False


def _enter(builder: Builder, first: str) -> None:
    """Let a task be started by a way back too: by whatever arrives, if so far it waits for a step before it."""
    task = builder.task(first)
    control = task.control or Control()
    if control.join == "any":
        builder.enter(first)
    if control.join != "all":
        return
    if len(task.sources) > 1 or task.items or control.threads > 1:
        does = (
            f"takes an item of `{task.items[0].task}`"
            if task.items
            else f"waits for all of `{'`, `'.join(task.sources)}`"
        )
        raise problem(
            "W155",
            f"`{first}` {does}, and a way back to it brings one result",
            hint="put a step before it that gathers what it needs, and go back to that",
        )
    refine(builder, first, join="any")
    builder.enter(first)


def threads(step: T, count: int) -> T:
    """Pass the result on so many times, as if the step had been done so often."""
    check_count("threads", count)
    return _refined("threads", step, copies=count)


# --------------------------------------------------------------------------------------- locks and signals


def locked(step: T, *locks: str) -> T:
    """Hold locks while the step is at work; steps that need the same lock wait for each other."""
    _check_names("locked", locks)
    return _refined("locked", step, takes=locks, gives=locks)


def section(lock: str, first: object, last: T) -> T:
    """Hold a lock from the start of one step to the end of another."""
    _check_names("section", (lock,))
    _refined("section", first, takes=(lock,))
    return _refined("section", last, gives=(lock,))


def waits_for(step: T, signal: str, *, transient: bool = False) -> T:
    """Let a step start only with a signal, which is lost if it comes too early and is `transient`."""
    _check_names("waits_for", (signal,))
    return _refined("waits_for", step, signal=signal, is_transient=transient)


def signal_value(signal: str, *, transient: bool = False) -> Any:
    """Start the call that takes this only with a signal (`waits_for`), and hand over what came with it."""
    _check_names("signal_value", (signal,))
    demands = {"signal": signal, "is_transient": transient}
    return Start(builder_for("signal_value"), Signalled(), f"signal_value({signal})", demands)


def sends(step: T, *signals: str) -> T:
    """Send signals when the step is done."""
    _check_names("sends", signals)
    return _refined("sends", step, sends=signals)


def milestone(step: T, *, after: object, before: object) -> T:
    """Let a step start only while one other is done and another has not started."""
    return _refined("milestone", step, during=(_task("milestone", after)[1], _task("milestone", before)[1]))


# ------------------------------------------------------------------------------------------------- endings


def cancels(step: T, *others: object) -> T:
    """Withdraw other steps when this one is done: they do not start any more, and what they do is ended."""
    return _refined("cancels", step, cancels=_tasks("cancels", others))


def completes(step: T, *others: object) -> T:
    """Let steps of several instances (`service.many`) go on with the results they have when this one is done."""
    builder, names = builder_for("completes"), _tasks("completes", others)
    for name in names:
        control = builder.task(name).control
        if control is None or control.many is None:
            raise problem("W155", f"`{name}` has no instances to complete", hint="call it with service.many(...)")
    return _refined("completes", step, completes=names)


def ends(step: T, *, cancelled: bool = False) -> T:
    """Let the whole workflow be over when the step is done: with success, or cancelled."""
    return _refined("ends", step, ends="cancelled" if cancelled else "case")


# --------------------------------------------------------------------------------------- what words share

_GROWING = ("takes", "gives", "sends", "cancels", "completes")

_SAID = {
    "split": "a split",
    "again": "a way back",
    "copies": "a number of threads",
    "signal": "a signal that it waits for",
    "during": "a milestone",
    "ends": "an ending",
}


def refine(builder: Builder, task: str, **changes: Any) -> None:
    """Refine a task; refuse what can be said once only and was said differently."""
    before = builder.task(task).control or Control()
    once = [key for key in changes if key not in _GROWING]
    differs = any(getattr(before, key) != changes[key] for key in once)
    if differs and any(getattr(before, key) != getattr(Control(), key) for key in once):
        said = next((_SAID[key] for key in once if key in _SAID), "another one")
        raise problem("W155", f"`{task}` has {said} already", hint="say it once, or put another step between")
    grown = {key: tuple(dict.fromkeys([*getattr(before, key), *changes[key]])) for key in changes if key in _GROWING}
    control = replace(before, **{**changes, **grown})
    builder.change(task, control=None if control == Control() else control)


def wait_for(builder: Builder, task: str, source: str) -> None:
    """Add an arc that carries no argument, unless there is one already."""
    if source not in builder.task(task).sources:
        builder.change(task, after=(*builder.task(task).after, source))


def condition(word: str, when: object) -> Test:
    """Make a condition of HOCL text or of a function."""
    if isinstance(when, str) and when.strip():
        return Test(when=when)
    if callable(when) and not isinstance(when, Step):
        return Test(predicate=when)
    raise problem(
        "W155", f"`{word}` has no condition", hint='give HOCL text such as "result < 0.9", or a function of the result'
    )


def _task(word: str, step: object) -> tuple[Builder, str]:
    """Return the builder and the task of a whole step."""
    builder = builder_for(word)
    task = builder.task_of(step, f"`{word}`")
    if isinstance(step, Step) and step.argument != Result(task):
        raise problem("W155", f"`{word}` takes whole steps, not {step!r}", hint="give what the call returned")
    return builder, task


def _tasks(word: str, steps: Sequence[object]) -> tuple[str, ...]:
    if not steps:
        raise problem("W155", f"`{word}` needs other steps", hint=f"{word}(step, other)")
    return tuple([_task(word, one)[1] for one in steps])


def _refined(word: str, step: T, **changes: Any) -> T:
    builder, task = _task(word, step)
    refine(builder, task, **changes)
    return step


def _check_names(word: str, names: Sequence[object]) -> None:
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise problem("W155", f"`{word}` needs a name", hint='a text, such as "printer"')


def check_count(word: str, count: object) -> None:
    """Refuse what is no number from 1 on."""
    if type(count) is not int or count < 1:
        raise problem("W155", f"`{word}` is given {count!r} as a number", hint="give a number from 1 on")


def _check_need(word: str, need: object, count: int) -> None:
    check_count(word, need)
    if isinstance(need, int) and need > count:
        raise problem("W155", f"`{word}` needs {need} of {count} steps", hint="`need` is at most as many")


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
        """Apply it to a task."""
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
        """Return where the number of calls comes from; the task waits for a step that gives it."""
        if isinstance(self._count, Start):
            raise problem("W154", f"{self._count!r} is no number of calls", hint="let a step take it and give one")
        number = builder.argument(self._count)
        if isinstance(number, Result):
            wait_for(builder, task, number.task)
        return number


__all__ = [
    "TAKEN",
    "EachMethods",
    "Instances",
    "When",
    "active_of",
    "all_threads",
    "any_of",
    "cancels",
    "choose",
    "choose_some",
    "completes",
    "cross",
    "deferred",
    "each",
    "ends",
    "first_of",
    "joined_by",
    "locked",
    "milestone",
    "positions",
    "repeat",
    "section",
    "sends",
    "signal_value",
    "threads",
    "waits_for",
]
