"""The data that the workers of `solvent lab serve handover` share, laid out so that every fault shows.

    counter   how often all have counted
    fence     the fence of the last that counted, and the number that it had in the space
    slots     how often each process has counted; together as often as the counter says
    stamps    for each block what the counter was when the block was last written; the greatest is the counter
    blocks    the rest of the bytes: each is its stamp, again and again

A worker that counts changes its slot first, then one block, some or all of them, then the counter. So what a worker
leaves that was killed meanwhile does not fit together unless it is undone. Each part of the data has all of this.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

BLOCKS = 16
_WORD = 8
_FENCE_BYTES = 16


class Reading(NamedTuple):
    """What the head of the data says."""

    counter: int
    fence: int
    node: int
    slots: tuple[int, ...]
    stamps: tuple[int, ...]


class Ledger:
    """The layout of the data, for so many processes."""

    def __init__(self, processes: int, body_bytes: int) -> None:
        self._processes = processes
        # A fence may be longer than a word.
        self._head = struct.Struct(f"<Q{_FENCE_BYTES}sQ{processes + BLOCKS}Q")
        #: Whole words, so that a stamp fits in.
        self._block = max(_WORD, body_bytes // BLOCKS // _WORD * _WORD)
        self.size = self._head.size + BLOCKS * self._block

    def read(self, view: memoryview) -> Reading:
        """Read the head."""
        counter, fence, node, *rest = self._head.unpack_from(view)
        slots, stamps = rest[: self._processes], rest[self._processes :]
        return Reading(counter, int.from_bytes(fence, "little"), node, tuple(slots), tuple(stamps))

    def part(self, view: memoryview, number: int) -> memoryview:
        """Return one of the parts that lie behind each other."""
        return view[number * self.size : (number + 1) * self.size]

    def wrong(self, view: memoryview) -> str:
        """Return what does not fit together; empty if all does."""
        if len(view) != self.size:
            return f"there are {len(view)} bytes, and should be {self.size}"
        found = self.read(view)
        if found.counter != sum(found.slots):
            return f"the counter is {found.counter}, and the processes have counted to {sum(found.slots)}"
        if max(found.stamps) != found.counter:
            return f"the counter is {found.counter}, and the last block was written at {max(found.stamps)}"
        for number, stamp in enumerate(found.stamps):
            start = self._start(number)
            with view[start : start + self._block] as block:
                if block != self._content(stamp):
                    return f"block {number} is torn: not all of it was written when the counter was {stamp}"
        return ""

    def wrong_with(self, view: memoryview, node: int, fence: int) -> str:
        """Return what is wrong with a fence, which must be greater than any that another process has had."""
        found = self.read(view)
        if fence > found.fence or (fence == found.fence and node == found.node):
            return ""
        return f"process {node} has the fence {fence}, and before it process {found.node} had {found.fence}"

    def count(
        self, view: memoryview, slot: int, who: tuple[int, int], chance: Random, midway: Callable[[], None]
    ) -> None:
        """Count once, under the fence that a process has; `midway` is called when only half of it is done."""
        found, (node, fence) = self.read(view), who
        counter = found.counter + 1
        slots, stamps = list(found.slots), list(found.stamps)
        slots[slot] += 1
        fenced = fence.to_bytes(_FENCE_BYTES, "little")
        self._head.pack_into(view, 0, found.counter, fenced, node, *slots, *stamps)
        chosen = chance.sample(range(BLOCKS), chance.choice((1, 1, 3, BLOCKS)))
        for place, number in enumerate(chosen):
            start = self._start(number)
            view[start : start + self._block] = self._content(counter)
            stamps[number] = counter
            if place == len(chosen) // 2:
                midway()
        self._head.pack_into(view, 0, counter, fenced, node, *slots, *stamps)

    def _start(self, block: int) -> int:
        return self._head.size + block * self._block

    def _content(self, stamp: int) -> bytes:
        return stamp.to_bytes(_WORD, "little") * (self._block // _WORD)


__all__ = ["BLOCKS", "Ledger", "Reading"]
