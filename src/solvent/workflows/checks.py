"""What is wrong with a workflow before it runs, all at once, with the places in its file.

    W120  a cycle                           W126  a service that does not say what it calls
    W121  an unknown task                   W127  an alternative that could never apply
    W122  an unknown input                  W128  a task of an alternative that the normal workflow needs
    W123  an unknown service                W129  an alternative that needs what it replaces
    W124  two of one name                   W130  a condition that is not valid HOCL
    W125  a composition over what is no     W131  an input that an inner workflow does not have
          list, or no argument              W132  an input that an inner workflow is not given
    W136  a name that is empty              W135  two alternatives for one task and outcome
    W137  words of control flow that        W138  an alternative that control flow cannot have
          contradict each other             W139  a lock that is only taken or only given back
    W144  a task that can never start       W145  a loop that is never left
    W160  an unknown resource               W161  a resource that is not described well
    W162  a resource that a call cannot have    W185  an argument that a command needs and a task does
          like this                                   not give
    W206 to W209 are numbers, names and constants that no run could use: see `value_checks`

Every check is linear in the size of the workflow, but for choices, where there is a limit. Cycles are in `cycles`,
alternatives in `alternative_checks`, words of control flow in `control_checks`, where it leads in `soundness`,
resources in `resource_checks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.errors import WorkflowProblem
from solvent.workflows.alternative_checks import check_alternatives
from solvent.workflows.control_checks import check_controls
from solvent.workflows.cycles import cycles_of
from solvent.workflows.durations import DURATION_RULE, seconds_of
from solvent.workflows.model import REQUIRED, Each, Input, Result, Value, Workflow
from solvent.workflows.paths import paths_of
from solvent.workflows.places import Problems
from solvent.workflows.resource_checks import check_resources, mistaken
from solvent.workflows.soundness import check_soundness
from solvent.workflows.value_checks import MAX_LIMIT, check_placeholders, check_values, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from solvent.source import Span
    from solvent.workflows.model import Task
    from solvent.workflows.places import Key, Part

_MAX_CYCLE_SHOWN = 8

_BASICS = frozenset(("W121", "W124", "W128", "W137", "W209"))
"""What must be right before it makes sense to ask where tokens go."""


def check(workflow: Workflow, places: Mapping[Key, Span] | None = None) -> list[WorkflowProblem]:
    """List all that is wrong with a workflow; a sound one gives an empty list."""
    problems = Problems(places or {})
    _check_names(workflow, problems)
    _check_services(workflow, problems)
    check_values(workflow, problems)
    tasks = {task.name: task for task in workflow.tasks}
    services = {service.name: service for service in workflow.services}
    for task in workflow.tasks:
        _check_task(task, tasks, services, workflow, problems)
        for name in task.services:
            if name in services:
                check_placeholders(task, services[name], problems)
    for name in workflow.results:
        if name not in tasks and not mistaken(workflow, name, "`results` names", ("result", name), problems):
            problems.unknown("W121", f"`results` names `{name}`, which is not a task", ("result", name), name, tasks)
    check_resources(workflow, problems)
    _check_inner(workflow, problems)
    paths = paths_of(workflow) if workflow.is_controlled else None
    check_controls(workflow, tasks, paths, problems)
    check_alternatives(workflow, tasks, paths, problems)
    if paths is None:
        _check_cycles(workflow, problems)
    elif _BASICS.isdisjoint(problem.code for problem in problems.found):
        check_soundness(workflow, paths, problems)
    return problems.found


def _check_names(workflow: Workflow, problems: Problems) -> None:
    parts: tuple[tuple[Part, Iterable[Any]], ...] = (
        ("task", workflow.tasks),
        ("service", workflow.services),
        ("alternative", workflow.alternatives),
        ("resource", workflow.resources),
    )
    for part, items in parts:
        seen: set[str] = set()
        for item in items:
            if not item.name.strip():
                problems.add("W136", f"a{'n' if part == 'alternative' else ''} {part} has no name", (part, item.name))
            if item.name in seen:
                problems.add("W124", f"two {part}s are called `{item.name}`", (part, item.name))
            seen.add(item.name)


def _check_services(workflow: Workflow, problems: Problems) -> None:
    for service in workflow.services:
        if service.kind == "replay":
            seconds = service.options.get("seconds", 0)
            if type(seconds) not in (int, float) or not 0 <= seconds <= MAX_LIMIT:
                message = f"the service `{service.name}` replays no number of seconds: {shown(seconds)}"
                problems.add("W126", message, ("service", service.name), hint=f"a number from 0 to {MAX_LIMIT:,}")
        elif service.kind == "delay" and seconds_of(service.target) is None:
            message = f"the service `{service.name}` waits for no duration: {shown(service.target)}"
            problems.add("W126", message, ("service", service.name), hint=DURATION_RULE)
        elif not service.target and service.function is None:
            message = f"the service `{service.name}` does not say what it calls"
            problems.add("W126", message, ("service", service.name), hint=_TARGETS[service.kind])


_TARGETS = {
    "python": "name a function: `python: module:function`",
    "shell": "give a command: `shell: sort {0}`",
    "http": "give an address: `http: http://localhost:8000/f`",
    "hocl": "give a program's path: `hocl: other.hocl`",
    "workflow": "give a workflow's path: `workflow: other.yaml`",
}


def _check_task(
    task: Task, tasks: Mapping[str, Task], services: Collection[str], workflow: Workflow, problems: Problems
) -> None:
    key: Key = ("task", task.name)
    inputs = workflow.inputs
    for name in task.services:
        if name not in services:
            problems.unknown("W123", f"`{task.name}` calls `{name}`, which is not a service", key, name, services)
    if task.per_item is not None and task.each is None:
        message = f"`{task.name}` says what is done for items whose calls fail, but is not called for each item"
        problems.add("W125", message, key, hint="give it `each`, or an alternative")
    for source in task.sources:
        if source not in tasks:
            does = "waits for" if source in task.after else "takes from"
            if not mistaken(workflow, source, f"`{task.name}` {does}", key, problems):
                problems.unknown("W121", f"`{task.name}` {does} `{source}`, which is not a task", key, source, tasks)
    for slot in task.slots:
        if isinstance(slot, Input) and slot.name not in inputs:
            if not mistaken(workflow, slot.name, f"`{task.name}` takes the input", key, problems):
                message = f"`{task.name}` takes the input `{slot.name}`, which the workflow does not have"
                problems.unknown("W122", message, key, slot.name, inputs)
        elif isinstance(slot, Result) and slot.item is not None and slot.item < 1:
            problems.add("W125", f"`{task.name}` takes item {slot.item} of `{slot.task}`; items count from 1", key)
    if task.each is not None:
        _check_each(task, task.each, problems)


def _check_each(task: Task, each: Each, problems: Problems) -> None:
    """Check that a composition goes over arguments that exist and may be lists, each once."""
    key: Key = ("task", task.name)
    slots = task.slots
    seen: set[int] = set()
    todo: list[int | Each] = [each]
    while todo:
        one = todo.pop()
        if isinstance(one, Each):
            if not one.over:
                problems.add("W125", f"`{task.name}` combines no arguments by `{one.how}`", key)
            todo += one.over
        elif not 0 <= one < len(slots):
            has = f"it has {len(slots)}, from 0 to {len(slots) - 1}" if slots else "it has none"
            problems.add("W125", f"`{task.name}` goes over its argument {one}, but {has}", key)
        elif one in seen:
            problems.add("W125", f"`{task.name}` goes over its argument {one} twice", key)
        else:
            seen.add(one)
            slot = slots[one]
            if isinstance(slot, Value) and not isinstance(slot.value, list | tuple):
                message = f"`{task.name}` goes over its argument {one}, which is not a list: {shown(slot.value)}"
                problems.add("W125", message, key)


def _check_inner(workflow: Workflow, problems: Problems) -> None:
    """Check the workflows that stand in place of a service, and the inputs they are given."""
    inner = {one.name: one.function for one in workflow.services if isinstance(one.function, Workflow)}
    for name, one in inner.items():
        for problem in check(one):
            problems.add(problem.code, f"in `{name}`: {problem.message}", ("service", name), hint=problem.hint)
    for task in workflow.tasks if inner else ():
        for problem in (one for name in task.services if name in inner for one in input_problems(task, inner[name])):
            problems.add(problem.code, problem.message, ("task", task.name), hint=problem.hint)


def _check_cycles(workflow: Workflow, problems: Problems) -> None:
    order = {task.name: at for at, task in enumerate(workflow.tasks)}
    for cycle in cycles_of({task.name: task.sources for task in workflow.tasks}):
        # A task waits for its sources, so the data flows the other way.
        names = [*reversed(cycle)]
        start = names.index(min(names, key=order.__getitem__))
        names = [*names[start:], *names[:start], names[start]]
        shown = names if len(names) <= _MAX_CYCLE_SHOWN else [*names[: _MAX_CYCLE_SHOWN - 2], "...", names[-1]]
        message = f"these tasks wait for each other: {' → '.join(shown)}"
        problems.add("W120", message, ("task", names[0]), hint="remove one dependency; for a loop, use `again`")


def input_problems(task: Task, inner: Workflow) -> Iterator[WorkflowProblem]:
    """Yield what is wrong with the inputs that a task gives to an inner workflow."""
    names = list(inner.inputs)
    count = len(task.arguments)
    known = f"its inputs: {', '.join(names) or 'none'}"
    if count > len(names):
        message = f"`{task.name}` gives `{inner.name}` {count} inputs, but it has {len(names)}"
        yield WorkflowProblem("W131", message, hint=known)
    given = {*names[:count], *task.keywords}
    for name in task.keywords:
        if name not in inner.inputs:
            yield WorkflowProblem(
                "W131", f"`{task.name}` gives `{name}` to `{inner.name}`, which has no such input", hint=known
            )
    for name, default in inner.inputs.items():
        if isinstance(default, str) and default == REQUIRED and name not in given:
            message = f"`{task.name}` does not give `{inner.name}` its input `{name}`, which has no default"
            yield WorkflowProblem("W132", message, hint=f"give it: `with: {{{name}: ...}}`, in Python `{name}=...`")
