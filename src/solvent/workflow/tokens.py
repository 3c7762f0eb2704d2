"""How often can each task of a controlled workflow start, at most? The counting behind `soundness`.

A task that is done passes so many tokens to each destination; a join turns tokens into starts. What is in a circle, and
can start at all, counts as `ALWAYS`. Locks, signals, failures and whoever cancels only make it less.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from solvent.workflow.control import Control
from solvent.workflow.cycles import components_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from collections.abc import Set as AbstractSet

    from solvent.workflow.model import Workflow
    from solvent.workflow.paths import Paths

ALWAYS = 1 << 30
"""Stands for any number of times."""
_PLAIN = Control()
_SHOWN_MAX = 6

Way = frozenset[str]
"""The tasks that a result is passed to."""


class Tokens:
    """Who passes how many tokens to whom."""

    def __init__(self, workflow: Workflow, paths: Paths) -> None:
        self.sources = paths.sources
        self.names = [task.name for task in workflow.tasks if task.name in paths.sources]
        self.begins = paths.starts
        self.control = {task.name: task.control or _PLAIN for task in workflow.tasks if task.name in paths.sources}
        self.joins = {name: control.join for name, control in self.control.items()}
        self.scattered = {name for name, control in self.control.items() if control.many and control.many.apart}
        """The tasks whose instances pass on, each by itself."""
        self.ways = {name: _ways(control, paths.destinations[name]) for name, control in self.control.items()}
        """The ways that a result can take, each as far as it goes."""
        self.passes = {name: self._passed(name, control) for name, control in self.control.items()}
        """For each task how many tokens it passes to each destination at most when it is done."""
        self.milestones = {name: control.during for name, control in self.control.items() if control.during is not None}
        self.needs: dict[str, list[str]] = {name: [] for name in self.names}
        """Tasks that must have been done before, beside the sources: the starts of milestones."""
        self.limits: dict[str, list[str]] = {name: [] for name in self.names}
        """Tasks that must have been done once for each start: who offers."""
        for name, (first, _) in self.milestones.items():
            self.needs[name].append(first)
        for name, control in self.control.items():
            if control.split == "deferred":
                for later in paths.destinations[name]:
                    self.limits[later].append(name)
        self.receivers: dict[str, list[str]] = {name: [] for name in self.names}
        self.needed_by: dict[str, list[str]] = {name: [] for name in self.names}
        for name in self.names:
            for one in self.sources[name]:
                self.receivers[one].append(name)
            for one in (*self.needs[name], *self.limits[name]):
                self.needed_by[one].append(name)
        self.lost = self._lost(paths)
        """The tasks whose tokens may be gone without starting anything."""

    def _passed(self, name: str, control: Control) -> dict[str, int]:
        named = Counter(route.task for route in control.routes)
        back = control.again.task if control.again is not None else None
        often = ALWAYS if name in self.scattered else 1
        reached = dict.fromkeys(one for way in self.ways[name] for one in sorted(way))
        return {one: min(ALWAYS, often * (max(1, named[one]) * control.copies + (one == back))) for one in reached}

    def _lost(self, paths: Paths) -> set[str]:
        found = {name for control in self.control.values() for name in control.cancels}
        for name, control in self.control.items():
            is_known = control.join in ("all", "any", "active")
            if not is_known or control.during is not None or name in self.scattered:
                found.add(name)
            if control.split == "deferred":
                found |= set(self.passes[name])
            if control.cancels_rest:
                found |= paths.upstream(name)
        return found

    # --- Single tasks.

    def before(self, name: str) -> list[str]:
        """Give all that a task waits for."""
        return [*self.sources[name], *self.needs[name], *self.limits[name]]

    def after(self, name: str) -> list[str]:
        """Give all that wait for a task."""
        return [*self.receivers[name], *self.needed_by[name]]

    def is_joint(self, name: str) -> bool:
        """Tell whether a task may wait for several things: tokens of several sources, or a milestone besides."""
        return self.is_joining(name) or bool(self.needs[name] or self.limits[name])

    def is_joining(self, name: str) -> bool:
        """Tell whether a task may wait for several tokens."""
        return self.joins[name] not in ("any", "active") and len(self.sources[name]) > 1

    def wanted(self, name: str) -> str:
        """Say what a task waits for."""
        control = self.control[name]
        listed = _listed(self.sources[name])
        if control.join == "first":
            return f"{control.need} of {listed}"
        each = f"{control.threads} tokens of " if control.threads > 1 else ""
        several = len(self.sources[name]) > 1
        every = "each of " if each and several else "all of " if several and control.join == "all" else ""
        return f"{each}{every}{listed}"

    def rivals(self, name: str, way: Way) -> AbstractSet[str]:
        """Give the tasks that cannot start when a way is taken: those that an offer was not for."""
        control = self.control[name]
        is_back = control.again is not None and way == {control.again.task}
        return self.passes[name].keys() - way if control.split == "deferred" and not is_back else frozenset()

    def can_leave(self, name: str, loop: Collection[str]) -> bool:
        """Tell whether a task may pass nothing on inside its loop."""
        control = self.control[name]
        if control.split != "some":
            return any(way.isdisjoint(loop) for way in self.ways[name])
        # Any one of the routes that hold may be the only one.
        tested = {route.task for route in control.routes if route.test is not None}
        plain = self.passes[name].keys() - tested
        return any(one not in loop for one in tested) or (bool(plain) and plain.isdisjoint(loop))

    # --- Counting.

    def starts(
        self,
        names: Collection[str],
        known: Mapping[str, int],
        *,
        choice: tuple[str, Way] | None = None,
        barred: Collection[str] = (),
    ) -> dict[str, int]:
        """Count how often each of some tasks can start at most, given the others.

        With a choice one task goes on in one way only; tasks that are barred do not start.
        """
        inside = {name for name in names if name not in barred}
        counts = dict.fromkeys(names, 0)

        def passed(one: str, to: str, times: int) -> int:
            is_other = choice is not None and one == choice[0] and to not in choice[1]
            return 0 if is_other else min(ALWAYS, times * self.passes[one].get(to, 0))

        def often(one: str) -> int:
            return counts[one] if one in counts else known.get(one, 0)

        possible = self._possible(inside, often, passed)
        graph = {name: [one for one in self.after(name) if one in possible] for name in possible}
        for component in reversed([*components_of(graph)]):
            name = component[0]
            if len(component) > 1 or name in graph[name]:
                counts |= dict.fromkeys(component, ALWAYS)
                continue
            tokens = [passed(one, name, often(one)) for one in self.sources[name]]
            limits = [often(one) for one in self.limits[name]]
            counts[name] = min(ALWAYS, self._joined(name, tokens) + (name in self.begins), *limits)
        return counts

    def _joined(self, name: str, tokens: list[int]) -> int:
        """Turn tokens of each source into starts."""
        control = self.control[name]
        total = sum(tokens)
        match control.join:
            case "all":
                return min((count // control.threads for count in tokens), default=0)
            case "first":
                return total // control.need if sum(min(one, control.threads) for one in tokens) >= control.need else 0
            case "any" | "active":
                return total
        return ALWAYS if total else 0

    def _possible(
        self, inside: AbstractSet[str], often: Callable[[str], int], passed: Callable[[str, str, int], int]
    ) -> set[str]:
        """Find the tasks that can start at all if whoever can start does so as often as one likes."""
        lacks = {name: self._wants(name) for name in inside}
        needs = dict.fromkeys(inside, 0)
        for name in inside:
            needs[name] = sum(one in inside or not often(one) for one in (*self.needs[name], *self.limits[name]))
            for one in self.sources[name]:
                if one not in inside:
                    lacks[name] -= self._brought(name, passed(one, name, often(one)))
        ready = [name for name in inside if lacks[name] <= 0 and not needs[name]]
        found = set(ready)

        def look(name: str) -> None:
            if lacks[name] <= 0 and not needs[name] and name not in found:
                found.add(name)
                ready.append(name)

        while ready:
            name = ready.pop()
            for later in self.receivers[name]:
                if later in inside:
                    lacks[later] -= self._brought(later, passed(name, later, ALWAYS))
                    look(later)
            for later in self.needed_by[name]:
                if later in inside:
                    needs[later] -= 1
                    look(later)
        return found

    def _wants(self, name: str) -> int:
        """Give how much must be brought before a task can start."""
        if name in self.begins:
            return 0
        control = self.control[name]
        return len(self.sources[name]) if control.join == "all" else control.need if control.join == "first" else 1

    def _brought(self, name: str, tokens: int) -> int:
        """Give how much the tokens of one source are of what a task wants."""
        control = self.control[name]
        if control.join == "first":
            return min(tokens, control.threads)
        return int(tokens >= control.threads) if control.join == "all" else int(tokens > 0)


def _ways(control: Control, destinations: tuple[str, ...]) -> tuple[Way, ...]:
    """Give the ways that a result can take; of `some` ways that hold together, all at once."""
    routes = [(route.task, route.test) for route in control.routes if route.task in destinations]
    named = {*(task for task, _ in routes), *(() if control.again is None else (control.again.task,))}
    routes += [(task, None) for task in destinations if task not in named]
    tested = [task for task, test in routes if test is not None]
    plain = [task for task, test in routes if test is None]
    match control.split:
        case "one":
            ways = [frozenset([task]) for task in (*tested, *plain[:1])]
        case "some":
            ways = [frozenset(group) for group in (tested, plain) if group]
        case "deferred":
            ways = [frozenset([task]) for task, _ in routes]
        case "all":
            ways = [frozenset(task for task, _ in routes)]
    if control.again is not None:
        ways.append(frozenset([control.again.task]))
    return tuple(dict.fromkeys(ways))


def _listed(names: tuple[str, ...]) -> str:
    shown = [f"`{name}`" for name in names[:_SHOWN_MAX]]
    return ", ".join([*shown, *(["..."] if len(names) > _SHOWN_MAX else [])])


__all__ = ["ALWAYS", "Tokens", "Way"]
