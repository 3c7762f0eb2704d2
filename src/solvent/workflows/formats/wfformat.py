"""WfFormat 1.5, the traces of WfCommons: recorded runs to workflows that replay them, and runs of ours to traces.

The format: https://github.com/wfcommons/WfFormat.

The schema asks for fields and types. Beyond it, as the validator of WfCommons does: identifiers are unique, parents and
children name tasks and each other, nothing is its own ancestor, and what the execution names is in the specification.
And no task ran for less than no time, which the schema does not say.

Replay: each task becomes one that takes the results of its parents and calls a service of its own, which waits as long
as the recorded task ran, times `scale`. A task without a record takes no time.

Export: the specification lists the tasks of the workflow and how they depend on each other, an applied alternative's
exit as a further parent of those that took its result. Tasks of alternatives that never applied are left out. The
execution lists the tasks that were called, with the time from their first start to their end. How often a task was
tried, how it ended and when it started are fields of our own, which the format allows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from solvent.errors import WorkflowProblem
from solvent.workflows.model import Result, Service, Task, Workflow
from solvent.workflows.places import Key, Loaded, Places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from solvent.source import Span
    from solvent.workflows.formats.yaml.tree import Tree
    from solvent.workflows.model import Alternative
    from solvent.workflows.places import Path

MAX_NUMBER = 1 << 63
"""The largest number of any field; NaN and infinity, which JSON does not have, are refused too."""

SYSTEMS = ("linux", "macos", "windows")

_REFERENCE = re.compile(r"[0-9a-zA-Z\-_.]*")


class Flaw(msgspec.Struct, frozen=True):
    """One thing that is wrong, and where."""

    path: Path
    message: str

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path)) or 'the document'}: {self.message}"


class Field(msgspec.Struct, frozen=True):
    """What the schema says about one field."""

    kind: str
    required: bool = False
    least: float | None = None
    fields: Mapping[str, Field] | None = None
    one_of: tuple[str, ...] = ()
    is_reference: bool = False


_Fields: TypeAlias = "dict[str, Field]"

_NAME = Field("text", required=True)

_REFERENCES = Field("texts", required=True, is_reference=True)

_NUMBERS = ("avgCPU", "readBytes", "writtenBytes", "memoryInBytes", "energyInKWh", "avgPowerInW", "priority")

_SPECIFICATION: _Fields = {
    "tasks": Field("objects", required=True, least=1, fields={
        "name": _NAME, "id": _NAME, "parents": _REFERENCES, "children": _REFERENCES,
        "inputFiles": Field("texts"), "outputFiles": Field("texts"),
    }),
    "files": Field("objects", fields={"id": _NAME, "sizeInBytes": Field("integer", required=True, least=0)}),
}  # fmt: skip

_EXECUTION: _Fields = {
    "makespanInSeconds": Field("number", required=True),
    "executedAt": _NAME,
    "tasks": Field("objects", required=True, least=1, fields={
        "id": _NAME,
        "runtimeInSeconds": Field("number", required=True, least=0),
        "command": Field("object", fields={"program": Field("text"), "arguments": Field("texts")}),
        "coreCount": Field("number", least=1),
        **{name: Field("number") for name in _NUMBERS},
        "machines": Field("texts"),
    }),
    "machines": Field("objects", least=1, fields={
        "nodeName": _NAME,
        "system": Field("text", one_of=SYSTEMS),
        "architecture": Field("text"),
        "release": Field("text"),
        "memoryInBytes": Field("integer", least=1),
        "cpu": Field("object", fields={
            "coreCount": Field("integer", least=1), "speedInMHz": Field("integer", least=1), "vendor": Field("text"),
        }),
    }),
}  # fmt: skip

_DOCUMENT: _Fields = {
    "name": _NAME,
    "description": Field("text"),
    "createdAt": Field("text"),
    "schemaVersion": Field("text", required=True, one_of=("1.5",)),
    "runtimeSystem": Field("object", fields={"name": _NAME, "version": _NAME, "url": Field("text")}),
    "author": Field("object", fields={
        "name": _NAME, "email": _NAME, "institution": Field("text"), "country": Field("text"),
    }),
    "workflow": Field("object", required=True, fields={
        "specification": Field("object", required=True, fields=_SPECIFICATION),
        "execution": Field("object", fields=_EXECUTION),
    }),
}  # fmt: skip


def validate(document: Any) -> list[str]:
    """List all that is wrong with a document; a valid one gives an empty list."""
    return [str(flaw) for flaw in find_flaws(document)]


def find_flaws(document: Any) -> list[Flaw]:
    """List all that is wrong with a document, with places. What its parts mean is asked only if their form is right."""
    flaws = list(_check_object(document, (), _DOCUMENT))
    return flaws or [*_check_specification(document), *_check_execution(document)]


# --- Form.


def _check_object(data: Any, path: Path, fields: Mapping[str, Field]) -> Iterator[Flaw]:
    if not isinstance(data, dict):
        yield Flaw(path, "must be an object")
        return
    for name, field in fields.items():
        if name in data:
            yield from _check_field(data[name], (*path, name), field)
        elif field.required:
            yield Flaw(path, f"lacks `{name}`")


def _check_field(data: Any, path: Path, field: Field) -> Iterator[Flaw]:
    match field.kind:
        case "object":
            yield from _check_object(data, path, field.fields or {})
        case "objects":
            yield from _check_list(data, path, field)
            for at, one in enumerate(data if isinstance(data, list) else ()):
                yield from _check_object(one, (*path, at), field.fields or {})
        case "texts":
            yield from _check_list(data, path, field)
            for at, one in enumerate(data if isinstance(data, list) else ()):
                yield from _check_text(one, (*path, at), field)
        case "text":
            yield from _check_text(data, path, field)
        case _:
            yield from _check_number(data, path, field)


def _check_list(data: Any, path: Path, field: Field) -> Iterator[Flaw]:
    if not isinstance(data, list):
        yield Flaw(path, "must be a list")
    elif field.least and not data:
        yield Flaw(path, "must not be empty")


def _check_text(data: Any, path: Path, field: Field) -> Iterator[Flaw]:
    if not isinstance(data, str):
        yield Flaw(path, "must be a text")
    elif not data and not field.is_reference:
        yield Flaw(path, "must not be empty")
    elif field.one_of and data not in field.one_of:
        yield Flaw(path, f"must be {' or '.join(field.one_of)}, not `{data}`")
    elif field.is_reference and _REFERENCE.fullmatch(data) is None:
        yield Flaw(path, f"`{data}` has characters that an identifier must not have")


def _check_number(data: Any, path: Path, field: Field) -> Iterator[Flaw]:
    is_whole = type(data) is int or (isinstance(data, float) and data.is_integer())
    if type(data) not in (int, float):
        yield Flaw(path, "must be a number")
    elif not abs(data) <= MAX_NUMBER:
        yield Flaw(path, f"must be a number of at most {MAX_NUMBER:,}")
    elif field.kind == "integer" and not is_whole:
        yield Flaw(path, "must be a whole number")
    elif field.least is not None and not data >= field.least:
        yield Flaw(path, f"must be at least {field.least}")


# --- Meaning.


def _check_specification(document: Any) -> Iterator[Flaw]:
    specification = document["workflow"]["specification"]
    tasks = specification["tasks"]
    above: Path = ("workflow", "specification")
    yield from _check_unique(tasks, "id", (*above, "tasks"))
    yield from _check_unique(specification.get("files", []), "id", (*above, "files"))
    parents = {task["id"]: set(task["parents"]) for task in tasks}
    children = {task["id"]: set(task["children"]) for task in tasks}
    for at, task in enumerate(tasks):
        path: Path = (*above, "tasks", at)
        name = task["id"]
        yield from _check_mirrored(name, task["parents"], children, (*path, "parents"), ("parent", "child"))
        yield from _check_mirrored(name, task["children"], parents, (*path, "children"), ("child", "parent"))
    files = {file["id"] for file in specification.get("files", [])}
    for at, task in enumerate(tasks if "files" in specification else ()):
        for key in ("inputFiles", "outputFiles"):
            for number, file in enumerate(task.get(key, ())):
                if file not in files:
                    yield Flaw((*above, "tasks", at, key, number), f"the file `{file}` is not listed in `files`")
    yield from _check_acyclic(parents, above)


def _check_unique(items: list[Any], key: str, path: Path) -> Iterator[Flaw]:
    seen: set[str] = set()
    for at, item in enumerate(items):
        if item[key] in seen:
            yield Flaw((*path, at, key), f"`{item[key]}` stands here a second time")
        seen.add(item[key])


def _check_mirrored(
    name: str, named: list[str], mirror: dict[str, set[str]], path: Path, words: tuple[str, str]
) -> Iterator[Flaw]:
    """Check that whom a task names as parent or child knows of it."""
    for at, other in enumerate(named):
        if other not in mirror:
            yield Flaw((*path, at), f"the {words[0]} `{other}` of `{name}` is no task")
        elif name not in mirror[other]:
            yield Flaw(
                (*path, at), f"`{name}` names the {words[0]} `{other}`, which does not name the {words[1]} `{name}`"
            )


def _check_acyclic(parents: dict[str, set[str]], path: Path) -> Iterator[Flaw]:
    waiting = {name: sum(1 for one in named if one in parents) for name, named in parents.items()}
    onward: dict[str, list[str]] = {name: [] for name in parents}
    for name, named in parents.items():
        for one in named:
            if one in onward:
                onward[one].append(name)
    ready = [name for name, count in waiting.items() if not count]
    while ready:
        name = ready.pop()
        del waiting[name]
        for one in onward[name]:
            waiting[one] -= 1
            if not waiting[one]:
                ready.append(one)
    if waiting:
        some = ", ".join(f"`{name}`" for name in sorted(waiting)[:5])
        yield Flaw((*path, "tasks"), f"{len(waiting)} tasks wait for each other in a circle: {some}")


def _check_execution(document: Any) -> Iterator[Flaw]:
    execution = document["workflow"].get("execution")
    if execution is None:
        return
    above: Path = ("workflow", "execution")
    known = {task["id"] for task in document["workflow"]["specification"]["tasks"]}
    machines = {machine["nodeName"] for machine in execution.get("machines", ())}
    yield from _check_unique(execution["tasks"], "id", (*above, "tasks"))
    yield from _check_unique(execution.get("machines", []), "nodeName", (*above, "machines"))
    for at, task in enumerate(execution["tasks"]):
        if task["id"] not in known:
            yield Flaw((*above, "tasks", at, "id"), f"`{task['id']}` is no task of the specification")
        for machine in task.get("machines", ()) if machines else ():
            if machine not in machines:
                yield Flaw((*above, "tasks", at, "machines"), f"`{machine}` is not listed in `machines`")


VERSIONS = ("1.5", "1.6")
"""The versions that are read: 1.6 adds optional fields to 1.5."""


def read_tree(tree: Tree, *, scale: float = 1.0) -> Loaded:
    """Make a workflow from a trace, or raise what is wrong with it first."""
    document = tree.data
    version = document.get("schemaVersion")
    if version not in VERSIONS:
        message = f"this is a trace of WfFormat {version}; {' and '.join(VERSIONS)} are read"
        hint = "the tools of WfCommons migrate older traces"
        raise WorkflowProblem("W110", message, span=tree.span(("schemaVersion",)), hint=hint)
    flaws = find_flaws({**document, "schemaVersion": "1.5"})
    # Version 1.6 allows more characters in identifiers than 1.5 did; here they do no harm.
    flaws = [flaw for flaw in flaws if "has characters" not in flaw.message]
    if flaws:
        more = f" (and {len(flaws) - 1} more such problems)" if len(flaws) > 1 else ""
        raise WorkflowProblem("W110", f"in this trace, {flaws[0]}{more}", span=tree.span(flaws[0].path))
    workflow = read_document(document, scale=scale)
    return Loaded(workflow, Places(lambda: _places(workflow, tree)))


def read_document(document: dict[str, Any], *, scale: float = 1.0) -> Workflow:
    """Make a workflow from a valid trace."""
    specification = document["workflow"]["specification"]
    execution = document["workflow"].get("execution") or {"tasks": []}
    seconds = {one["id"]: one["runtimeInSeconds"] * scale for one in execution["tasks"]}
    names = [one["id"] for one in specification["tasks"]]
    return Workflow(
        name=document["name"],
        tasks=tuple(
            Task(one["id"], one["id"], tuple(Result(parent) for parent in one["parents"]))
            for one in specification["tasks"]
        ),
        services=tuple(Service(name, "replay", options={"seconds": seconds.get(name, 0.0)}) for name in names),
    )


def _places(workflow: Workflow, tree: Tree) -> dict[Key, Span]:
    found: dict[Key, Span] = {}
    for at, task in enumerate(workflow.tasks):
        span = tree.span(("workflow", "specification", "tasks", at))
        if span is not None:
            found["task", task.name] = found["service", task.service] = span
    return found


_NOT_IN_IDENTIFIERS = re.compile(r"[^0-9a-zA-Z\-_.]")


class TaskRecord(msgspec.Struct, frozen=True):
    """How one task went. Seconds count from the start of the run."""

    task: str
    started: float
    ended: float
    attempts: int = 1
    state: str = "done"
    inside: str = ""
    """The task that has called the sub-workflow in which it is."""


class RunRecord(msgspec.Struct, frozen=True):
    """How a run went."""

    tasks: tuple[TaskRecord, ...]
    makespan: float
    executed_at: str
    """When it began, such as `2026-03-20T15:19:28+00:00`."""
    machine: str = "localhost"
    system: Literal["linux", "macos", "windows"] | None = None
    adaptations: tuple[str, ...] = ()
    """The names of the alternatives that applied."""
    version: str = "0"
    """The version of Solvent that ran it."""


def export_run(workflow: Workflow, record: RunRecord) -> dict[str, Any]:
    """Make the WfFormat document of a run."""
    applied = [one for one in workflow.alternatives if one.name in record.adaptations]
    called = {one.task for one in record.tasks}
    asleep = workflow.dormant
    names = [one.name for one in workflow.tasks if one.name in called or one.name not in asleep]
    parents = _parents(workflow, names, applied)
    services = {one.name: one.service for one in workflow.tasks}
    for one in record.tasks:
        if one.inside and one.task not in parents and one.inside in parents:
            # Of a sub-workflow it is only known that its task has called it.
            names.append(one.task)
            parents[one.task] = [one.inside]
    identifiers = _identifiers(names)
    children: dict[str, list[str]] = {name: [] for name in names}
    for name in names:
        for parent in parents[name]:
            children[parent].append(name)
    document: dict[str, Any] = {
        "name": workflow.name or "workflow",
        "description": "A run of a workflow by Solvent",
        "createdAt": record.executed_at,
        "schemaVersion": "1.5",
        "runtimeSystem": {"name": "Solvent", "version": record.version or "0"},
        "workflow": {
            "specification": {
                "tasks": [
                    {
                        "name": services.get(name, name) or "task",
                        "id": identifiers[name],
                        "parents": [identifiers[one] for one in parents[name]],
                        "children": [identifiers[one] for one in children[name]],
                    }
                    for name in names
                ]
            }
        },
    }
    ran = _merged(one for one in record.tasks if one.task in identifiers)
    if ran:
        document["workflow"]["execution"] = _execution(record, ran, identifiers)
    return document


def _merged(records: Iterable[TaskRecord]) -> list[TaskRecord]:
    """Put the records of a task that was opened again into one, since the format has one for each task."""
    found: dict[str, TaskRecord] = {}
    for one in records:
        before = found.get(one.task)
        if before is not None:
            started, attempts = min(before.started, one.started), before.attempts + one.attempts
            one = TaskRecord(one.task, started, max(before.ended, one.ended), attempts, one.state)  # noqa: PLW2901
        found[one.task] = one
    return list(found.values())


def _execution(record: RunRecord, ran: list[TaskRecord], identifiers: dict[str, str]) -> dict[str, Any]:
    machine = {"nodeName": record.machine or "localhost"}
    if record.system is not None:
        machine["system"] = record.system
    return {
        "makespanInSeconds": record.makespan,
        "executedAt": record.executed_at,
        "tasks": [
            {
                "id": identifiers[one.task],
                "runtimeInSeconds": max(0.0, one.ended - one.started),
                "machines": [machine["nodeName"]],
                "startInSeconds": one.started,
                "attempts": one.attempts,
                "state": one.state,
            }
            for one in ran
        ],
        "machines": [machine],
    }


def _identifiers(names: Iterable[str]) -> dict[str, str]:
    """Return for each task an identifier of the few characters that the format allows, unlike all others."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = _NOT_IN_IDENTIFIERS.sub("_", name) or "_"
        identifier, number = plain, 1
        while identifier in taken:
            number += 1
            identifier = f"{plain}.{number}"
        taken.add(identifier)
        found[name] = identifier
    return found


