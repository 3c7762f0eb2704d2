"""Whether tasks that call a workflow give it the inputs it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import WorkflowProblem
from solvent.workflow.model import REQUIRED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.workflow.model import Task, Workflow


def input_problems(task: Task, inner: Workflow) -> Iterator[WorkflowProblem]:
    """Give what is wrong with the inputs that a task gives to an inner workflow."""
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
            yield WorkflowProblem("W132", message, hint=f"add it to the task: `with: {{{name}: ...}}`")


__all__ = ["input_problems"]
