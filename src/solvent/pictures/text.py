"""A graph in the terminal: boxes and lines, or a list of layers where these would not fit.

What is no line downwards is not drawn but told, in the box where it begins: ways back, and who cancels whom. Lines of
a box that say which service it calls are left out.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from solvent.pictures.canvas import Canvas, level, upright
from solvent.pictures.channels import Channel
from solvent.pictures.layers import arrange, positions
from solvent.pictures.lettering import columns as width_of
from solvent.pictures.lettering import cut

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from solvent.pictures.canvas import Strokes
    from solvent.pictures.graph import Graph, Link, Node
    from solvent.pictures.layers import Layout

MARKS = {"done": "✓", "failed": "✗", "running": "▸", "waiting": "·", "replaced": "⊘", "unused": "·"}
LETTERS_MAX = 32
"""Longer lines of a box are cut, or told in two."""
_NODES_MAX = 80
_NAMES_MAX = 3
_LABEL_LETTERS = (26, 12)
"""How long labels may be: at first, and if there is no room for that."""


def text(graph: Graph, *, width: int = 100) -> str:
    """Draw a graph in at most `width` columns, with marks for the states of nodes, and what is said below it."""
    layout = arrange(graph, has_back=False)
    lines = None
    if len(graph.nodes) <= _NODES_MAX:
        for letters in _LABEL_LETTERS if layout.labels else _LABEL_LETTERS[:1]:
            lines = lines or _boxes(graph, layout, width, letters)
    if lines is None:
        lines = _layers(graph, layout, width)
    return "\n".join([*lines, *(f"╌ {line}" for line in graph.legend), ""])


# ------------------------------------------------------------------------------------------------------- words


def _told(graph: Graph, layout: Layout) -> dict[int, list[str]]:
    """Say for each node what is no line downwards: whom it cancels, and where it leads back to, and when."""
    cancelled: dict[int, list[str]] = {}
    found: dict[int, list[str]] = {}
    for edge, route in zip(graph.edges, layout.routes, strict=True):
        if edge.kind == "cancel":
            cancelled.setdefault(edge.source, []).append(graph.nodes[edge.target].name)
        elif not route and edge.source != edge.target and edge.kind != "dashed":
            found.setdefault(edge.source, []).extend(way_back(graph.nodes[edge.target].name, edge.label, graph.when))
    for node, names in cancelled.items():
        found[node] = [cut(f"✗ cancels {', '.join(names)}", LETTERS_MAX), *found.get(node, ())]
    return found


def way_back(name: str, label: str, word: str = "if") -> list[str]:
    """Say where a way back leads, if not to the node itself, and when; in one line if it is a short one."""
    label = label.removeprefix("↺").strip()
    when = f"{word} {label}" if label and not label.startswith(("while ", "again", "otherwise")) else label
    where = f"↺ back to {name}" if name else "↺ again"
    line = f"{where} {when}".strip() if when != "again" else where
    both = [line] if len(line) <= LETTERS_MAX or not when else [where, f"  {when}"]
    return [cut(one, LETTERS_MAX) for one in both]


def _inside(node: Node, told: Sequence[str]) -> list[str]:
    """Give the lines in the box of a node."""
    mark = MARKS.get(node.state)
    lines = [
        f"{mark} {line}" if mark and not kind else line
        for kind, line in ((kind, cut(line, LETTERS_MAX)) for kind, line in node.written if kind != "service")
    ]
    return [*lines, *told]


# ------------------------------------------------------------------------------------------------------- boxes


def _boxes(graph: Graph, layout: Layout, width: int, letters: int) -> list[str] | None:
    """Draw boxes and lines; nothing if they are too wide."""
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
    pieces = _pieces(graph, layout)
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
        channel = Channel(layout, pieces, layer, columns)
        below = number + 1 if number + 1 < len(layout.layers) else None
        ends = {item: top + heights[item] - 1 for item in layer if item < layout.nodes_count}
        top += depths[number]
        if below is not None:
            channel.draw(canvas, top, ends, layout.layers[below], depths[below])
        top += channel.height
    return canvas.lines()


def _pieces(graph: Graph, layout: Layout) -> dict[Link, bool]:
    """Give the pieces of edges, and whether each is dashed."""
    return {
        piece: all(graph.edges[number].kind == "dashed" for number in numbers)
        for piece, numbers in layout.pieces.items()
    }


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
    """Say for each node what stands in it besides its name, and when it leads where."""
    ways: dict[int, list[str]] = {}
    for edge, route in sorted(zip(graph.edges, layout.routes, strict=True), key=lambda one: one[0].link):
        if edge.label and route:
            when = edge.label if edge.label == "otherwise" else f"{graph.when} {edge.label}"
            ways.setdefault(edge.source, []).append(f"→ {graph.nodes[edge.target].name} {when}")
    told: Mapping[int, list[str]] = _told(graph, layout)
    return [[*_besides(node), *told.get(number, ()), *ways.get(number, ())] for number, node in enumerate(graph.nodes)]


def _besides(node: Node) -> list[str]:
    """Give the lines of a node that are neither its name nor its service."""
    first = next((line for kind, line in node.written if not kind), "")
    lines = [line for kind, line in node.written if kind != "service" and line != first]
    more = first.removeprefix(node.name).strip(" ·") if first.startswith(node.name) else ""
    return [more, *lines] if more else lines


def _group(does: str, members: list[str]) -> str:
    if len(members) == 1:
        return members[0] if members[0] == does else f"{members[0]} ({does})"
    shown = ", ".join(members[:_NAMES_MAX])
    return f"{does} × {len(members):,}: {shown}{', …' if len(members) > _NAMES_MAX else ''}"


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


__all__ = ["LETTERS_MAX", "MARKS", "text", "way_back"]
