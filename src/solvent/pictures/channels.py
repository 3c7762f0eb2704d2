"""The rows of a terminal between two layers, with the lines that lead from one to the other.

Each item has one level line, which its edges leave downwards where their ends are. Level lines that touch lie in
different rows; and where one item stands above another's end, its line lies above the other's, so that no upright
parts run into each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.pictures.canvas import level, upright

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from solvent.pictures.canvas import Canvas, Strokes
    from solvent.pictures.graph import Link
    from solvent.pictures.layers import Layout

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
        """Give each item whose edges turn a row for its level line."""
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


__all__ = ["Channel"]
