"""The graph to draw: tasks, their marks, and the links along which results go.

A solid link is taken when all goes well. A dashed one leads to or from a task that waits for an alternative: what such
a task takes, and where its result goes if it stands in for another. Links that lead back, in loops, are kept apart:
without them the graph has no cycles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from solvent.workflow.cycles import components_of
from solvent.workflow.drawing.marks import Marks, claimed, marks_of, predicate, way_back, ways_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from solvent.workflow.model import Alternative, Workflow

Link = tuple[int, int]
"""From a task to another, by their numbers."""


class Graph(msgspec.Struct, frozen=True):
    """Tasks by number, and links between them."""

    names: tuple[str, ...]
    solid: frozenset[Link]
    dashed: frozenset[Link]
    """Links of tasks that wait for an alternative."""
    asleep: frozenset[int]
    back: frozenset[Link] = frozenset()
    """Links that lead back, and those of a task to itself."""
    stand_in: frozenset[Link] = frozenset()
    """Links to what uses the result of a replaced task."""
    cancels: tuple[Link, ...] = ()
    """From a task to one that is withdrawn when it is done."""
    labels: dict[Link, str] = {}
    """The conditions of links."""
    marks: tuple[Marks, ...] = ()
    """What each task does besides calling its service."""

    @property
    def links(self) -> list[Link]:
        """All links that lead onwards, in the order of their tasks."""
        return sorted(self.solid | self.dashed)

    @property
    def loops(self) -> list[Link]:
        """The links that lead back, without those of alternatives."""
        return sorted(self.back - self.stand_in)

    @property
    def ways_back(self) -> dict[int, list[str]]:
        """For each task that goes back to another: where to, and when."""
        found: dict[int, list[str]] = {}
        for source, target in self.loops:
            if source != target:
                label = self.labels.get((source, target), "")
                found.setdefault(source, []).extend(way_back(self.names[target], label))
        return found

    def repeats(self, task: int) -> list[str]:
        """Say when a task is done once more."""
        return way_back("", self.labels.get((task, task), "")) if (task, task) in self.back else []


def graph_of(workflow: Workflow) -> Graph:
    """Number the tasks of a workflow and collect their links; names that are no tasks are left out."""
    names = tuple(dict.fromkeys(task.name for task in workflow.tasks))
    number = {name: index for index, name in enumerate(names)}
    onward = workflow.destinations
    asleep = frozenset(number[name] for name in workflow.dormant)
    known = {name: [number[one] for one in onward[name] if one in number] for name in names}
    links = {(number[name], target) for name, targets in known.items() for target in targets}
    stand_in = {
        (number[new], number[target])
        for alternative in workflow.alternatives
        for old, new in alternative.exits.items()
        for target in onward.get(old, ())
        if new in number and target in number and new != target
    } - links
    back = _back(names, links | stand_in, _again(workflow, number))
    dashed = {link for link in links if asleep.intersection(link)} | stand_in
    return Graph(
        names,
        frozenset(links - dashed - back),
        frozenset(dashed - back),
        asleep,
        frozenset(back),
        frozenset(stand_in),
        *_controlled(workflow, number, links),
    )


def _controlled(
    workflow: Workflow, number: Mapping[str, int], links: Iterable[Link]
) -> tuple[tuple[Link, ...], dict[Link, str], tuple[Marks, ...]]:
    """Collect whom tasks cancel, the conditions of links, and the marks of tasks."""
    if not workflow.is_controlled and not workflow.resources:
        return (), {}, (Marks(),) * len(number)
    onward = workflow.destinations
    taken = [0] * len(number)
    for _, target in links:
        taken[target] += 1
    cancels: dict[Link, None] = {}
    labels: dict[Link, str] = {}
    marks = [Marks()] * len(number)
    for task in workflow.tasks:
        if task.control is not None:
            at = number[task.name]
            cancels |= {(at, number[one]): None for one in task.control.cancels if one in number and number[one] != at}
            ways = ways_of(task.control, onward[task.name])
            labels |= {(at, number[name]): label for name, label in ways.items() if name in number}
            marks[at] = marks_of(task.control, taken[at], workflow.locks)
        if task.claims:
            marks[number[task.name]] = claimed(marks[number[task.name]], task.claims)
    return tuple(cancels), labels, tuple(marks)


# ---------------------------------------------------------------------------------------------------- the loops


def _again(workflow: Workflow, number: Mapping[str, int]) -> set[Link]:
    """Give the links that are said to lead back, if they do."""
    said = [
        (task.name, task.control.again.task)
        for task in workflow.tasks
        if task.control is not None and task.control.again is not None and task.control.again.task in number
    ]
    if not said:
        return set()
    loop_of = {name: at for at, loop in enumerate(components_of(workflow.destinations)) for name in loop}
    return {(number[source], number[target]) for source, target in said if loop_of[source] == loop_of[target]}


def _back(names: Sequence[str], links: set[Link], again: set[Link]) -> set[Link]:
    """Find links without which there are no cycles: those said to lead back, then those that return to where one is."""
    onward: list[list[int]] = [[] for _ in names]
    is_entered = [False] * len(names)
    for source, target in sorted(links - again):
        onward[source].append(target)
        is_entered[target] = True
    back = set(again)
    is_seen, is_open = [False] * len(names), [False] * len(names)
    for root in sorted(range(len(names)), key=is_entered.__getitem__):
        if is_seen[root]:
            continue
        is_seen[root] = is_open[root] = True
        work: list[tuple[int, Iterator[int]]] = [(root, iter(onward[root]))]
        while work:
            task, later = work[-1]
            following = next(later, None)
            if following is None:
                work.pop()
                is_open[task] = False
            elif is_open[following]:
                back.add((task, following))
            elif not is_seen[following]:
                is_seen[following] = is_open[following] = True
                work.append((following, iter(onward[following])))
    return back


# ----------------------------------------------------------------------------------------------- alternatives


def explained(alternative: Alternative) -> str:
    """Put an alternative into a line: `b instead of a, on failure`."""
    news = ", ".join(dict.fromkeys(alternative.exits.values()))
    line = f"{news} instead of {', '.join(alternative.replaced)}"
    reasons = [f"on {reason}" for reason in alternative.on if reason != "condition"]
    if "condition" in alternative.on:
        reasons.append(f"if {alternative.when or predicate(alternative.predicate, 'its result is rejected')}")
    line += f", {' or '.join(reasons)}"
    return f"{line}, watching {', '.join(alternative.watch)}" if alternative.watch else line


__all__ = ["Graph", "Link", "explained", "graph_of"]
