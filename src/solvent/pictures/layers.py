"""The layered layout of a graph: layers, the order within them, and horizontal positions.

Three steps of the method of Sugiyama, Tagawa and Toda (1981), each near linear in the size of the graph:

1. The layer of a node is the length of the longest path to it. Edges that lead back are reversed first. An edge over
   several layers gets a waypoint in each layer between; the edges of one node share them. An edge with a label, and an
   edge that leads back, has at least one waypoint of its own, where the label stands.
2. Within a layer, items are ordered by the mean position of their neighbours, down and up a few times (the barycentre
   method); the order with the fewest crossings is kept. Crossings between two layers are counted with a tree of sums in
   the time of sorting (Barth, Jünger, Mutzel 2002).
3. Items move towards the mean of their neighbours as far as order and distance allow: the least squares solution, by
   pooling adjacent violators.

Waypoints could grow faster than the graph: n edges over n layers need n² of them. So their number is limited; the
longest edges get none and run straight over the layers between.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from solvent.pictures.graph import ways_back

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from solvent.pictures.graph import Edge, Graph, Link


_SWEEPS = 4
_MAX_COUNTED = 20_000
"""With more lines than this, crossings are not counted and the last order is taken: no one could see the difference."""


def ordered(layers: list[list[int]], joined: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Order the items of layers; `joined` are the lines, each from an upper item to a lower one."""
    count = sum(map(len, layers))
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for upper, lower in joined:
        above[lower].append(upper)
        below[upper].append(lower)
    is_counted = len(joined) <= _MAX_COUNTED
    best = current = layers
    fewest = crossings(best, below) if is_counted else 0
    for _ in range(_SWEEPS):
        for beside, order in ((above, range(1, len(layers))), (below, range(len(layers) - 2, -1, -1))):
            current = [list(layer) for layer in current]
            _sweep(current, beside, order)
            found = crossings(current, below) if is_counted else 0
            if not is_counted or found < fewest:
                best, fewest = current, found
        if is_counted and not fewest:
            break
    return best


def _sweep(layers: list[list[int]], beside: Sequence[Sequence[int]], order: Iterable[int]) -> None:
    """Order layer after layer by the mean position of the neighbours; an item without neighbours stays."""
    at = [0.0] * len(beside)
    for layer in layers:
        _note(at, layer)
    for number in order:
        layer = layers[number]
        wanted = {}
        for item in layer:
            near = beside[item]
            wanted[item] = sum([at[one] for one in near]) / len(near) if near else at[item]
        layer.sort(key=wanted.__getitem__)
        _note(at, layer)


def _note(at: list[float], layer: Sequence[int]) -> None:
    size = len(layer)
    for place, item in enumerate(layer):
        at[item] = (place + 0.5) / size


