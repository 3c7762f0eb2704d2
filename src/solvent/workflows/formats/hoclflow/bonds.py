"""Who serves whom: DST as it follows from SRC and the alternatives, and whether a text agrees.

The paper writes each dependency twice, as DST of one task and SRC of the other. Alternatives are the exception: the
tasks of an alternative take from others that do not know of them yet, and its exits will serve whom the replaced
tasks served. Both may be written, and need not be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solvent.lang.syntax import Node
    from solvent.workflows import model
    from solvent.workflows.formats.hoclflow.values import ValueReader


class Bonds:
    """The destinations of every task of a workflow."""

    def __init__(self, workflow: model.Workflow) -> None:
        self.onward = workflow.destinations
        self.asleep = workflow.dormant
        self._tasks = {task.name: task for task in workflow.tasks}
        self.takers: dict[str, set[str]] = {}
        for one in workflow.tasks:
            for source in one.sources:
                self.takers.setdefault(source, set()).add(one.name)
        self._replaced: dict[str, list[str]] = {}
        for alternative in workflow.alternatives:
            for task, other in alternative.exits.items():
                self._replaced.setdefault(other, []).append(task)

    def certain(self, task: str) -> list[str]:
        """Return the destinations that belong to the same part of the workflow."""
        own = self.asleep.get(task)
        return [name for name in self.onward.get(task, ()) if self.asleep.get(name) in (None, own)]

    def inherited(self, task: str) -> list[str]:
        """Return the destinations of the tasks that it replaces, of those that these replace, and so on."""
        found: dict[str, None] = {}
        seen = {task}
        todo = list(self._replaced.get(task, ()))
        while todo:
            replaced = todo.pop()
            if replaced not in seen:
                seen.add(replaced)
                found |= dict.fromkeys(self.certain(replaced))
                todo += self._replaced.get(replaced, ())
        return list(found)

    def written(self, task: str) -> list[str]:
        """Return what DST says: the certain destinations and the inherited ones."""
        return list(dict.fromkeys([*self.certain(task), *self.inherited(task)]))

    def of_alternative(self, alternative: model.Alternative) -> list[tuple[str, str, str]]:
        """Return the bonds of an alternative: for those who served the replaced tasks, then for those they served."""
        found: dict[tuple[str, str, str], None] = {}
        for old, new in alternative.exits.items():
            for source in self._tasks[new].sources if new in self._tasks else ():
                if source not in self.asleep:
                    found[source, old, new] = None
            for whom in self.certain(old):
                found[whom, old, new] = None
        return list(found)


def check_destinations(
    workflow: model.Workflow, written: dict[str, tuple[Node, tuple[str, ...]]], reader: ValueReader
) -> None:
    """Insist that every DST agrees with the SRC of the tasks it names, and of those it does not name."""
    bonds = Bonds(workflow)
    for task, (node, names) in written.items():
        named = set(names)
        must = bonds.certain(task)
        for name in must:
            if name not in named:
                does = f"`{name}` takes from `{task}`"
                if name not in bonds.takers.get(task, ()):
                    does = f"`{task}` may pass on to `{name}`"
                message = f"{does}, but `DST` of `{task}` does not name `{name}`"
                reader.fail(node, message, code="W108", hint=f"add `{name}` to `DST`, or leave `DST` out")
        may = {*must, *bonds.inherited(task), *bonds.onward.get(task, ())}
        for name in names:
            if name not in may:
                message = f"`DST` of `{task}` names `{name}`, but `SRC` of `{name}` does not name `{task}`"
                reader.fail(node, message, code="W108", hint=f"add `{task}` to `SRC` of `{name}`")
