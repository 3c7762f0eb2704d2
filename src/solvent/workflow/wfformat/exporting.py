"""A run of ours as a WfFormat 1.5 document.

The specification lists the tasks of the workflow and how they depend on each other, an applied alternative's exit as a
further parent of those that took its result. Tasks of alternatives that never applied are left out. The execution lists
the tasks that were called, with the time from their first start to their end. How often a task was tried, how it
ended and when it started are fields of our own, which the format allows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.workflow.model import Alternative, Workflow

_NOT_IN_IDENTIFIERS = re.compile(r"[^0-9a-zA-Z\-_.]")


class TaskRecord(msgspec.Struct, frozen=True):
    """How one task went. Seconds count from the start of the run."""

    task: str
    started: float
    ended: float
    attempts: int = 1
    state: str = "done"


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
    identifiers = _identifiers(names)
    parents = _parents(workflow, names, applied)
    children: dict[str, list[str]] = {name: [] for name in names}
    for name in names:
        for parent in parents[name]:
            children[parent].append(name)
    services = {one.name: one.service for one in workflow.tasks}
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
                        "name": services[name] or "task",
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
    """Give each task an identifier of the few characters that the format allows, unlike all others."""
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
    """Give the tasks that each task waited for, in this run."""
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
    """Give all that took a task's place: alternatives may be replaced in their turn."""
    found: dict[str, None] = {}
    todo = list(instead[task])
    while todo:
        other = todo.pop()
        if other not in found and other != task:
            found[other] = None
            todo += instead.get(other, ())
    return list(found)


def _reaches(parents: dict[str, list[str]], start: str, goal: str) -> bool:
    """Say whether a task waits for another: a task that was opened again may stand before and after one."""
    todo, seen = [start], {start}
    while todo:
        name = todo.pop()
        if name == goal:
            return True
        fresh = [one for one in parents[name] if one not in seen]
        seen.update(fresh)
        todo += fresh
    return False


__all__ = ["RunRecord", "TaskRecord", "export_run"]