def crossings(layers: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> int:
    """Count pairs of lines that cross."""
    place = [0] * len(below)
    layer_of = [0] * len(below)
    for number, layer in enumerate(layers):
        for at, item in enumerate(layer):
            place[item], layer_of[item] = at, number
    found = 0
    for number, layer in enumerate(layers[:-1]):
        # A line that passes layers without a waypoint is straight, and is not counted.
        ends = [sorted(place[one] for one in below[item] if layer_of[one] == number + 1) for item in layer]
        found += _inversions([end for some in ends for end in some], len(layers[number + 1]))
    return found


def _inversions(ends: Sequence[int], size: int) -> int:
    """Count pairs in which the later number is the smaller one."""
    sums = [0] * (size + 1)
    found = 0
    for passed, end in enumerate(ends):
        upto, at = 0, end + 1
        while at:
            upto += sums[at]
            at &= at - 1
        found += passed - upto
        at = end + 1
        while at <= size:
            sums[at] += 1
            at += at & -at
    return found


_MAX_WAYPOINTS = 50_000


class Layout(msgspec.Struct, frozen=True):
    """Items in layers. The first items are the graph's nodes, by number; those after them are waypoints."""

    layers: tuple[tuple[int, ...], ...]
    """The items of each layer, from left to right."""
    routes: tuple[tuple[int, ...], ...]
    """For each edge of the graph the items it passes, from source to target; empty for an edge that is not laid out: a
    loop at one node, a cancel edge, and an edge that is left out."""
    nodes_count: int
    labels: dict[int, str] = {}
    """The waypoints at which the label of an edge stands."""

    @property
    def layer_of(self) -> list[int]:
        """The layer of each item."""
        found = [0] * sum(map(len, self.layers))
        for number, layer in enumerate(self.layers):
            for item in layer:
                found[item] = number
        return found

    @property
    def pieces(self) -> dict[Link, list[int]]:
        """The pieces of edges, in the direction of these, with the numbers of the edges that share each."""
        found: dict[Link, list[int]] = {}
        for number, route in enumerate(self.routes):
            for piece in pairwise(route):
                found.setdefault(piece, []).append(number)
        return found


class _Span(NamedTuple):
    """An edge as it lies in the layers."""

    upper: int
    lower: int
    length: int
    """How many layers it leads down at least: one with a label, or one that leads back, has its own waypoint."""
    label: str
    edge: int
    is_up: bool


def arrange(graph: Graph, *, has_back: bool = True) -> Layout:
    """Assign the nodes of a graph to layers and order each; without `has_back`, edges that lead back are left out."""
    spans = _spans(graph, has_back=has_back)
    way = _Way(_depths(len(graph.nodes), spans), spans, len(graph.edges))
    layers: list[list[int]] = [[] for _ in range(max(way.depth, default=-1) + 1)]
    for item, layer in enumerate(way.depth):
        layers[layer].append(item)
    laid = ordered(layers, way.joined)
    return Layout(tuple(map(tuple, laid)), tuple(way.routes), len(graph.nodes), way.labels)


def layers_of(graph: Graph) -> list[int]:
    """Return the layer of each node, without extra layers for labels."""
    spans = [span._replace(length=1) for span in _spans(graph, has_back=True)]
    return _depths(len(graph.nodes), spans)


# -------------------------------------------------------------------------------------------------- the layers


def _spans(graph: Graph, *, has_back: bool) -> list[_Span]:
    """Return the edges as spans from an upper to a lower node; those that lead back are reversed."""
    count = len(graph.nodes)
    placed = [(at, edge) for at, edge in enumerate(graph.edges) if edge.kind != "cancel" and edge.source != edge.target]
    back = ways_back(count, [edge.link for _, edge in placed], {edge.link for _, edge in placed if edge.kind == "back"})
    spans = [_span(at, edge, is_back=False) for at, edge in placed if edge.link not in back]
    if has_back and back:
        place = {node: at for at, node in enumerate(_topological(count, spans))}
        for at, edge in placed:
            if edge.link in back:
                span = _span(at, edge, is_back=True)
                is_up = place[edge.target] < place[edge.source]
                spans.append(span._replace(upper=edge.target, lower=edge.source, is_up=True) if is_up else span)
    return spans


def _span(at: int, edge: Edge, *, is_back: bool) -> _Span:
    return _Span(*edge.link, 2 if edge.label or is_back else 1, edge.label, at, is_up=False)


def _topological(count: int, spans: Sequence[_Span]) -> list[int]:
    """Return the nodes in topological order."""
    onward: list[list[int]] = [[] for _ in range(count)]
    missing = [0] * count
    for span in spans:
        onward[span.upper].append(span.lower)
        missing[span.lower] += 1
    order = []
    ready = [node for node in range(count) if not missing[node]]
    while ready:
        node = ready.pop()
        order.append(node)
        for target in onward[node]:
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    return order


def _depths(count: int, spans: Sequence[_Span]) -> list[int]:
    """Return the longest path to each node; a node without inputs lies right above its first use."""
    onward: list[list[_Span]] = [[] for _ in range(count)]
    has_source = [False] * count
    for span in spans:
        onward[span.upper].append(span)
        has_source[span.lower] = True
    depth = [0] * count
    for node in _topological(count, spans):
        for span in onward[node]:
            depth[span.lower] = max(depth[span.lower], depth[node] + span.length)
    for node, later in enumerate(onward):
        if later and not has_source[node]:
            depth[node] = max(0, min(depth[span.lower] - span.length for span in later))
    return depth


class _Way:
    """Edges cut into pieces, with a waypoint in each layer they pass."""

    def __init__(self, depth: Sequence[int], spans: Sequence[_Span], edges_count: int) -> None:
        self.depth = list(depth)
        self.joined: list[Link] = []
        """The pieces, from the upper item to the lower one, each once."""
        self.routes: list[tuple[int, ...]] = [()] * edges_count
        self.labels: dict[int, str] = {}
        self._known: set[Link] = set()
        shared: dict[tuple[int, int], int] = {}
        longest_cut = self._longest_cut(spans)
        for span in spans:
            first, last = depth[span.upper] + 1, depth[span.lower]
            is_cut = last - first <= longest_cut
            if span.length == 1:
                route = self._add(span, range(first, last if is_cut else first), shared)
            else:
                route = self._add(span, range(first, last if is_cut else first + 1), {})
                if span.label:
                    # Near to where the edge begins, which for one that leads up is below.
                    self.labels[route[-2 if span.is_up else 1]] = span.label
            self.routes[span.edge] = tuple(route[::-1] if span.is_up else route)

    def _longest_cut(self, spans: Sequence[_Span]) -> int:
        """Return how many layers an edge may cross and still get waypoints, so that there are not too many."""
        wanted: dict[object, int] = {}
        for span in spans:
            key = span.upper if span.length == 1 else span
            wanted[key] = max(wanted.get(key, 0), self.depth[span.lower] - self.depth[span.upper] - 1)
        total, longest = 0, 0
        for passed in sorted(wanted.values()):
            total += passed
            if total > _MAX_WAYPOINTS:
                return longest
            longest = passed
        return longest

    def _add(self, span: _Span, layers: Iterable[int], shared: dict[tuple[int, int], int]) -> list[int]:
        route = [span.upper]
        for layer in layers:
            following = shared.setdefault((span.upper, layer), len(self.depth))
            if following == len(self.depth):
                self.depth.append(layer)
            route.append(following)
        route.append(span.lower)
        for piece in pairwise(route):
            if piece not in self._known:
                self._known.add(piece)
                self.joined.append(piece)
        return route


# ----------------------------------------------------------------------------------------------- the positions


def positions(layout: Layout, distance: Callable[[int, int], float]) -> list[float]:
    """Return the centre of each item, at least `distance` away from its neighbour on either side."""
    layer_of = layout.layer_of
    above: list[list[int]] = [[] for _ in layer_of]
    below: list[list[int]] = [[] for _ in layer_of]
    for piece in layout.pieces:
        upper, lower = piece if layer_of[piece[0]] < layer_of[piece[1]] else piece[::-1]
        above[lower].append(upper)
        below[upper].append(lower)
    centre = [0.0] * len(layer_of)
    gaps = [[distance(left, right) for left, right in pairwise(row)] for row in layout.layers]
    for row, between in zip(layout.layers, gaps, strict=True):
        at = -sum(between) / 2
        for item, gap in zip(row, [*between, 0.0], strict=True):
            centre[item] = at
            at += gap
    downwards = range(len(layout.layers))
    for _ in range(_SWEEPS):
        for beside, order in ((above, downwards), (below, reversed(downwards))):
            for number in order:
                row = layout.layers[number]
                wanted = [_mean([centre[one] for one in beside[item]], centre[item]) for item in row]
                weights = [4.0 if item >= layout.nodes_count else 1.0 for item in row]
                for item, at in zip(row, _spread(wanted, gaps[number], weights), strict=True):
                    centre[item] = at
    lowest = min(centre, default=0.0)
    return [at - lowest for at in centre]


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _spread(wanted: Sequence[float], gaps: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Find the positions nearest to the wanted ones that keep the gaps."""
    blocks: list[tuple[float, float, int]] = []
    offset, offsets = 0.0, []
    for at, gap, weight in zip(wanted, [0.0, *gaps], weights, strict=True):
        offset += gap
        offsets.append(offset)
        value, size = at - offset, 1
        while blocks and blocks[-1][0] > value:
            other, heavy, more = blocks.pop()
            value = (value * weight + other * heavy) / (weight + heavy)
            weight += heavy  # noqa: PLW2901 - the block grows
            size += more
        blocks.append((value, weight, size))
    values = [value for value, _, size in blocks for _ in range(size)]
    return [value + offset for value, offset in zip(values, offsets, strict=True)]


__all__ = ["Layout", "arrange", "crossings", "layers_of", "ordered", "positions"]
