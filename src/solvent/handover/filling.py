"""Getting the data of a resource to this host: all of it or a part, from all that have the newest of some stretch.

The lock says who has the version that counts, and who has changed parts since. On this host nothing is to be done for
it but to look; what is elsewhere is fetched into the memory of this host, stretch by stretch.
"""

from __future__ import annotations

import math
import threading
import time
from bisect import bisect_left, bisect_right
from contextlib import contextmanager
from contextvars import ContextVar
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec.structs import replace

from solvent.errors import DataProblem, Misuse
from solvent.handover.data import Options
from solvent.handover.words import Details, part_version
from solvent.net.direct.shield import SHIELD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from solvent.handover.data import Fetch, Region, Store, Where
    from solvent.handover.data.extents import Origin
    from solvent.handover.words import Home
    from solvent.protocols.elmp.vocabulary import Claim, Data, Source
    from solvent.protocols.machine import NodeId

_T = TypeVar("_T")
_PAUSE_SECONDS = 0.005
_start_of, _end_of = attrgetter("start"), attrgetter("end")
_end: ContextVar[float] = ContextVar("end", default=math.inf)


def within(seconds: float | None) -> None:
    """Say how long this thread or task, and what it has done by others, waits for data from now on."""
    end = math.inf if seconds is None else time.monotonic() + seconds
    if end != _end.get():
        _end.set(end)


class Row(NamedTuple):
    """A stretch, which version counts there, and who has it."""

    start: int
    end: int
    version: int
    holder: NodeId
    origin: Origin


class Job:
    """A filling that is under way, and can be stopped by another thread."""

    def __init__(self, max_seconds: float) -> None:
        self.max_seconds = max_seconds
        self.stopped = threading.Event()
        self.fetch: Fetch | None = None

    def stop(self) -> None:
        """Stop it; what has arrived stays."""
        self.stopped.set()
        fetch = self.fetch
        if fetch is not None:
            fetch.cancel()


_job: ContextVar[Job | None] = ContextVar("job", default=None)


@contextmanager
def stopped_by(job: Job) -> Iterator[None]:
    """Have what this thread or task has done by others be a job that somebody can stop."""
    token = _job.set(job)
    try:
        yield
    finally:
        _job.reset(token)


def job_of(max_seconds: float) -> Job:
    """Give the job that this thread or task does."""
    return _job.get() or Job(max_seconds)


def rows_of(data: Data, details: Details, sources: Sequence[Source], claim: Claim) -> list[Row]:
    """Say what counts in every stretch of what is claimed; later changes lie over earlier ones."""
    size = details.size
    if claim.first >= size > 0:
        # Nothing of it is there, and `fill` says so, with what was asked for.
        return [Row(claim.first, claim.first, details.version, data.holder, data.since)]
    start, end = ends_of(claim, size)
    rows = [Row(start, end, details.version, data.holder, data.since)]
    changes = [(part.claim, part_version(part.writer, part.use), part.holder, part.turn) for part in data.parts]
    changes += [(one.claim, part_version(one.holder, one.use), one.holder, one.turn) for one in sources]
    for changed, version, holder, turn in changes:
        first, last = ends_of(changed, size)
        first, last = max(first, start), min(last, end)
        if first < last:
            _lay_over(rows, Row(first, last, version, holder, (turn, details.version)))
    return rows


def ends_of(claim: Claim, size: int) -> tuple[int, int]:
    """Give where a claim begins and ends, in data of some size."""
    end = size if claim.length is None else min(size, claim.first + claim.length)
    return min(claim.first, end), end


def _lay_over(rows: list[Row], top: Row) -> None:
    """Put a row over others that lie one behind the other; there may be thousands, and it touches few."""
    start, end = bisect_right(rows, top.start, key=_end_of), bisect_left(rows, top.end, key=_start_of)
    before, behind = rows[start]._replace(end=top.start), rows[end - 1]._replace(start=top.end)
    rows[start:end] = [row for row in (before, top, behind) if row.start < row.end]


class Filler:
    """Gets the data of one resource to this host."""

    def __init__(
        self,
        store: Store,
        resource: str,
        home_of: Callable[[NodeId], Home | None],
        neighbours: Callable[[str], Sequence[Home]],
    ) -> None:
        self._store = store
        self._resource = resource
        #: A file for it on this host, if it is to be in one.
        self.path: Path | None = None
        self._here = store.place[0]
        self._home_of = home_of
        #: All processes that share the memory of a host.
        self._neighbours = neighbours

    def is_at_hand(self, holders: Sequence[NodeId]) -> bool:
        """Tell whether all these are on this host."""
        return all((home := self._home_of(one)) is not None and home.host == self._here for one in holders)

    def fill(self, rows: Sequence[Row], details: Details, holder: NodeId, job: Job) -> Region:
        """Get everything; raise `DataProblem` where that is not possible."""
        found: Region | None = None
        if rows[0].start >= details.size > 0:
            message = f"a part from byte {rows[0].start:,} on was claimed, and `{self._resource}` has {details.size:,}"
            raise Misuse("D102", message)
        home = self._home_of(holder)
        for row in rows:
            found = self._fill_row(row, details, job, home)
        assert found is not None
        return found

    def _fill_row(self, row: Row, details: Details, job: Job, base: Home | None) -> Region:
        home = self._home_of(row.holder)
        if home is None:
            raise DataProblem("D204", f"`{self._resource}` is at process {row.holder}, of which nothing is known here")
        is_whole = row.start == 0 and row.end == details.size
        length = 0 if is_whole else row.end - row.start
        options = Options(offset=row.start, length=length, max_seconds=job.max_seconds, origin=row.origin)
        if home.host == self._here:
            region = self._store.region(self._resource)
            # A part that was changed here lies in the memory that this host has, whatever the base's has been.
            birth = details.birth if base is None or base.host == home.host or region is None else region.birth
            return self._attached(self._where(row, details, home, birth), options, job)
        places = [self._where(row, details, one, 0) for one in (home, *self._neighbours(home.host)) if one.data_address]
        if not places:
            raise DataProblem("D204", f"process {row.holder} does not hand `{self._resource}` to other hosts")
        fetch = self._store.fetching(*dict.fromkeys(places), options=options, path=self.path)
        job.fetch = fetch
        if job.stopped.is_set():
            fetch.cancel()
        try:
            return fetch.run()
        finally:
            job.fetch = None

    def _attached(self, where: Where, options: Options, job: Job) -> Region:
        return self.patiently(
            lambda: self._store.attach(where, offset=options.offset, length=options.length or None), job
        )

    def patiently(self, act: Callable[[], _T], job: Job) -> _T:
        """Do what needs memory that somebody else of this host may be writing to: wait for that one for a while."""
        latest = _end.get()
        end = min(latest, time.monotonic() + job.max_seconds)
        while True:
            try:
                return act()
            except DataProblem as problem:
                # Another process of this host may be about to put the same right. Ctrl-C is only noted here, and raised
                # when the handle has given up.
                if problem.code != "D203" or job.stopped.wait(_PAUSE_SECONDS) or SHIELD.is_mine_noted():
                    raise
                if time.monotonic() > end:
                    if end == latest:
                        raise TimeoutError(f"`{self._resource}` was not to be had in time") from problem
                    raise

    def _where(self, row: Row, details: Details, home: Home, birth: int) -> Where:
        where = home.where(self._resource, row.version, details.size, birth)
        return replace(where, form=details.form, keep_last=details.keep_last, copies=details.copies)


__all__ = ["Filler", "Job", "Row", "ends_of", "job_of", "rows_of", "stopped_by", "within"]
