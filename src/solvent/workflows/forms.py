"""Which form the tasks of a workflow without control flow have.

Most are *flat*: a few molecules of the main solution (`rules/flat.hocl`). Only what an alternative can change is
*replaceable*: a solution of its own, which can be opened again and moved (`rules/adaptation.hocl`). That is

- what an alternative watches, replaces or gives up, and its own tasks, which it wakes;
- what its own tasks take results from: they get another destination;
- whatever takes, at once or over others, the result of a task that is replaced or replaces another: it can be called
  off, and its own result with it.

All others never see the difference: a result is passed as `PASS : to : from : run : value` by either form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.lang.molecule import Molecule, Symbol
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.workflows.model import Workflow


_SHAPES = frozenset(
    (Symbol(head), length) for head, length in (("WAIT", 5), ("READY", 4), ("ITEMS", 3), ("RES", 3), ("ERR", 5))
)
_DST = Symbol("DST")


def replaceable_tasks(workflow: Workflow) -> frozenset[str]:
    """Return the tasks that an alternative can change; all others are flat."""
    if not workflow.alternatives:
        return frozenset()
    known, woken, onward = workflow.by_name, workflow.wakers, workflow.destinations
    found = {name for one in workflow.alternatives for name in one.watched}
    found.update(source for name in woken for source in known[name].sources)
    below = {*woken, *(name for one in workflow.alternatives for name in one.replaced)}
    todo = list(below)
    for name in todo:
        fresh = [later for later in onward.get(name, ()) if later not in below]
        below.update(fresh)
        todo += fresh
    return frozenset((found | below) & known.keys())


def task_of(molecule: Molecule) -> Molecule | None:
    """Return the task that a molecule of the main solution is, in either form; None for all other molecules."""
    if type(molecule) is not tuple:
        return None
    if type(molecule[1]) is Solution:
        return molecule[0]
    return molecule[1] if (molecule[0], len(molecule)) in _SHAPES else None


def molecules_of(task: Molecule, solution: Iterable[Molecule]) -> list[Molecule]:
    """Return the molecules of a task: those of its own solution, or those that it is in the main one."""
    found: list[Molecule] = []
    for one in solution:
        if task_of(one) == task:
            found += one[1] if type(one[1]) is Solution else [one]
        elif type(one) is tuple and one[0] is _DST and one[1] == task:
            found.append(one)
    return found


__all__ = ["molecules_of", "replaceable_tasks", "task_of"]
