"""The boxes, lines and labels of a graph in pixels, and the shapes that SVG and PNG are made of.

Lines that lead to several nodes share their first pieces; a piece lists all its edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from solvent.pictures.layers import arrange, positions
from solvent.pictures.shapes import FADED, RECTS, Group, Line, Rect, Sheet, Text
from solvent.pictures.text_width import width_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from solvent.pictures.graph import Graph, Node
    from solvent.pictures.layers import Layout
    from solvent.pictures.shapes import Shape


MARGIN = 20
LINE = 18
_MIN_WIDTH = 56.0
_MIN_HEIGHT = 40
_CHANNEL = 48
_CHANNEL_AT_LABELS = 28
_LABEL = 16
_STACK = 4
_LOOP = 14
_CROSS = 6
_GAP = 20


class Box(msgspec.Struct, frozen=True):
    """The box of a node: its left upper corner and its size."""

    x: float
    y: float
    width: float
    height: float
    stack: int = 0
    """How far the boxes behind it stand out to the right and below, if it is drawn as a stack."""

    @property
    def middle(self) -> float:
        """The x coordinate of its middle."""
        return self.x + self.width / 2

    @property
    def right(self) -> float:
        """Its right edge, with the boxes behind it."""
        return self.x + self.width + self.stack

    @property
    def bottom(self) -> float:
        """Its lower edge, with the boxes behind it."""
        return self.y + self.height + self.stack


class Places(msgspec.Struct, frozen=True):
    """A graph in pixels, without title and legend."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    """One for each node."""
    pieces: tuple[Line, ...]
    labels: tuple[Text, ...] = ()


def line_height(kind: str) -> int:
    """Return the height of a line of text in a box."""
    return 15 if kind else 17


def size_of(node: Node) -> tuple[float, float]:
    """Return the width and the height of a node's box."""
    lines = node.written
    width = max(width_of(line, is_small=bool(kind)) for kind, line in lines) + 20
    return max(_MIN_WIDTH, width), max(_MIN_HEIGHT, sum(line_height(kind) for kind, _ in lines) + 8)


def place(graph: Graph) -> Places:
    """Compute the boxes, lines and labels of a graph; deterministic."""
    layout = arrange(graph)
    plan = _Plan(graph, layout)
    pieces = [*plan.pieces(), *plan.overlaid()]
    boxes = tuple(plan.box(node) for node in range(len(graph.nodes)))
    labels = tuple(Text(plan.xs[item], plan.bottom(item) - 4, text, "label") for item, text in layout.labels.items())
    edges = [x + width / 2 for x, width in zip(plan.xs, plan.room, strict=True)]
    has_cancels = any(edge.kind == "cancel" for edge in graph.edges)
    width = max([0.0, *edges, *(box.right for box in boxes)]) + MARGIN + (2 * MARGIN if has_cancels else 0)
    bottom = max([plan.tops[-1] + plan.depths[-1] if plan.tops else MARGIN, *(box.bottom for box in boxes)])
    return Places(width, bottom + MARGIN, boxes, tuple(pieces), labels)


