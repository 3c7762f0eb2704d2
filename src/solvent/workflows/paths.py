"""What follows from the shape of a controlled workflow: who starts it, what leads round, who is upstream of whom.

Skips: who must hear that a way is not taken, whom a synchronizing merge behind it would wait for otherwise.
So must a join by the first so many that starts several times: its next round begins when all sources have answered. It
hears only of what is not chosen behind the task before all its branches: a round that does not begin there is none.

In a loop a way out that is not taken now may be taken later. So a task that stays in its loop tells nobody outside, and
who leaves the loop tells the ends of all other ways out of it. Loops lie in loops: a choice may leave the inner one and
stay in the outer one. The *level* of a destination says how many of the loops around a task the way to it leaves, and
one: 1 stays in all of them.

Rounds: which joins by the first so many count their rounds by number.
A branch may still be at work when the next round begins, and hear meanwhile that it is not chosen there. So each
start of the task before all branches (the *head*) has a number, which tokens and skips of these branches carry. The
join takes what has the number of its round: the rest of a round is known however late it comes.

The number goes through a branch with the tokens. So a branch is a row of tasks with one source each that are called
once for a token, in the same loops as the head and the join, and nothing is cancelled.

Dominators: which tasks every way to a task goes through.
The nearest such task is found for all tasks together, by the algorithm of Cooper, Harvey and Kennedy (A Simple, Fast
Dominance Algorithm, 2001): in the order of a depth-first walk turned round, until nothing changes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from solvent.workflows.cycles import components_of
from solvent.workflows.model import Control

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from solvent.workflows.model import Workflow

_ROOT = ""
"""What lies before all that start by themselves; no task has an empty name."""


def dominators_of(destinations: Mapping[str, tuple[str, ...]], starts: Iterable[str]) -> dict[str, str | None]:
    """Return for each task that can be reached the nearest one that all ways to it go through, if there is one."""
    graph = {**destinations, _ROOT: tuple(starts)}
    order = _order(graph)
    number = {name: at for at, name in enumerate(order)}
    sources: dict[str, list[str]] = {name: [] for name in order}
    for name in order:
        for to in graph[name]:
            sources[to].append(name)
    nearest = {_ROOT: _ROOT}
    is_changed = True
    while is_changed:
        is_changed = False
        for name in order[1:]:
            known = [source for source in sources[name] if source in nearest]
            found = known[0]
            for other in known[1:]:
                found = _common(found, other, nearest, number)
            if nearest.get(name) != found:
                nearest[name] = found
                is_changed = True
    return {name: found or None for name, found in nearest.items() if name}


def _common(one: str, other: str, nearest: Mapping[str, str], number: Mapping[str, int]) -> str:
    """Return the nearest that two have in common."""
    while one != other:
        while number[one] > number[other]:
            one = nearest[one]
        while number[other] > number[one]:
            other = nearest[other]
    return one


def _order(graph: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return what can be reached, each before what it leads to, as far as there are no ways round."""
    seen = {_ROOT}
    found: list[str] = []
    work = [(_ROOT, iter(graph[_ROOT]))]
    while work:
        name, onward = work[-1]
        for to in onward:
            if to not in seen:
                seen.add(to)
                work.append((to, iter(graph[to])))
                break
        else:
            work.pop()
            found.append(name)
    return found[::-1]


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
        """Return how far out a destination lies, seen from a task."""
        around = self.around[task]
        return next((at for at, loop in enumerate(around, 1) if to in self.members[loop]), len(around) + 1)

    def is_back(self, source: str, task: str) -> bool:
        """Return whether a source lies in the innermost loop around a task."""
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
        rounds: Mapping[str, str | None],
    ) -> None:
        self.loops = loops
        self._sources = sources
        self._destinations = destinations
        self.merged = _leading_to(active, sources)
        """The arcs that lead to a synchronizing merge."""
        self.told = self.merged.union(*(_leading_to([join], sources, head) for join, head in rounds.items()))
        """These, and the arcs that lead from its head to a join by the first so many of a round."""
        self.merging = {loop for name in (*active, *rounds) for loop in loops.around[name]}
        """The loops that have one inside."""
        self._exits: dict[int, list[Arc]] = {loop: [] for loop in loops.members}
        for arc in sorted(self.told) if loops.members else ():
            for loop in loops.around[arc[0]][: loops.level(*arc) - 1]:
                self._exits[loop].append(arc)

    def back(self, task: str) -> list[str]:
        """Return the sources of a task that come back to it in a loop, and whose answers do not count."""
        around = self.loops.around[task]
        if not around or (around[0] in self.merging and not self.is_entered(task)):
            return []
        return [source for source in self._sources[task] if self.loops.is_back(source, task)]

    def back_into(self, task: str) -> list[str]:
        """Return the sources that come back to a task by which its loop is entered."""
        return [one for one in self._sources[task] if self.loops.is_back(one, task)] if self.is_entered(task) else []

    def is_entered(self, task: str) -> bool:
        """Return whether its innermost loop is entered by a task."""
        return not all(self.loops.is_back(source, task) for source in self._sources[task])

    def is_told(self, task: str, to: str) -> bool:
        """Return whether the end of a way hears of it when a task does not take it."""
        level = self.loops.level(task, to)
        around = self.loops.around[task]
        return (task, to) in self.told and (level > len(around) or around[level - 1] in self.merging)

    def exits(self, task: str) -> list[tuple[int, Arc]]:
        """Return the other ways out of the loops around a task, with the levels that they lead to."""
        found: dict[tuple[int, Arc], None] = {}
        around = self.loops.around[task]
        for left, loop in enumerate(around, 1):
            for arc in self._exits[loop]:
                is_heard = left == len(around) or around[left] in self.merging
                if is_heard and arc[0] != task and self.loops.level(task, arc[1]) == left + 1:
                    found[left + 1, arc] = None
        return [*found]

    def of(self, task: str) -> list[Arc]:
        """Return the arcs that hear of it when a task is skipped itself."""
        around = self.loops.around[task]
        # Where a loop is entered, a skip says that all of it is skipped.
        first = 1 if around and self.is_entered(task) else 0
        silent = next((at for at, loop in enumerate(around) if at >= first and loop in self.merging), len(around))
        if silent == 0:
            arcs = [(task, to) for to in self._destinations[task]]
            return [arc for arc in arcs if self.is_told(*arc) and (not around or self.loops.level(*arc) == 1)]
        return [arc for arc in self._exits[around[silent - 1]] if self.loops.level(task, arc[1]) == silent + 1]


