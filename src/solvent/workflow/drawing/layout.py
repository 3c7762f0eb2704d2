"""Layers, orders and positions: where the tasks of a graph are drawn.

Three steps of the method of Sugiyama, Tagawa and Toda (1981), each linear in the size of the graph:

1. A task's layer is the length of the longest way to it. Links that lead back are turned round before. Links over
   several layers get a waypoint in each between, shared by all links of a task; links with a condition, and those
   that lead back, have at least one for themselves, at which the condition stands.
2. Within a layer items are ordered by the mean position of their neighbours, down and up a few times; the order with
   the fewest crossings is kept (crossings are counted in small graphs only, since that is not linear).
3. Items move towards the mean of their neighbours as far as order and distance allow: the least squares solution, by
   pooling adjacent violators.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from solvent.workflow.drawing.graph import Graph

_SWEEPS = 4
_COUNTED_MAX = 2_000
_WAYPOINTS_MAX = 50_000


class Layout(msgspec.Struct, frozen=True):
    """Items in layers. The first items are the graph's tasks, by number; those after them are waypoints."""

    layers: tuple[tuple[int, ...], ...]
    """The items of each layer, from left to right."""
    edges: tuple[tuple[int, int, bool], ...]
    """Pieces of links from one layer to the next, or further where there were too many waypoints: (item, item,
    whether it is dashed)."""
    tasks_count: int
    labels: dict[int, str] = {}
    """The waypoints at which the condition of a link stands."""
    rising: frozenset[int] = frozenset()
    """The waypoints of links that lead back upwards; each such link has at least one."""
    falling: frozenset[int] = frozenset()
    """The waypoints of links that are said to lead back but have nowhere to go but down."""

    @property
    def layer_of(self) -> dict[int, int]:
        """The layer of each item."""
        return {item: number for number, layer in enumerate(self.layers) for item in layer}


class _Span(NamedTuple):
    """A link as it lies in the layers."""

    upper: int
    lower: int
    length: int = 1
    """How many layers it leads down at least: one with a label, or one that leads back, has its own waypoint."""
    is_dashed: bool = False
    label: str = ""
    way: int = 0
    """1 for a link that leads back upwards, -1 for one that leads back downwards."""


def arrange(graph: Graph, *, has_back: bool = True) -> Layout:
    """Put the tasks of a graph into layers and order these; links that lead back may be left out."""
    count = len(graph.names)
    spans = [
        _Span(*link, 2 if link in graph.labels else 1, link not in graph.solid, graph.labels.get(link, ""))
        for link in graph.links
    ]
    order = _order(count, spans)
    if has_back and graph.back:
        spans += _spans_back(graph, order)
    depth = _depths(order, spans)
    _lower_starts(depth, spans)
    way = _Way(depth, spans)
    layers: list[list[int]] = [[] for _ in range(max(way.depth, default=-1) + 1)]
    for item, layer in enumerate(way.depth):
        layers[layer].append(item)
    ordered = _ordered(layers, [*way.edges])
    edges = tuple((upper, lower, is_dashed) for (upper, lower), is_dashed in way.edges.items())
    rising, falling = frozenset(way.back[1]), frozenset(way.back[-1])
    return Layout(tuple(map(tuple, ordered)), edges, count, way.labels, rising, falling)


def _spans_back(graph: Graph, order: Sequence[int]) -> list[_Span]:
    """Turn the links that lead back round, so that they lie in the layers as all others do."""
    place = {task: at for at, task in enumerate(order)}
    spans = []
    for source, target in sorted(graph.back):
        if source != target:
            is_up = place[target] < place[source]
            ends = (target, source) if is_up else (source, target)
            is_dashed = (source, target) in graph.stand_in
            label = "" if is_dashed else f"↺ {graph.labels.get((source, target), '')}".strip()
            spans.append(_Span(*ends, 2, is_dashed, label, way=1 if is_up else -1))
    return spans


def _order(count: int, spans: Sequence[_Span]) -> list[int]:
    """Put tasks behind all that lead to them."""
    onward: list[list[int]] = [[] for _ in range(count)]
    missing = [0] * count
    for span in spans:
        onward[span.upper].append(span.lower)
        missing[span.lower] += 1
    order = []
    ready = [task for task in range(count) if not missing[task]]
    while ready:
        task = ready.pop()
        order.append(task)
        for target in onward[task]:
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    return order


def _depths(order: Sequence[int], spans: Sequence[_Span]) -> list[int]:
    """Give the length of the longest way to each task."""
    onward: list[list[_Span]] = [[] for _ in order]
    for span in spans:
        onward[span.upper].append(span)
    depth = [0] * len(order)
    for task in order:
        for span in onward[task]:
            depth[span.lower] = max(depth[span.lower], depth[task] + span.length)
    return depth


def _lower_starts(depth: list[int], spans: Sequence[_Span]) -> None:
    """Move tasks that take nothing right above the first that uses them."""
    lowest: dict[int, int] = {}
    has_source = {span.lower for span in spans}
    for span in spans:
        if span.upper not in has_source:
            highest = depth[span.lower] - span.length
            lowest[span.upper] = min(lowest.get(span.upper, highest), highest)
    for task, layer in lowest.items():
        depth[task] = max(depth[task], layer)


