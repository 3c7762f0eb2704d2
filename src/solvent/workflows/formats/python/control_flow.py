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

from solvent.workflows.durations import DURATION_RULE, seconds_of
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
    """Start the step that takes this once for each of the given steps that finishes, with its result.

    Returns what the step takes; may also stand in `after(...)` and in the workflow's `return`.

    Raises `WorkflowProblem`: W156 outside a workflow, W154 without steps.

    >>> from solvent import any_of, run, service, workflow
    >>> upper, lower, strip = service(str.upper), service(str.lower), service(str.strip)
    >>> @workflow
    ... def both(text: str) -> str:
    ...     return strip(any_of(upper(text), lower(text)))
    >>> run(both, {"text": " Hi "}).calls["strip"]
    2
    """
    return cast("T", _join("any_of", steps, "one", join="any"))


# The type of a number that is not written out says nothing about it: then a list is expected.
@overload
def first_of(*steps: T, need: Literal[1] = 1, cancel: bool = False) -> T: ...  # type: ignore[overload-overlap]


@overload
def first_of(*steps: T, need: int, cancel: bool = False) -> list[T]: ...


def first_of(*steps: Any, need: int = 1, cancel: bool = False) -> Any:
    """Start the step that takes this with the first result that arrives, or with the list of the first `need`.

    Later results are ignored. With `cancel=True` the other steps are cancelled.

    Raises `WorkflowProblem`: W156 outside a workflow, W155 if `need` exceeds the number of steps.

    >>> from solvent import first_of, run, service, workflow
    >>> near, far, strip = service(str.upper), service(str.upper), service(str.strip)
    >>> @workflow
    ... def fastest(text: str) -> str:
    ...     return strip(first_of(near.named("near")(text), far.named("far")(text)))
    >>> run(fastest, {"text": " hi "}).results
    {'strip': 'HI'}
    """
    _check_need("first_of", need, len(steps))
    return _join("first_of", steps, "one" if need == 1 else "all", join="first", need=need, cancels_rest=cancel)


def active_of(*steps: T) -> list[T]:
    """Start the step that takes this with the list of results that arrived, once no other can still arrive.

    Use it after `choose_some`, where only some branches run.

    Raises `WorkflowProblem`: W156 outside a workflow, W154 without steps.

    >>> from solvent import active_of, choose_some, run, service, workflow
    >>> size, upper, lower, join = service(len), service(str.upper), service(str.lower), service(sorted)
    >>> @workflow
    ... def some(text: str) -> list[str]:
    ...     length, loud, quiet = size(text), upper(text), lower(text)
    ...     choose_some(length, ("result > 1", loud), ("result > 9", quiet))
    ...     return join(active_of(loud, quiet))
    >>> run(some, {"text": "Hello"}).results
    {'sorted': ['HELLO']}
    """
    return cast("list[T]", _join("active_of", steps, "all", join="active"))


def joined_by(pattern: str, *steps: T, need: int = 1) -> list[T]:
    """Start the step that takes this by the rules of a library of your own.

    `pattern` is a name that `@workflow(patterns={...})` gives to a HOCL file; `need` is a number that its rules can
    use. The step takes the list of results that the rules let through. See "Write a pattern of your own" in the
    documentation.

    Raises `WorkflowProblem`: W154 if the workflow has no pattern of that name, W156 outside a workflow.

    >>> from solvent import joined_by, service, workflow
    >>> upper, lower, join = service(str.upper), service(str.lower), service(sorted)
    >>> @workflow(patterns={"majority": "majority.hocl"})
    ... def vote(text: str) -> list[str]:
    ...     return join(joined_by("majority", upper(text), lower(text), need=2))
    >>> vote.definition().task("sorted").control.join
    'majority'
    """
    known = builder_for("joined_by").patterns
    if pattern not in known:
        hint = f"it has {', '.join(known)}" if known else f'@workflow(patterns={{"{pattern}": "{pattern}.hocl"}})'
        raise problem("W154", f"the workflow has no pattern `{pattern}`", hint=hint)
    check_count("joined_by", need)
    return cast("list[T]", _join("joined_by", steps, "all", join=pattern, need=need))


