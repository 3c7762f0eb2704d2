"""A workflow in the language of Graphviz."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from solvent.workflow.drawing.graph import explained, graph_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.workflow.model import Workflow

_COLOURS = {
    "done": "#2e7d32",
    "failed": "#c62828",
    "replaced": "#9e9e9e",
    "running": "#1565c0",
    "unused": "#9e9e9e",
    "waiting": "#616161",
}


def dot(workflow: Workflow, states: Mapping[str, str] | None = None) -> str:
    """Write a workflow for Graphviz, alternatives dashed, tasks coloured by their states."""
    graph = graph_of(workflow)
    lines = [f"digraph {_quoted(workflow.name)} {{", '  node [shape=box, style="rounded", fontname="sans-serif"];']
    number = {name: index for index, name in enumerate(graph.names)}
    for task in workflow.tasks:
        label = task.name if task.service == task.name else f"{task.name}\n{task.service}"
        marks = [f"label={_quoted(label)}"]
        if number[task.name] in graph.asleep:
            marks.append('style="rounded,dashed"')
        if states and (colour := _COLOURS.get(states.get(task.name, ""))):
            marks.append(f'color="{colour}", fontcolor="{colour}"')
        lines.append(f"  {_quoted(task.name)} [{', '.join(marks)}];")
    for source, target in graph.links:
        dashes = "" if (source, target) in graph.solid else " [style=dashed]"
        lines.append(f"  {_quoted(graph.names[source])} -> {_quoted(graph.names[target])}{dashes};")
    if workflow.alternatives:
        legend = "\n".join(map(explained, workflow.alternatives))
        lines.append(f"  label={_quoted(legend)};")
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    # Graphviz reads a quoted string as JSON writes it, as far as letters, quotes, backslashes and line ends go.
    return json.dumps(text, ensure_ascii=False)


__all__ = ["dot"]
