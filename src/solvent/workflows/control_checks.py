"""Words of control flow that contradict each other or name nothing: what `checks` asks of each task's `Control`.

    W121  a task that is not there          W128  a task that only stands in for another
    W122  an input that is not there        W130  a condition that does not read
    W125  instances over what is no list    W137  words that contradict each other or mean nothing
    W139  a lock that is only taken or only given back, or given back first

What only the whole shape of a workflow tells is asked by `soundness`.

A condition is HOCL about `result`, in parentheses whatever it holds, with the functions that every program has.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from solvent.errors import ProgramError
from solvent.lang.functions import Functions
from solvent.lang.parser import parse_molecules, parse_program
from solvent.lang.scope import resolve
from solvent.lang.syntax import ListNode, Literal, SolutionNode, TupleNode
from solvent.source import Source
from solvent.workflows.durations import MAX_SECONDS
from solvent.workflows.model import Arrived, Control, Input, Result, Signalled, Value
from solvent.workflows.places import route_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from solvent.workflows.model import Many, Task, Test, Workflow
    from solvent.workflows.paths import Paths
    from solvent.workflows.places import Key, Problems

_FUNCTIONS = Functions()
_EXAMPLE = "compare the result, such as `result < 0.9`"
_PREDICATE = "for a function of your own, write `predicate: module:function` instead of the condition"
_ONLY_RESULT = "a condition can use `result` and the functions of HOCL"


def check_condition(what: str, when: str, key: Key, problems: Problems) -> None:
    """Report what is wrong with the condition of `what`, an alternative or a route, which stands at `key`."""
    try:
        (found,) = parse_molecules(Source(f"({when}\n)", "when"))
        source = Source(f"<replace result by 1 if ({when}\n)>", "when")
        resolve(parse_program(source), source, _FUNCTIONS)
    except ProgramError as error:
        message, hint = _wrong_condition(what, when, error)
        problems.add("W130", message, key, hint=hint)
        return
    if isinstance(found, ListNode | TupleNode | SolutionNode) or (
        isinstance(found, Literal) and not isinstance(found.value, bool)
    ):
        message = f"the condition of {what} is neither true nor false: `{when}`"
        problems.add("W130", message, key, hint=_EXAMPLE)


def _wrong_condition(what: str, when: str, error: ProgramError) -> tuple[str, str]:
    """Return the message and the hint for a condition that is not HOCL or names something unknown."""
    name = error.message.split("`")[1] if error.code in ("H203", "H204") else ""
    if error.code == "H203":
        return f"the condition of {what} uses `{name}`, which is unknown: `{when}`", error.hint or _ONLY_RESULT
    if error.code == "H204":
        hint = error.hint if "did you mean" in error.hint else _PREDICATE
        return f"the condition of {what} calls `{name}`, which is unknown: `{when}`", hint
    why = f": {error.message}"
    # What the parser says of parentheses and of the end is about the text around the condition.
    if error.code == "H109" or error.message.endswith("found `)`"):
        why = ": something is missing at its end" if not when.rstrip().endswith(")") else ""
    return f"the condition of {what} is not valid HOCL: `{when}`{why}", _EXAMPLE


JOINS = ("all", "any", "first", "active")
"""The ways to join that every workflow has."""

_PLAIN = Control()


def check_controls(workflow: Workflow, tasks: Mapping[str, Task], paths: Paths | None, problems: Problems) -> None:
    """Report what is wrong with the words of each task; `paths` is the shape of a workflow that has such words."""
    asleep = workflow.dormant if paths is not None and workflow.alternatives else {}
    stands_for = {new: old for one in workflow.alternatives for old, new in one.exits.items()}
    for task in workflow.tasks:
        if any(isinstance(slot, Arrived | Signalled) for slot in _taken(task)):
            _check_arrivals(task, _replaced(task, stands_for, tasks), paths, problems)
        if task.control is not None and paths is not None:
            _check_names(task, task.control, tasks, asleep, problems)
            _check_join(workflow, task, task.control, paths, problems)
            _check_split(task, task.control, problems)
            _check_waits(task, task.control, problems, is_offered=_is_offered(task, tasks))
            _check_tests(task, task.control, problems)
            if task.control.many is not None:
                _check_many(workflow, task, task.control.many, problems)
    if paths is not None:
        _check_loop_arguments(workflow, stands_for, tasks, paths, problems)
        _check_locks(workflow, problems)
        _check_givers(workflow, paths, problems)
        _check_offers(workflow, paths, problems)


def _taken(task: Task) -> Iterator[object]:
    """Yield where arguments come from, and the number of instances."""
    yield from task.slots
    if task.control is not None and task.control.many is not None:
        yield task.control.many.count


def _replaced(task: Task, stands_for: Mapping[str, str], tasks: Mapping[str, Task]) -> Task:
    """Return the task in whose place one is called: itself, if it does not stand in for another."""
    seen = {task.name}
    while stands_for.get(task.name) in tasks and stands_for[task.name] not in seen:
        task = tasks[stands_for[task.name]]
        seen.add(task.name)
    return task


def _check_arrivals(task: Task, place: Task, paths: Paths | None, problems: Problems) -> None:
    """Check that something can arrive where a task takes what has arrived."""
    key: Key = ("task", task.name)
    taken = [*_taken(task)]
    if any(isinstance(slot, Signalled) for slot in taken) and (place.control is None or place.control.signal is None):
        message = f"`{task.name}` takes what comes with a signal, but waits for none"
        problems.add("W137", message, key, hint="add `signal: NAME`")
    if not any(isinstance(slot, Arrived) for slot in taken):
        return
    if paths is None:
        message = f"`{task.name}` takes what has arrived, but waits for all its sources, as every task here"
        problems.add("W137", message, key, hint="take each result by its task's name, or say how it joins: `join: any`")
    elif not paths.sources.get(place.name):
        message = f"`{task.name}` takes what has arrived, but no task passes anything to it"
        problems.add("W137", message, key, hint="name its sources: `after: [A, B]`")


def _check_loop_arguments(
    workflow: Workflow, stands_for: Mapping[str, str], tasks: Mapping[str, Task], paths: Paths, problems: Problems
) -> None:
    """Check that no task that a loop goes back to, and none in its place, takes what comes in the first round only."""
    for task in workflow.tasks:
        place = _replaced(task, stands_for, tasks)
        if place.control is None or place.control.join == "all" or place.name not in paths.sources:
            continue
        back = paths.skips.back_into(place.name)
        once = [slot.task for slot in _taken(task) if isinstance(slot, Result) and slot.task not in back]
        if back and once:
            name = f"`{task.name}`" if task is place else f"`{task.name}`, which replaces `{place.name}`,"
            message = f"{name} takes the result of `{once[0]}`, and `{back[0]}` comes back without it"
            hint = f"take what arrives, `{{arrived: one}}`: the first time it is the result of `{once[0]}`"
            python = (
                f"call it with the step that `{place.name}` is called with: "
                f"from the second round on it gets the result of `{back[0]}` in its place"
            )
            problems.add("W137", message, ("task", task.name), hint=hint, python=python)


# --- Names.


def _check_names(
    task: Task, control: Control, tasks: Mapping[str, Task], asleep: Mapping[str, str], problems: Problems
) -> None:
    """Check that tasks that are named exist, and run by themselves."""
    named: list[tuple[str, str, Key]] = [
        *(("goes on to", route.task, route_key(task.name, route.task)) for route in control.routes),
        *(("cancels", one, ("task", task.name)) for one in control.cancels),
        *(("completes", one, ("task", task.name)) for one in control.completes),
        *(("names in `during`", one, ("task", task.name)) for one in control.during or ()),
    ]
    if control.again is not None:
        named.append(("goes back to", control.again.task, route_key(task.name, control.again.task)))
    for does, name, key in dict.fromkeys(named):
        if name not in tasks:
            problems.unknown("W121", f"`{task.name}` {does} `{name}`, which is not a task", key, name, tasks)
        elif name in asleep:
            message = f"`{task.name}` {does} `{name}`, which runs only if `{asleep[name]}` applies"
            problems.add("W128", message, key, hint="name the task that it replaces")
    if task.name in control.cancels:
        hint = "name other tasks; its own call is over when it cancels"
        problems.add("W137", f"`{task.name}` cancels itself", ("task", task.name), hint=hint)
    for name in control.completes:
        other = tasks[name].control if name in tasks else _PLAIN
        many = None if other is None else other.many
        if name in tasks and (many is None or many.apart):
            message = f"`{task.name}` completes `{name}`, which does not gather the results of instances"
            hint = "`completes` is for tasks with `instances`, and not `apart`"
            problems.add("W137", message, ("task", task.name), hint=hint)


# --- What starts it.


def _check_join(workflow: Workflow, task: Task, control: Control, paths: Paths, problems: Problems) -> None:
    name = task.name
    key: Key = ("task", name)
    if control.join not in JOINS and control.join not in workflow.patterns:
        message = f"`{name}` joins by `{control.join}`, which is neither a way to join nor a pattern"
        problems.unknown("W137", message, key, control.join, (*JOINS, *workflow.patterns))
        return
    for word, count in (("threads", control.threads), ("threads", control.copies)):
        if count < 1:
            problems.add("W137", f"`{name}` has {count} as its number of `{word}`", key, hint="1, 2, 3 ...")
    takes_number = control.join == "first" or control.join not in JOINS
    if control.need != 1 and not takes_number:
        message = f"`{name}` joins by `{control.join}`, which takes no number"
        problems.add("W137", message, key, hint=f"`join: {{first: {control.need}}}` starts it by so many")
    if takes_number and control.need < 1:
        problems.add("W137", f"`{name}` cannot wait for {control.need} arrivals", key, hint="1, 2, 3 ...")
    if control.cancels_rest and control.join != "first":
        message = f"`{name}` cancels the branches that are left after the `first`, but joins by `{control.join}`"
        problems.add("W137", message, key, hint="`join: {first: 1, cancel: true}`")
    if control.threads > 1 and control.join in ("any", "active"):
        message = f"`{name}` waits for {control.threads} arrivals of each source, but joins by `{control.join}`"
        problems.add("W137", message, key, hint="leave `join` out: `all` counts the arrivals of each source")
    count = len(paths.sources.get(name, ())) * max(control.threads, 1)
    if control.join == "first" and name in paths.sources and control.need > max(count, 1):
        message = f"`{name}` waits for the first {control.need} of {count}"
        problems.add("W137", message, key, hint="wait for fewer, or name more sources")
    back = paths.skips.back_into(name) if control.join == "first" and name in paths.sources else []
    chosen = [one for one in back if _chooses(workflow.by_name[one], name)]
    if chosen:
        message = f"`{name}` joins by `first`, which ignores what comes back from `{chosen[0]}` as the rest of a round"
        hint, python = "go back to a task before it, with `join: any`", "go back to a step before it"
        problems.add("W137", message, key, hint=hint, python=python)


def _chooses(task: Task, to: str) -> bool:
    """Return whether a task goes on to another only if a condition holds."""
    routes = () if task.control is None else task.control.routes
    return task.back == to or any(route.task == to and route.test is not None for route in routes)


# --- Where it goes on.


def _check_split(task: Task, control: Control, problems: Problems) -> None:
    name = task.name
    key: Key = ("task", name)
    tested = [route for route in control.routes if route.test is not None]
    if control.split in ("one", "some"):
        if not tested:
            message = f"`{name}` chooses where to go on, but no route has a condition"
            problems.add("W137", message, key, hint='name the routes: `to: {B: "result > 3", C: null}`')
        plain = [route.task for route in control.routes if route.test is None]
        if control.split == "one" and len(plain) > 1:
            message = f"`{name}` never goes on to `{plain[1]}`: it has no condition, and neither has `{plain[0]}`"
            hint = "one route without a condition is taken where none holds; give the others one"
            problems.add("W137", message, route_key(name, plain[1]), hint=hint)
    elif tested:
        message = f"`{name}` never asks about the condition of `{tested[0].task}`: its split is `{control.split}`"
        problems.add("W137", message, route_key(name, tested[0].task), hint="add `split: one` or `split: some`")
    if control.split == "deferred" and control.copies > 1:
        message = f"`{name}` makes an offer that one task takes, but passes it on {control.copies} times"
        problems.add("W137", message, key, hint="take `threads` or `split: deferred` out")
    if control.max_rounds is not None and (control.again is None or control.max_rounds < 1):
        said = "goes back nowhere" if control.again is None else "is done once at least"
        message = f"`{name}` {said}: `max_rounds` cannot be {control.max_rounds}"
        problems.add("W137", message, ("task", name), hint='`again: {to: H, when: "result < 3", max_rounds: 5}`')
    if control.again is not None and control.again.test is None:
        message = f"`{name}` goes back to `{control.again.task}` again and again: it has no condition"
        hint = f'`again: {{to: {control.again.task}, when: "result < 3"}}`'
        problems.add("W137", message, route_key(name, control.again.task), hint=hint)


def _check_tests(task: Task, control: Control, problems: Problems) -> None:
    """Check that conditions read as HOCL."""
    again = () if control.again is None else (control.again,)
    tests: list[tuple[str, str, Test | None]] = [
        (route.task, f"`{task.name}` for `{route.task}`", route.test) for route in (*control.routes, *again)
    ]
    if control.many is not None:
        tests.append(("more", f"`{task.name}` for one more instance", control.many.more))
        tests.append(("enough", f"`{task.name}` for enough results", control.many.enough))
    for to, what, test in tests:
        if test is None:
            continue
        key = route_key(task.name, to)
        if test.when is not None and test.predicate is None:
            check_condition(what, test.when, key, problems)
        elif test.predicate is None:
            problems.add("W130", f"the condition of {what} is empty", key, hint='write `when: "result < 0.9"`')


# --- What it waits for.


def _is_offered(task: Task, tasks: Mapping[str, Task]) -> bool:
    sources = (tasks[name].control for name in task.sources if name in tasks)
    return any(one is not None and one.split == "deferred" for one in sources)


def _check_waits(task: Task, control: Control, problems: Problems, *, is_offered: bool) -> None:
    name = task.name
    key: Key = ("task", name)
    if control.is_transient and control.signal is None:
        message = f"`{name}` loses a signal that comes too early, but waits for none"
        problems.add("W137", message, key, hint="`signal: {transient: NAME}`")
    if control.timeout is not None:
        others = is_offered or control.takes or control.during or control.many or control.signal is None
        if others or not 0 < control.timeout <= MAX_SECONDS:
            message = f"`{name}` has a `timeout`, which is for tasks that wait for a signal and for nothing else"
            wait = "`signal: {persistent: NAME, timeout: 1h}`"
            hint = f"let a task before it wait for the signal, {wait}, and this one do the rest"
            problems.add("W137", message, key, hint=hint)
    if control.during is not None and (name in control.during or control.during[0] == control.during[1]):
        message = f"`{name}` cannot start between `{control.during[0]}` and `{control.during[1]}`"
        problems.add(
            "W137", message, key, hint="`during` names two other tasks: one is done, the other has not started"
        )
    for word, locks in (("takes", control.takes), ("gives", control.gives)):
        twice = [lock for at, lock in enumerate(locks) if lock in locks[:at]]
        if twice:
            message = f"`{name}` {word} the lock `{twice[0]}` twice"
            problems.add("W139", message, key, hint="name it once")


def _check_locks(workflow: Workflow, problems: Problems) -> None:
    """Check that every lock that is taken is given back by someone, and the other way round."""
    takers: dict[str, str] = {}
    givers: dict[str, str] = {}
    for task in workflow.tasks:
        if task.control is not None:
            for lock in task.control.takes:
                takers.setdefault(lock, task.name)
            for lock in task.control.gives:
                givers.setdefault(lock, task.name)
    for lock, taker in takers.items():
        if lock not in givers:
            message = f"`{taker}` takes the lock `{lock}`, and no task gives it back"
            hint = f"`lock: {lock}` holds it while the task is at work; `gives: {lock}` at a later task gives it back"
            problems.add("W139", message, ("task", taker), hint=hint)
    for lock, giver in givers.items():
        if lock not in takers:
            message = f"`{giver}` gives back the lock `{lock}`, which no task takes"
            problems.add("W139", message, ("task", giver), hint=f"`takes: {lock}` at an earlier task takes it")
    for lock, count in workflow.locks.items():
        if count < 1:
            holder = takers.get(lock, "")
            problems.add("W139", f"the lock `{lock}` is for {count} tasks", ("task", holder), hint="1, 2, 3 ...")


def _check_givers(workflow: Workflow, paths: Paths, problems: Problems) -> None:
    """Check that who gives a lock back has taken it, or comes after one that has."""
    controls = {task.name: task.control for task in workflow.tasks if task.control is not None}
    takers = {lock: name for name, control in controls.items() for lock in control.takes}
    senders: dict[str, list[str]] = {}
    for name, control in controls.items():
        for signal in control.sends:
            senders.setdefault(signal, []).append(name)

    def befores(name: str) -> Iterator[str | None]:
        """Yield whom a task comes after; nobody, where that is known outside of the workflow only."""
        yield from paths.sources.get(name, (None,))
        control = controls.get(name, _PLAIN)
        if control.signal is not None:
            yield from senders.get(control.signal, (None,))
        if control.during is not None:
            yield control.during[0]

    for name, control in controls.items():
        for lock in control.gives:
            if lock not in takers or lock in control.takes:
                continue
            if not any(one is None or lock in controls.get(one, _PLAIN).takes for one in _back_from(name, befores)):
                message = f"`{name}` gives back the lock `{lock}`, but neither takes it nor comes after one that does"
                hint = f"let it come after `{takers[lock]}`, which takes the lock"
                problems.add("W139", message, ("task", name), hint=hint)


def _back_from(name: str, befores: Callable[[str], Iterator[str | None]]) -> Iterator[str | None]:
    """Yield all that a task comes after, the nearest first."""
    seen: set[str | None] = {name}
    todo = deque([name])
    while todo:
        for one in befores(todo.popleft()):
            if one not in seen:
                yield one
                seen.add(one)
                if one is not None:
                    todo.append(one)


def _check_offers(workflow: Workflow, paths: Paths, problems: Problems) -> None:
    """Check that a task is part of one deferred choice only: it could not say which of two it takes."""
    offered: dict[str, str] = {}
    for task in workflow.tasks:
        if task.control is None or task.control.split != "deferred":
            continue
        for later in paths.destinations.get(task.name, ()):
            if offered.setdefault(later, task.name) != task.name:
                message = f"`{later}` is offered by both `{offered[later]}` and `{task.name}`"
                hint = "put a task between, so that each deferred choice is about tasks of its own"
                problems.add("W137", message, ("task", later), hint=hint)


# --- Several instances.


def _check_many(workflow: Workflow, task: Task, many: Many, problems: Problems) -> None:
    name = task.name
    key: Key = ("task", name)
    if task.each is not None:
        message = f"`{name}` has both `each` and `instances`"
        problems.add("W137", message, key, hint="`instances: {over: 0}` calls it once for each item of a list")
    if (many.count is None) == (many.over is None):
        has = "neither" if many.count is None else "both"
        message = f"`{name}` says {has} how many instances it has and what list they are for"
        problems.add("W137", message, key, hint='`{count: "$n"}`: so many; `{over: 0}`: one for each item')
    if many.over is not None:
        _check_over(task, many.over, problems)
    if isinstance(many.count, Input) and many.count.name not in workflow.inputs:
        message = f"`{name}` takes the input `{many.count.name}`, which the workflow does not have"
        problems.unknown("W122", message, key, many.count.name, workflow.inputs)
    count: Any = many.count.value if isinstance(many.count, Value) else None
    if isinstance(many.count, Value) and not _is_whole(count):
        problems.add("W125", f"`{name}` cannot have {count!r} instances", key, hint="1, 2, 3 ...")
    if many.apart and task.control is not None and (task.control.takes or task.control.gives):
        message = f"the instances of `{name}` are `apart`, so nobody knows when the lock can be given back"
        problems.add("W137", message, key, hint="take `apart` out, or let another task take and give the lock")
    if many.apart:
        unasked = [word for word, is_there in _unasked(many) if is_there]
        if unasked:
            message = (
                f"the instances of `{name}` are `apart`, so nobody gathers results, and `{unasked[0]}` means nothing"
            )
            problems.add("W137", message, key, hint=f"take `apart` or `{unasked[0]}` out")
    elif many.need is not None and many.need < 1:
        problems.add("W137", f"`{name}` cannot wait for {many.need} results", key, hint="1, 2, 3 ...")
    elif many.need is not None and many.more is None and _is_whole(count) and many.need > count:
        problems.add("W137", f"`{name}` waits for {many.need} results of {count} instances", key, hint="wait for fewer")


def _unasked(many: Many) -> tuple[tuple[str, bool], ...]:
    """Return the words that mean nothing for instances whose results are not gathered."""
    return (
        ("need", many.need is not None),
        ("cancel", many.cancels),
        ("more", many.more is not None),
        ("enough", many.enough is not None),
    )


def _is_whole(count: Any) -> bool:
    return type(count) is int and count >= 1


def _check_over(task: Task, over: int, problems: Problems) -> None:
    key: Key = ("task", task.name)
    slots = task.slots
    if not 0 <= over < len(slots):
        has = f"it has {len(slots)}, from 0 to {len(slots) - 1}" if slots else "it has none"
        problems.add("W125", f"`{task.name}` has instances for its argument {over}, but {has}", key)
        return
    slot = slots[over]
    if isinstance(slot, Value) and not isinstance(slot.value, list | tuple):
        message = f"`{task.name}` has instances for its argument {over}, which is not a list: {slot.value!r}"
        problems.add("W125", message, key)
