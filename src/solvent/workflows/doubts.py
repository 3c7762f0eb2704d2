"""What reads well in a workflow but is probably not meant: a loop whose answers cannot differ by what comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.lang.doubts import Doubt
from solvent.workflows.model import Input, Value
from solvent.workflows.paths import paths_of
from solvent.workflows.places import route_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.workflows.model import Task, Workflow
    from solvent.workflows.places import Loaded


def workflow_doubts(loaded: Loaded) -> list[Doubt]:
    """Return the warnings about a workflow."""
    workflow, places = loaded.workflow, loaded.places
    found = []
    for task, first in _ways_back(workflow) if workflow.is_controlled else ():
        if not all(isinstance(slot, Value | Input) for slot in first.slots):
            continue
        message = (
            f"`{first.name}` is gone back to and takes only inputs and constants: "
            f"the loop ends only if `{first.name}` itself changes its answer"
        )
        span = places.get(route_key(task.name, first.name)) or places.get(("task", first.name))
        hint = "let it take what comes back: `{arrived: one}` in a file, the step before it in Python"
        found.append(Doubt("W186", message, span, hint))
    return found


def _ways_back(workflow: Workflow) -> Iterator[tuple[Task, Task]]:
    """Yield each task that may go back to an earlier one, with that one: by `again`, or by a choice."""
    paths = paths_of(workflow)
    for task in workflow.tasks:
        for name in paths.destinations.get(task.name, ()):
            is_chosen = paths.skips.loops.is_back(task.name, name) and (
                name in paths.starts or paths.skips.is_entered(name)
            )
            if name == task.back or is_chosen:
                yield task, workflow.by_name[name]


__all__ = ["workflow_doubts"]
