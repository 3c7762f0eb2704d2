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
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast, overload

from msgspec.structs import replace

from solvent.workflow.building import builder_for
from solvent.workflow.collecting import SAME
from solvent.workflow.control import Control, Route, Test
from solvent.workflow.model import Arrived, Result, Signalled
from solvent.workflow.steps import Start, Step, problem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent.workflow.building import Builder

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
    """Give the task of a step; an item of a result becomes a task of its own."""
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

    The earlier step is then called with the result of `last` in place of what it takes from the step before it.
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
    """Give the task of a step that comes after a task, and see to it that it does; it may lie further back."""
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
    if control.join != "all":
        return
    items = [slot for slot in task.slots if isinstance(slot, Result) and slot.item is not None]
    if len(task.sources) > 1 or items or control.threads > 1:
        does = f"takes an item of `{items[0].task}`" if items else f"waits for all of `{'`, `'.join(task.sources)}`"
        raise problem(
            "W155",
            f"`{first}` {does}, and a way back to it brings one result",
            hint="put a step before it that gathers what it needs, and go back to that",
        )
    refine(builder, first, join="any")
    arrived = {Result(source): Arrived("one") for source in task.sources}
    builder.change(
        first,
        arguments=tuple([arrived.get(slot, slot) if isinstance(slot, Result) else slot for slot in task.arguments]),
        keywords={
            key: arrived.get(slot, slot) if isinstance(slot, Result) else slot for key, slot in task.keywords.items()
        },
        after=task.sources,
    )


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
    """Say more about a task; what can be said once only and was said differently is refused."""
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
    """Give the builder and the task of a whole step."""
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


__all__ = [
    "TAKEN", "When", "active_of", "all_threads", "any_of", "cancels", "check_count", "choose", "choose_some",
    "completes", "condition", "deferred", "ends", "first_of", "joined_by", "locked", "milestone", "refine", "repeat",
    "section", "sends", "signal_value", "threads", "wait_for", "waits_for",
]  # fmt: skip
