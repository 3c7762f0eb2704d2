"""The order of items within layers, so that few lines cross.

Each layer is ordered by the mean place of what its items are joined with in the layer before, down and up a few times
(the barycentre method of Sugiyama, Tagawa and Toda, 1981). The best order seen is kept. Crossings between two layers
are counted with a tree of sums in the time of sorting (Barth, Jünger, Mutzel 2002).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SWEEPS = 4
_COUNTED_MAX = 20_000
"""With more lines than this the last order is taken as it is: nobody could see the difference."""


def ordered(layers: list[list[int]], joined: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Order the items of layers; `joined` are the lines, each from an upper item to a lower one."""
    count = sum(map(len, layers))
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for upper, lower in joined:
        above[lower].append(upper)
        below[upper].append(lower)
    is_counted = len(joined) <= _COUNTED_MAX
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
    """Order layer after layer by the mean of the neighbours' places; without neighbours the own one stays."""
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


__all__ = ["crossings", "ordered"]