def all_threads(step: T, count: int) -> list[T]:
    """Start the step that takes this with the list of `count` results of one step, which arrive one after the other.

    The step must deliver that many results: see `threads`, and `ServiceFunction.many` with `apart=True`.

    Raises `WorkflowProblem`: W155 if `count` is not a positive integer, W156 outside a workflow.

    >>> from solvent import all_threads, run, service, threads, workflow
    >>> upper, join = service(str.upper), service("-".join)
    >>> @workflow
    ... def twice(text: str) -> str:
    ...     return join(all_threads(threads(upper(text), 2), 2))
    >>> run(twice, {"text": "ab"}).results
    {'join': 'AB-AB'}
    """
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
    """Continue with one step: the one of the first condition that holds for the result, or `otherwise`.

    - `step`: the step whose result decides.
    - `routes`: pairs of a condition and the step to continue with. A condition is HOCL text about `result`, or a
      function of the result.
    - `otherwise`: the step to continue with if no condition holds; without it the step fails then.

    A chosen step that comes before `step` makes a loop. Returns `step`.

    Raises `WorkflowProblem`: W155 for a route that is not such a pair, W156 outside a workflow.

    >>> from solvent import any_of, choose, run, service, workflow
    >>> size, upper, lower, strip = service(len), service(str.upper), service(str.lower), service(str.strip)
    >>> @workflow
    ... def shout(text: str) -> str:
    ...     length, loud, quiet = size(text), upper(text), lower(text)
    ...     choose(length, ("result < 5", loud), otherwise=quiet)
    ...     return strip(any_of(loud, quiet))
    >>> run(shout, {"text": "Hi"}).results
    {'strip': 'HI'}
    """
    return _split("choose", "one", step, routes, otherwise)


def choose_some(step: T, *routes: tuple[When[T], object], otherwise: object = None) -> T:
    """Continue with all steps whose conditions hold for the result, or with `otherwise` if none holds.

    Arguments are those of `choose`; join the branches by `active_of`. Returns `step`.

    Raises `WorkflowProblem`: W155 for a route that is not a pair of condition and step, W156 outside a workflow.

    >>> from solvent import choose_some, run, service, workflow
    >>> size, upper, lower = service(len), service(str.upper), service(str.lower)
    >>> @workflow
    ... def some(text: str) -> tuple[str, str]:
    ...     length, loud, quiet = size(text), upper(text), lower(text)
    ...     choose_some(length, (lambda n: n > 1, loud), (lambda n: n > 9, quiet))
    ...     return loud, quiet
    >>> run(some, {"text": "Hello"}).results
    {'upper': 'HELLO'}
    """
    return _split("choose_some", "some", step, routes, otherwise)


def deferred(step: T, *later: object) -> T:
    """Offer the result to several steps: the first that can start takes it, the others do not run.

    What each of them waits for besides `step` decides, such as a signal. Returns `step`.

    Raises `WorkflowProblem`: W155 for fewer than two steps, W156 outside a workflow.

    >>> from solvent import deferred, run, service, waits_for, workflow
    >>> ask, accept, reject = service(str.strip), service(str.upper), service(str.lower)
    >>> @workflow
    ... def decide(text: str) -> tuple[str, str]:
    ...     question = ask(text)
    ...     yes, no = waits_for(accept(question), "yes"), waits_for(reject(question), "no")
    ...     deferred(question, yes, no)
    ...     return yes, no
    >>> run(decide, {"text": "Ship it?"}, signals=[(0.0, "yes", None)]).results
    {'upper': 'SHIP IT?'}
    """
    builder, task = _task("deferred", step)
    routes = [Route(_onward(builder, "deferred", task, one)) for one in later]
    _route(builder, task, "deferred", routes)
    return step


