"""A recorded run as a workflow that replays it.

Each task becomes one that takes the results of its parents and calls a service of its own, which waits as long as the
recorded task ran, times `scale`. A task without a record takes no time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.errors import WorkflowProblem
from solvent.workflow.model import Result, Service, Task, Workflow
from solvent.workflow.places import Key, Loaded, Places
from solvent.workflow.wfformat.validating import find_flaws

if TYPE_CHECKING:
    from solvent.source import Span
    from solvent.workflow.files.tree import Tree

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
    seconds = {one["id"]: max(0.0, one["runtimeInSeconds"] * scale) for one in execution["tasks"]}
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


__all__ = ["VERSIONS", "read_document", "read_tree"]
