"""What a WfFormat 1.5 document must be: the rules of its schema, and those that a schema cannot state.

The schema asks for fields and types. Beyond it, as the validator of WfCommons does: identifiers are unique, parents and
children name tasks and each other, nothing is its own ancestor, and what the execution names is in the specification.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from solvent.workflow.places import Path

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
        "runtimeInSeconds": Field("number", required=True),
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


__all__ = ["Flaw", "find_flaws", "validate"]
