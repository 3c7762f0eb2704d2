"""Layers, orders and positions: where the tasks of a graph are drawn.

Three steps of the method of Sugiyama, Tagawa and Toda (1981), each linear in the size of the graph:

1. A task's layer is the length of the longest way to it. Links over several layers get a waypoint in each between,
   shared by all links of a task.
2. Within a layer items are ordered by the mean position of their neighbours, down and up a few times; the order with
   the fewest crossings is kept (crossings are counted in small graphs only, since that is not linear).
3. Items move towards the mean of their neighbours as far as order and distance allow: the least squares solution, by
   pooling adjacent violators.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from itertools import pairwise
from typing import TYPE_CHECKING

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

    @property
    def layer_of(self) -> dict[int, int]:
        """The layer of each item."""
        return {item: number for number, layer in enumerate(self.layers) for item in layer}


def arrange(graph: Graph) -> Layout:
    """Put the tasks of a graph into layers and order these."""
    count = len(graph.names)
    depth = _depths(count, graph.links)
    if depth is None:
        # A stand-in may take the result of a later task: its own link then leads upwards and says nothing about layers.
        depth = _depths(count, graph.links, left_out=graph.stand_in)
    if depth is None:
        depth = _depths(count, graph.links, left_out=graph.stand_in, is_forced=True)
    assert depth is not None
    _lower_starts(depth, graph.links)
    edges, depth = _with_waypoints(graph, depth)
    layers: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for item, layer in enumerate(depth):
        layers[layer].append(item)
    ordered = _ordered(layers, [(source, target) for source, target, _ in edges])
    return Layout(tuple(map(tuple, ordered)), tuple(edges), count)


def _depths(
    count: int,
    links: Sequence[tuple[int, int]],
    *,
    left_out: frozenset[tuple[int, int]] = frozenset(),
    is_forced: bool = False,
) -> list[int] | None:
    """Give the length of the longest way to each task; nothing if there is a cycle, unless it is to be cut."""
    onward: list[list[int]] = [[] for _ in range(count)]
    missing = [0] * count
    for source, target in links:
        if (source, target) not in left_out:
            onward[source].append(target)
            missing[target] += 1
    depth = [0] * count
    is_done = [False] * count
    ready = [task for task in range(count) if not missing[task]]
    rest = iter(range(count))
    while True:
        while ready:
            task = ready.pop()
            is_done[task] = True
            for target in onward[task]:
                if is_done[target]:
                    continue
                depth[target] = max(depth[target], depth[task] + 1)
                missing[target] -= 1
                if not missing[target]:
                    ready.append(target)
        cut = next((task for task in rest if not is_done[task]), None)
        if cut is None:
            return depth
        if not is_forced:
            return None
        missing[cut] = -1
        ready.append(cut)


def _lower_starts(depth: list[int], links: Sequence[tuple[int, int]]) -> None:
    """Move tasks that take nothing right above the first that uses them."""
    targets: dict[int, int] = {}
    has_source = {target for _, target in links}
    for source, target in links:
        if source not in has_source:
            targets[source] = min(targets.get(source, depth[target]), depth[target])
    for source, lowest in targets.items():
        depth[source] = max(depth[source], lowest - 1)


def _with_waypoints(graph: Graph, depth: list[int]) -> tuple[list[tuple[int, int, bool]], list[int]]:
    """Cut links that pass layers into pieces; those that lead upwards stay whole."""
    longest: dict[int, int] = {}
    for source, target in graph.links:
        longest[source] = max(longest.get(source, 0), depth[target] - depth[source] - 1)
    is_cut = sum(longest.values()) <= _WAYPOINTS_MAX
    solid: dict[tuple[int, int], bool] = {}
    waypoints: dict[tuple[int, int], int] = {}
    depth = list(depth)
    for source, target in graph.links:
        is_solid = (source, target) in graph.solid
        at = source
        for layer in range(depth[source] + 1, depth[target] if is_cut else 0):
            following = waypoints.setdefault((source, layer), len(depth))
            if following == len(depth):
                depth.append(layer)
            solid[at, following] = solid.get((at, following), False) or is_solid
            at = following
        solid[at, target] = solid.get((at, target), False) or is_solid
    return [(source, target, not is_solid) for (source, target), is_solid in solid.items()], depth


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