def repeat(last: T, *, back_to: object, when: When[T], max_rounds: int | None = None) -> T:
    """Go back to an earlier step while a condition holds for the result; continue otherwise.

    - `last`: the step whose result decides.
    - `back_to`: the step to repeat from. It is called with the result of `last` in place of the result it took before;
      inputs and constants stay the same.
    - `when`: HOCL text about `result`, or a function of the result.
    - `max_rounds`: how often `last` may be done. If it is to be repeated after that, it fails, and an alternative may
      take over.

    Returns `last`.

    Raises `WorkflowProblem`: W155 without a condition, for a number below 1, or if `back_to` waits for several steps;
    W156 outside a workflow.

    >>> from solvent import repeat, run, service, workflow
    >>> size = service(len)
    >>> @service
    ... def double(number: int) -> int:
    ...     return 2 * number
    >>> @workflow
    ... def grow(text: str) -> int:
    ...     return repeat(step := double(size(text)), back_to=step, when="result < 50")
    >>> run(grow, {"text": "abc"}).results
    {'double': 96}
    """
    builder, task = _task("repeat", last)
    first = _task("repeat", back_to)[1]
    if max_rounds is not None:
        check_count("repeat", max_rounds)
    refine(builder, task, again=Route(first, condition("repeat", when)), max_rounds=max_rounds)
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
    """Pass the result on `count` times, as if the step had run that often. Returns `step`.

    Raises `WorkflowProblem`: W155 if `count` is not a positive integer, W156 outside a workflow.

    >>> from solvent import any_of, run, service, threads, workflow
    >>> upper, strip = service(str.upper), service(str.strip)
    >>> @workflow
    ... def thrice(text: str) -> str:
    ...     return strip(any_of(threads(upper(text), 3)))
    >>> run(thrice, {"text": "hi"}).calls
    {'upper': 1, 'strip': 3}
    """
    check_count("threads", count)
    return _refined("threads", step, copies=count)


# --------------------------------------------------------------------------------------- locks and signals


def locked(step: T, *locks: str) -> T:
    """Hold locks while the step runs: steps that hold the same lock do not run at the same time. Returns `step`.

    `@workflow(locks={"line": 2})` lets two steps hold a lock at once.

    Raises `WorkflowProblem`: W155 if a name is missing or not text, W156 outside a workflow.

    >>> from solvent import locked, run, service, workflow
    >>> upper, lower = service(str.upper), service(str.lower)
    >>> @workflow
    ... def in_turns(text: str) -> tuple[str, str]:
    ...     return locked(upper(text), "printer"), locked(lower(text), "printer")
    >>> run(in_turns, {"text": "Hi"}).succeeded
    True
    """
    _check_names("locked", locks)
    return _refined("locked", step, takes=locks, gives=locks)


def section(lock: str, first: object, last: T) -> T:
    """Hold a lock from the start of step `first` to the end of step `last`. Returns `last`.

    Raises `WorkflowProblem`: W155 if the name is not text, W156 outside a workflow.

    >>> from solvent import run, section, service, workflow
    >>> upper, strip = service(str.upper), service(str.strip)
    >>> @workflow
    ... def exclusive(text: str) -> str:
    ...     return section("printer", first := upper(text), strip(first))
    >>> run(exclusive, {"text": " Hi "}).results
    {'strip': 'HI'}
    """
    _check_names("section", (lock,))
    _refined("section", first, takes=(lock,))
    return _refined("section", last, gives=(lock,))


def waits_for(step: T, signal: str, *, transient: bool = False, timeout: str | float | None = None) -> T:
    """Let a step start only after a signal has arrived. Returns `step`.

    A signal comes from a step (`sends`), or from outside (`solvent signal`, `run(..., signals=...)`). With
    `transient=True` it is lost if it arrives before the step could start otherwise. If it does not come within
    `timeout` (seconds, or a text such as `"1h"`) the step fails, and an alternative may take over.

    Raises `WorkflowProblem`: W155 if the name is not text or the time-out no duration, W156 outside a workflow.

    >>> from solvent import run, service, waits_for, workflow
    >>> upper = service(str.upper)
    >>> @workflow
    ... def approved(text: str) -> str:
    ...     return waits_for(upper(text), "go")
    >>> run(approved, {"text": "hi"}, signals=[(0.0, "go", None)]).results
    {'upper': 'HI'}
    """
    _check_names("waits_for", (signal,))
    return _refined("waits_for", step, signal=signal, is_transient=transient, timeout=_seconds(timeout))


