"""Where boxes, lines and labels lie."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

from hypothesis import given

from solvent.pictures import Edge, Graph, Node, place
from tests.unit.pictures.strategies import graphs

if TYPE_CHECKING:
    from solvent.pictures.geometry import Box


def _numbers(path: str) -> list[float]:
    return [float(one) for one in re.findall(r"-?[\d.]+", path)]


def _are_apart(one: Box, other: Box) -> bool:
    return one.right < other.x or other.right < one.x or one.bottom < other.y or other.bottom < one.y


@given(graphs())
def test_no_boxes_overlap_and_all_lie_within(graph: Graph) -> None:
    """Two boxes never share a point, boxes and labels lie inside of the picture, and nothing is left to chance."""
    places = place(graph)
    assert len(places.boxes) == len(graph.nodes)
    assert all(_are_apart(one, other) for one, other in combinations(places.boxes, 2))
    for box in places.boxes:
        assert box.x >= 0
        assert box.y >= 0
        assert box.right < places.width
        assert box.bottom < places.height
    assert all(0 < label.x < places.width and 0 < label.y < places.height for label in places.labels)
    assert place(graph) == places


@given(graphs())
def test_every_edge_is_drawn_from_box_to_box(graph: Graph) -> None:
    """The pieces of an edge lead from the box of its source to the one of its target, where it ends in an arrow."""
    places = place(graph)
    drawn: dict[int, list[int]] = {}
    for at, piece in enumerate(places.pieces):
        for number in piece.edges:
            drawn.setdefault(number, []).append(at)
    links = {edge.link for number, edge in enumerate(graph.edges) if number in drawn}
    # Of several loops of one node a single one is drawn.
    assert links == {edge.link for edge in graph.edges}
    for number, pieces in drawn.items():
        edge = graph.edges[number]
        first, last = places.pieces[pieces[0]], places.pieces[pieces[-1]]
        start, end = places.boxes[edge.source], places.boxes[edge.target]
        x, y = _numbers(first.path)[:2]
        assert start.x - 1 <= x <= start.right + 1
        assert start.y - 1 <= y <= start.bottom + 1
        x, y = _numbers(last.path)[-2:]
        # A cross stands beside the box.
        assert end.x - 7 <= x <= end.right + 7
        assert end.y - 7 <= y <= end.bottom + 1
        assert last.end
        assert not any(places.pieces[at].end for at in pieces[:-1])


def test_kinds_of_pieces() -> None:
    """A piece is dashed if all its edges are; ways back, loops and cancels have ends of their own."""
    nodes = tuple(Node(name) for name in "abcd")
    edges = (Edge(0, 1), Edge(0, 2, "dashed"), Edge(1, 0, "back"), Edge(1, 1), Edge(2, 3, "cancel"))
    found = {piece.edges: (piece.kind, piece.end) for piece in place(Graph(nodes, edges)).pieces if piece.end}
    assert found == {
        (0,): ("", "arrow"),
        (1,): ("dashed", "arrow"),
        (2,): ("back", "return"),
        (3,): ("loop", "return"),
        (4,): ("cancel", "cross"),
    }


def test_nothing_to_draw() -> None:
    """A graph without nodes has no size but its margins."""
    assert place(Graph(())).boxes == ()
