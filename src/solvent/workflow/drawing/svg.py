"""A workflow as a picture that stands alone: one SVG text, in light and in dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from solvent.workflow.drawing.graph import explained, graph_of
from solvent.workflow.drawing.layout import arrange, positions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from solvent.workflow.drawing.graph import Graph
    from solvent.workflow.drawing.layout import Layout
    from solvent.workflow.model import Task, Workflow

_LETTER = 7.4
_HEIGHT = 40
_LAYER = 88
_GAP = 20
_MARGIN = 20
_LINE = 18
_LETTERS_MAX = 28

_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0 L8 4 L0 8 z"/></marker></defs>'
)
_STYLE = """
  svg.workflow { background: #ffffff; }
  .workflow text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #1c2126; text-anchor: middle; }
  .workflow text.service { font-size: 11px; fill: #5b6570; }
  .workflow text.legend { text-anchor: start; fill: #5b6570; }
  .workflow rect { fill: #f4f6f8; stroke: #7a8590; stroke-width: 1.2; }
  .workflow path { fill: none; stroke: #7a8590; stroke-width: 1.2; }
  .workflow .dashed { stroke-dasharray: 5 4; }
  .workflow #arrow path { fill: #7a8590; stroke: none; }
  .workflow .done rect { fill: #e3f4e5; stroke: #2e7d32; }
  .workflow .failed rect { fill: #fde7e7; stroke: #c62828; }
  .workflow .running rect { fill: #e3effc; stroke: #1565c0; }
  .workflow .replaced rect, .workflow .unused rect { fill: none; stroke: #b3bac1; }
  .workflow .replaced text, .workflow .unused text { fill: #9099a2; }
  @media (prefers-color-scheme: dark) {
    svg.workflow { background: #14181c; }
    .workflow text { fill: #e4e8ec; }
    .workflow text.service, .workflow text.legend { fill: #98a2ac; }
    .workflow rect { fill: #20262c; stroke: #8a959f; }
    .workflow path { stroke: #8a959f; }
    .workflow #arrow path { fill: #8a959f; }
    .workflow .done rect { fill: #16301a; stroke: #66bb6a; }
    .workflow .failed rect { fill: #3a1a1a; stroke: #ef6c6c; }
    .workflow .running rect { fill: #14283f; stroke: #64a8f0; }
    .workflow .replaced rect, .workflow .unused rect { fill: none; stroke: #4a535b; }
    .workflow .replaced text, .workflow .unused text { fill: #77818a; }
  }
"""


def svg(workflow: Workflow, states: Mapping[str, str] | None = None) -> str:
    """Draw a workflow, alternatives dashed, tasks coloured by their states."""
    graph = graph_of(workflow)
    layout = arrange(graph)
    tasks = {task.name: task for task in workflow.tasks}
    widths = [_width(tasks[name]) for name in graph.names]
    widths += [2.0] * (sum(map(len, layout.layers)) - len(widths))
    centre = positions(layout, lambda left, right: (widths[left] + widths[right]) / 2 + _GAP)
    left = min((at - width / 2 for at, width in zip(centre, widths, strict=True)), default=0.0)
    xs = [at - left + _MARGIN for at in centre]
    legend = [explained(alternative) for alternative in workflow.alternatives]
    edges = [x + width / 2 for x, width in zip(xs, widths, strict=True)]
    width = max([0.0, *edges, *(len(one) * _LETTER for one in legend)]) + _MARGIN
    height = 2 * _MARGIN + max(len(layout.layers) - 1, 0) * _LAYER + _HEIGHT + len(legend) * _LINE
    size = f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="workflow" {size} role="img">',
        f"<title>{escape(workflow.name)}</title>",
        f"<style>{_STYLE}</style>",
        _ARROW,
        *_paths(graph, layout, xs),
        *_boxes(graph, layout, tasks, states or {}, xs=xs, widths=widths),
    ]
    bottom = height - _MARGIN - len(legend) * _LINE
    lines += [
        f'<text class="legend" x="{_MARGIN}" y="{bottom + (number + 1) * _LINE}">{escape(one)}</text>'
        for number, one in enumerate(legend)
    ]
    return "\n".join([*lines, "</svg>", ""])


def _width(task: Task) -> float:
    letters = max(len(_cut(task.name)), len(_cut(task.service)) * 0.85)
    return max(56.0, letters * _LETTER + 20)


def _cut(text: str) -> str:
    return text if len(text) <= _LETTERS_MAX else f"{text[: _LETTERS_MAX - 1]}…"


def _boxes(
    graph: Graph,
    layout: Layout,
    tasks: Mapping[str, Task],
    states: Mapping[str, str],
    *,
    xs: Sequence[float],
    widths: Sequence[float],
) -> list[str]:
    lines = []
    for number, layer in enumerate(layout.layers):
        top = _MARGIN + number * _LAYER
        for item in layer:
            if item >= layout.tasks_count:
                continue
            task = tasks[graph.names[item]]
            x, width = xs[item], widths[item]
            state = states.get(task.name, "")
            tip = " · ".join(part for part in (task.name, task.service, state) if part)
            dashed = ' class="dashed"' if item in graph.asleep else ""
            is_plain = task.service == task.name
            label = f'<text x="{x:.1f}" y="{top + (25 if is_plain else 18)}">{escape(_cut(task.name))}</text>'
            if not is_plain:
                label += f'<text class="service" x="{x:.1f}" y="{top + 33}">{escape(_cut(task.service))}</text>'
            lines.append(
                f'<g class="{escape(state) or "task"}"><title>{escape(tip)}</title>'
                f'<rect{dashed} x="{x - width / 2:.1f}" y="{top}" width="{width:.1f}" height="{_HEIGHT}" rx="6"/>'
                f"{label}</g>"
            )
    return lines


def _paths(graph: Graph, layout: Layout, xs: Sequence[float]) -> list[str]:
    layer_of, count = layout.layer_of, len(graph.names)
    lines = []
    for source, target, is_dashed in layout.edges:
        # A waypoint is crossed by a straight line as high as a box, so that curves meet it upright.
        begin = _MARGIN + layer_of[source] * _LAYER + _HEIGHT
        end = _MARGIN + layer_of[target] * _LAYER
        middle = (begin + end) / 2
        curve = f"M{xs[source]:.1f} {begin} C{xs[source]:.1f} {middle} {xs[target]:.1f} {middle} {xs[target]:.1f} {end}"
        rest = ' marker-end="url(#arrow)"' if target < count else ""
        if target >= count:
            curve += f" v{_HEIGHT}"
        dashed = ' class="dashed"' if is_dashed else ""
        lines.append(f'<path{dashed} d="{curve}"{rest}/>')
    return lines


__all__ = ["svg"]
