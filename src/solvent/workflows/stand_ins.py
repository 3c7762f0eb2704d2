"""What takes the place of a task in a controlled workflow: another service, in its instance, with its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.lang.molecule import List, Molecule, Symbol
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent.workflows.model import Alternative, Argument, Task, Workflow

KINDS = {"failure": ("FAILED", "TIMEOUT", "LOST", "UNROUTED"), "timeout": ("TIMEOUT",), "condition": ("CONDITION",)}
"""The kinds of faults that an alternative is for."""
SIMPLE = 7
"""How many parts a stand-in has that does what the task it stands in for would have done."""


def stand_in_names(alternatives: Sequence[Alternative], task: str) -> list[str]:
    """Return the tasks that may be called in the place of one: those of its alternatives, and of theirs."""
    found = [task]
    for name in found:
        found += [one.exits[name] for one in alternatives if name in one.exits and one.exits[name] not in found]
    return found[1:]


def stand_ins(
    workflow: Workflow, task: str, symbol: Callable[[str], Molecule], argument: Callable[[Argument], Molecule]
) -> list[Molecule]:
    """Return what takes another service where one fails: for each alternative of a task, and those after these."""
    found: list[Molecule] = []
    todo = [task]
    for name in todo:
        judges: list[Molecule] = []
        for one in workflow.alternatives:
            if name not in one.exits:
                continue
            other = workflow.task(one.exits[name])
            todo.append(other.name)
            kinds = List(dict.fromkeys(Symbol(kind) for on in one.on for kind in KINDS[on]))
            place = (symbol(name), one.name, kinds, symbol(other.name), other.service)
            found.append((Symbol("OTHER"), *place, List(map(argument, other.slots)), *_ending(other, symbol)))
            if "condition" in one.on:
                judges.append((one.name, one.when or ""))
        if judges:
            found.append((Symbol("JUDGES"), symbol(name), List(judges)))
    return found


def _ending(task: Task, symbol: Callable[[str], Molecule]) -> list[Molecule]:
    """Return what a stand-in that ends the case does in place of passing on."""
    if task.control is None or not task.control.ends:
        return []
    end = (Symbol("END"), symbol(task.name), Symbol(task.control.ends.upper()))
    ways = (Symbol("CHOICE"), symbol(task.name), Symbol("ALL"), List(), List())
    empty = [(Symbol("CANCELS"), List()), (Symbol("COMPLETES"), Solution())]
    return [Solution([ways, *empty, (Symbol("THEN"), Solution([end]))])]


__all__ = ["SIMPLE", "stand_in_names", "stand_ins"]
