"""Several records appended at once: in one batch, or one behind the other without waiting in between.

A batch is taken by the server as a whole or not at all. Where records are replicated it costs less than anything else;
a single server makes files for each batch, which only many records are worth. Otherwise records are sent in order
without waiting, with one exception: what comes behind a record with an expected position waits until that is known to
be in place. So a process whose log has been taken over, which finds out by that record, does no harm with the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.live.space.nats_stream import all_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from solvent.live.space.nats_stream import Sending
    from solvent.live.space.nats_streams import Streams

_BATCH_MAX = 500
_BATCH_BYTES_MAX = 8 << 20
_ALONE_MIN = 200
"""From so many records on a batch is cheaper also on a single server,"""
_ALONE_DURABLE_MIN = 12
"""and from so many if each would have to be brought to the disk by itself."""


async def append_all(streams: Streams, sendings: Sequence[Sending]) -> list[int]:
    """Append records in this order and give their positions."""
    positions: list[int] = []
    for some in _pieces(sendings):
        if streams.is_atomic and len(some) >= _fewest(streams) and not _is_fenced_within(some):
            positions += await streams.records.append_batch(some)
            continue
        for group in _groups(some):
            positions += all_of(await streams.records.append_each(group))
    return positions


def _fewest(streams: Streams) -> int:
    if streams.replicas > 1:
        return 2
    return _ALONE_DURABLE_MIN if streams.is_durable else _ALONE_MIN


def _pieces(sendings: Sequence[Sending]) -> Iterator[list[Sending]]:
    """Divide what is too much for one batch."""
    piece: list[Sending] = []
    size = 0
    for sending in sendings:
        if piece and (len(piece) == _BATCH_MAX or size + len(sending.data) > _BATCH_BYTES_MAX):
            yield piece
            piece, size = [], 0
        piece.append(sending)
        size += len(sending.data)
    if piece:
        yield piece


def _is_fenced_within(sendings: Sequence[Sending]) -> bool:
    """Whether a record expects something of a log to which the batch appends before: no batch can say that."""
    before: set[str] = set()
    for sending in sendings:
        if sending.expected is not None and sending.subject in before:
            return True
        before.add(sending.subject)
    return False


def _groups(sendings: Sequence[Sending]) -> Iterator[list[Sending]]:
    """Divide behind each record, or row of records, that has an expected position."""
    group: list[Sending] = []
    for sending in sendings:
        if group and group[-1].expected is not None and sending.expected is None:
            yield group
            group = []
        group.append(sending)
    if group:
        yield group


__all__ = ["append_all"]