class _Plan:
    """Sizes and coordinates of all items: nodes and waypoints."""

    def __init__(self, graph: Graph, layout: Layout) -> None:
        self.graph, self.layout = graph, layout
        self.layer_of = layout.layer_of
        sizes = [size_of(node) for node in graph.nodes]
        waypoints = range(len(sizes), len(self.layer_of))
        self.widths = [width for width, _ in sizes]
        self.widths += [width_of(layout.labels.get(item, ""), is_small=True) for item in waypoints]
        self.heights = [height for _, height in sizes]
        self.heights += [_LABEL if item in layout.labels else 0.0 for item in waypoints]
        looped = {edge.source for edge in graph.edges if edge.source == edge.target and edge.kind != "cancel"}
        self.room = [width + (2 * _LOOP if item in looped else 0) for item, width in enumerate(self.widths)]
        centre = positions(layout, lambda left, right: (self.room[left] + self.room[right]) / 2 + _GAP)
        left = min((at - width / 2 for at, width in zip(centre, self.room, strict=True)), default=0.0)
        self.xs = [at - left + MARGIN for at in centre]
        """The middle of each item."""
        self.depths = [max(self.heights[item] for item in layer) for layer in layout.layers]
        self.tops = self._tops()
        self.ys = [
            self.tops[layer] + (self.depths[layer] - height) // 2
            for layer, height in zip(self.layer_of, self.heights, strict=True)
        ]

    def _tops(self) -> list[float]:
        """Return the upper edge of each layer; layers of labels only are closer to their neighbours."""
        tops: list[float] = []
        at, was_nodes = float(MARGIN), False
        for layer, depth in zip(self.layout.layers, self.depths, strict=True):
            is_nodes = any(item < self.layout.nodes_count for item in layer)
            if tops:
                at += _CHANNEL if was_nodes and is_nodes else _CHANNEL_AT_LABELS
            tops.append(at)
            at, was_nodes = at + depth, is_nodes
        return tops

    def is_node(self, item: int) -> bool:
        return item < self.layout.nodes_count

    def stack(self, item: int) -> int:
        return 2 * _STACK if self.is_node(item) and self.graph.nodes[item].is_many else 0

    def bottom(self, item: int) -> float:
        return self.ys[item] + self.heights[item]

    def box(self, item: int) -> Box:
        width = self.widths[item]
        return Box(self.xs[item] - width / 2, self.ys[item], width, self.heights[item], self.stack(item))

    # ----------------------------------------------------------------------------------------------- the lines

    def pieces(self) -> Iterable[Line]:
        """Draw the edges from layer to layer."""
        edges = self.graph.edges
        for (source, target), numbers in self.layout.pieces.items():
            kinds = {edges[number].kind for number in numbers}
            kind = kinds.pop() if len(kinds) == 1 else ""
            end = "" if not self.is_node(target) else "return" if kind in ("back", "run") else "arrow"
            yield Line(self._curve(source, target), kind, end, tuple(numbers))

    def _curve(self, source: int, target: int) -> str:
        """Draw a curve from a lower edge to an upper one, or the other way; vertical beside other items."""
        is_up = self.layer_of[source] > self.layer_of[target]
        upper, lower = (target, source) if is_up else (source, target)
        x, to = self.xs[upper], self.xs[lower]
        if is_up:
            # A way back leaves and arrives beside the middle, where the way onwards is.
            x, to = x + self._aside(upper, to), to + self._aside(lower, x)
        begin, end = self.bottom(upper) + self.stack(upper), self.ys[lower]
        above, below = self.layer_of[upper], self.layer_of[lower]
        out, into = max(self.tops[above] + self.depths[above], begin), self.tops[below]
        if not self.heights[lower]:
            # A waypoint is crossed by a straight line as high as its layer, so that curves meet it upright.
            end = self.tops[below] + self.depths[below]
        if not self.heights[upper]:
            begin = out
        if is_up:
            x, begin, out, to, into, end = to, end, into, x, out, begin
        middle = (out + into) // 2
        leave = f" L{x:.1f} {out:g}" if out != begin else ""
        arrive = f" L{to:.1f} {end:g}" if into != end else ""
        return f"M{x:.1f} {begin:g}{leave} C{x:.1f} {middle:g} {to:.1f} {middle:g} {to:.1f} {into:g}{arrive}"

    def _aside(self, item: int, towards: float) -> float:
        share = self.widths[item] / 4 if self.is_node(item) else 0.0
        return share if towards >= self.xs[item] else -share

    def overlaid(self) -> Iterable[Line]:
        """Draw the edges that lie outside the layers: loops at one node, and cancel edges."""
        drawn: set[tuple[int, int]] = set()
        for number, edge in enumerate(self.graph.edges):
            if edge.kind == "cancel":
                yield Line(self._cancel(edge.source, edge.target), "cancel", "cross", (number,))
            elif edge.source == edge.target and edge.link not in drawn:
                drawn.add(edge.link)
                yield Line(self._loop(edge.source), "loop", "return", (number,))

    def _loop(self, item: int) -> str:
        box = self.box(item)
        x, y, out = box.right, (box.y + box.y + box.height) // 2, box.right + _LOOP + 4
        return f"M{x:.1f} {y + 9:g} C{out:.1f} {y + 13:g} {out:.1f} {y - 13:g} {x:.1f} {y - 9:g}"

    def _cancel(self, source: int, target: int) -> str:
        """Draw over the top within a layer, else from side to side."""
        one, other = self.box(source), self.box(target)
        y, to = (2 * one.y + one.height) // 2, (2 * other.y + other.height) // 2
        if self.layer_of[source] == self.layer_of[target]:
            x, end = self.xs[source] + self._aside(source, other.x), self.xs[target] + self._aside(target, one.x)
            y, to = one.y, other.y - _CROSS
            curve = f"{x:.1f} {min(y, to) - 24:g} {end:.1f} {min(y, to) - 24:g}"
        elif one.right < other.x or other.right < one.x:
            x, end = (one.right, other.x - _CROSS) if one.right < other.x else (one.x, other.right + _CROSS)
            middle = (x + end) / 2
            curve = f"{middle:.1f} {y:g} {middle:.1f} {to:g}"
        else:
            x, end = one.right, other.right + _CROSS
            middle = max(one.right, other.right) + 2 * MARGIN
            curve = f"{middle:.1f} {y:g} {middle:.1f} {to:g}"
        return f"M{x:.1f} {y:g} C{curve} {end:.1f} {to:g}"


def drawn(graph: Graph) -> Sheet:
    """Draw a graph as shapes."""
    places = place(graph)
    # A highlighted path lies above other lines.
    shapes: list[Shape] = [*sorted(places.pieces, key=lambda piece: piece.kind == "run")]
    shapes += [_box(node, box) for node, box in zip(graph.nodes, places.boxes, strict=True)]
    shapes += places.labels
    bottom = places.height - MARGIN
    shapes += [
        Text(MARGIN, bottom + number * LINE, line, "legend", "start") for number, line in enumerate(graph.legend, 1)
    ]
    width = max([places.width, *(width_of(line) + 2 * MARGIN for line in graph.legend)])
    return Sheet(width, places.height + LINE * len(graph.legend), graph.name, tuple(shapes))


def _box(node: Node, box: Box) -> Group:
    kind = node.state if node.state in RECTS else ""
    boxes = [
        Rect(box.x + by, box.y + by, box.width, box.height, kind, node.is_dashed)
        for by in range(box.stack, -1, -_STACK)
    ]
    return Group((*boxes, *_written(node, box)), node.state or "node", node.tip or node.name)


def _written(node: Node, box: Box) -> Iterator[Text]:
    """Write the lines of a node, in the middle of its box."""
    lines = node.written
    y = box.y + (box.height - sum(line_height(kind) for kind, _ in lines)) // 2
    for kind, line in lines:
        y += line_height(kind)
        yield Text(box.middle, y - 3, line, "faded" if node.state in FADED and not kind else kind)


__all__ = ["Box", "Places", "drawn", "line_height", "place", "size_of"]
