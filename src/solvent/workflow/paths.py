"""What follows from the shape of a controlled workflow: who starts it, what leads round, who is upstream of whom."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from solvent.workflow.cycles import components_of
from solvent.workflow.dominators import dominators_of
from solvent.workflow.skips import Skips, loops_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.workflow.model import Workflow


@dataclass(slots=True)
class Paths:
    """The shape of a workflow."""

    sources: dict[str, tuple[str, ...]]
    """For each task whom it gets tokens from, in the order in which they are named."""
    destinations: dict[str, tuple[str, ...]]
    loops: dict[str, int]
    """The tasks that are on a way round, with the number of their loop."""
    ranks: dict[str, int]
    """The tasks numbered so that none has a lower number than one that leads to it; the same in a loop."""
    starts: frozenset[str]
    """The tasks that start by themselves."""
    skips: Skips
    """Who hears of ways that are not taken."""

    def upstream_first(self, tasks: Iterable[str]) -> list[str]:
        """Put tasks in such an order that none comes before one that leads to it, as far as there are no loops."""
        return sorted(tasks, key=lambda task: (self.ranks[task], task))

    def has_loop(self, tasks: Iterable[str]) -> bool:
        """Tell whether several of some tasks lead to each other."""
        return any(number > 1 for number in Counter(self.ranks[task] for task in tasks).values())

    def upstream(self, task: str) -> frozenset[str]:
        """Give the branches that a task joins: what leads only to it, back to where all ways to it come from."""
        found = self._before(task)
        todo = [name for name in found if not all(later in found or later == task for later in self.destinations[name])]
        while todo:
            name = todo.pop()
            if name in found:
                found.discard(name)
                todo += [source for source in self.sources[name] if source in found]
        nearest = dominators_of(self.destinations, self.starts)
        gate = nearest.get(task)
        return frozenset(name for name in found if name in nearest and _is_behind(name, gate, nearest))

    def open_sources(self, task: str, region: frozenset[str]) -> list[str]:
        """Give the sources of a task that can still get something when the branches in a region are cancelled."""
        gate = dominators_of(self.destinations, self.starts).get(task)
        todo = [name for name in region if any(one not in region and one != gate for one in self.sources[name])]
        found: set[str] = set()
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += [later for later in self.destinations[name] if later in region]
        return [name for name in self.sources[task] if name in found or (name not in region and name != gate)]

    def _before(self, task: str) -> set[str]:
        return _reached(task, self.sources)


def paths_of(workflow: Workflow) -> Paths:
    """Look at the shape of a workflow."""
    asleep = workflow.dormant
    sources = {task.name: dict.fromkeys(task.sources) for task in workflow.tasks if task.name not in asleep}
    for name, later in workflow.destinations.items():
        for one in later:
            if one in sources and name in sources:
                sources[one][name] = None
    known = {name: tuple(one for one in found if one in sources) for name, found in sources.items()}
    destinations = {
        name: tuple(one for one in later if one in sources)
        for name, later in workflow.destinations.items()
        if name in sources
    }
    components = [*components_of(destinations)][::-1]
    loops = _loops(components, destinations)
    ranks = {name: number for number, component in enumerate(components) for name in component}
    starts = _starts(workflow, known, loops)
    active = [
        task.name
        for task in workflow.tasks
        if task.name in known and task.control is not None and task.control.join == "active"
    ]
    skips = Skips(loops_of(destinations, starts), known, destinations, active)
    return Paths(known, destinations, loops, ranks, starts, skips)


def _reached(start: str, onward: dict[str, tuple[str, ...]]) -> set[str]:
    """Give what can be reached from a task, without going through it again."""
    found: set[str] = set()
    todo = [*onward[start]]
    while todo:
        name = todo.pop()
        if name not in found and name != start:
            found.add(name)
            todo += onward[name]
    return found


def _is_behind(task: str, gate: str | None, nearest: dict[str, str | None]) -> bool:
    """Tell whether all ways to a task go through another; none lies behind everything."""
    before = nearest[task]
    while before != gate and before is not None:
        before = nearest[before]
    return before == gate


def _loops(components: list[list[str]], destinations: dict[str, tuple[str, ...]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, component in enumerate(components):
        if len(component) > 1 or component[0] in destinations[component[0]]:
            found |= dict.fromkeys(component, number)
    return found


def _starts(workflow: Workflow, sources: dict[str, tuple[str, ...]], loops: dict[str, int]) -> frozenset[str]:
    """Find the tasks without sources, and those that are only gone back to; of a loop that nobody enters, its first."""
    back = {(task.name, task.back) for task in workflow.tasks}
    entered = {
        loops[name] for name, found in sources.items() if name in loops
        for source in found if loops.get(source) != loops[name]
    }  # fmt: skip
    return frozenset(
        task.name
        for task in workflow.tasks
        if task.name in sources
        and not task.sources
        and (
            all((source, task.name) in back for source in sources[task.name])
            or (task.name in loops and loops[task.name] not in entered)
        )
    )


__all__ = ["Paths", "paths_of"]
