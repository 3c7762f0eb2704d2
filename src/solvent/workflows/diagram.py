"""Diagrams of workflows: text for the terminal, DOT for Graphviz, SVG for everything else.

A plain link is taken when all goes well. A dashed one leads to or from a task that waits for an alternative: what such
a task takes, and where its result goes if it stands in for another.

The words in a box are those of workflow files, so that they can be looked up: `▽` stands before the way in, `△`
before the ways out, `↺` before a way back, `✗` before what is cancelled, `■` before an end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from solvent import pictures
from solvent.pictures.graph import Edge, Graph, Node, ways_back
from solvent.pictures.terminal import MAX_LETTERS, way_back
from solvent.pictures.text_width import cut
from solvent.workflows.cycles import components_of
from solvent.workflows.model import Input, Result, Value, predicate_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from solvent.pictures.graph import Link
    from solvent.workflows.model import Argument, Claim, Control, Many, Task, Test, Workflow

_MAX_CONDITION = 26


class Marks(msgspec.Struct, frozen=True):
    """The marks of one task."""

    join: str = ""
    """What starts it."""
    times: str = ""
    """How many instances it has; stands beside its name."""
    notes: tuple[str, ...] = ()
    """What it waits for, holds, sends and ends; whom it cancels is told by arrows."""
    split: str = ""
    """Whom it passes its result to."""


NO_MARKS = Marks()


def marks_of(control: Control | None, sources_count: int, locks: Mapping[str, int]) -> Marks:
    """Return the marks of a task."""
    if control is None:
        return NO_MARKS
    many = control.many
    notes = [] if many is None else _instances(many)
    if control.signal is not None:
        notes.append(f"waits for {control.signal}{', not kept' if control.is_transient else ''}")
    notes += _locks(control, locks)
    if control.during is not None:
        notes.append(f"only between {control.during[0]} and {control.during[1]}")
    if control.sends:
        notes.append(f"sends {', '.join(control.sends)}")
    if control.completes:
        notes.append(f"completes {', '.join(control.completes)}")
    if control.ends:
        notes.append("■ ends the case" if control.ends == "case" else "■ cancels the case")
    return Marks(
        join=_join(control, sources_count),
        times="" if many is None else _times(many),
        notes=tuple(cut(note, MAX_LETTERS) for note in notes),
        split=_split(control),
    )


def claimed(marks: Marks, claims: Sequence[Claim]) -> Marks:
    """Add the resources that a task has while it runs."""
    does = {
        "writes": [one for one in claims if one.mode == "write"],
        "reads": [one for one in claims if one.mode == "read"],
    }
    notes = [f"{word} {', '.join(map(_stretch, found))}" for word, found in does.items() if found]
    return msgspec.structs.replace(marks, notes=(*(cut(note, MAX_LETTERS) for note in notes), *marks.notes))


def _stretch(claim: Claim) -> str:
    if claim.is_whole:
        return claim.resource
    return f"{claim.resource}[{claim.offset}:{'' if claim.length is None else claim.offset + claim.length}]"


def _join(control: Control, sources_count: int) -> str:
    words = [] if control.join == "all" else [control.join]
    if control.join == "first":
        words = [f"first {control.need} of {sources_count}" if sources_count else "first"]
        words += ["cancels rest"] if control.cancels_rest else []
    elif words and control.need > 1:
        words = [f"{control.join} {control.need}"]
    if control.threads > 1:
        words.append(f"{control.threads} threads")
    return cut(f"▽ {', '.join(words)}", MAX_LETTERS) if words else ""


def _split(control: Control) -> str:
    words: list[str] = [] if control.split == "all" else [control.split]
    if control.copies > 1:
        words.append(f"{control.copies} threads")
    return f"△ {', '.join(words)}" if words else ""


def _times(many: Many) -> str:
    return "× each" if many.count is None else cut(f"×{_counted(many.count)}", 12)


def _counted(count: Argument) -> str:
    if isinstance(count, Value):
        return str(count.value)
    return f" {count.name}" if isinstance(count, Input) else f" {count.task}" if isinstance(count, Result) else " n"


def _instances(many: Many) -> list[str]:
    notes = []
    if many.need is not None:
        notes.append(f"{many.need} {'is' if many.need == 1 else 'are'} enough")
    if many.enough is not None:
        notes.append(f"enough if {condition(many.enough)}")
    if many.cancels:
        notes.append("cancels rest")
    if many.apart:
        notes.append("each goes on by itself")
    if many.more is not None:
        notes.append(f"one more if {condition(many.more)}")
    return notes


def _locks(control: Control, locks: Mapping[str, int]) -> list[str]:
    def told(names: Sequence[str]) -> str:
        return ", ".join(f"{name} ({locks[name]})" if locks.get(name, 1) > 1 else name for name in names)

    found = {
        "lock": [name for name in control.takes if name in control.gives],
        "takes": [name for name in control.takes if name not in control.gives],
        "gives back": [name for name in control.gives if name not in control.takes],
    }
    return [f"{word} {told(names)}" for word, names in found.items() if names]


# ------------------------------------------------------------------------------------------------- conditions


def ways_of(control: Control, destinations: Sequence[str]) -> dict[str, str]:
    """Return the condition of each way onwards or back that has one, by the task it leads to."""
    found: dict[str, list[str]] = {}
    if control.again is not None:
        test = control.again.test
        found[control.again.task] = ["again" if test is None else f"while {condition(test)}"]
    if any(route.test is not None for route in control.routes):
        for route in control.routes:
            found.setdefault(route.task, []).append(condition(route.test))
        if control.split in ("one", "some"):
            for name in destinations:
                found.setdefault(name, ["otherwise"])
    return {name: cut(" or ".join(words), _MAX_CONDITION) for name, words in found.items()}


def condition(test: Test | None) -> str:
    """Put a condition into a few letters."""
    if test is None:
        return "otherwise"
    if test.when is not None:
        return cut(" ".join(test.when.split()), _MAX_CONDITION)
    return cut(predicate_text(test.predicate), _MAX_CONDITION)


def graph_of(workflow: Workflow, states: Mapping[str, str] | None = None) -> Graph:
    """Return the graph of a workflow, its tasks perhaps in states; names that are no tasks are left out."""
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
    legend = tuple(one.explain() for one in workflow.alternatives)
    return Graph(tuple(nodes), tuple(edges), workflow.name, legend)


def _node(task: Task, marks: Marks, repeats: Iterable[str], state: str, *, is_dashed: bool) -> Node:
    """Return the box of a task: what starts it, its name, its service, what else it does, and whom it passes on to."""
    lines = [
        ("mark", marks.join),
        ("", f"{cut(task.name, MAX_LETTERS)} {marks.times}".strip()),
        ("service", "" if task.service == task.name else cut(task.service, MAX_LETTERS)),
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
    """Return the links that are said to lead back, if they do."""
    said = [
        (task.name, task.control.again.task)
        for task in workflow.tasks
        if task.control is not None and task.control.again is not None and task.control.again.task in number
    ]
    if not said:
        return set()
    loop_of = {name: at for at, loop in enumerate(components_of(workflow.destinations)) for name in loop}
    return {(number[source], number[target]) for source, target in said if loop_of[source] == loop_of[target]}


def text(workflow: Workflow, states: Mapping[str, str] | None = None, *, width: int = 100) -> str:
    """Draw a workflow in at most `width` columns, with a mark for each task's state, and list its alternatives."""
    return pictures.text(graph_of(workflow, states), width=width)


def svg(workflow: Workflow, states: Mapping[str, str] | None = None) -> str:
    """Draw a workflow, alternatives dashed, tasks coloured by their states."""
    return pictures.svg(pictures.drawn(graph_of(workflow, states)))


def dot(workflow: Workflow, states: Mapping[str, str] | None = None) -> str:
    """Write a workflow for Graphviz, alternatives and ways back dashed, tasks coloured by their states."""
    return pictures.dot(graph_of(workflow, states))
