"""Getting the data of a resource to this host: all of it or a part, from the host that has it.

The lock says who has the version that counts, and whether parts may have been changed since: they are on the same host.
On this host nothing is to be done for it but to look. What is elsewhere is fetched into the memory of this host; if
parts may have been changed, that host is asked first which version each stretch has.
"""

from __future__ import annotations

import math
import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from solvent.errors import DataLost, DataProblem, Misuse
from solvent.handover.data import Options
from solvent.handover.data.card import SOME
from solvent.handover.data.wire import Dialling
from solvent.net.direct.shield import SHIELD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from solvent.handover.data import Fetch, Region, Store, Where
    from solvent.handover.data.wire import Line
    from solvent.handover.words import Details, Home
    from solvent.protocols.elmp.vocabulary import Claim, Data
    from solvent.protocols.machine import NodeId

_T = TypeVar("_T")
_PAUSE_SECONDS = 0.005
_end: ContextVar[float] = ContextVar("end", default=math.inf)


def within(seconds: float | None) -> None:
    """Say how long this thread or task, and what it has done by others, waits for data from now on."""
    end = math.inf if seconds is None else time.monotonic() + seconds
    if end != _end.get():
        _end.set(end)


class Job:
    """A filling that is under way, and can be stopped by another thread."""

    def __init__(self, max_seconds: float) -> None:
        self.max_seconds = max_seconds
        self.stopped = threading.Event()
        self.fetch: Fetch | None = None
        self.line: Line | None = None

    def stop(self) -> None:
        """Stop it; what has arrived stays."""
        self.stopped.set()
        fetch, line = self.fetch, self.line
        if fetch is not None:
            fetch.cancel()
        if line is not None:
            line.shut()


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


def ends_of(claim: Claim, size: int) -> tuple[int, int]:
    """Give where a claim begins and ends, in data of some size."""
    end = size if claim.length is None else min(size, claim.first + claim.length)
    return min(claim.first, end), end


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

    def is_at_hand(self, holder: NodeId) -> bool:
        """Tell whether a process is on this host."""
        home = self._home_of(holder)
        return home is not None and home.host == self._here

    def fill(self, data: Data, details: Details, claim: Claim, job: Job) -> Region:
        """Get everything that is claimed; raise `DataProblem` where that is not possible."""
        size, (start, end) = details.size, ends_of(claim, details.size)
        if claim.first >= size > 0:
            message = f"a part from byte {claim.first:,} on was claimed, and `{self._resource}` has {size:,}"
            raise Misuse("D102", message)
        home = self._home_of(data.holder)
        if home is None:
            raise DataProblem("D204", f"`{self._resource}` is at process {data.holder}, of which nothing is known here")
        is_whole = (start, end) == (0, size)
        if home.host == self._here:
            length = 0 if is_whole else end - start
            return self.patiently(lambda: self._attached(data, details, home, start, length), job)
        places = [self._where(details, one) for one in (home, *self._neighbours(home.host)) if one.data_address]
        if not places:
            raise DataProblem("D204", f"process {data.holder} does not hand `{self._resource}` to other hosts")
        rows: tuple[tuple[int, int, int], ...] = ((start, end, details.version),)
        parts = 0
        if data.has_parts:
            rows, parts = self._looked(places, start, end, job)
        for row in rows:
            region = self._fetched(places, row, details, job)
        if is_whole:
            region.reach((details.version, parts))
        return region

    def _attached(self, data: Data, details: Details, home: Home, offset: int, length: int) -> Region:
        if not data.has_parts:
            where = self._where(details, home, details.birth)
            return self._store.attach(where, offset=offset, length=length or None)
        region = self._store.region(self._resource)
        if region is None or region.birth != details.birth:
            raise DataLost("D201", f"version {details.version} of `{self._resource}` is not here: it was removed")
        region.labels(details.version, offset=offset, length=length or None)
        return region

    def _looked(
        self, places: Sequence[Where], start: int, end: int, job: Job
    ) -> tuple[tuple[tuple[int, int, int], ...], int]:
        """Ask which version each stretch has where the data is: all of its processes there say the same."""

        def watch(line: Line) -> None:
            job.line = line
            if job.stopped.is_set():
                line.shut()

        dialling = Dialling(job.max_seconds, on_line=watch)
        try:
            labels = self._store.look(places, start, end, dialling)
        finally:
            job.line = None
        return labels.rows, labels.parts

    def _fetched(self, places: Sequence[Where], row: tuple[int, int, int], details: Details, job: Job) -> Region:
        start, end, version = row
        length = 0 if (start, end) == (0, details.size) else end - start
        level = (details.version, SOME)
        options = Options(offset=start, length=length, max_seconds=job.max_seconds, level=level)
        found = [replace(one, version=version) for one in dict.fromkeys(places)]
        fetch = self._store.fetching(*found, options=options, path=self.path)
        job.fetch = fetch
        if job.stopped.is_set():
            fetch.cancel()
        try:
            return fetch.run()
        finally:
            job.fetch = None

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

    def _where(self, details: Details, home: Home, birth: int = 0) -> Where:
        where = home.where(self._resource, details.version, details.size, birth)
        return replace(where, form=details.form, keep_last=details.keep_last, copies=details.copies)


__all__ = ["Filler", "Job", "ends_of", "job_of", "stopped_by", "within"]