def _leading_to(
    ends: Collection[str], sources: Mapping[str, tuple[str, ...]], head: str | None = None
) -> frozenset[Arc]:
    """Return the arcs that lead to some tasks, back to a head if there is one."""
    told: set[Arc] = set()
    todo = [*ends]
    seen = {*ends, head}
    while todo:
        name = todo.pop()
        for source in sources[name]:
            told.add((source, name))
            if source not in seen:
                seen.add(source)
                todo.append(source)
    return frozenset(told)


_PLAIN = Control()


def numbered_of(  # noqa: PLR0917 - the shape of a workflow
    joins: Collection[str],
    controls: Mapping[str, Control],
    sources: Mapping[str, tuple[str, ...]],
    destinations: Mapping[str, tuple[str, ...]],
    starts: Collection[str],
    loops: Loops,
) -> dict[str, str]:
    """Return the joins whose rounds can be numbered, and the tasks of their branches, each with its head."""
    if not joins or any(control.cancels or control.cancels_rest for control in controls.values()):
        return {}
    nearest = dominators_of(destinations, starts)
    found: dict[str, str] = {}
    # Each join behind those that it comes after: a join that is a head itself hands on the numbers that it gets.
    for join in sorted(joins, key=lambda name: (len(_heads(name, nearest)), name)):
        head = nearest.get(join)
        branches = None if head is None else _branches(join, head, sources)
        if head is None or branches is None or not (head in found or _is_head(head, controls, sources, loops)):
            continue
        is_even = all(loops.around[name] == loops.around[head] for name in (join, *branches))
        if not is_even or controls[join].threads > 1 or not all(_hands_on(controls.get(one)) for one in branches):
            continue
        if all(found.get(name, head) == head for name in (join, *branches)):
            found |= dict.fromkeys((join, *branches), head)
    return {name: _counted_by(head, found) for name, head in found.items()}


