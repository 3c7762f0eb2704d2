"""What reads well in a workflow but is probably not meant.

W186  a loop whose answers cannot differ by what comes back
W188  a join in a loop, or behind one, that may wait for ever for a source which passes it nothing in a round

A join starts its next round when every source of it has answered. W188 asks two things of it. Is there a source outside
a loop that passes to it once only, beside one in the loop that does in every round? And can a token that leaves the
task before all branches, the head, end without reaching one of the sources? A later round may have another head than
the first one: what all ways from the join back to it go through, or the join itself.

A branch that is not chosen answers where a synchronizing merge or a join with numbered rounds (see `paths`) hears of
it, but not if it leads out of the loop. A condition is taken to hold or not, except for `true`. Where a task ends the
case, or may cancel the join, nothing waits for ever, and nothing is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.lang.doubts import Doubt
from solvent.workflows.model import Control, Input, Value
from solvent.workflows.paths import dominators_of, paths_of
from solvent.workflows.places import hint_at, route_key
from solvent.workflows.soundness import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from solvent.workflows.model import Task, Workflow
    from solvent.workflows.paths import Paths
    from solvent.workflows.places import Loaded

_PLAIN = Control()


def workflow_doubts(loaded: Loaded) -> list[Doubt]:
    """Return the warnings about a workflow in which `check` finds nothing wrong."""
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
    controls = {task.name: task.control for task in loaded.workflow.tasks if task.control is not None}
    if not paths.loops or any(control.ends for control in controls.values()):
        return
    waits = _Waits(Tokens(loaded.workflow, paths), paths)
    cancelled = {one for control in controls.values() for one in control.cancels}
    for name, control in controls.items():
        cancelled |= paths.upstream(name) if control.cancels_rest else set()
    for join, sources in paths.sources.items():
        if len(sources) > 1 and join not in cancelled:
            span = loaded.places.get(("task", join))
            word = hint_at(span, "task", "step")
            found = waits.outside(join, word) or waits.inside(join)
            if found is not None:
                message, hint = found
                yield Doubt("W188", message, span, hint)


class _Waits:
    """Looks for joins that wait for ever; what is found is a message and a hint."""

    def __init__(self, tokens: Tokens, paths: Paths) -> None:
        self._tokens, self._paths = tokens, paths
        self._loops = paths.skips.loops
        self._nearest = dominators_of(paths.destinations, paths.starts)

    def outside(self, join: str, word: str) -> tuple[str, str] | None:
        """Look for a source outside the loop of another that passes once only."""
        control, sources = self._tokens.control[join], self._paths.sources[join]
        for inner in sources:
            loop = self._passing_loop(join, inner)
            others = [one for one in sources if one not in loop]
            is_enough = control.cancels_rest and control.need <= len(sources) - len(others)
            if not loop or not others or is_enough or control.join not in ("all", "first", "active"):
                continue
            # What a source passes only after the join has started does not start the join.
            starts = self._tokens.starts(self._tokens.names, {}, barred={join})
            for one in others:
                if starts[one] * self._tokens.passes[one].get(join, 0) < 2 * control.threads:
                    message = (
                        f"`{join}` waits for `{one}` in every round of the loop of `{inner}`, but `{one}` is outside "
                        "that loop and passes to it only once: a later round waits for ever"
                    )
                    hint = f"go back to a {word} before `{one}`, or take its result before the loop and hand it round"
                    return message, hint
        return None

    def _passing_loop(self, join: str, source: str) -> frozenset[str]:
        """Return the loop in whose every round a source passes to a join; no tasks if there is none."""
        around = self._loops.around[source]
        loop = self._loops.members[around[0]] if around else frozenset[str]()
        control = self._tokens.control[source]
        if self._loops.is_back(source, join):
            # To a synchronizing merge, what comes back is a group of its own.
            is_apart = self._tokens.joins[join] == "active"
            return frozenset() if is_apart else self._loops.members[self._loops.around[join][0]]
        ways = _ways(control, self._paths.destinations[source])
        return loop if any(join in way and not loop.isdisjoint(way) for way in ways) else frozenset()

    def inside(self, join: str) -> tuple[str, str] | None:
        """Look for a source in the loop of a join that a round can pass by."""
        how, around = self._tokens.joins[join], self._loops.around[join]
        if not around or (how != "active" and join not in self._paths.rounds):
            return None
        loop = self._loops.members[around[0]]
        for head, is_told in self._heads(join, loop).items():
            branches = _Branches(join, head, loop, self._tokens, self._paths.destinations)
            for source in self._paths.sources[join]:
                if source in loop and branches.can_miss(source, is_told=is_told):
                    waits = "it" if how == "active" else "the next round"
                    message = (
                        f"`{join}` joins by `{how}` in a loop, and `{source}` may pass it nothing in a round: "
                        f"then {waits} waits for it for ever"
                    )
                    return message, f"let every way from `{head}` lead to `{join}` through `{source}`"
        return None

    def _heads(self, join: str, loop: frozenset[str]) -> dict[str, bool]:
        """Return where rounds of a join begin in its loop, each with whether it hears of what is not chosen."""
        inside = {name: tuple(loop.intersection(self._paths.destinations[name])) for name in loop}
        head = dominators_of({**inside, join: ()}, inside[join]).get(join) or join
        first = self._nearest.get(join)
        return {head: False} | ({first: self._paths.rounds.get(join, True)} if first in loop else {})


class _Branches:
    """The tasks of a loop between a join and the task before all its branches, the head."""

    def __init__(
        self,
        join: str,
        head: str,
        loop: frozenset[str],
        tokens: Tokens,
        destinations: Mapping[str, tuple[str, ...]],
    ) -> None:
        self._join, self._head, self._loop = join, head, loop
        self._tokens = tokens
        self._destinations = destinations
        self._ways = {name: _ways(tokens.control[name], later) for name, later in destinations.items()}

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
        if source == self._head:
            return False
        ends = {self._head, self._join}
        between = [one for one in self._loop - ends if one == source or self._leads(one, source, ends)]
        leaving = [one for one in between if any(way and self._loop.isdisjoint(way) for way in self._ways[one])]
        return any(
            self._leads(one, task, ends)
            and any(self._leads(other, self._join, {self._head, task}) for other in (way & self._loop) - {one})
            for task in leaving
            for name in (self._head, *between)
            for way in self._tokens.ways[name]
            for one in way & self._loop
        )

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
            # Those with the same condition are chosen together.
            same = {tests[one]: tuple(other for other in tested if tests[other] == tests[one]) for one in tested}
            ways = [tuple(certain)] if certain else [*same.values(), *([tuple(plain)] if plain else [])]
        case "deferred":
            ways = [(one,) for one in tests]
        case "all":
            ways = [tuple(tests)]
    return [*ways, *([] if back is None else [(back,)])]
