"""Which form the tasks of a workflow have.

Most are *flat*: a few molecules of the main solution (`rules/flat.hocl`).

What an alternative can change is *replaceable*: a solution of its own, which can be opened again and moved
(`rules/adaptation.hocl`). That is

- what an alternative watches, replaces or gives up, and its own tasks, which it wakes;
- what its own tasks take results from: they get another destination;
- whatever takes, at once or over others, the result of a task that is replaced or replaces another: it can be called
  off, and its own result with it.

A task that joins, splits, repeats, waits or cancels is a *gate*: the gate stays, and makes an instance for each start
(`rules/patterns.hocl`). A task without such keywords is a gate, too, if it may start more than once, may be cancelled,
hears of ways that are not taken, is offered something, belongs to a milestone, or passes to a task whose tokens carry a
number. In a workflow with rules of the user's own every task is a gate.

An alternative cannot call off what a gate has already received. If it reaches a gate, its task becomes a gate as well,
and the instance calls the other service (*swapped*). This works only for one task in the place of another.

Tasks of different forms work together: each passes a result as `PASS : to : from : run : value`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solvent.lang.molecule import Molecule, Symbol
from solvent.lang.solution import Solution
from solvent.workflows.model import has_control
from solvent.workflows.paths import dominators_of, paths_of
from solvent.workflows.relations import Relations
from solvent.workflows.soundness import ways_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from solvent.workflows.model import Alternative, Workflow
    from solvent.workflows.paths import Paths


_SHAPES = frozenset(
    (Symbol(head), length) for head, length in (("WAIT", 5), ("READY", 4), ("ITEMS", 3), ("RES", 3), ("ERR", 5))
)
_DST = Symbol("DST")


@dataclass(frozen=True, slots=True)
class Forms:
    """The tasks that are not flat, and how alternatives apply."""

    replaceable: frozenset[str] = frozenset()
    gates: frozenset[str] = frozenset()
    #: The alternatives, by name, that call another service inside an instance.
    swapped: frozenset[str] = frozenset()
    #: Of a workflow with gates.
    relations: Relations | None = None


def forms_of(workflow: Workflow, paths: Paths | None = None) -> Forms:
    """Return the forms of a workflow's tasks, found out once; `paths` is its shape, if that is known already."""
    known = vars(workflow)
    if "forms" not in known:
        known["forms"] = _forms_of(workflow, paths)
    found: Forms = known["forms"]
    return found


def _forms_of(workflow: Workflow, paths: Paths | None) -> Forms:
    if not workflow.is_controlled:
        return Forms(_replaceable(workflow, workflow.alternatives))
    relations = Relations(workflow, paths_of(workflow) if paths is None else paths)
    gates = _gates(workflow, relations)
    swapped = _swapped(workflow, gates)
    moving = [one for one in workflow.alternatives if one.name not in swapped]
    return Forms(_replaceable(workflow, moving), frozenset(gates), swapped, relations)


def _replaceable(workflow: Workflow, alternatives: Iterable[Alternative]) -> frozenset[str]:
    """Return the tasks that alternatives can change, and those that they watch."""
    names = {one.name for one in alternatives}
    if not names:
        return frozenset()
    known, onward = workflow.by_name, workflow.destinations
    woken = [name for name, wakers in workflow.wakers.items() if not names.isdisjoint(wakers)]
    found = {name for one in alternatives for name in one.watched}
    found.update(source for name in woken for source in known[name].sources)
    below = {*woken, *(name for one in alternatives for name in one.replaced)}
    todo = list(below)
    for name in todo:
        fresh = [later for later in onward.get(name, ()) if later not in below]
        below.update(fresh)
        todo += fresh
    return frozenset((found | below) & known.keys())


def _swapped(workflow: Workflow, gates: set[str]) -> frozenset[str]:
    """Return the alternatives that would change a gate; what they replace becomes one."""
    if not workflow.alternatives:
        return frozenset()
    known = workflow.by_name
    stands_for = {new: old for one in workflow.alternatives for old, new in one.exits.items()}
    woken: dict[str, list[str]] = {}
    for name, wakers in workflow.wakers.items():
        for waker in wakers:
            woken.setdefault(waker, []).append(name)
    found: set[str] = set()
    # A stand-in that ends the case has no gate, and is not flat either.
    fixed = gates | {name for name in workflow.dormant if has_control(known[name])}
    while True:
        before = _leading_to(fixed, workflow)
        fresh = [
            one
            for one in workflow.alternatives
            if one.name not in found
            and not (
                before.isdisjoint((*woken.get(one.name, ()), *one.replaced))
                and fixed.isdisjoint(one.watched)
                and fixed.isdisjoint(source for name in woken.get(one.name, ()) for source in known[name].sources)
            )
        ]
        if not fresh:
            return frozenset(found)
        for one in fresh:
            found.add(one.name)
            replaced = {_original(name, stands_for) for name in one.exits}
            gates |= replaced & known.keys()
            fixed |= {*replaced, *one.exits, *one.exits.values()}


def _leading_to(names: set[str], workflow: Workflow) -> set[str]:
    """Return some tasks and all that pass to them, at once or over others."""
    sources: dict[str, list[str]] = {}
    for name, later in workflow.destinations.items():
        for one in later:
            sources.setdefault(one, []).append(name)
    found, todo = set(names), list(names)
    for name in todo:
        fresh = [one for one in sources.get(name, ()) if one not in found]
        found.update(fresh)
        todo += fresh
    return found


