"""A workflow as a picture that stands alone: one SVG text, in light and in dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import msgspec

from solvent.workflow.drawing.graph import explained, graph_of
from solvent.workflow.drawing.layout import arrange, positions
from solvent.workflow.drawing.marks import cut

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.workflow.drawing.graph import Graph
    from solvent.workflow.drawing.layout import Layout
    from solvent.workflow.model import Task, Workflow

_LETTER = 7.4
_SMALL = 0.85
_HEIGHT = 40
_CHANNEL = 48
_CHANNEL_AT_LABELS = 28
_LABEL = 16
_STACK = 4
_LOOP = 14
_CROSS = 6
_GAP = 20
_MARGIN = 20
_LINE = 18
_LETTERS_MAX = 28

_ENDS = {
    "arrow": '<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0 L8 4 L0 8 z"/></marker>',
    "return": '<marker id="return" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0 L8 4 L0 8 z"/></marker>',
    "cross": '<marker id="cross" viewBox="0 0 10 10" refX="5" refY="5" markerWidth="10" markerHeight="10">'
    '<path d="M1 1 L9 9 M9 1 L1 9"/></marker>',
}
_STYLE = """
  svg.workflow { background: #ffffff; }
  .workflow text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #1c2126; text-anchor: middle; }
  .workflow text.service { font-size: 11px; fill: #5b6570; }
  .workflow text.legend { text-anchor: start; fill: #5b6570; }
  .workflow rect { fill: #f4f6f8; stroke: #7a8590; stroke-width: 1.2; }
  .workflow path { fill: none; stroke: #7a8590; stroke-width: 1.2; }
  .workflow .dashed { stroke-dasharray: 5 4; }
  .workflow #arrow path { fill: #7a8590; stroke: none; }
  .workflow text.mark, .workflow text.label { font-size: 11px; fill: #6a3fb5; }
  .workflow path.back { stroke: #6a3fb5; stroke-dasharray: 5 4; }
  .workflow path.loop { stroke: #6a3fb5; }
  .workflow #return path { fill: #6a3fb5; stroke: none; }
  .workflow path.cancel { stroke: #c62828; stroke-dasharray: 3 3; }
  .workflow #cross path { stroke: #c62828; stroke-width: 2; stroke-dasharray: none; }
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
    .workflow text.mark, .workflow text.label { fill: #bfa3f5; }
    .workflow path.back, .workflow path.loop { stroke: #bfa3f5; }
    .workflow #return path { fill: #bfa3f5; }
    .workflow path.cancel, .workflow #cross path { stroke: #ef6c6c; }
    .workflow .done rect { fill: #16301a; stroke: #66bb6a; }
    .workflow .failed rect { fill: #3a1a1a; stroke: #ef6c6c; }
    .workflow .running rect { fill: #14283f; stroke: #64a8f0; }
    .workflow .replaced rect, .workflow .unused rect { fill: none; stroke: #4a535b; }
    .workflow .replaced text, .workflow .unused text { fill: #77818a; }
  }
"""


class _Plan(msgspec.Struct, frozen=True):
    """Where everything is drawn."""

    graph: Graph
    layout: Layout
    layer_of: dict[int, int]
    lines: tuple[tuple[tuple[str, str], ...], ...]
    """The lines in each task's box, with their classes."""
    xs: list[float]
    """The middle of each item."""
    ys: list[int]
    """The upper edge of each item, which is in the middle of its layer."""
    widths: list[float]
    heights: list[int]
    tops: list[int]
    """The upper edge of each layer."""
    depths: list[int]
    """The height of each layer."""

    def bottom(self, item: int) -> int:
        """Give the lower edge of an item."""
        return self.ys[item] + self.heights[item]

    def stack(self, item: int) -> int:
        """Give how far the boxes behind the one of a task with several instances stand out."""
        return 2 * _STACK if item < self.layout.tasks_count and self.graph.marks[item].times else 0

    def sides(self, item: int) -> tuple[float, float]:
        """Give the left and the right edge of an item."""
        return self.xs[item] - self.widths[item] / 2, self.xs[item] + self.widths[item] / 2 + self.stack(item)


def svg(workflow: Workflow, states: Mapping[str, str] | None = None) -> str:
    """Draw a workflow, alternatives dashed, tasks coloured by their states."""
    graph = graph_of(workflow)
    plan = _planned(workflow, graph)
    legend = [explained(alternative) for alternative in workflow.alternatives]
    edges = [x + width / 2 for x, width in zip(plan.xs, plan.widths, strict=True)]
    width = max([0.0, *edges, *(len(one) * _LETTER for one in legend)]) + _MARGIN
    width += 2 * _MARGIN if graph.cancels else 0
    bottom = plan.tops[-1] + plan.depths[-1] + _MARGIN if plan.tops else 2 * _MARGIN
    height = bottom + len(legend) * _LINE
    size = f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
    paths = [*_paths(plan), *_loops(plan), *_cancels(plan)]
    ends = "".join(end for name, end in _ENDS.items() if name == "arrow" or any(f"#{name})" in path for path in paths))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="workflow" {size} role="img">',
        f"<title>{escape(workflow.name)}</title>",
        f"<style>{_STYLE}</style>",
        f"<defs>{ends}</defs>",
        *paths,
        *_boxes(plan, {task.name: task for task in workflow.tasks}, states or {}),
        *_labels(plan),
    ]
    lines += [
        f'<text class="legend" x="{_MARGIN}" y="{bottom - _MARGIN + (number + 1) * _LINE}">{escape(one)}</text>'
        for number, one in enumerate(legend)
    ]
    return "\n".join([*lines, "</svg>", ""])


# ------------------------------------------------------------------------------------------------------- places


def _planned(workflow: Workflow, graph: Graph) -> _Plan:
    layout = arrange(graph)
    tasks = {task.name: task for task in workflow.tasks}
    lines = tuple(_lines(graph, number, tasks[name]) for number, name in enumerate(graph.names))
    waypoints = range(len(lines), sum(map(len, layout.layers)))
    widths = [max(56.0, *(_width(*line) + 20 for line in one)) for one in lines]
    widths += [_width("label", layout.labels.get(item, "")) for item in waypoints]
    heights = [max(_HEIGHT, sum(map(_height, one)) + 8) for one in lines]
    heights += [_LABEL if item in layout.labels else 0 for item in waypoints]
    room = [width + (2 * _LOOP if (item, item) in graph.back else 0) for item, width in enumerate(widths)]
    centre = positions(layout, lambda left, right: (room[left] + room[right]) / 2 + _GAP)
    left = min((at - width / 2 for at, width in zip(centre, room, strict=True)), default=0.0)
    depths = [max(heights[item] for item in layer) for layer in layout.layers]
    tops: list[int] = []
    at, was_tasks = _MARGIN, False
    for layer, depth in zip(layout.layers, depths, strict=True):
        is_tasks = any(item < len(lines) for item in layer)
        if tops:
            at += _CHANNEL if was_tasks and is_tasks else _CHANNEL_AT_LABELS
        tops.append(at)
        at, was_tasks = at + depth, is_tasks
    xs = [at - left + _MARGIN for at in centre]
    layer_of = layout.layer_of
    ys = [tops[layer_of[item]] + (depths[layer_of[item]] - height) // 2 for item, height in enumerate(heights)]
    return _Plan(graph, layout, layer_of, lines, xs, ys, widths, heights, tops, depths)


def _lines(graph: Graph, number: int, task: Task) -> tuple[tuple[str, str], ...]:
    """Give what stands in the box of a task, with the classes of the lines."""
    marks = graph.marks[number]
    name = cut(task.name, _LETTERS_MAX)
    service = "" if task.service == task.name else cut(task.service, _LETTERS_MAX)
    lines = [
        ("mark", marks.join),
        ("", f"{name} {marks.times}".strip()),
        ("service", service),
        *(("mark", note) for note in (*marks.notes, *graph.repeats(number), marks.split)),
    ]
    return tuple((kind, line) for kind, line in lines if line)


def _width(kind: str, line: str) -> float:
    return len(line) * _LETTER * (_SMALL if kind else 1)


def _height(line: tuple[str, str]) -> int:
    return 15 if line[0] else 17


# -------------------------------------------------------------------------------------------------------- boxes


def _boxes(plan: _Plan, tasks: Mapping[str, Task], states: Mapping[str, str]) -> list[str]:
    lines = []
    for layer in plan.layout.layers:
        for item in layer:
            if item >= plan.layout.tasks_count:
                continue
            task = tasks[plan.graph.names[item]]
            state = states.get(task.name, "")
            tip = " · ".join(part for part in (task.name, task.service, state) if part)
            dashed = ' class="dashed"' if item in plan.graph.asleep else ""
            shape = f'width="{plan.widths[item]:.1f}" height="{plan.heights[item]}" rx="6"/>'
            left, top = plan.sides(item)[0], plan.ys[item]
            stack = range(plan.stack(item), -1, -_STACK)
            boxes = [f'<rect{dashed} x="{left + by:.1f}" y="{top + by}" {shape}' for by in stack]
            lines.append(
                f'<g class="{escape(state) or "task"}"><title>{escape(tip)}</title>{"".join(boxes)}'
                f"{_written(plan, item)}</g>"
            )
    return lines


def _written(plan: _Plan, item: int) -> str:
    lines = plan.lines[item]
    y = plan.ys[item] + (plan.heights[item] - sum(map(_height, lines))) // 2
    texts = []
    for kind, line in lines:
        y += _height((kind, line))
        name = f' class="{kind}"' if kind else ""
        texts.append(f'<text{name} x="{plan.xs[item]:.1f}" y="{y - 3}">{escape(line)}</text>')
    return "".join(texts)


def _labels(plan: _Plan) -> list[str]:
    return [
        f'<text class="label" x="{plan.xs[item]:.1f}" y="{plan.bottom(item) - 4}">{escape(label)}</text>'
        for item, label in plan.layout.labels.items()
    ]


# -------------------------------------------------------------------------------------------------------- links


def _paths(plan: _Plan) -> list[str]:
    layout = plan.layout
    lines = []
    for upper, lower, is_dashed in layout.edges:
        is_up = upper in layout.rising or lower in layout.rising
        is_back = is_up or upper in layout.falling or lower in layout.falling
        kind = ' class="dashed"' if is_dashed else ' class="back"' if is_back else ""
        last = upper if is_up else lower
        marker = "return" if is_back and not is_dashed else "arrow"
        end = f' marker-end="url(#{marker})"' if last < layout.tasks_count else ""
        lines.append(f'<path{kind} d="{_curve(plan, upper, lower, is_up=is_up)}"{end}/>')
    return lines


def _curve(plan: _Plan, upper: int, lower: int, *, is_up: bool) -> str:
    """Draw from a lower edge to an upper one, or the other way; upright as far as there are items beside."""
    x, to = plan.xs[upper], plan.xs[lower]
    if is_up:
        # A way back leaves and arrives beside the middle, where the way onwards is.
        x, to = x + _aside(plan, upper, to), to + _aside(plan, lower, x)
    begin, end = plan.bottom(upper) + plan.stack(upper), plan.ys[lower]
    above, below = plan.layer_of[upper], plan.layer_of[lower]
    out, into = max(plan.tops[above] + plan.depths[above], begin), plan.tops[below]
    if not plan.heights[lower]:
        # A waypoint is crossed by a straight line as high as its layer, so that curves meet it upright.
        end = plan.tops[below] + plan.depths[below]
    if not plan.heights[upper]:
        begin = out
    if is_up:
        x, begin, out, to, into, end = to, end, into, x, out, begin
    middle = (out + into) // 2
    leave = f" V{out}" if out != begin else ""
    arrive = f" V{end}" if into != end else ""
    return f"M{x:.1f} {begin}{leave} C{x:.1f} {middle} {to:.1f} {middle} {to:.1f} {into}{arrive}"


def _aside(plan: _Plan, item: int, towards: float) -> float:
    share = plan.widths[item] / 4 if item < plan.layout.tasks_count else 0.0
    return share if towards >= plan.xs[item] else -share


def _loops(plan: _Plan) -> list[str]:
    """Draw the loops of tasks that lead back to themselves."""
    lines = []
    for item, target in sorted(plan.graph.back):
        if item == target:
            x = plan.sides(item)[1]
            y = (plan.ys[item] + plan.bottom(item)) // 2
            curve = f"M{x:.1f} {y + 9} c{_LOOP + 4} 4 {_LOOP + 4} -22 0 -18"
            lines.append(f'<path class="loop" d="{curve}" marker-end="url(#return)"/>')
    return lines


def _cancels(plan: _Plan) -> list[str]:
    """Draw who cancels whom: over the top within a layer, else from side to side."""
    lines = []
    for item, target in plan.graph.cancels:
        (left, right), (start, stop) = plan.sides(item), plan.sides(target)
        y, to = (plan.ys[item] + plan.bottom(item)) // 2, (plan.ys[target] + plan.bottom(target)) // 2
        if plan.layer_of[item] == plan.layer_of[target]:
            x, end = plan.xs[item] + _aside(plan, item, start), plan.xs[target] + _aside(plan, target, left)
            y, to = plan.ys[item], plan.ys[target] - _CROSS
            curve = f"{x:.1f} {min(y, to) - 24} {end:.1f} {min(y, to) - 24}"
        elif right < start or stop < left:
            x, end = (right, start - _CROSS) if right < start else (left, stop + _CROSS)
            middle = (x + end) / 2
            curve = f"{middle:.1f} {y} {middle:.1f} {to}"
        else:
            x, end = right, stop + _CROSS
            middle = max(right, stop) + 2 * _MARGIN
            curve = f"{middle:.1f} {y} {middle:.1f} {to}"
        path = f"M{x:.1f} {y} C{curve} {end:.1f} {to}"
        lines.append(f'<path class="cancel" d="{path}" marker-end="url(#cross)"/>')
    return lines


__all__ = ["svg"]