class _Way:
    """Links cut into pieces, with a waypoint in each layer they pass."""

    def __init__(self, depth: Sequence[int], spans: Sequence[_Span]) -> None:
        self.depth = list(depth)
        self.edges: dict[tuple[int, int], bool] = {}
        """The pieces, and whether each is dashed."""
        self.labels: dict[int, str] = {}
        self.back: dict[int, list[int]] = {1: [], -1: []}
        longest: dict[object, int] = {}
        for span in spans:
            key = span.upper if span.length == 1 else span
            longest[key] = max(longest.get(key, 0), depth[span.lower] - depth[span.upper] - 1)
        is_cut = sum(longest.values()) <= _WAYPOINTS_MAX
        shared: dict[tuple[int, int], int] = {}
        for span in spans:
            first, last = depth[span.upper] + 1, depth[span.lower]
            if span.length == 1:
                self._add(span, range(first, last if is_cut else first), shared)
            else:
                self._add_alone(span, range(first, last if is_cut else first + 1))

    def _add_alone(self, span: _Span, layers: Sequence[int]) -> None:
        """Add a link with waypoints of its own: its label stands at the one that is nearest to where it begins."""
        begun = len(self.depth)
        self._add(span, layers, {})
        if span.label:
            self.labels[len(self.depth) - 1 if span.way == 1 else begun] = span.label
        if span.way:
            self.back[span.way] += range(begun, len(self.depth))

    def _add(self, span: _Span, layers: Iterable[int], shared: dict[tuple[int, int], int]) -> None:
        at = span.upper
        for layer in layers:
            following = shared.setdefault((span.upper, layer), len(self.depth))
            if following == len(self.depth):
                self.depth.append(layer)
            self._join(at, following, span.is_dashed)
            at = following
        self._join(at, span.lower, span.is_dashed)

    def _join(self, upper: int, lower: int, is_dashed: bool) -> None:  # noqa: FBT001 - private, and called for each piece
        self.edges[upper, lower] = self.edges.get((upper, lower), True) and is_dashed


# -------------------------------------------------------------------------------------------------- the order


def _ordered(layers: list[list[int]], edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    above, below = _neighbours(layers, edges)
    is_counted = len(edges) <= _COUNTED_MAX
    best = [list(layer) for layer in layers]
    fewest = _crossings(best, below) if is_counted else 0
    current = best
    for _ in range(_SWEEPS):
        for beside, order in ((above, range(1, len(layers))), (below, range(len(layers) - 2, -1, -1))):
            current = [list(layer) for layer in current]
            _sweep(current, beside, order)
            found = _crossings(current, below) if is_counted else 0
            if not is_counted or found < fewest:
                best, fewest = current, found
        if is_counted and not fewest:
            break
    return best


def _neighbours(
    layers: Sequence[Iterable[int]], edges: Sequence[tuple[int, int]]
) -> tuple[list[list[int]], list[list[int]]]:
    """Give for each item those above and those below that it is linked with."""
    count = sum(len(list(layer)) for layer in layers)
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        above[target].append(source)
        below[source].append(target)
    return above, below


def _sweep(layers: list[list[int]], beside: Sequence[Sequence[int]], order: Iterable[int]) -> None:
    """Order layer after layer by the mean of the neighbours' positions; without neighbours the own one stays."""
    at = {item: _share(place, layer) for layer in layers for place, item in enumerate(layer)}
    for number in order:
        layer = layers[number]
        wanted = {item: _mean([at[one] for one in beside[item]], at[item]) for item in layer}
        layer.sort(key=wanted.__getitem__)
        at.update({item: _share(place, layer) for place, item in enumerate(layer)})


def _share(place: int, layer: Sequence[int]) -> float:
    return (place + 0.5) / len(layer)


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _crossings(layers: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> int:
    """Count pairs of links that cross between neighbouring layers."""
    place = {item: number for layer in layers for number, item in enumerate(layer)}
    crossings = 0
    for layer in layers:
        passed: list[int] = []
        for item in layer:
            ends = sorted(place[target] for target in below[item])
            crossings += sum(len(passed) - bisect_right(passed, end) for end in ends)
            for end in ends:
                insort(passed, end)
    return crossings


# ----------------------------------------------------------------------------------------------- the positions


def positions(layout: Layout, distance: Callable[[int, int], float]) -> list[float]:
    """Give the centre of each item, at least `distance` away from its neighbour on either side."""
    above, below = _neighbours(layout.layers, [(source, target) for source, target, _ in layout.edges])
    centre = [0.0] * len(above)
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
                weights = [4.0 if item >= layout.tasks_count else 1.0 for item in row]
                for item, at in zip(row, _spread(wanted, gaps[number], weights), strict=True):
                    centre[item] = at
    lowest = min(centre, default=0.0)
    return [at - lowest for at in centre]


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


__all__ = ["Layout", "arrange", "positions"]
