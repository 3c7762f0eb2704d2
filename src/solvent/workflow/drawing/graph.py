"""A workflow as a graph to draw: tasks with their marks, and the links along which results go.

A plain link is taken when all goes well. A dashed one leads to or from a task that waits for an alternative: what such
a task takes, and where its result goes if it stands in for another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.pictures.graph import Edge, Graph, Node, ways_back
from solvent.pictures.lettering import cut
from solvent.pictures.text import LETTERS_MAX, way_back
from solvent.workflow.cycles import components_of
from solvent.workflow.drawing.marks import NO_MARKS, claimed, marks_of, predicate, ways_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from solvent.pictures.graph import Link
    from solvent.workflow.drawing.marks import Marks
    from solvent.workflow.model import Alternative, Task, Workflow


def graph_of(workflow: Workflow, states: Mapping[str, str] | None = None) -> Graph:
    """Give the graph of a workflow, its tasks perhaps in states; names that are no tasks are left out."""
    tasks = {task.name: task for task in workflow.tasks}
    number = {name: index for index, name in enumerate(tasks)}
    onward = workflow.destinations
    links = {(number[name], number[one]) for name in number for one in onward[name] if one in number}
    stand_in = {
        (number[new], number[target])
        for alternative in workflow.alternatives
        for old, new in alternative.exits.items()
        for target in onward.get(old, ())
        if new in number and target in number and new != target
    } - links
    asleep = {number[name] for name in workflow.dormant}
    # Whether a link leads back does not depend on what waits for an alternative, but that must not make a cycle.
    back = ways_back(len(number), links | stand_in, _again(workflow, number))
    labels, marks, cancels = _controlled(workflow, number, links)
    loops = sorted(back - stand_in)
    edges = [
        Edge(*link, "dashed" if link in stand_in or asleep.intersection(link) else "", labels.get(link, ""))
        for link in sorted((links | stand_in) - back)
    ]
    # What a task that repeats itself waits for stands in its box.
    edges += [Edge(*link, "back", "" if link[0] == link[1] else f"↺ {labels.get(link, '')}".strip()) for link in loops]
    edges += [Edge(*link, "dashed") for link in sorted(back & stand_in)]
    edges += [Edge(*link, "cancel") for link in cancels]
    nodes = []
    for name, at in number.items():
        repeats = way_back("", labels.get((at, at), "")) if (at, at) in back else []
        state = (states or {}).get(name, "")
        nodes.append(_node(tasks[name], marks[at], repeats, state, is_dashed=at in asleep))
    legend = tuple(map(explained, workflow.alternatives))
    return Graph(tuple(nodes), tuple(edges), workflow.name, legend)


def _node(task: Task, marks: Marks, repeats: Iterable[str], state: str, *, is_dashed: bool) -> Node:
    """Give the box of a task: what starts it, its name, its service, what else it does, and whom it passes on to."""
    lines = [
        ("mark", marks.join),
        ("", f"{cut(task.name, LETTERS_MAX)} {marks.times}".strip()),
        ("service", "" if task.service == task.name else cut(task.service, LETTERS_MAX)),
        *(("mark", note) for note in (*marks.notes, *repeats, marks.split)),
    ]
    return Node(
        task.name,
        tuple(line for line in lines if line[1]),
        state,
        is_dashed=is_dashed,
        is_many=bool(marks.times),
        tip=" · ".join(part for part in (task.name, task.service, state) if part),
        group=task.service,
    )


def _controlled(
    workflow: Workflow, number: Mapping[str, int], links: Iterable[Link]
) -> tuple[dict[Link, str], list[Marks], list[Link]]:
    """Collect the conditions of links, the marks of tasks, and whom tasks cancel."""
    labels: dict[Link, str] = {}
    marks = [NO_MARKS] * len(number)
    cancels: dict[Link, None] = {}
    if not workflow.is_controlled and not workflow.resources:
        return labels, marks, []
    onward = workflow.destinations
    taken = [0] * len(number)
    for _, target in links:
        taken[target] += 1
    for task in workflow.tasks:
        if task.control is not None:
            at = number[task.name]
            cancels |= {(at, number[one]): None for one in task.control.cancels if one in number and number[one] != at}
            ways = ways_of(task.control, onward[task.name])
            labels |= {(at, number[name]): label for name, label in ways.items() if name in number}
            marks[at] = marks_of(task.control, taken[at], workflow.locks)
        if task.claims:
            marks[number[task.name]] = claimed(marks[number[task.name]], task.claims)
    return labels, marks, list(cancels)


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


def explained(alternative: Alternative) -> str:
    """Put an alternative into a line: `b instead of a, on failure`."""
    news = ", ".join(dict.fromkeys(alternative.exits.values()))
    line = f"{news} instead of {', '.join(alternative.replaced)}"
    reasons = [f"on {reason}" for reason in alternative.on if reason != "condition"]
    if "condition" in alternative.on:
        reasons.append(f"if {alternative.when or predicate(alternative.predicate, 'its result is rejected')}")
    line += f", {' or '.join(reasons)}"
    return f"{line}, watching {', '.join(alternative.watch)}" if alternative.watch else line


__all__ = ["explained", "graph_of"]