def _seconds(timeout: str | float | None) -> float | None:
    seconds = seconds_of(timeout)
    if timeout is not None and not seconds:
        raise problem("W155", f"{timeout!r} is no duration", hint=DURATION_RULE)
    return seconds


def signal_value(signal: str, *, transient: bool = False, timeout: str | float | None = None) -> Any:
    """Start the step that takes this when a signal arrives, with the value that came with it.

    With `transient=True` a signal that arrives too early is lost; after `timeout` the step fails, as in `waits_for`.

    Raises `WorkflowProblem`: W155 if the name is not text or the time-out no duration, W156 outside a workflow.

    >>> from solvent import run, service, signal_value, workflow
    >>> upper = service(str.upper)
    >>> @workflow
    ... def answered() -> str:
    ...     return upper(signal_value("answer"))
    >>> run(answered, signals=[(0.0, "answer", "yes")]).results
    {'upper': 'YES'}
    """
    _check_names("signal_value", (signal,))
    demands = {"signal": signal, "is_transient": transient, "timeout": _seconds(timeout)}
    return Start(builder_for("signal_value"), Signalled(), f"signal_value({signal})", demands)


def sends(step: T, *signals: str) -> T:
    """Send signals when the step is done; steps under `waits_for` start by them. Returns `step`.

    Raises `WorkflowProblem`: W155 if a name is missing or not text, W156 outside a workflow.

    >>> from solvent import run, sends, service, waits_for, workflow
    >>> upper, lower = service(str.upper), service(str.lower)
    >>> @workflow
    ... def ordered(text: str) -> str:
    ...     sends(upper(text), "ready")
    ...     return waits_for(lower(text), "ready")
    >>> run(ordered, {"text": "Hi"}).states
    {'upper': 'done', 'lower': 'done'}
    """
    _check_names("sends", signals)
    return _refined("sends", step, sends=signals)


def milestone(step: T, *, after: object, before: object) -> T:
    """Let a step start only while step `after` is done and step `before` has not started. Returns `step`.

    Raises `WorkflowProblem`: W155 for something that is not a whole step, W156 outside a workflow.

    >>> from solvent import milestone, run, service, workflow
    >>> order, change, ship = service(str.strip), service(str.upper), service(str.lower)
    >>> @workflow
    ... def shop(text: str) -> tuple[str, str]:
    ...     ordered, changed = order(text), change(text)
    ...     shipped = ship.after(changed)(ordered)
    ...     return milestone(changed, after=ordered, before=shipped), shipped
    >>> run(shop, {"text": " Tea "}).states
    {'strip': 'done', 'upper': 'done', 'lower': 'done'}
    """
    return _refined("milestone", step, during=(_task("milestone", after)[1], _task("milestone", before)[1]))


# ------------------------------------------------------------------------------------------------- endings


def cancels(step: T, *others: object) -> T:
    """Cancel other steps when this one is done: they do not start any more, and running calls end. Returns `step`.

    Raises `WorkflowProblem`: W155 without other steps, W156 outside a workflow.

    >>> from solvent import cancels, run, service, waits_for, workflow
    >>> upper, lower = service(str.upper), service(str.lower)
    >>> @workflow
    ... def either(text: str) -> str:
    ...     late = waits_for(lower(text), "never sent")
    ...     return cancels(upper(text), late)
    >>> run(either, {"text": "Hi"}).results
    {'upper': 'HI'}
    """
    return _refined("cancels", step, cancels=_tasks("cancels", others))


