"""Alternatives that could never apply, or would never end: what `checks` asks about them.

An alternative sleeps until the outcome of a watched task wakes it. It never applies if nothing that it watches can have
the outcome it waits for. It never ends if it needs a result that the tasks it replaces would have had to give.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.workflows.control_checks import check_condition
from solvent.workflows.forms import forms_of
from solvent.workflows.model import Control
from solvent.workflows.paths import paths_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.workflows.model import Alternative, Service, Task, Workflow
    from solvent.workflows.paths import Paths
    from solvent.workflows.places import Key, Problems


def check_alternatives(workflow: Workflow, tasks: Mapping[str, Task], paths: Paths | None, problems: Problems) -> None:
    """Report what is wrong with the alternatives of a workflow; `paths` is its shape if it has control flow."""
    if not workflow.alternatives:
        return
    asleep = workflow.dormant
    services = {service.name: service for service in workflow.services}
    depths = depths_of(tasks)
    stands_for = {new: old for one in workflow.alternatives for old, new in one.exits.items() if old in tasks}
    swapped = frozenset[str]() if paths is None else forms_of(workflow, paths).swapped
    for alternative in workflow.alternatives:
        _check_named_tasks(alternative, tasks, problems)
        _check_condition(alternative, problems)
        _check_watched(alternative, tasks, services, asleep, problems)
        _check_needs(alternative, tasks, depths, problems)
        why = _unfit_whole(alternative, tasks, stands_for, paths) if paths and alternative.name in swapped else ""
        if why:
            message = f"the alternative `{alternative.name}` {why}, which tasks with control flow cannot do"
            hint = "put the tasks and their alternative into a workflow of its own, and call that as a service"
            problems.add("W138", message, ("alternative", alternative.name), hint=hint)
    _check_rivals(workflow, problems)
    _check_sleepers_are_not_needed(workflow, asleep, problems)


def _check_named_tasks(alternative: Alternative, tasks: Mapping[str, Task], problems: Problems) -> None:
    name = alternative.name
    key: Key = ("alternative", name)
    if not alternative.exits:
        problems.add(
            "W127", f"the alternative `{name}` replaces nothing", key, hint="`exits: {T2: T5}`: T5 replaces T2"
        )
    named = [
        *((task, "replaces") for task in alternative.replaced),
        *((task, "calls") for task in alternative.exits.values()),
        *((task, "watches") for task in alternative.watch),
    ]
    for task, does in dict.fromkeys(named):
        if task not in tasks:
            problems.unknown("W121", f"the alternative `{name}` {does} `{task}`, which is not a task", key, task, tasks)
    for old, new in alternative.exits.items():
        if old == new:
            problems.add("W129", f"the alternative `{name}` replaces `{old}` by itself", key)


def _check_condition(alternative: Alternative, problems: Problems) -> None:
    name = alternative.name
    key: Key = ("alternative", name)
    has_condition = alternative.when is not None or alternative.predicate is not None
    if not alternative.on:
        problems.add("W127", f"the alternative `{name}` says nothing about when it applies", key)
    if "condition" in alternative.on and not has_condition:
        message = f"the alternative `{name}` applies on a condition, but has none"
        problems.add("W127", message, key, hint='add `when: "result < 0.9"`')
    if "condition" not in alternative.on and has_condition:
        message = f"the alternative `{name}` has a condition, but does not apply on one"
        problems.add("W127", message, key, hint="add `on: condition`")
    if alternative.when is not None:
        check_condition(f"`{name}`", alternative.when, ("condition", name), problems)


_COVERS = {"failure": ("failure", "timeout"), "timeout": ("timeout",)}


def _check_rivals(workflow: Workflow, problems: Problems) -> None:
    """Check that no outcome of a task makes two alternatives replace the same one: which of them would is chance."""
    taken: dict[str, list[Alternative]] = {}
    for alternative in workflow.alternatives:
        rivals = [(task, rival) for task in alternative.replaced for rival in taken.get(task, ())]
        for task, rival in rivals:
            why = _common_reason(alternative, rival)
            if why and not set(alternative.watched).isdisjoint(rival.watched):
                message = f"the alternatives `{rival.name}` and `{alternative.name}` both replace `{task}` {why}"
                hint = f"let one stand in for the other's task: `exits: {{{next(iter(rival.exits.values()))}: ...}}`"
                problems.add("W135", message, ("alternative", alternative.name), hint=hint)
                break
        for task in alternative.replaced:
            taken.setdefault(task, []).append(alternative)


def _common_reason(one: Alternative, other: Alternative) -> str:
    """Return the reason for which both apply; conditions that differ may be made for different results."""
    reasons = [{reason for on in each.on for reason in _COVERS.get(on, ())} for each in (one, other)]
    common = reasons[0] & reasons[1]
    if common:
        return "on failure" if "failure" in common else "on a time-out"
    both = "condition" in one.on and "condition" in other.on
    is_same = (one.when, one.predicate) == (other.when, other.predicate)
    return "on the same condition" if both and is_same else ""


def _check_watched(
    alternative: Alternative,
    tasks: Mapping[str, Task],
    services: Mapping[str, Service],
    asleep: Mapping[str, str],
    problems: Problems,
) -> None:
    """Check that some watched task can have the outcome that the alternative waits for."""
    name = alternative.name
    watched = [tasks[task] for task in alternative.watched if task in tasks]
    own = [task.name for task in watched if asleep.get(task.name) == name and task.name not in alternative.exits]
    if watched and len(own) == len(watched):
        message = f"the alternative `{name}` watches only `{own[0]}`, which runs only after it has applied"
        problems.add("W127", message, ("alternative", name))
    if watched and alternative.on == ("timeout",):
        limited = any(task.control is not None and task.control.timeout is not None for task in watched)
        called = [] if limited else [services.get(task.service) for task in watched]
        if called and all(
            one is not None and one.policy.timeout is None and one.policy.heartbeat is None for one in called
        ):
            message = f"the alternative `{name}` applies on a time-out, but `{watched[0].service}` has none"
            problems.add("W127", message, ("alternative", name), hint=f"add `timeout: 5` to `{watched[0].service}`")


def _check_needs(
    alternative: Alternative, tasks: Mapping[str, Task], depths: Mapping[str, int], problems: Problems
) -> None:
    """Check that no exit needs the result of a task that is given up."""
    given_up = {task for task in alternative.replaced if task in tasks}
    if not given_up:
        return
    # Nothing that stands less deep than what is given up can need it, which keeps the search short.
    least = min(depths.get(task, 0) for task in given_up)
    todo = [(exit_, exit_) for exit_ in alternative.exits.values() if exit_ in tasks and exit_ not in given_up]
    seen: set[str] = set()
    while todo:
        task, exit_ = todo.pop()
        for source in tasks[task].sources:
            if source in given_up:
                message = f"the alternative `{alternative.name}` replaces `{source}`, but `{exit_}` needs its result"
                problems.add("W129", message, ("alternative", alternative.name), hint=_needs_hint(task, source))
                return
            if source in tasks and source not in seen and depths.get(source, least) > least:
                seen.add(source)
                todo.append((source, exit_))


def _needs_hint(task: str, source: str) -> str:
    return f"`{task}` takes from `{source}`; let it take from what `{source}` takes from"


def depths_of(tasks: Mapping[str, Task]) -> dict[str, int]:
    """Return for each task how many tasks at most stand one after the other before it; none for those in a cycle."""
    waiting = {name: sum(source in tasks for source in task.sources) for name, task in tasks.items()}
    onward: dict[str, list[str]] = {name: [] for name in tasks}
    for name, task in tasks.items():
        for source in task.sources:
            if source in onward:
                onward[source].append(name)
    depths = {name: 0 for name, count in waiting.items() if not count}
    ready = list(depths)
    for name in ready:
        for later in onward[name]:
            waiting[later] -= 1
            if not waiting[later]:
                depths[later] = depths[name] + 1
                ready.append(later)
    return depths


def unfit_alternatives(workflow: Workflow) -> list[tuple[str, str]]:
    """Return the alternatives that a workflow with control flow cannot have, and why."""
    if not workflow.alternatives:
        return []
    paths = paths_of(workflow)
    stands_for = {new: old for one in workflow.alternatives for old, new in one.exits.items()}
    found = [(one.name, _unfit_whole(one, workflow.by_name, stands_for, paths)) for one in workflow.alternatives]
    return [(name, why) for name, why in found if why]


def _unfit_whole(
    alternative: Alternative, tasks: Mapping[str, Task], stands_for: Mapping[str, str], paths: Paths
) -> str:
    """Return why an alternative is more than one task in the place of another, all that control flow allows."""
    if len(alternative.exits) > 1 or set(alternative.also) - set(alternative.exits):
        return "replaces several tasks at once"
    if set(alternative.watched) - set(alternative.exits):
        return "watches other tasks than the one it replaces"
    exits = [(old, new) for old, new in alternative.exits.items() if old in tasks and new in tasks]
    return next((_unfit(tasks[old], tasks[new], _first_of(old, stands_for), paths) for old, new in exits), "")


def _first_of(name: str, stands_for: Mapping[str, str]) -> str:
    """Follow alternatives of alternatives back to the task in whose place they all are."""
    seen = {name}
    while name in stands_for and stands_for[name] not in seen:
        name = stands_for[name]
        seen.add(name)
    return name


def _unfit(old: Task, new: Task, first: str, paths: Paths) -> str:
    """Return why a task cannot be called in the place of another, with what has arrived there."""
    more = [source for source in new.sources if source not in paths.sources.get(first, ())]
    if more:
        return f"calls `{new.name}`, which takes from `{more[0]}`, and `{first}` does not"
    if new.control is not None and new.control != Control(ends=new.control.ends):
        return f"calls `{new.name}`, which does more than be called or end the case"
    if old.control is not None and old.control.many is not None:
        return f"replaces `{old.name}`, which has several instances"
    return "" if new.each == old.each else f"calls `{new.name}`, which goes over other lists than `{old.name}`"


def _check_sleepers_are_not_needed(workflow: Workflow, asleep: Mapping[str, str], problems: Problems) -> None:
    """Check that no task of the normal workflow waits for one that may never run."""
    for task in workflow.tasks:
        for source in () if task.name in asleep else task.sources:
            if source in asleep:
                message = f"`{task.name}` takes from `{source}`, which runs only if `{asleep[source]}` applies"
                hint = "take from the task that it replaces: when the alternative applies, its result comes instead"
                problems.add("W128", message, ("task", task.name), hint=hint)
    for name in workflow.results:
        if name in asleep:
            message = f"`results` names `{name}`, which runs only if `{asleep[name]}` applies"
            problems.add("W128", message, ("result", name), hint="name the task that it replaces")
