"""A graph as shapes: boxes with their lines, the lines between them, and what is said below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.pictures.lettering import width_of
from solvent.pictures.palette import FADED, RECTS
from solvent.pictures.places import LINE, MARGIN, line_height, place
from solvent.pictures.sheet import Group, Line, Rect, Sheet, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.pictures.graph import Graph, Node
    from solvent.pictures.places import Box
    from solvent.pictures.sheet import Shape

_STACK = 4


def drawn(graph: Graph) -> Sheet:
    """Draw a graph."""
    places = place(graph)
    # What is to be seen lies above the rest, where lines meet.
    pieces = sorted(places.pieces, key=lambda piece: piece.kind == "run")
    shapes: list[Shape] = [Line(piece.path, piece.kind, piece.end) for piece in pieces]
    shapes += [_box(node, box) for node, box in zip(graph.nodes, places.boxes, strict=True)]
    shapes += [Text(label.x, label.y, label.text, "label") for label in places.labels]
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


__all__ = ["drawn"]
