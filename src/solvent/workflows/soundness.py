"""Control flow that has no sound meaning: tasks that can never start, and loops that are never left.

Tokens are counted without running anything: how often at most can each task start? Nothing that cancels, waits or fails
makes it more, so a task for which the answer is never does not start in any order. The answer is asked

    once for the whole workflow            W120  tasks wait for each other
                                           W144  less arrives than a task waits for
    for each way that a choice can go      W144  whichever way, not all arrive that a task waits for
    without the end of each milestone      W144  a task comes only when its milestone is over

and a loop in which every task always passes something on inside it is never left (W145). What may go wrong but need not
is left to the run, which says who waits for what.

The counting: a task that is done passes so many tokens to each destination; a join turns tokens into starts. What is
in a circle, and can start at all, counts as `ALWAYS`. Locks, signals, failures and whoever cancels only make it less.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from solvent.workflows.cycles import components_of, cycles_of
from solvent.workflows.model import Control

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from collections.abc import Set as AbstractSet

    from solvent.workflows.model import Workflow
    from solvent.workflows.paths import Paths
    from solvent.workflows.places import Problems

ALWAYS = 1 << 30
"""Stands for any number of times."""

_PLAIN = Control()

_MAX_NAMES = 6

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
        self.ways = {name: ways_of(control, paths.destinations[name]) for name, control in self.control.items()}
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
        """Return all that a task waits for."""
        return [*self.sources[name], *self.needs[name], *self.limits[name]]

    def after(self, name: str) -> list[str]:
        """Return all that wait for a task."""
        return [*self.receivers[name], *self.needed_by[name]]

    def is_joint(self, name: str) -> bool:
        """Return whether a task may wait for several things: tokens of several sources, or a milestone besides."""
        return self.is_joining(name) or bool(self.needs[name] or self.limits[name])

    def is_joining(self, name: str) -> bool:
        """Return whether a task may wait for several tokens."""
        return self.joins[name] not in ("any", "active") and len(self.sources[name]) > 1

    def wanted(self, name: str) -> str:
        """Return what a task waits for."""
        control = self.control[name]
        listed = _listed(self.sources[name])
        if control.join == "first":
            return f"{control.need} of {listed}"
        each = f"{control.threads} tokens of " if control.threads > 1 else ""
        several = len(self.sources[name]) > 1
        every = "each of " if each and several else "all of " if several and control.join == "all" else ""
        return f"{each}{every}{listed}"

    def rivals(self, name: str, way: Way) -> AbstractSet[str]:
        """Return the tasks that cannot start when a way is taken: those that an offer was not for."""
        control = self.control[name]
        is_back = control.again is not None and way == {control.again.task}
        return self.passes[name].keys() - way if control.split == "deferred" and not is_back else frozenset()

    def can_leave(self, name: str, loop: Collection[str]) -> bool:
        """Return whether a task may pass nothing on inside its loop."""
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
        """Return how much must be brought before a task can start."""
        if name in self.begins:
            return 0
        control = self.control[name]
        return len(self.sources[name]) if control.join == "all" else control.need if control.join == "first" else 1

    def _brought(self, name: str, tokens: int) -> int:
        """Return how much the tokens of one source are of what a task wants."""
        control = self.control[name]
        if control.join == "first":
            return min(tokens, control.threads)
        return int(tokens >= control.threads) if control.join == "all" else int(tokens > 0)


def ways_of(control: Control, destinations: tuple[str, ...]) -> tuple[Way, ...]:
    """Return the ways that a result can take; of `some` ways that hold together, all at once."""
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
    shown = [f"`{name}`" for name in names[:_MAX_NAMES]]
    return ", ".join([*shown, *(["..."] if len(names) > _MAX_NAMES else [])])


_MAX_WORK = 500_000
"""How many tasks are looked at in all for choices and milestones; what is left then is left to the run."""

_MAX_SHOWN = 8


def check_soundness(workflow: Workflow, paths: Paths, problems: Problems) -> None:
    """Report tasks of a controlled workflow that can never start, and loops that are never left."""
    tokens = Tokens(workflow, paths)
    starts = tokens.starts(tokens.names, {})
    found = _Finder(workflow, tokens, starts, problems)
    found.never()
    found.choices()
    found.milestones()
    found.loops()


class _Finder:
    """Looks for what is wrong, given how often each task can start."""

    def __init__(self, workflow: Workflow, tokens: Tokens, starts: dict[str, int], problems: Problems) -> None:
        self.tokens = tokens
        self.starts = starts
        self.problems = problems
        self.order = {task.name: at for at, task in enumerate(workflow.tasks)}
        self.has_end = any(task.control is not None and task.control.ends for task in workflow.tasks)
        self.told: set[str] = set()
        self.work = 0

    # --- Tasks that can never start.

    def never(self) -> None:
        """Report tasks that wait for each other, or for more than arrives; not those that only come after them."""
        dead = [name for name, count in self.starts.items() if not count]
        waits = {name: [one for one in self.tokens.before(name) if not self.starts[one]] for name in dead}
        knots = [*components_of(waits)]
        circles = iter(cycles_of(waits))
        for knot in knots:
            is_circle = len(knot) > 1 or knot[0] in waits[knot[0]]
            circle = next(circles) if is_circle else []
            if any(one not in knot for name in knot for one in waits[name]):
                continue
            if is_circle:
                self._tell_circle(circle, set(knot))
            else:
                self._tell_lack(knot[0])

    def _tell_circle(self, circle: list[str], knot: set[str]) -> None:
        # A task waits for its sources, so tokens go the other way.
        names = self._turned([*reversed(circle)])
        message = f"these tasks wait for each other: {_way(names)}"
        hint = "a way back needs a task that starts by the way in as well as by the way back: `join: any`"
        for before, name in pairwise(names):
            if before not in self.tokens.sources[name]:
                hint = f"`{name}` waits for a milestone that begins with `{before}`; let it come after that"
                break
            entries = [one for one in self.tokens.sources[name] if one not in knot]
            if entries and self.tokens.joins[name] in ("all", "first"):
                hint = f"let `{name}` start by each that arrives, `{entries[0]}` or the way back: `join: any`"
        self.problems.add("W120", message, ("task", names[0]), hint=hint)

    def _tell_lack(self, name: str) -> None:
        wanted = self.tokens.wanted(name)
        message = f"`{name}` can never start: it waits for {wanted}, and less arrives"
        hint = "let it wait for less, or let more be passed on: "
        self.problems.add(
            "W144", message, ("task", name), hint=f"{hint}`threads: 2`", python=f"{hint}`threads(step, 2)`"
        )

    def _turned(self, circle: list[str]) -> list[str]:
        """Let a circle begin and end with the task that is named first."""
        at = circle.index(min(circle, key=self.order.__getitem__))
        return [*circle[at:], *circle[:at], circle[at]]

    # --- Tasks that can start whichever way is taken, but not on any single one.

    def choices(self) -> None:
        """Report tasks that wait for what a choice keeps apart."""
        for name in self.tokens.names:
            ways = self.tokens.ways[name]
            if len(ways) < 2 or not self.starts[name] or name in self.tokens.scattered:
                continue
            behind = self._behind(name)
            if behind is None:
                return
            if not any(self.tokens.is_joint(one) for one in behind):
                continue
            alive = self._alive(name, behind)
            if alive is not None:
                self._tell_apart(name, [one for one in behind if self.starts[one] and one not in alive])

    def _alive(self, name: str, behind: set[str]) -> set[str] | None:
        """Return the tasks that can start on some way; nothing if the task may choose twice, and differently."""
        alive: set[str] = set()
        for way in self.tokens.ways[name]:
            self.work += len(behind)
            counts = self.tokens.starts(behind, self.starts, choice=(name, way), barred=self.tokens.rivals(name, way))
            if counts[name] > 1 or self.work > _MAX_WORK:
                return None
            alive |= {one for one, count in counts.items() if count}
        return alive

    def _tell_apart(self, name: str, dead: list[str]) -> None:
        lost = set(dead)
        first = [one for one in dead if lost.isdisjoint(self.tokens.before(one))] or dead[:1]
        for one in sorted(first, key=self.order.__getitem__):
            if one in self.told:
                continue
            self.told.add(one)
            message = f"`{one}` waits for {self.tokens.wanted(one)}, and whichever way `{name}` goes on, less arrives"
            hint = "`join: any` starts it by each that arrives, `join: active` by all that do"
            python = "`any_of(...)` starts it by each that arrives, `active_of(...)` by all that do"
            self.problems.add("W144", message, ("task", one), hint=hint, python=python)

    def milestones(self) -> None:
        """Report tasks that can start only before another has started, but come only after it."""
        for name, (first, last) in self.tokens.milestones.items():
            if self.starts[first] > 1 or not self.starts[name] or not self.starts[last]:
                continue
            behind = self._behind(last)
            if behind is None:
                return
            # Where it begins only behind its end, it is there until that starts once more.
            if (
                first not in behind
                and name in behind
                and not self.tokens.starts(behind, self.starts, barred={last})[name]
            ):
                message = f"`{name}` can start only before `{last}` has started, but comes only after it"
                hint = f"let it come from a task before `{last}`, or take `during` out"
                self.problems.add("W144", message, ("task", name), hint=hint)

    def _behind(self, name: str) -> set[str] | None:
        """Return a task and all that may come after it; nothing if too many were looked at already."""
        found = {name}
        todo = [name]
        while todo:
            if self.work > _MAX_WORK:
                return None
            self.work += 1
            for later in self.tokens.after(todo.pop()):
                if later not in found:
                    found.add(later)
                    todo.append(later)
        return found

    # --- Loops that are never left.

    def loops(self) -> None:
        """Report loops in which every task always passes something on inside the loop."""
        if self.has_end:
            return
        graph = {
            name: [later for later in self.tokens.passes[name] if self.starts[later]]
            for name in self.tokens.names
            if self.starts[name]
        }
        circles = cycles_of(graph)
        if not circles:
            return
        lost = self.tokens.lost
        knots = (one for one in components_of(graph) if len(one) > 1 or one[0] in graph[one[0]])
        for knot, circle in zip(knots, circles, strict=True):
            inside = set(knot)
            if inside.isdisjoint(lost) and not any(self.tokens.can_leave(name, inside) for name in knot):
                names = self._turned(circle)
                message = f"nothing leads out of the loop {_way(names)}"
                hint = (
                    f'let a task decide: `again: {{to: {names[0]}, when: "result < 3"}}`, or `split: one` with routes'
                )
                python = 'let a step decide: `repeat(step, back_to=..., when="result < 3")`, or `choose(...)`'
                self.problems.add("W145", message, ("task", names[0]), hint=hint, python=python)


def _way(names: list[str]) -> str:
    shown = names if len(names) <= _MAX_SHOWN else [*names[: _MAX_SHOWN - 2], "...", names[-1]]
    return " → ".join(shown)