def completes(step: T, *others: object) -> T:
    """Let steps with several instances finish with the results they have when this step is done.

    The instances are those of `ServiceFunction.many`. Returns `step`.

    Raises `WorkflowProblem`: W155 for a step without instances, W156 outside a workflow.

    >>> from solvent import completes, service, workflow
    >>> search, stop = service(str.upper), service(str.strip)
    >>> @workflow
    ... def enough(text: str) -> str:
    ...     found = search.many(3)(text)
    ...     completes(stop(text), found)
    ...     return found
    >>> enough.definition().task("strip").control.completes
    ('upper',)
    """
    builder, names = builder_for("completes"), _tasks("completes", others)
    for name in names:
        control = builder.task(name).control
        if control is None or control.many is None:
            raise problem("W155", f"`{name}` has no instances to complete", hint="call it with service.many(...)")
    return _refined("completes", step, completes=names)


def ends(step: T, *, cancelled: bool = False) -> T:
    """End the whole workflow when the step is done: successfully, or as cancelled. Returns `step`.

    Raises `WorkflowProblem`: W155 if another ending was given for the step, W156 outside a workflow.

    >>> from solvent import ends, run, service, waits_for, workflow
    >>> upper, lower = service(str.upper), service(str.lower)
    >>> @workflow
    ... def early(text: str) -> str:
    ...     waits_for(lower(text), "never sent")
    ...     return ends(upper(text))
    >>> run(early, {"text": "Hi"}).ended_by
    'upper'
    """
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
    """Some lists that are combined before they are combined with others: what `each` and `cross` return."""

    def __init__(self, how: How, lists: tuple[Any, ...]) -> None:
        self.how: How = how
        self.lists = lists


def each(*lists: Iterable[Any] | Group) -> Group:
    """Combine lists item by item (first with first, second with second) inside `service.each` or `service.cross`.

    Use it where one call combines lists in both ways; `service.each(xs, ys)` alone needs no group.

    Raises nothing; the call that takes the group checks it.

    >>> from solvent import each, run, service, workflow
    >>> @service
    ... def label(name: str, size: int, colour: str) -> str:
    ...     return f"{name}{size}{colour}"
    >>> @workflow
    ... def labels() -> list[str]:
    ...     return label.cross(each(["a", "b"], [1, 2]), ["red", "blue"])
    >>> run(labels).results["label"]
    ['a1red', 'a1blue', 'b2red', 'b2blue']
    """
    return Group("dot", lists)


def cross(*lists: Iterable[Any] | Group) -> Group:
    """Combine lists each item with each inside `service.each` or `service.cross`, the last list changing fastest.

    Raises nothing; the call that takes the group checks it.

    >>> from solvent import cross, run, service, workflow
    >>> @service
    ... def pair(number: int, letter: str, name: str) -> str:
    ...     return f"{number}{letter}{name}"
    >>> @workflow
    ... def pairs() -> list[str]:
    ...     return pair.each(cross([1, 2], ["a", "b"]), ["w", "x", "y", "z"])
    >>> run(pairs).results["pair"]
    ['1aw', '1bx', '2ay', '2bz']
    """
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


OnError: TypeAlias = Literal["fail", "skip", "default"]
NO_DEFAULT: Any = ...


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
    def each(  # type: ignore[misc]
        self, *lists: Any, on_error: OnError = "fail", default: Any = NO_DEFAULT, **same: Any
    ) -> Any:
        """Call once for the first items of all lists, once for the second items, and so on.

        The services of `otherwise` are called for the items that fail, and for no others. If they fail too, so does
        the step; with `on_error="skip"` the item is left out of the list, with `on_error="default"` its result is
        `default`. `report.routes` has these items.
        """
        return self._build_each("dot", lists, same, on_error, default)

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
    def cross(  # type: ignore[misc]
        self, *lists: Any, on_error: OnError = "fail", default: Any = NO_DEFAULT, **same: Any
    ) -> Any:
        """Call once for each combination of items, the last list changing fastest; see `each` for those that fail."""
        return self._build_each("cross", lists, same, on_error, default)

    def _build_each(
        self, how: How, lists: tuple[Any, ...], same: dict[str, Any], on_error: OnError, default: Any
    ) -> Any:
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
