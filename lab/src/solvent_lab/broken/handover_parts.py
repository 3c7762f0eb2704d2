"""Spaces that are wrong about parts in a repair: each shows what one thing that parts, or memories, tell is for.

The simulator catches them (`tests/simulation/test_handover_parts.py`), where real hosts would lose what was released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.handover.machine import Process

if TYPE_CHECKING:
    from solvent.protocols.elmp.vocabulary import Data
    from solvent.protocols.handover.messages import Attendance, Renewal
    from solvent.protocols.handover.vocabulary import Ballot
    from solvent.protocols.machine import NodeId


class _Finding(Process):
    """Looks at what was found in another way."""

    __slots__ = ()

    def plans(self, answers: list[Attendance], ballot: Ballot) -> list[tuple[str, dict[NodeId, Renewal]]]:
        """Look at it in another way."""
        return super().plans(
            [replace(one, found=tuple((name, self.seen(data)) for name, data in one.found)) for one in answers], ballot
        )

    def seen(self, data: Data) -> Data:
        """Give some data as it is seen."""
        raise NotImplementedError


class LaysPartsAnyhow(_Finding):
    """Of parts that overlap not the later one counts, but any."""

    __slots__ = ()

    def seen(self, data: Data) -> Data:
        """See all parts in one turn."""
        turn = max((part.turn for part in data.parts), default=0)
        return replace(data, parts=tuple(replace(part, turn=turn) for part in data.parts))


class TakesAllPartsForNew(_Finding):
    """A part counts over whichever version does, though it was a change of an earlier one."""

    __slots__ = ()

    def seen(self, data: Data) -> Data:
        """See them come last, in the order that they have."""
        turns = 1 << 60
        return replace(data, parts=tuple(replace(part, turn=part.turn + turns, base=0) for part in data.parts))


class WantsAllInOneMemory(_Finding):
    """A version of which a stretch is missing in a memory does not count, though parts of another one lie over it."""

    __slots__ = ()

    def seen(self, data: Data) -> Data:
        """See nothing where there are gaps."""
        return replace(data, version=-1, details="lost", gaps=()) if data.gaps else data


class OverlooksGaps(_Finding):
    """A version counts of which a stretch is nowhere any more."""

    __slots__ = ()

    def seen(self, data: Data) -> Data:
        """See no gaps."""
        return replace(data, gaps=())


__all__ = ["LaysPartsAnyhow", "OverlooksGaps", "TakesAllPartsForNew", "WantsAllInOneMemory"]