def _heads(name: str, nearest: Mapping[str, str | None]) -> list[str]:
    """Return the tasks that all ways to a task lead through."""
    found = []
    while (head := nearest.get(name)) is not None:
        found.append(head)
        name = head
    return found


def _counted_by(head: str, found: Mapping[str, str]) -> str:
    """Return the task whose starts have numbers: a head that is behind another one hands on the numbers of that."""
    while head in found:
        head = found[head]
    return head


def _branches(join: str, head: str, sources: Mapping[str, tuple[str, ...]]) -> set[str] | None:
    """Return the tasks between a head and a join, if each has one source."""
    found: set[str] = set()
    todo = [*sources[join]]
    while todo:
        name = todo.pop()
        if name == head or name in found:
            continue
        if name == join or len(sources[name]) != 1:
            return None
        found.add(name)
        todo += sources[name]
    return found


def _is_head(head: str, controls: Mapping[str, Control], sources: Mapping[str, tuple[str, ...]], loops: Loops) -> bool:
    """Return whether each start of a task can have a number, and each time that it is skipped."""
    control = controls.get(head, _PLAIN)
    is_single = control.copies == 1 and control.split != "deferred" and (control.many is None or not control.many.apart)
    is_free = not any(controls.get(source, _PLAIN).split == "deferred" for source in sources[head])
    is_entered = bool(loops.around[head]) and not all(loops.is_back(source, head) for source in sources[head])
    is_counted = not any(one.during is not None and head in one.during for one in controls.values())
    return is_single and is_free and is_counted and (is_entered or control.join in ("all", "any"))


def _hands_on(control: Control | None) -> bool:
    """Return whether a task of a branch passes on one token for one, at most, to each destination."""
    if control is None:
        return True
    is_called_once = control.many is None and control.copies == 1 and control.threads == 1
    return is_called_once and control.split != "deferred" and control.signal is None and control.join in ("all", "any")


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
    numbered: dict[str, str]
    """The tasks that get tokens with the number of a round, each with the task whose starts have these numbers."""
    rounds: dict[str, bool]
    """The joins by the first so many of a round, each with whether it hears of branches that are not chosen."""

    def upstream_first(self, tasks: Iterable[str]) -> list[str]:
        """Put tasks in such an order that none comes before one that leads to it, as far as there are no loops."""
        return sorted(tasks, key=lambda task: (self.ranks[task], task))

    def has_loop(self, tasks: Iterable[str]) -> bool:
        """Return whether several of some tasks lead to each other."""
        return any(number > 1 for number in Counter(self.ranks[task] for task in tasks).values())

    def upstream(self, task: str) -> frozenset[str]:
        """Return the branches that a task joins: what leads only to it, back to where all ways to it come from."""
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
        """Return the sources of a task that can still get something when the branches in a region are cancelled."""
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
    controls = {task.name: task.control for task in workflow.tasks if task.name in known and task.control is not None}
    active = [name for name, control in controls.items() if control.join == "active"]
    first = [name for name, control in controls.items() if control.join == "first"]
    rounds = _answered(controls, known, destinations, loops).intersection(first) if first else set[str]()
    around = loops_of(destinations, starts)
    numbered = numbered_of(rounds, controls, known, destinations, starts, around)
    nearest = dominators_of(destinations, starts) if rounds else {}
    # Where rounds have no numbers, a skip could overtake a token. A join that cancels the rest leaves none behind, and
    # outside of loops threads that choose together choose the same. Where threads merge behind such a choice, their
    # skips could not be told apart: there the join hears of none, and waits for what its branches send.
    heard = [
        name
        for name in sorted(rounds)
        if name in numbered
        or controls[name].cancels_rest
        or (nearest.get(name) in starts and nearest[name] not in loops)
    ]
    told = {
        name: numbered.get(name, nearest.get(name))
        for name in heard
        if name in numbered or not _is_mixed(name, controls, known, destinations, nearest, around)
    }
    skips = Skips(around, known, destinations, active, told)
    return Paths(
        known, destinations, loops, ranks, starts, skips, numbered, {name: name in heard for name in sorted(rounds)}
    )


