"""A workflow in the terminal: boxes and lines, or a list of layers where these would not fit.

Between two layers each item has one level line, which its links leave downwards where their ends are. Level lines that
touch lie in different rows; and where one item stands above another's end, its line lies above the other's, so that
no upright parts run into each other.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from solvent.workflow.drawing.canvas import Canvas, level, upright
from solvent.workflow.drawing.graph import explained, graph_of
from solvent.workflow.drawing.layout import arrange, positions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from solvent.workflow.drawing.canvas import Strokes
    from solvent.workflow.drawing.graph import Graph
    from solvent.workflow.drawing.layout import Layout
    from solvent.workflow.model import Workflow

_MARKS = {"done": "✓", "failed": "✗", "running": "▸", "waiting": "·", "replaced": "⊘", "unused": "·"}
_TASKS_MAX = 80
_LETTERS_MAX = 32
_NAMES_MAX = 3
_BOX = 3

_Track = tuple[int, int, frozenset[int]]
"""A level line: its first and last column, and the columns of its ends."""


def text(workflow: Workflow, states: Mapping[str, str] | None = None, *, width: int = 100) -> str:
    """Draw a workflow in at most `width` columns, with a mark for each task's state, and list its alternatives."""
    graph = graph_of(workflow)
    layout = arrange(graph)
    lines = None
    if len(graph.names) <= _TASKS_MAX:
        lines = _boxes(graph, layout, states or {}, width)
    if lines is None:
        lines = _layers(workflow, graph, layout, states or {}, width)
    lines += [f"╌ {explained(alternative)}" for alternative in workflow.alternatives]
    return "\n".join([*lines, ""])


# ------------------------------------------------------------------------------------------------------ boxes


