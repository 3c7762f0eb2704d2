"""A shelf: the entries of one shape at one slot, in the order of their keys.

A shelf is a value: adding or taking an entry gives another shelf. It is a row of blocks, each a sorted tuple, so a
change copies one block and the row of blocks instead of everything, and a search halves twice. Rows compare by rank,
then molecule, then holder, which no two entries share.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, TypeAlias

from solvent.protocols.capture.vocabulary import MoleculeId
from solvent.protocols.directory.keys import Rank
from solvent.protocols.directory.messages import Bounds, Entry
from solvent.protocols.machine import NodeId, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BLOCK = 256

Row: TypeAlias = tuple[Rank, MoleculeId, NodeId, Entry]
Block: TypeAlias = tuple[Row, ...]


class Shelf(Value, frozen=True, gc=False):
    """Entries in the order of their keys."""

    blocks: tuple[Block, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def with_entry(self, at: Rank, entry: Entry) -> Shelf:
        """Put an entry in; none of the same rank and place may be there."""
        row = (at, entry.molecule, entry.holder, entry)
        blocks = self.blocks
        number = max(0, bisect_right(blocks, row, key=_first) - 1)
        block = blocks[number] if blocks else ()
        index = bisect_left(block, row)
        grown = block[:index] + (row,) + block[index:]  # noqa: RUF005 - joining copies faster than unpacking
        parts = (grown,) if len(grown) <= MAX_BLOCK else (grown[: MAX_BLOCK // 2], grown[MAX_BLOCK // 2 :])
        return Shelf((*blocks[:number], *parts, *blocks[number + 1 :]))

    def without_entry(self, at: Rank, entry: Entry) -> Shelf:
        """Take an entry out; it must be there."""
        number, index = self._find((at, entry.molecule, entry.holder))
        blocks = self.blocks
        assert blocks[number][index][3] == entry, "only what stands on a shelf is taken from it"
        shrunk = blocks[number][:index] + blocks[number][index + 1 :]
        before, after = blocks[:number], blocks[number + 1 :]
        if before and len(before[-1]) + len(shrunk) <= MAX_BLOCK // 2:
            # Otherwise a shelf from which much was taken would be a long row of tiny blocks.
            return Shelf((*before[:-1], before[-1] + shrunk, *after))
        return Shelf((*before, *((shrunk,) if shrunk else ()), *after))

    def between(self, bounds: Bounds) -> Iterator[Entry]:
        """Go through the entries within bounds, in order."""
        lower, upper = bounds.ranks()
        return self._from(self._find(lower), self._find(upper))

    def between_from(self, bounds: Bounds, turn: int) -> Iterator[Entry]:
        """Go through them all the same, but begin at the `turn`-th, counted round and round."""
        lower, upper = bounds.ranks()
        start, stop = self._find(lower), self._find(upper)
        count = self._index(stop) - self._index(start)
        if count <= 0:
            return
        middle = self._position(self._index(start) + turn % count)
        yield from self._from(middle, stop)
        yield from self._from(start, middle)

    # A position is a block's number and an index in it.

    def _find(self, bound: Rank) -> tuple[int, int]:
        """Give the position of the first row that is not before a bound."""
        number = bisect_left(self.blocks, bound, key=_first)
        if number == 0:
            return 0, 0
        index = bisect_left(self.blocks[number - 1], bound)
        return (number, 0) if index == len(self.blocks[number - 1]) else (number - 1, index)

    def _index(self, position: tuple[int, int]) -> int:
        return sum(map(len, self.blocks[: position[0]])) + position[1]

    def _position(self, index: int) -> tuple[int, int]:
        number = 0
        while index >= len(self.blocks[number]):
            index -= len(self.blocks[number])
            number += 1
        return number, index

    def _from(self, start: tuple[int, int], stop: tuple[int, int]) -> Iterator[Entry]:
        for number in range(start[0], min(stop[0] + 1, len(self.blocks))):
            first = start[1] if number == start[0] else 0
            last = stop[1] if number == stop[0] else None
            for row in self.blocks[number][first:last]:
                yield row[3]


def _first(block: Block) -> Row:
    return block[0]


__all__ = ["MAX_BLOCK", "Shelf"]