def _is_mixed(  # noqa: PLR0917 - the shape of a workflow
    join: str,
    controls: Mapping[str, Control],
    sources: Mapping[str, tuple[str, ...]],
    destinations: Mapping[str, tuple[str, ...]],
    nearest: Mapping[str, str | None],
    loops: Loops,
) -> bool:
    """Return whether several tokens of one round choose beside each other, and meet before the join.

    A skip does not say which token it belongs to: the merge behind the choice would take those of two tokens for all
    answers to one, and the join would hear of a branch that is not chosen although its tokens come.
    """
    head = nearest.get(join)
    between = {name for arc in _leading_to([join], sources, head) for name in arc} - {join, head}
    inside = {name: tuple(one for one in destinations[name] if one in between) for name in between}
    merges: list[str] = []
    several: list[str] = []
    for name in between:
        control = controls.get(name, _PLAIN)
        # Those that come back to where a loop is entered do not count; elsewhere in a loop all do.
        before = [one for one in sources[name] if not loops.is_back(one, name)] or [*sources[name]]
        if control.threads > 1 or (control.join == "any" and len(before) > 1):
            merges.append(name)
        if control.join == "any" and any(
            controls.get(fork, _PLAIN).split in ("all", "some") for fork in _forks(before, nearest)
        ):
            several.append(name)
    for name in between if head is None else {*between, head}:
        control = controls.get(name, _PLAIN)
        if control.copies > 1 or (control.many is not None and control.many.apart):
            several += [one for one in destinations[name] if one in between]
    choosing = [
        name
        for name in _behind(several, inside)
        if name in controls and (controls[name].split != "all" or controls[name].again is not None)
    ]
    return not _behind([one for name in choosing for one in inside[name]], inside).isdisjoint(merges)


def _forks(names: list[str], nearest: Mapping[str, str | None]) -> Iterator[str]:
    """Yield where the ways to some tasks part: the nearest task that all ways to two of them go through."""
    seen: set[str] = set()
    for at, name in enumerate(names):
        fork: str | None = name
        while fork is not None and fork not in seen:
            seen.add(fork)
            fork = nearest.get(fork)
        if at:
            yield fork or _ROOT


def _answered(
    controls: dict[str, Control],
    sources: dict[str, tuple[str, ...]],
    destinations: dict[str, tuple[str, ...]],
    loops: dict[str, int],
) -> set[str]:
    """Find the tasks that may start several times, and not with tokens of the same sources each time."""
    often, seldom = [*loops], list[str]()
    for name, control in controls.items():
        if control.join == "any" and len(sources[name]) > 1:
            often.append(name)
        if control.copies > 1 or (control.many is not None and control.many.apart):
            often += destinations[name]
        if control.split != "all" or control.again is not None:
            seldom += destinations[name]
        seldom += [one for one in control.cancels if one in destinations]
    return _behind(often, destinations) & _behind(seldom, destinations)


def _behind(names: list[str], destinations: Mapping[str, tuple[str, ...]]) -> set[str]:
    """Return some tasks and all that may come after them."""
    found: set[str] = set()
    while names:
        name = names.pop()
        if name not in found:
            found.add(name)
            names += destinations[name]
    return found


def _reached(start: str, onward: dict[str, tuple[str, ...]]) -> set[str]:
    """Return what can be reached from a task, without going through it again."""
    found: set[str] = set()
    todo = [*onward[start]]
    while todo:
        name = todo.pop()
        if name not in found and name != start:
            found.add(name)
            todo += onward[name]
    return found


def _is_behind(task: str, gate: str | None, nearest: dict[str, str | None]) -> bool:
    """Return whether all ways to a task go through another; none lies behind everything."""
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