def _original(name: str, stands_for: Mapping[str, str]) -> str:
    """Return the task in whose place others are, one in the place of the next."""
    seen = {name}
    while stands_for.get(name, name) not in seen:
        name = stands_for[name]
        seen.add(name)
    return name


def _gates(workflow: Workflow, relations: Relations) -> set[str]:
    """Return the tasks that cannot be flat, whatever alternatives there are."""
    paths = relations.paths
    if workflow.patterns:
        # Rules of the user's own may look at the gate of any task.
        return set(paths.sources)
    tokens = _Tokens(relations)
    numbered = relations.cancelled | paths.numbered.keys()
    around = {name for during, one in relations.milestones for name in (*during, one)}
    forced = {*numbered, *relations.offered, *around, *(to for _, to in paths.skips.told)}
    return {
        task.name
        for task in workflow.tasks
        if task.name in paths.sources
        and (
            has_control(task)
            or task.name in forced
            or not tokens.is_flat(task.name)
            or any(to in numbered for to in paths.destinations[task.name])
        )
    }


class _Tokens:
    """Which tasks start at most once, and pass at most one token, as far as the shape of a workflow shows it."""

    def __init__(self, relations: Relations) -> None:
        self._control = relations.control
        self._paths = paths = relations.paths
        self._nearest: dict[str, str | None] | None = None
        # The tasks that another one may cancel.
        self._dropped = {name for control in relations.control.values() for name in control.cancels}
        self._dropped.update(name for region in relations.regions.values() for name in region)
        self.once: set[str] = set()
        """The tasks that start at most once."""
        self._single: set[int] = set()
        """The loops in which one token goes round, and leaves."""
        members: dict[int, set[str]] = {}
        for name, number in paths.loops.items():
            members.setdefault(number, set()).add(name)
        for name in sorted(paths.sources, key=paths.ranks.__getitem__):
            loop = paths.loops.get(name)
            if loop is None:
                if self._starts_once(name):
                    self.once.add(name)
            elif loop in members and self._is_single(members.pop(loop)):
                self._single.add(loop)

    def is_flat(self, name: str) -> bool:
        """Return whether a task starts once, with one token of each source."""
        return name in self.once and all(self._passes_once(one, name) for one in self._paths.sources[name])

    def _passes_once(self, source: str, name: str) -> bool:
        control, loops = self._control[source], self._paths.loops
        is_apart = control.many is not None and control.many.apart
        if is_apart or control.copies > 1 or sum(route.task == name for route in control.routes) > 1:
            return False
        return source in self.once or (loops.get(source) in self._single and loops[source] != loops.get(name))

    def _starts_once(self, name: str) -> bool:
        control, sources = self._control[name], self._paths.sources[name]
        if not all(self._passes_once(one, name) for one in sources):
            return False
        if sources and name in self._paths.starts:
            # It starts by itself, and is gone back to.
            return False
        if control.signal is not None and not sources:
            # It starts for each signal.
            return False
        if control.join == "any" and len(sources) > 1:
            return self._is_exclusive(name)
        if control.join == "first":
            # One that is cancelled forgets that its round is over.
            return name not in self._dropped
        return control.join in ("all", "any", "active")

    def _is_single(self, loop: set[str]) -> bool:
        """Return whether one token enters a loop, stays one there, and is gone when it leaves."""
        paths, entered = self._paths, 0
        for name in loop:
            control = self._control[name]
            outside = [one for one in paths.sources[name] if one not in loop]
            entered += len(outside) + (name in paths.starts)
            is_plain = control.copies == 1 and not (control.many is not None and control.many.apart)
            if not is_plain or not all(self._passes_once(one, name) for one in outside):
                return False
            if control.join != "any" and len(paths.sources[name]) > 1:
                return False
            for way in ways_of(control, paths.destinations[name]):
                if len(way & loop) > 1 or (way & loop and way - loop):
                    return False
        return entered <= 1

    def _is_exclusive(self, name: str) -> bool:
        """Return whether only one source of a task can pass to it."""
        paths, sources = self._paths, set(self._paths.sources[name])
        loops = {paths.loops.get(one) for one in sources}
        if loops <= self._single and len(loops) == 1:
            # The token leaves the loop in one place.
            return True
        if self._nearest is None:
            self._nearest = dominators_of(paths.destinations, paths.starts)
        head = self._nearest.get(name)
        if head is None or head not in self.once or self._control[head].split not in ("one", "deferred"):
            return False
        # Each lies behind another way of a choice.
        seen: set[str] = set()
        for way in paths.destinations[head]:
            behind = {head} if way == name else _behind(way, name, paths.destinations)
            reached = behind & sources
            if len(reached) > 1 or not seen.isdisjoint(reached):
                return False
            seen |= reached
        return True


def _behind(first: str, until: str, destinations: Mapping[str, tuple[str, ...]]) -> set[str]:
    """Return a task and all that may come after it, up to another one."""
    found, todo = {first}, [first]
    for name in todo:
        fresh = [later for later in destinations[name] if later != until and later not in found]
        found.update(fresh)
        todo += fresh
    return found


def task_of(molecule: Molecule) -> Molecule | None:
    """Return the task that a molecule of the main solution is, flat or replaceable; None for all other molecules."""
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


__all__ = ["Forms", "forms_of", "molecules_of", "task_of"]
