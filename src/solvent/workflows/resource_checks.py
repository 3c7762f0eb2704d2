"""What is wrong with the resources of a workflow, and with the way its tasks claim them.

W160  an unknown resource, or one that is named where a task or an input is
W161  a resource that is not described well: its shape, type, size or paths
W162  a claim that no call can have: of the wrong kind of service, of a resource twice, of rows that are not there

Whether tasks come in the right order is not asked here: those that claim the same resource come one after the other,
and which comes first is said by results and by `after`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.workflows.model import Claim, Each, faults_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.workflows.model import Resource, Service, Task, Workflow
    from solvent.workflows.places import Key, Problems

HOLDERS = ("python", "shell")
"""The kinds of services that can have a resource."""
_WHY_NOT = {
    "http": "what is behind an address cannot reach it",
    "hocl": "a program has molecules, not memory",
    "workflow": "a workflow has resources of its own",
    "replay": "it only waits",
    "delay": "it only waits",
}


def mistaken(workflow: Workflow, name: str, does: str, key: Key, problems: Problems) -> bool:
    """Report a resource that is named where a task or an input should be; tell whether it is one."""
    if workflow.resource(name) is None:
        return False
    hint = f"a call has it by an argument of its own: `{{resource: {name}}}`"
    if key[0] == "result":
        hint = f"what it holds in the end is kept by `save`: `resources: {{{name}: {{save: PATH}}}}`"
    problems.add("W160", f"{does} `{name}`, which is a resource", key, hint=hint)
    return True


def check_resources(workflow: Workflow, problems: Problems) -> None:
    """Check the resources and all claims of them."""
    known = {one.name: one for one in workflow.resources}
    services = {one.name: one for one in workflow.services}
    for one in workflow.resources:
        key: Key = ("resource", one.name)
        for fault, hint in faults_of(one):
            problems.add("W161", f"the resource `{one.name}` {fault}", key, hint=hint)
        for slot in one.inputs:
            if slot.name not in workflow.inputs:
                message = f"the resource `{one.name}` takes the input `{slot.name}`, which the workflow does not have"
                problems.unknown("W122", message, key, slot.name, workflow.inputs)
    for task in workflow.tasks:
        if task.control is not None and task.control.many is not None and isinstance(task.control.many.count, Claim):
            problems.add("W162", f"`{task.name}` is called as often as a resource says", ("task", task.name))
        if task.claims:
            _check_claims(task, known, services.get(task.service), problems)


def _check_claims(task: Task, known: dict[str, Resource], service: Service | None, problems: Problems) -> None:
    key: Key = ("task", task.name)
    if service is not None and service.kind not in HOLDERS:
        message = f"`{task.name}` calls `{service.name}`, which cannot have the resource `{task.claims[0].resource}`"
        hint = f"{_WHY_NOT[service.kind]}; Python functions and shell commands can"
        problems.add("W162", message, key, hint=hint)
    seen: set[str] = set()
    for claim in task.claims:
        if claim.resource not in known:
            message = f"`{task.name}` has the resource `{claim.resource}`, which the workflow does not have"
            problems.unknown("W160", message, key, claim.resource, known)
            continue
        if claim.resource in seen:
            hint = "one claim of all that the call needs; to write includes to read"
            problems.add("W162", f"`{task.name}` has the resource `{claim.resource}` twice", key, hint=hint)
        seen.add(claim.resource)
        _check_stretch(task.name, claim, known[claim.resource], problems)
        if not claim.is_whole and service is not None and service.kind == "shell":
            message = f"`{task.name}` is a command and claims a stretch of `{claim.resource}`"
            problems.add("W162", message, key, hint="a command gets the path of all of it")
    for at in _gone_over(task):
        if 0 <= at < len(task.slots) and isinstance(task.slots[at], Claim):
            message = f"`{task.name}` goes over its argument {at}, which is a resource"
            problems.add("W162", message, key, hint="each call has the same; claim stretches by tasks of their own")


def _check_stretch(task: str, claim: Claim, resource: Resource, problems: Problems) -> None:
    rows = resource.rows_count
    unit = "rows" if resource.shape is not None else "bytes"
    end = None if claim.length is None else claim.offset + claim.length
    if claim.offset < 0 or (claim.length is not None and claim.length < 1):
        message = f"`{task}` claims {claim.length} {unit} of `{claim.resource}` from {claim.offset} on"
        problems.add("W162", message, ("task", task), hint="they count from 0, and there is at least one")
    elif rows is not None and (claim.offset >= rows or (end is not None and end > rows)):
        message = f"`{task}` claims {unit} {claim.offset} to {end or rows} of `{claim.resource}`, which has {rows}"
        problems.add("W162", message, ("task", task))


def _gone_over(task: Task) -> Iterator[int]:
    """Yield the arguments that a task is called once for each item of."""
    todo: list[int | Each] = [] if task.each is None else [task.each]
    while todo:
        one = todo.pop()
        if isinstance(one, Each):
            todo += one.over
        else:
            yield one
    if task.control is not None and task.control.many is not None and task.control.many.over is not None:
        yield task.control.many.over