def _parents(workflow: Workflow, names: list[str], applied: list[Alternative]) -> dict[str, list[str]]:
    """Return the tasks that each task waited for, in this run."""
    kept = set(names)
    known = {one.name: one for one in workflow.tasks}
    parents = {name: [one for one in known[name].sources if one in kept] for name in names}
    instead: dict[str, list[str]] = {}
    for alternative in applied:
        for task, other in alternative.exits.items():
            instead.setdefault(task, []).append(other)
    onward = workflow.destinations
    for task in instead:
        later = [name for name in onward.get(task, ()) if name in kept]
        for other in _replacements(task, instead):
            for name in later:
                if other in kept and other not in parents[name] and not _reaches(parents, other, name):
                    parents[name].append(other)
    return parents


def _replacements(task: str, instead: dict[str, list[str]]) -> list[str]:
    """Return all that took a task's place: alternatives may be replaced in their turn."""
    found: dict[str, None] = {}
    todo = list(instead[task])
    while todo:
        other = todo.pop()
        if other not in found and other != task:
            found[other] = None
            todo += instead.get(other, ())
    return list(found)


def _reaches(parents: dict[str, list[str]], start: str, goal: str) -> bool:
    """Return whether a task waits for another: a task that was opened again may stand before and after one."""
    todo, seen = [start], {start}
    while todo:
        name = todo.pop()
        if name == goal:
            return True
        fresh = [one for one in parents[name] if one not in seen]
        seen.update(fresh)
        todo += fresh
    return False
