"""The common order as one node has it: lines from a first place on, and who is a member after them.

Places count from zero. Lines before `base` have been forgotten, because every member has them; what is kept of them is
the epoch of the last one and the members after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.machine import NodeId, Value
from solvent.protocols.maps import Map
from solvent.protocols.token.group.messages import Epoch, Line, Member, Said, View

if TYPE_CHECKING:
    from collections.abc import Iterable

FIRST = Epoch(0, NodeId(0))
"""The epoch of the token that the first node has from the start."""
_LINE_BYTES = 64
"""What a line takes beside what was said, or more."""


class Log(Value, frozen=True, gc=False):
    """A node's log."""

    base: int = 0
    base_epoch: Epoch = FIRST
    base_members: Map[NodeId, str] = Map()
    lines: Map[int, Line] = Map()
    #: Where the next line goes.
    length: int = 0
    #: Who is a member, and where it is to be found, after the last line.
    members: Map[NodeId, str] = Map()
    #: Where the last view is; -1: it has been forgotten, or there is none.
    view_at: int = -1

    @property
    def last(self) -> Epoch:
        """The epoch of the last line."""
        return self.epoch_before(self.length)

    def epoch_before(self, place: int) -> Epoch:
        """Return the epoch of the line before a place."""
        return self.lines[place - 1].epoch if place > self.base else self.base_epoch

    def joins(self, first: int, before: Epoch) -> bool:
        """Decide whether lines from `first` on go with what is here, if the line before them is of this epoch."""
        return self.base <= first <= self.length and self.epoch_before(first) == before

    def between(self, first: int, end: int) -> tuple[Line, ...]:
        """Return the lines from `first` up to `end`."""
        return tuple([self.lines[place] for place in range(first, end)])

    def some_between(self, first: int, end: int, max_bytes: int) -> tuple[Line, ...]:
        """Return the lines from `first` up to `end`, or as many of them as are not too large together."""
        size = 0
        for place in range(first, end):
            entry = self.lines[place].entry
            size += _LINE_BYTES
            if type(entry) is Said and isinstance(entry.data, bytes | str):
                size += len(entry.data)
            if size > max_bytes and place > first:
                return self.between(first, place)
        return self.between(first, end)

    def members_at(self, place: int) -> Map[NodeId, str]:
        """Return the members after the lines before a place."""
        return _changed(self.base_members, (self.lines[at] for at in range(self.base, place)))


def empty(members: Map[NodeId, str]) -> Log:
    """Return a log without lines."""
    return Log(base_members=members, members=members)


def started_at(first: int, before: Epoch, members: Map[NodeId, str]) -> Log:
    """Return the log of one who knows nothing before `first`."""
    return Log(first, before, members, length=first, members=members)


def written(log: Log, first: int, lines: tuple[Line, ...]) -> tuple[Log, int]:
    """Write lines from `first` on, where they join; give the log and the first place that is new.

    What is there already stays, and what comes after it; if a line differs, it and all after it give way.
    """
    new = first
    for line in lines:
        if new >= log.length or log.lines[new].epoch != line.epoch:
            break
        new += 1
    fresh = lines[new - first :]
    if not fresh:
        return log, log.length
    if new < log.length:
        log = _cut(log, new)
    kept = log.lines.update(enumerate(fresh, new))
    view_at = log.view_at
    for place, line in enumerate(fresh, new):
        if type(line.entry) is View:
            view_at = place
    members = _changed(log.members, fresh)
    return replace(log, lines=kept, length=new + len(fresh), members=members, view_at=view_at), new


def forgotten(log: Log, low: int) -> Log:
    """Forget the lines before `low`."""
    if low <= log.base:
        return log
    return replace(
        log,
        base=low,
        base_epoch=log.epoch_before(low),
        base_members=log.members_at(low),
        lines=log.lines.without(range(log.base, low)),
        view_at=log.view_at if log.view_at >= low else -1,
    )


def _cut(log: Log, length: int) -> Log:
    """Take back lines that were never committed."""
    kept = log.lines.without(range(length, log.length))
    shorter = replace(log, lines=kept, length=length)
    views = [place for place in range(log.base, length) if type(kept[place].entry) is View]
    return replace(shorter, members=shorter.members_at(length), view_at=views[-1] if views else -1)


def _changed(members: Map[NodeId, str], lines: Iterable[Line]) -> Map[NodeId, str]:
    for line in lines:
        entry = line.entry
        if type(entry) is Member:
            if entry.is_member:
                members = members.set(entry.node, entry.where)
            elif entry.node in members:
                members = members.delete(entry.node)
    return members


__all__ = ["FIRST", "Log", "empty", "forgotten", "started_at", "written"]
