"""A workflow in the language of Graphviz."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from solvent.workflow.drawing.graph import explained, graph_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from solvent.workflow.drawing.graph import Graph, Link
    from solvent.workflow.model import Task, Workflow

_COLOURS = {
    "done": "#2e7d32",
    "failed": "#c62828",
    "replaced": "#9e9e9e",
    "running": "#1565c0",
    "unused": "#9e9e9e",
    "waiting": "#616161",
}
_BACK = "#6a3fb5"


def dot(workflow: Workflow, states: Mapping[str, str] | None = None) -> str:
    """Write a workflow for Graphviz, alternatives and ways back dashed, tasks coloured by their states."""
    graph = graph_of(workflow)
    lines = [f"digraph {_quoted(workflow.name)} {{", '  node [shape=box, style="rounded", fontname="sans-serif"];']
    number = {name: index for index, name in enumerate(graph.names)}
    for task in workflow.tasks:
        at = number[task.name]
        marks = [f"label={_quoted(_label(graph, at, task))}"]
        if graph.marks[at].times:
            marks.append("peripheries=2")
        if at in graph.asleep:
            marks.append('style="rounded,dashed"')
        if states and (colour := _COLOURS.get(states.get(task.name, ""))):
            marks.append(f'color="{colour}", fontcolor="{colour}"')
        lines.append(f"  {_quoted(task.name)} [{', '.join(marks)}];")
    lines += [_link(graph, link, _how(graph, link)) for link in graph.links]
    back = f'style=dashed, color="{_BACK}", fontcolor="{_BACK}", constraint=false'
    lines += [_link(graph, link, [*_how(graph, link, "↺ "), back]) for link in graph.loops]
    lines += [_link(graph, link, ["style=dashed"]) for link in sorted(graph.back & graph.stand_in)]
    cancel = f'style=dashed, arrowhead=tee, color="{_COLOURS["failed"]}", constraint=false'
    lines += [_link(graph, link, [cancel]) for link in graph.cancels]
    if workflow.alternatives:
        legend = "\n".join(map(explained, workflow.alternatives))
        lines.append(f"  label={_quoted(legend)};")
    return "\n".join([*lines, "}", ""])


def _label(graph: Graph, number: int, task: Task) -> str:
    marks = graph.marks[number]
    service = "" if task.service == task.name else task.service
    lines = (marks.join, f"{task.name} {marks.times}".strip(), service, *marks.notes, marks.split)
    return "\n".join(line for line in lines if line)


def _how(graph: Graph, link: Link, before: str = "") -> list[str]:
    """Give the attributes of a link: its condition, and whether it is dashed."""
    label = graph.labels.get(link)
    found = [] if label is None else [f"label={_quoted(before + label)}"]
    return [*found, "style=dashed"] if link in graph.dashed else found


def _link(graph: Graph, link: Link, how: Sequence[str]) -> str:
    source, target = (_quoted(graph.names[one]) for one in link)
    attributes = f" [{', '.join(how)}]" if how else ""
    return f"  {source} -> {target}{attributes};"


def _quoted(text: str) -> str:
    # Graphviz reads a quoted string as JSON writes it, as far as letters, quotes, backslashes and line ends go.
    return json.dumps(text, ensure_ascii=False)


__all__ = ["dot"]
