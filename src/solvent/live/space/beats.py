"""The beats of a pulse, and what is noted of them: in a few bytes, which two processes may have in common."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from mmap import mmap

    from solvent.live.space.interface import Space

NOTES_BYTES = 24
_LAPSES_BITS = 16
_LAPSES_MASK = (1 << _LAPSES_BITS) - 1
_PER_SECOND = 1_000_000


class Notes:
    """What is noted of a pulse.

    When the last beat was begun and how often the pulse has lapsed is one word of memory, so that whoever sees the one
    sees the other: microseconds of the clock that the processes of a machine share, and below them the lapses.
    """

    def __init__(self, memory: bytearray | mmap) -> None:
        self._words = memoryview(memory).cast("Q")

    @property
    def lapses(self) -> int:
        """How often others may have presumed this agent dead, though it was not; it begins anew after very many."""
        return self._words[0] & _LAPSES_MASK

    def is_fresh(self, ttl: float) -> bool:
        """Whether the last beat was begun less than `ttl` ago."""
        began = self._words[0] >> _LAPSES_BITS
        return began > 0 and time.monotonic() - began / _PER_SECOND < ttl

    def next_count(self) -> int:
        """Count a beat; for one writer at a time."""
        self._words[1] += 1
        return self._words[1]

    def note(self, began: float, ttl: float) -> None:
        """Note a beat that was acknowledged just now."""
        lapses = self.lapses
        if self._words[0] and not self.is_fresh(ttl):
            lapses = (lapses + 1) & _LAPSES_MASK
        self._words[0] = int(began * _PER_SECOND) << _LAPSES_BITS | lapses

    @property
    def is_away(self) -> bool:
        """Whether the agent itself does not reach the space, so that nobody must beat for it."""
        return self._words[2] != 0

    @is_away.setter
    def is_away(self, is_so: bool) -> None:
        self._words[2] = int(is_so)


class Beats:
    """Writes the key of a pulse, with a number that grows; for one thread at a time."""

    def __init__(self, space: Space, key: str, about: Mapping[str, Any], ttl: float, notes: Notes) -> None:
        self._space = space
        self._key = key
        self._about = about
        self._ttl = ttl
        self._notes = notes

    def write(self) -> None:
        """Write it once more, and note that."""
        began = time.monotonic()
        value = {**self._about, "count": self._notes.next_count(), "ttl": self._ttl}
        self._space.put(self._key, msgspec.msgpack.encode(value))
        self._notes.note(began, self._ttl)


__all__ = ["NOTES_BYTES", "Beats", "Notes"]
