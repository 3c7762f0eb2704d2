"""Who must hear that a way is not taken: whom a synchronizing merge behind it would wait for otherwise.

In a loop a way out that is not taken now may be taken later. So a task that stays in its loop tells nobody outside, and
who leaves the loop tells the ends of all other ways out of it. Loops lie in loops: a choice may leave the inner one and
stay in the outer one. The *level* of a destination says how many of the loops around a task the way to it leaves, and
one: 1 stays in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solvent.workflow.cycles import components_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

Arc = tuple[str, str]
"""From a task to one that it passes to."""
_Graph = dict[str, tuple[str, ...]]


@dataclass(slots=True)
class Loops:
    """The loops of a workflow."""

    around: dict[str, tuple[int, ...]]
    """For each task the loops that it is in, the innermost first."""
    members: dict[int, frozenset[str]]

    def level(self, task: str, to: str) -> int:
        """Tell how far out a destination lies, seen from a task."""
        around = self.around[task]
        return next((at for at, loop in enumerate(around, 1) if to in self.members[loop]), len(around) + 1)

    def is_back(self, source: str, task: str) -> bool:
        """Tell whether a source lies in the innermost loop around a task."""
        around = self.around[task]
        return bool(around) and source in self.members[around[0]]


def loops_of(destinations: Mapping[str, tuple[str, ...]], starts: Collection[str] = ()) -> Loops:
    """Find the loops, and those inside them: without the ways back to where it is entered, a loop falls apart."""
    around: dict[str, list[int]] = {name: [] for name in destinations}
    members: dict[int, frozenset[str]] = {}
    todo: list[_Graph] = [dict(destinations)]
    while todo:
        graph = todo.pop()
        for component in components_of(graph):
            if len(component) == 1 and component[0] not in graph[component[0]]:
                continue
            inside = frozenset(component)
            number = len(members)
            members[number] = inside
            for name in component:
                around[name].insert(0, number)
            heads = {to for name, later in destinations.items() if name not in inside for to in later} & inside
            heads |= inside.intersection(starts)
            if len(heads) == 1:
                todo.append({name: tuple(to for to in graph[name] if to in inside - heads) for name in component})
    return Loops({name: tuple(found) for name, found in around.items()}, members)


class Skips:
    """Who hears of what, in one workflow."""

    def __init__(
        self,
        loops: Loops,
        sources: Mapping[str, tuple[str, ...]],
        destinations: Mapping[str, tuple[str, ...]],
        active: Collection[str],
    ) -> None:
        self.loops = loops
        self._sources = sources
        self._destinations = destinations
        self.told = _leading_to(active, sources)
        """The arcs that lead to a synchronizing merge."""
        self.merging = {loop for name in active for loop in loops.around[name]}
        """The loops that have one inside."""
        self._exits: dict[int, list[Arc]] = {loop: [] for loop in loops.members}
        for arc in sorted(self.told) if loops.members else ():
            for loop in loops.around[arc[0]][: loops.level(*arc) - 1]:
                self._exits[loop].append(arc)

    def back(self, task: str) -> list[str]:
        """Give the sources of a task that come back to it in a loop, and whose answers do not count."""
        around = self.loops.around[task]
        if not around or (around[0] in self.merging and not self.is_entered(task)):
            return []
        return [source for source in self._sources[task] if self.loops.is_back(source, task)]

    def is_entered(self, task: str) -> bool:
        """Tell whether its innermost loop is entered by a task."""
        return not all(self.loops.is_back(source, task) for source in self._sources[task])

    def is_told(self, task: str, to: str) -> bool:
        """Tell whether the end of a way hears of it when a task does not take it."""
        level = self.loops.level(task, to)
        around = self.loops.around[task]
        return (task, to) in self.told and (level > len(around) or around[level - 1] in self.merging)

    def exits(self, task: str) -> list[tuple[int, Arc]]:
        """Give the other ways out of the loops around a task, with the levels that they lead to."""
        found: dict[tuple[int, Arc], None] = {}
        around = self.loops.around[task]
        for left, loop in enumerate(around, 1):
            for arc in self._exits[loop]:
                is_heard = left == len(around) or around[left] in self.merging
                if is_heard and arc[0] != task and self.loops.level(task, arc[1]) == left + 1:
                    found[left + 1, arc] = None
        return [*found]

    def of(self, task: str) -> list[Arc]:
        """Give the arcs that hear of it when a task is skipped itself."""
        around = self.loops.around[task]
        # Where a loop is entered, a skip says that all of it is skipped.
        first = 1 if around and self.is_entered(task) else 0
        silent = next((at for at, loop in enumerate(around) if at >= first and loop in self.merging), len(around))
        if silent == 0:
            arcs = [(task, to) for to in self._destinations[task]]
            return [arc for arc in arcs if self.is_told(*arc) and (not around or self.loops.level(*arc) == 1)]
        return [arc for arc in self._exits[around[silent - 1]] if self.loops.level(task, arc[1]) == silent + 1]


def _leading_to(ends: Iterable[str], sources: Mapping[str, tuple[str, ...]]) -> frozenset[Arc]:
    told: set[Arc] = set()
    todo = [*ends]
    seen = set(todo)
    while todo:
        name = todo.pop()
        for source in sources[name]:
            told.add((source, name))
            if source not in seen:
                seen.add(source)
                todo.append(source)
    return frozenset(told)


__all__ = ["Arc", "Loops", "Skips", "loops_of"]
