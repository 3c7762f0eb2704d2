"""A graph in the terminal: boxes and lines, or a list of layers where boxes do not fit.

Only edges that lead down are drawn. Edges that lead back and edges that cancel are written in the box where they
begin. The lines of a box that name its service are left out.

From the bottom up: a canvas draws lines and boxes on a grid of characters; a channel draws the rows between two layers;
`text` puts the boxes and channels of a graph together.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from solvent.pictures.layers import arrange, positions
from solvent.pictures.text_width import columns as width_of
from solvent.pictures.text_width import cut

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from solvent.pictures.graph import Graph, Link, Node
    from solvent.pictures.layers import Layout


UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
_UPRIGHT, _LEVEL = UP | DOWN, LEFT | RIGHT
_SOLID = {
    UP: "│", DOWN: "│", UP | DOWN: "│", LEFT: "─", RIGHT: "─", LEFT | RIGHT: "─",
    DOWN | RIGHT: "┌", DOWN | LEFT: "┐", UP | RIGHT: "└", UP | LEFT: "┘",
    UP | DOWN | RIGHT: "├", UP | DOWN | LEFT: "┤", DOWN | LEFT | RIGHT: "┬", UP | LEFT | RIGHT: "┴",
    UP | DOWN | LEFT | RIGHT: "┼",
}  # fmt: skip
_DASHED = {"│": "╎", "─": "╌"}

Strokes = dict[tuple[int, int], int]
"""The directions in which one line leaves each cell it touches, by row and column."""


class Canvas:
    """A grid that grows as it is drawn on."""

    def __init__(self) -> None:
        self._upright: dict[tuple[int, int], int] = {}
        self._level: dict[tuple[int, int], int] = {}
        self._joined: set[tuple[int, int]] = set()
        self._solid: set[tuple[int, int]] = set()
        self._text: dict[tuple[int, int], str] = {}

    def draw(self, strokes: Strokes, *, is_dashed: bool) -> None:
        """Draw one line with all its branches; where it turns, it joins the lines already there."""
        for cell, directions in strokes.items():
            self._upright[cell] = self._upright.get(cell, 0) | directions & _UPRIGHT
            self._level[cell] = self._level.get(cell, 0) | directions & _LEVEL
            if directions & _UPRIGHT and directions & _LEVEL:
                self._joined.add(cell)
            if not is_dashed:
                self._solid.add(cell)

    def write(self, row: int, column: int, text: str) -> None:
        """Write a text over the lines; a wide character takes two cells, a combining one none."""
        for char in text:
            width = width_of(char)
            if width:
                self._text[row, column] = char
                self._text |= {(row, column + more): "" for more in range(1, width)}
            elif (row, column - 1) in self._text:
                self._text[row, column - 1] += char
            column += width

    def lines(self) -> list[str]:
        """Return the rows as text, without spaces at their ends."""
        rows: list[list[str]] = []
        for row, column in sorted({*self._upright, *self._text}):
            rows += [[] for _ in range(row + 1 - len(rows))]
            text = self._text.get((row, column))
            rows[row] += " " * (column - len(rows[row]))
            rows[row].append(self._char((row, column)) if text is None else text)
        return ["".join(row).rstrip() for row in rows]

    def _char(self, cell: tuple[int, int]) -> str:
        upright, level = self._upright[cell], self._level[cell]
        if upright == _UPRIGHT and level == _LEVEL and cell not in self._joined:
            level = 0
        char = _SOLID.get(upright | level, " ")
        return char if cell in self._solid else _DASHED.get(char, char)


def upright(strokes: Strokes, column: int, top: int, bottom: int) -> None:
    """Add a vertical line."""
    for row in range(top, bottom + 1):
        above = UP if row > top else 0
        below = DOWN if row < bottom else 0
        strokes[row, column] = strokes.get((row, column), 0) | above | below


def level(strokes: Strokes, row: int, left: int, right: int) -> None:
    """Add a horizontal line."""
    for column in range(left, right + 1):
        before = LEFT if column > left else 0
        after = RIGHT if column < right else 0
        strokes[row, column] = strokes.get((row, column), 0) | before | after


_Track = tuple[int, int, frozenset[int]]
"""A level line: its first and last column, and the columns of its ends."""


class Channel:
    """The rows between a layer and the next."""

    def __init__(
        self, layout: Layout, pieces: Mapping[Link, bool], layer: Sequence[int], columns: Sequence[int]
    ) -> None:
        self._columns = columns
        self._layout = layout
        here, layer_of = set(layer), layout.layer_of
        self._ends: dict[int, list[tuple[int, bool]]] = {}
        for (source, target), is_dashed in pieces.items():
            if source in here and layer_of[target] == layer_of[source] + 1:
                self._ends.setdefault(source, []).append((target, is_dashed))
        self._row = self._rows()
        self._tracks = max(self._row.values(), default=-1) + 1
        self.height = self._tracks + 1 if self._ends else 0

    def _rows(self) -> dict[int, int]:
        """Assign a row to the horizontal line of each item whose edges turn."""
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
        """Draw the edges from the rows where the boxes above end, and the waypoints of the next layer."""
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
                if end < self._layout.nodes_count:
                    canvas.write(bottom - 1, columns[end], "▾")
        arriving = {end: is_dashed for ends in self._ends.values() for end, is_dashed in ends}
        for item in following:
            if item >= self._layout.nodes_count:
                strokes = {}
                upright(strokes, columns[item], bottom - 1, bottom + depth)
                canvas.draw(strokes, is_dashed=arriving.get(item, False))


def _free_row(taken: list[list[_Track]], track: _Track, least: int) -> int:
    """Claim the first row in which a horizontal line collides with no other."""
    row = least
    while row < len(taken) and not all(_may_share(track, other) for other in taken[row]):
        row += 1
    while row >= len(taken):
        taken.append([])
    taken[row].append(track)
    return row


def _may_share(one: _Track, other: _Track) -> bool:
    """Return whether two lines may share a row: they are apart, or they lead to the same ends."""
    return max(one[0], other[0]) > min(one[1], other[1]) or one[2] == other[2]


MARKS = {"done": "✓", "failed": "✗", "running": "▸", "waiting": "·", "replaced": "⊘", "unused": "·"}
MAX_LETTERS = 32
"""Longer lines of a box are cut or split in two."""
_MAX_NODES = 80
_MAX_NAMES = 3
_LABEL_LETTERS = (26, 12)
"""The limits tried for the length of labels, in order."""


def text(graph: Graph, *, width: int = 100) -> str:
    """Draw a graph in at most `width` columns, with marks for the states of nodes, and its legend."""
    layout = arrange(graph, has_back=False)
    lines = None
    if len(graph.nodes) <= _MAX_NODES:
        for letters in _LABEL_LETTERS if layout.labels else _LABEL_LETTERS[:1]:
            lines = lines or _boxes(graph, layout, width, letters)
    if lines is None:
        lines = _layers(graph, layout, width)
    return "\n".join([*lines, *(f"╌ {line}" for line in graph.legend), ""])


# ------------------------------------------------------------------------------------------------------- words


def _told(graph: Graph, layout: Layout) -> dict[int, list[str]]:
    """Return for each node the lines that describe its undrawn edges: those that cancel or lead back."""
    cancelled: dict[int, list[str]] = {}
    found: dict[int, list[str]] = {}
    for edge, route in zip(graph.edges, layout.routes, strict=True):
        if edge.kind == "cancel":
            cancelled.setdefault(edge.source, []).append(graph.nodes[edge.target].name)
        elif not route and edge.source != edge.target and edge.kind != "dashed":
            found.setdefault(edge.source, []).extend(way_back(graph.nodes[edge.target].name, edge.label, graph.when))
    for node, names in cancelled.items():
        found[node] = [cut(f"✗ cancels {', '.join(names)}", MAX_LETTERS), *found.get(node, ())]
    return found


def way_back(name: str, label: str, word: str = "if") -> list[str]:
    """Describe an edge that leads back, in one line if that is short; without a name it leads to its own node."""
    label = label.removeprefix("↺").strip()
    when = f"{word} {label}" if label and not label.startswith(("while ", "again", "otherwise")) else label
    where = f"↺ back to {name}" if name else "↺ again"
    line = f"{where} {when}".strip() if when != "again" else where
    both = [line] if len(line) <= MAX_LETTERS or not when else [where, f"  {when}"]
    return [cut(one, MAX_LETTERS) for one in both]


def _inside(node: Node, told: Sequence[str]) -> list[str]:
    """Return the lines in the box of a node."""
    mark = MARKS.get(node.state)
    lines = [
        f"{mark} {line}" if mark and not kind else line
        for kind, line in ((kind, cut(line, MAX_LETTERS)) for kind, line in node.written if kind != "service")
    ]
    return [*lines, *told]


# ------------------------------------------------------------------------------------------------------- boxes


def _boxes(graph: Graph, layout: Layout, width: int, letters: int) -> list[str] | None:
    """Draw boxes and lines; return `None` if they are too wide."""
    told = _told(graph, layout)
    inside = [_inside(node, told.get(number, ())) for number, node in enumerate(graph.nodes)]
    labels = {item: cut(label, letters) for item, label in layout.labels.items()}
    items = range(len(inside), sum(map(len, layout.layers)))
    widths = [max(map(width_of, lines)) + 4 for lines in inside] + [
        width_of(labels[item]) + 2 if item in labels else 1 for item in items
    ]
    centre = positions(layout, lambda left, right: (widths[left] + widths[right]) / 2 + 2)
    columns = _columns(layout, centre, widths)
    if any(column - widths[item] // 2 + widths[item] > width for item, column in enumerate(columns)):
        return None
    is_dashed = {
        piece: all(graph.edges[number].kind == "dashed" for number in numbers)
        for piece, numbers in layout.pieces.items()
    }
    canvas, top = Canvas(), 0
    heights = [len(lines) + 2 for lines in inside] + [1] * len(items)
    depths = [max(heights[item] for item in layer) for layer in layout.layers]
    for number, layer in enumerate(layout.layers):
        for item in layer:
            if item < layout.nodes_count:
                _draw_box(canvas, top, columns[item], inside[item], is_dashed=graph.nodes[item].is_dashed)
            elif item in labels:
                row = top + depths[number] // 2
                canvas.write(row, columns[item] - width_of(labels[item]) // 2, labels[item])
        channel = Channel(layout, is_dashed, layer, columns)
        ends = {item: top + heights[item] - 1 for item in layer if item < layout.nodes_count}
        top += depths[number]
        if number + 1 < len(layout.layers):
            channel.draw(canvas, top, ends, layout.layers[number + 1], depths[number + 1])
        top += channel.height
    return canvas.lines()


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
    width = max(map(width_of, lines))
    left, bottom = column - (width + 4) // 2, top + len(lines) + 1
    right = left + width + 3
    box: Strokes = {}
    level(box, top, left, right)
    level(box, bottom, left, right)
    upright(box, left, top, bottom)
    upright(box, right, top, bottom)
    canvas.draw(box, is_dashed=is_dashed)
    for row, line in enumerate(lines, top + 1):
        canvas.write(row, left + 2 + (width - width_of(line)) // 2, line)


# ------------------------------------------------------------------------------------------------------ layers


def _layers(graph: Graph, layout: Layout, width: int) -> list[str]:
    """List the layers, with the nodes of each by what they do."""
    said = _said(graph, layout)
    layers = [[item for item in sorted(layer) if item < layout.nodes_count] for layer in layout.layers]
    full = [nodes for nodes in layers if nodes]
    lines = [f"{graph.name}: {_count(len(graph.nodes), graph.noun)} in {_count(len(full), 'layer')}"]
    for number, nodes in enumerate(full, 1):
        found = Counter(state for state in (graph.nodes[node].state for node in nodes) if state)
        told = "".join(f", {many:,} {state}" for state, many in found.most_common())
        lines.append(f"layer {number}: {_count(len(nodes), graph.noun)}{told}")
        groups: dict[tuple[str, ...], list[str]] = {}
        for node in nodes:
            one = graph.nodes[node]
            groups.setdefault((one.group or one.name, *said[node]), []).append(one.name)
        for (does, *more), members in groups.items():
            lines.append(cut(f"  {_group(does, members)}", width))
            lines += [cut(f"    {line}", width) for line in more]
    return lines


def _said(graph: Graph, layout: Layout) -> list[list[str]]:
    """Return for each node its lines besides the name, and the labels of its edges."""
    ways: dict[int, list[str]] = {}
    for edge, route in sorted(zip(graph.edges, layout.routes, strict=True), key=lambda one: one[0].link):
        if edge.label and route:
            when = edge.label if edge.label == "otherwise" else f"{graph.when} {edge.label}"
            ways.setdefault(edge.source, []).append(f"→ {graph.nodes[edge.target].name} {when}")
    told = _told(graph, layout)
    return [[*_besides(node), *told.get(number, ()), *ways.get(number, ())] for number, node in enumerate(graph.nodes)]


def _besides(node: Node) -> list[str]:
    """Return the lines of a node that are neither its name nor its service."""
    first = next((line for kind, line in node.written if not kind), "")
    lines = [line for kind, line in node.written if kind != "service" and line != first]
    more = first.removeprefix(node.name).strip(" ·") if first.startswith(node.name) else ""
    return [more, *lines] if more else lines


def _group(does: str, members: list[str]) -> str:
    if len(members) == 1:
        return members[0] if members[0] == does else f"{members[0]} ({does})"
    shown = ", ".join(members[:_MAX_NAMES])
    return f"{does} × {len(members):,}: {shown}{', …' if len(members) > _MAX_NAMES else ''}"


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