def _boxes(graph: Graph, layout: Layout, states: Mapping[str, str], width: int) -> list[str] | None:
    """Draw boxes and lines; nothing if they are too wide."""
    labels = [_label(name, states) for name in graph.names]
    items = sum(map(len, layout.layers))
    widths = [len(label) + 4 for label in labels] + [1] * (items - len(labels))
    centre = positions(layout, lambda left, right: (widths[left] + widths[right]) / 2 + 2)
    columns = _columns(layout, centre, widths)
    if any(column + widths[item] // 2 >= width for item, column in enumerate(columns)):
        return None
    canvas, top = Canvas(), 0
    for number, layer in enumerate(layout.layers):
        for item in layer:
            if item < layout.tasks_count:
                _draw_box(canvas, top, columns[item], labels[item], is_dashed=item in graph.asleep)
        channel = _Channel(layout, layer, columns)
        channel.draw(canvas, top + _BOX, layout.layers[number + 1] if number + 1 < len(layout.layers) else ())
        top += _BOX + channel.height
    return canvas.lines()


def _label(name: str, states: Mapping[str, str]) -> str:
    shown = _cut(name, _LETTERS_MAX)
    return f"{_MARKS.get(states[name], ' ')} {shown}" if name in states else shown


def _columns(layout: Layout, centre: Sequence[float], widths: Sequence[int]) -> list[int]:
    """Round the positions to columns, in order and apart, and begin at the left edge."""
    columns = [0] * len(centre)
    for layer in layout.layers:
        free = None
        for item in layer:
            half = widths[item] // 2
            column = round(centre[item])
            columns[item] = column if free is None else max(column, free + half)
            free = columns[item] - half + widths[item] + 1
    left = min((column - widths[item] // 2 for item, column in enumerate(columns)), default=0)
    return [column - left for column in columns]


def _draw_box(canvas: Canvas, top: int, column: int, label: str, *, is_dashed: bool) -> None:
    left = column - (len(label) + 4) // 2
    right = left + len(label) + 3
    box: Strokes = {}
    level(box, top, left, right)
    level(box, top + 2, left, right)
    upright(box, left, top, top + 2)
    upright(box, right, top, top + 2)
    canvas.draw(box, is_dashed=is_dashed)
    canvas.write(top + 1, left + 2, label)


class _Channel:
    """The rows between a layer and the next."""

    def __init__(self, layout: Layout, layer: Sequence[int], columns: Sequence[int]) -> None:
        self._columns = columns
        self._layout = layout
        here, layer_of = set(layer), layout.layer_of
        self._ends: dict[int, list[tuple[int, bool]]] = {}
        for source, target, is_dashed in layout.edges:
            if source in here and layer_of[target] == layer_of[source] + 1:
                self._ends.setdefault(source, []).append((target, is_dashed))
        self._row = self._rows()
        self._tracks = max(self._row.values(), default=-1) + 1
        self.height = self._tracks + 1 if self._ends else 0

    def _rows(self) -> dict[int, int]:
        """Give each item whose links turn a row for its level line."""
        columns = self._columns
        spans = {}
        for item, ends in self._ends.items():
            touched = [columns[item], *(columns[end] for end, _ in ends)]
            if min(touched) != max(touched):
                spans[item] = (min(touched), max(touched))
        standing = {columns[item]: item for item in spans}
        below: dict[int, list[int]] = {item: [] for item in spans}
        waiting = dict.fromkeys(spans, 0)
        for item in spans:
            for end, _ in self._ends[item]:
                above = standing.get(columns[end])
                if above is not None and above != item and not any(end == other for other, _ in self._ends[above]):
                    below[above].append(item)
                    waiting[item] += 1
        rows: dict[int, int] = {}
        least = dict.fromkeys(spans, 0)
        taken: list[list[_Track]] = []
        todo = sorted(spans, key=lambda item: (spans[item][1] - spans[item][0], spans[item]))
        while todo:
            # If each waits for another, one of them has to give way: its line then runs into the other's.
            item = next((one for one in todo if not waiting[one]), todo[0])
            todo.remove(item)
            leads_to = frozenset(columns[end] for end, _ in self._ends[item])
            rows[item] = _free_row(taken, (*spans[item], leads_to), least[item])
            for other in below[item]:
                waiting[other] -= 1
                least[other] = max(least[other], rows[item] + 1)
        return rows

    def draw(self, canvas: Canvas, top: int, following: Sequence[int]) -> None:
        """Draw the links, and the waypoints of the next layer, from the bottom of the boxes above."""
        columns, bottom = self._columns, top + self.height
        for item, ends in self._ends.items():
            row = top + self._row.get(item, 0)
            for is_dashed in (True, False):
                chosen = [columns[end] for end, dashed in ends if dashed == is_dashed]
                if not chosen:
                    continue
                strokes: Strokes = {}
                upright(strokes, columns[item], top - 1, row)
                level(strokes, row, min([columns[item], *chosen]), max([columns[item], *chosen]))
                for column in chosen:
                    upright(strokes, column, row, bottom - 1)
                canvas.draw(strokes, is_dashed=is_dashed)
            for end, _ in ends:
                if end < self._layout.tasks_count:
                    canvas.write(bottom - 1, columns[end], "▾")
        arriving = {end: is_dashed for ends in self._ends.values() for end, is_dashed in ends}
        for item in following:
            if item >= self._layout.tasks_count:
                strokes = {}
                upright(strokes, columns[item], bottom - 1, bottom + _BOX)
                canvas.draw(strokes, is_dashed=arriving.get(item, False))


def _free_row(taken: list[list[_Track]], track: _Track, least: int) -> int:
    """Take the first row in which a level line gets into no other's way."""
    row = least
    while row < len(taken) and not all(_may_share(track, other) for other in taken[row]):
        row += 1
    while row >= len(taken):
        taken.append([])
    taken[row].append(track)
    return row


def _may_share(one: _Track, other: _Track) -> bool:
    """Tell whether two lines may lie in one row: they are apart, or lead to the same ends and become one."""
    return max(one[0], other[0]) > min(one[1], other[1]) or one[2] == other[2]


# ----------------------------------------------------------------------------------------------------- layers


def _layers(workflow: Workflow, graph: Graph, layout: Layout, states: Mapping[str, str], width: int) -> list[str]:
    """List the layers, with the tasks of each by their services."""
    service = {task.name: task.service for task in workflow.tasks}
    counted = _count(len(graph.names), "task")
    lines = [f"{workflow.name}: {counted} in {_count(len(layout.layers), 'layer')}"]
    for number, layer in enumerate(layout.layers, 1):
        names = [graph.names[item] for item in sorted(layer) if item < layout.tasks_count]
        found = Counter(states[name] for name in names if name in states)
        told = "".join(f", {many:,} {state}" for state, many in found.most_common())
        lines.append(f"layer {number}: {_count(len(names), 'task')}{told}")
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(service[name], []).append(name)
        for called, members in groups.items():
            lines.append(_cut(f"  {_group(called, members)}", width))
    return lines


def _group(called: str, members: list[str]) -> str:
    if len(members) == 1:
        return members[0] if members[0] == called else f"{members[0]} ({called})"
    shown = ", ".join(members[:_NAMES_MAX])
    return f"{called} × {len(members):,}: {shown}{', …' if len(members) > _NAMES_MAX else ''}"


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"


__all__ = ["text"]
