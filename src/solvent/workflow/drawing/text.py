"""A workflow in the terminal: boxes and lines, or a list of layers where these would not fit.

Ways back are not drawn but told, in the box of the task where they begin.

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
from solvent.workflow.drawing.marks import cut

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from solvent.workflow.drawing.canvas import Strokes
    from solvent.workflow.drawing.graph import Graph
    from solvent.workflow.drawing.layout import Layout
    from solvent.workflow.model import Workflow

_MARKS = {"done": "✓", "failed": "✗", "running": "▸", "waiting": "·", "replaced": "⊘", "unused": "·"}
_TASKS_MAX = 80
_NAMES_MAX = 3
_CONDITION_LETTERS = (26, 12)
"""How long conditions may be: at first, and if there is no room for that."""

_Track = tuple[int, int, frozenset[int]]
"""A level line: its first and last column, and the columns of its ends."""


def text(workflow: Workflow, states: Mapping[str, str] | None = None, *, width: int = 100) -> str:
    """Draw a workflow in at most `width` columns, with a mark for each task's state, and list its alternatives."""
    graph = graph_of(workflow)
    layout = arrange(graph, has_back=False)
    lines = None
    if len(graph.names) <= _TASKS_MAX:
        for letters in _CONDITION_LETTERS if layout.labels else _CONDITION_LETTERS[:1]:
            lines = lines or _boxes(graph, layout, states or {}, width, letters)
    if lines is None:
        lines = _layers(workflow, graph, layout, states or {}, width)
    lines += [f"╌ {explained(alternative)}" for alternative in workflow.alternatives]
    return "\n".join([*lines, ""])


# ------------------------------------------------------------------------------------------------------ boxes


def _boxes(graph: Graph, layout: Layout, states: Mapping[str, str], width: int, letters: int) -> list[str] | None:
    """Draw boxes and lines; nothing if they are too wide."""
    back = graph.ways_back
    inside = [_inside(graph, number, states, back.get(number, ())) for number in range(len(graph.names))]
    labels = {item: cut(label, letters) for item, label in layout.labels.items()}
    items = range(len(inside), sum(map(len, layout.layers)))
    widths = [max(map(len, lines)) + 4 for lines in inside] + [
        len(labels[item]) + 2 if item in labels else 1 for item in items
    ]
    centre = positions(layout, lambda left, right: (widths[left] + widths[right]) / 2 + 2)
    columns = _columns(layout, centre, widths)
    if any(column - widths[item] // 2 + widths[item] > width for item, column in enumerate(columns)):
        return None
    canvas, top = Canvas(), 0
    heights = [len(lines) + 2 for lines in inside] + [1] * len(items)
    depths = [max(heights[item] for item in layer) for layer in layout.layers]
    for number, layer in enumerate(layout.layers):
        for item in layer:
            if item < layout.tasks_count:
                _draw_box(canvas, top, columns[item], inside[item], is_dashed=item in graph.asleep)
            elif item in labels:
                row = top + depths[number] // 2
                canvas.write(row, columns[item] - len(labels[item]) // 2, labels[item])
        channel = _Channel(layout, layer, columns)
        below = number + 1 if number + 1 < len(layout.layers) else None
        ends = {item: top + heights[item] - 1 for item in layer if item < layout.tasks_count}
        top += depths[number]
        if below is not None:
            channel.draw(canvas, top, ends, layout.layers[below], depths[below])
        top += channel.height
    return canvas.lines()


def _inside(graph: Graph, number: int, states: Mapping[str, str], back: Sequence[str]) -> list[str]:
    """Give the lines in the box of a task: what starts it, its name, and what else it does."""
    name, marks = graph.names[number], graph.marks[number]
    shown = f"{cut(name)} {marks.times}".strip()
    if name in states:
        shown = f"{_MARKS.get(states[name], ' ')} {shown}"
    lines = (marks.join, shown, *_more(graph, number, back))
    return [line for line in lines if line]


def _more(graph: Graph, number: int, back: Sequence[str]) -> list[str]:
    """Give the lines that stand below the name of a task, with those of its ways back."""
    marks = graph.marks[number]
    lines = (*marks.notes, marks.cancels, *graph.repeats(number), *back, marks.split)
    return [line for line in lines if line]


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


def _draw_box(canvas: Canvas, top: int, column: int, lines: Sequence[str], *, is_dashed: bool) -> None:
    width = max(map(len, lines))
    left, bottom = column - (width + 4) // 2, top + len(lines) + 1
    right = left + width + 3
    box: Strokes = {}
    level(box, top, left, right)
    level(box, bottom, left, right)
    upright(box, left, top, bottom)
    upright(box, right, top, bottom)
    canvas.draw(box, is_dashed=is_dashed)
    for row, line in enumerate(lines, top + 1):
        canvas.write(row, left + 2 + (width - len(line)) // 2, line)


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

    def draw(self, canvas: Canvas, top: int, starts: Mapping[int, int], following: Sequence[int], depth: int) -> None:
        """Draw the links from the rows where the boxes above end, and the waypoints of the next layer."""
        columns, bottom = self._columns, top + self.height
        for item, ends in self._ends.items():
            row = top + self._row.get(item, 0)
            for is_dashed in (True, False):
                chosen = [columns[end] for end, dashed in ends if dashed == is_dashed]
                if not chosen:
                    continue
                strokes: Strokes = {}
                upright(strokes, columns[item], starts.get(item, top - 1), row)
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
                upright(strokes, columns[item], bottom - 1, bottom + depth)
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
    number_of = {name: number for number, name in enumerate(graph.names)}
    said = _said(graph)
    layers = [[graph.names[item] for item in sorted(layer) if item < layout.tasks_count] for layer in layout.layers]
    full = [names for names in layers if names]
    lines = [f"{workflow.name}: {_count(len(graph.names), 'task')} in {_count(len(full), 'layer')}"]
    for number, names in enumerate(full, 1):
        found = Counter(states[name] for name in names if name in states)
        told = "".join(f", {many:,} {state}" for state, many in found.most_common())
        lines.append(f"layer {number}: {_count(len(names), 'task')}{told}")
        groups: dict[tuple[str, ...], list[str]] = {}
        for name in names:
            groups.setdefault((service[name], *said[number_of[name]]), []).append(name)
        for (called, *more), members in groups.items():
            lines.append(cut(f"  {_group(called, members)}", width))
            lines += [cut(f"    {line}", width) for line in more]
    return lines


def _said(graph: Graph) -> list[list[str]]:
    """Say for each task what it does besides calling its service, and when it goes where."""
    ways: dict[int, list[str]] = {}
    for (source, target), label in sorted(graph.labels.items()):
        if (source, target) not in graph.back:
            when = label if label == "otherwise" else f"if {label}"
            ways.setdefault(source, []).append(f"→ {graph.names[target]} {when}")
    back = graph.ways_back
    found = []
    for number, marks in enumerate(graph.marks):
        lines = (marks.join, marks.times, *_more(graph, number, back.get(number, ())), *ways.get(number, ()))
        found.append([line for line in lines if line])
    return found


def _group(called: str, members: list[str]) -> str:
    if len(members) == 1:
        return members[0] if members[0] == called else f"{members[0]} ({called})"
    shown = ", ".join(members[:_NAMES_MAX])
    return f"{called} × {len(members):,}: {shown}{', …' if len(members) > _NAMES_MAX else ''}"


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


__all__ = ["text"]
