"""What reads well in a workflow but is probably not meant.

W186  a loop whose answers cannot differ by what comes back
W188  a join by the first so many in a loop that may wait for ever for a branch which was not chosen

Where rounds can be numbered (see `paths`), a join by the first so many hears of branches that are not chosen. Elsewhere
its next round begins only when every source has answered. So W188 asks for each such join whether a token that leaves
the task before all branches can end without reaching one of the sources. A condition is taken to hold or not,
except for `true`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.lang.doubts import Doubt
from solvent.workflows.model import Control, Input, Value
from solvent.workflows.paths import dominators_of, paths_of
from solvent.workflows.places import hint_at, route_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from solvent.workflows.model import Task, Workflow
    from solvent.workflows.paths import Paths
    from solvent.workflows.places import Loaded

_PLAIN = Control()


def workflow_doubts(loaded: Loaded) -> list[Doubt]:
    """Return the warnings about a workflow."""
    workflow = loaded.workflow
    if not workflow.is_controlled:
        return []
    paths = paths_of(workflow)
    return [*_same_answers(loaded, paths), *_waiting_rounds(loaded, paths)]


def _same_answers(loaded: Loaded, paths: Paths) -> Iterator[Doubt]:
    places = loaded.places
    for task, first in _ways_back(loaded.workflow, paths):
        if not all(isinstance(slot, Value | Input) for slot in first.slots):
            continue
        message = (
            f"`{first.name}` is gone back to and takes only inputs and constants: "
            f"the loop ends only if `{first.name}` itself changes its answer"
        )
        span = places.get(route_key(task.name, first.name)) or places.get(("task", first.name))
        hint = hint_at(span, "let it take what comes back: `{arrived: one}`", "let it take the step before it")
        yield Doubt("W186", message, span, hint)


def _ways_back(workflow: Workflow, paths: Paths) -> Iterator[tuple[Task, Task]]:
    """Yield each task that may go back to an earlier one, with that one: by `again`, or by a choice."""
    for task in workflow.tasks:
        for name in paths.destinations.get(task.name, ()):
            is_chosen = paths.skips.loops.is_back(task.name, name) and (
                name in paths.starts or paths.skips.is_entered(name)
            )
            if name == task.back or is_chosen:
                yield task, workflow.by_name[name]


# --- Joins whose next round may wait for ever.


def _waiting_rounds(loaded: Loaded, paths: Paths) -> Iterator[Doubt]:
    nearest = dominators_of(paths.destinations, paths.starts) if paths.rounds else {}
    controls = {task.name: task.control or _PLAIN for task in loaded.workflow.tasks}
    loops = paths.skips.loops
    for join, is_told in paths.rounds.items():
        head = nearest.get(join)
        inside = loops.members[loops.around[join][0]] if loops.around[join] else frozenset[str]()
        if head is None or head not in inside:
            continue
        branches = _Branches(join, head, inside, controls, paths.destinations)
        source = next((one for one in paths.sources[join] if branches.can_miss(one, is_told=is_told)), None)
        if source is not None:
            message = (
                f"`{join}` joins by `first` in a loop, and `{source}` may pass it nothing in a round: "
                "then the next round waits for it for ever"
            )
            hint = f"let every way from `{head}` lead to `{join}` through `{source}`"
            yield Doubt("W188", message, loaded.places.get(("task", join)), hint)


class _Branches:
    """The tasks of a loop between a join and the task before all its branches, the head."""

    def __init__(
        self,
        join: str,
        head: str,
        loop: frozenset[str],
        controls: Mapping[str, Control],
        destinations: Mapping[str, tuple[str, ...]],
    ) -> None:
        self._join, self._head, self._loop = join, head, loop
        self._controls = controls
        self._destinations = destinations
        self._ways = {name: _ways(controls[name], later) for name, later in destinations.items()}

    def can_miss(self, source: str, *, is_told: bool) -> bool:
        """Return whether a round of the join can pass by a source of it."""
        return self._can_leave(source) if is_told else self._can_end(source)

    def _can_end(self, source: str) -> bool:
        """Return whether a token of the head can end, or begin another round, without passing from source to join."""
        misses = {self._join, self._head}

        def is_missing(name: str, way: tuple[str, ...]) -> bool:
            return misses.issuperset(way) and not (name == source and self._join in way)

        ways = self._ways
        while found := {one for one in ways if one not in misses and any(is_missing(one, way) for way in ways[one])}:
            misses |= found
        # The ways of the head that lead to no source of the join make no round of it.
        return any(is_missing(self._head, way) and any(map(self._is_before, way)) for way in ways[self._head])

    def _is_before(self, name: str) -> bool:
        return self._leads(name, self._join, {self._head})

    def _can_leave(self, source: str) -> bool:
        """Return whether a token can leave the loop before a source while another one of its round stays.

        A join that hears of ways that are not taken does not hear of those that leave its loop.
        """
        ends = {self._head, self._join}
        between = [one for one in self._loop - ends if one == source or self._leads(one, source, ends)]
        leaving = [one for one in between if any(way and self._loop.isdisjoint(way) for way in self._ways[one])]
        return any(
            self._leads(one, task, ends)
            and any(self._leads(other, self._join, {self._head, task}) for other in way - {one})
            for task in leaving
            for way in map(self._together, (self._head, *between))
            for one in way
        )

    def _together(self, name: str) -> frozenset[str]:
        """Return the destinations in the loop that a task may pass to at the same time."""
        is_single = self._controls[name].split in ("one", "deferred")
        return frozenset() if is_single else self._loop.intersection(self._destinations[name])

    def _leads(self, name: str, to: str, without: set[str]) -> bool:
        """Return whether a way leads from one task to another, and through none of some others."""
        todo, seen = [name], without - {to}
        while todo:
            one = todo.pop()
            if one == to:
                return True
            if one not in seen:
                seen.add(one)
                todo += self._destinations[one]
        return False


def _ways(control: Control, destinations: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the smallest sets of destinations that a task may pass to."""
    routes = {route.task: route.test for route in control.routes if route.task in destinations}
    back = None if control.again is None else control.again.task
    tests = {one: routes.get(one) for one in destinations if one in routes or one != back}
    certain = [one for one, test in tests.items() if test is not None and (test.when or "").strip() == "true"]
    tested = [one for one, test in tests.items() if test is not None and one not in certain]
    plain = [one for one, test in tests.items() if test is None]
    ways: list[tuple[str, ...]]
    match control.split:
        case "one":
            ways = [(one,) for one in (*tested, *(certain or plain)[:1])]
        case "some":
            ways = [tuple(certain)] if certain else [*((one,) for one in tested), *([tuple(plain)] if plain else [])]
        case "deferred":
            ways = [(one,) for one in tests]
        case "all":
            ways = [tuple(tests)]
    return [*ways, *([] if back is None else [(back,)])]
