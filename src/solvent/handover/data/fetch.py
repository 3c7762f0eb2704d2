"""Fetching a version from another host, right into the memory of this one.

What arrives is received into place, and is on the card piece by piece. So a fetch that broke goes on where it was: over
a new connection, from another host that has the same version, or in another process of this host if this one died. Two
processes of a host that want the same version fetch it once: the second waits, and looks again.

A fetch is a thing of its own, so that somebody can look at its progress and cancel it while it runs.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from solvent.errors import DataLost, DataProblem, Misuse
from solvent.handover.data.dialling import Dialling, Lines, Unwelcome
from solvent.handover.data.extents import NO_LEVEL, VOID, Level, part, version_of
from solvent.handover.data.kept import can_have
from solvent.handover.data.wire import MAX_PIECE_BYTES, PIECE_BYTES, Broken, Lack, Line, Want
from solvent.net.codec import Nonsense
from solvent.protocols.machine import Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.handover.data.card import Sheet
    from solvent.handover.data.region import Region
    from solvent.handover.data.where import Where
    from solvent.handover.data.writing import Writing

_T = TypeVar("_T")
_PAUSE_SECONDS = 0.02
_MAX_PAUSE_SECONDS = 1.0


class Options(Value, frozen=True, gc=False):
    """How to fetch."""

    #: After how long a silence a connection is given up.
    max_seconds: float = 10.0
    #: How often in a row a connection may break before anything has arrived.
    max_attempts: int = 6
    #: How many bytes come between two looks at whether all is well: what has come is kept if the rest does not.
    piece: int = PIECE_BYTES
    #: A stretch only; a length of 0 reaches to the end.
    offset: int = 0
    length: int = 0
    #: The level that it belongs to.
    level: Level = NO_LEVEL


class Progress(Value, frozen=True, gc=False):
    """How far a fetch has come."""

    done: int
    size: int
    #: How often a connection was lost or came to nothing.
    breaks: int = 0


class Fetch:
    """One version on its way from one host, or several that have it, to this one."""

    def __init__(
        self,
        sources: tuple[Where, ...],
        region: Callable[[], Region],
        lines: Lines,
        *,
        options: Options,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        first = sources[0]
        for one in sources[1:]:
            if (one.resource, one.version, one.size) != (first.resource, first.version, first.size):
                raise Misuse("D106", f"the places to fetch `{first.resource}` from do not have the same version of it")
        if not 0 < options.piece <= MAX_PIECE_BYTES:
            raise Misuse("D102", f"a piece has 1 to {MAX_PIECE_BYTES:,} bytes")
        start, length = options.offset, options.length
        #: The two ends of what is wanted.
        self._stretch = start, start + length if length else first.size
        self.progress = Progress(0, length or first.size)
        self._sources = list(sources)
        self._first = first
        self._region = region
        self._lines = lines
        self._options = options
        self._on_progress = on_progress
        self._line: Line | None = None
        self._failures = 0
        #: The last change by another process that was seen here, and when.
        self._seen = (-1, 0.0)
        self._is_cancelled = False
        #: Who waits a moment is woken by this.
        self._waking: threading.Event | None = None

    def cancel(self) -> None:
        """Stop it, from any thread; what has arrived stays for the next time.

        Nothing of the memory is changed afterwards, but for what was begun before and has it locked: this is looked at
        again whenever there is nobody else that writes. So others may be let in as soon as this is called.
        """
        self._is_cancelled = True
        if self._waking is not None:
            self._waking.set()
        line = self._line
        if line is not None:
            line.shut()

    def run(self) -> Region:
        """Fetch; give the memory that has the version now.

        Raises `DataLost` where nobody has it any more, and `DataProblem` where nobody can be reached.
        """
        region, stretch = self._region(), self._stretch
        # Before the first look: whoever had the turn until now may have fetched the very same.
        has_turn = region.try_turn(*stretch)
        try:
            while (missing := self._missing(region.sheet)) is not None:
                self._stop_if_cancelled()
                if not self._options.length and can_have(region.sheet, self._first.version):
                    self._act(region, partial(region.recover, self._first.version, check=self._stop_if_cancelled))
                elif not has_turn and self._is_patient(region):
                    self._pause(_PAUSE_SECONDS)
                    has_turn = region.try_turn(*stretch)
                # Also without a turn: perhaps the process that has it asks somebody that is gone.
                elif self._fill_from(self._sources[0], region, missing) and missing == stretch:
                    break
        finally:
            if has_turn:
                region.end_turn(*stretch)
        return region

    def _missing(self, sheet: Sheet) -> tuple[int, int] | None:
        """Give the first stretch that has not arrived."""
        wanted, (start, end) = self._first, self._stretch
        if sheet.size != wanted.size:
            return start, end
        row = part(sheet.extents, start, end) if sheet.size else sheet.extents
        if len(row) == 1 and row[0].version != wanted.version and not self.progress.done:
            return start, end
        others = [one for one in row if one.version != wanted.version]
        lacking = sum(one.end - one.start for one in others)
        self.progress = Progress(end - start - lacking, end - start, self.progress.breaks)
        if not others:
            return None
        start = stop = others[0].start
        for one in others:
            if one.start == stop:
                stop = one.end
        return start, stop

    def _wait_for_others(self, region: Region) -> None:
        """Wait until no other process of this host writes here; not if it has changed nothing for a long time."""
        while True:
            if not self._is_patient(region):
                raise DataProblem("D203", f"`{self._first.resource}` is being written by another process of this host")
            self._pause(_PAUSE_SECONDS)
            self._stop_if_cancelled()
            if not region.is_busy():
                return

    def _is_patient(self, region: Region) -> bool:
        """Tell whether somebody has changed something here not too long ago."""
        now, stamps = time.monotonic(), region.sheet.stamps
        if self._seen[0] != stamps:
            self._seen = (stamps, now)
        return now - self._seen[1] <= self._options.max_seconds

    def _act(self, region: Region, act: Callable[[], _T]) -> _T | None:
        """Do what needs the memory for oneself; if another process was faster, wait for it."""
        try:
            return act()
        except DataProblem as problem:
            if problem.code != "D203":
                raise
            self._wait_for_others(region)
            return None

    def _fill_from(self, source: Where, region: Region, missing: tuple[int, int]) -> bool:
        """Get what this one can give, which may be nothing; tell whether it was all that is missing."""
        try:
            dialling = Dialling(self._options.max_seconds, self._stop_if_cancelled, self._watch)
            line, is_used = self._lines.take(source, dialling)
        except Unwelcome as error:
            self._drop(DataProblem("D205", f"`{source.resource}` cannot be fetched from {source.address}: {error}"))
            return False
        except Broken as error:
            self._on_break(f"{source.address}: {error}")
            return False
        is_in_order = is_all = False
        try:
            self._watch(line)
            is_in_order, is_all = self._ask(line, source, region, missing)
        except (Broken, Nonsense) as error:
            # One that was kept from the last time may have been closed by the other side long ago.
            if not is_used or self._is_cancelled:
                self._on_break(f"{source.address}: {error}")
        finally:
            self._line = None
            if is_in_order:
                self._lines.put_back(source, line)
            else:
                line.close()
        return is_all

    def _watch(self, line: Line) -> None:
        """Note what is to be shut if somebody cancels."""
        self._line = line
        self._stop_if_cancelled()

    def _ask(self, line: Line, source: Where, region: Region, missing: tuple[int, int]) -> tuple[bool, bool]:
        """Ask for what is missing and receive it; tell whether the connection is in order, and all has come."""
        options, (start, end) = self._options, missing
        want = Want(source.resource, source.version, start, end - start, options.piece)
        line.ask(want)
        begin = partial(self._begin, region, start, end)
        # While the other side looks for it. But what this host has is not given up for something that nobody has: it
        # gets another size, or other bytes, only when there is an answer. Nor is anybody kept from it for long.
        writing = self._act(region, begin) if region.size == source.size else None
        try:
            if writing is not None and not line.is_answered_soon():
                writing.leave()
                writing = None
            answer = line.hear_answer()
            if answer != source.size:
                return self._give_up_on(source, answer), False
            writing = writing or self._act(region, begin)
            if writing is None:
                return False, False
            self._receive(line, writing)
        finally:
            if writing is not None:
                writing.leave()
        return True, True

    def _give_up_on(self, source: Where, answer: int | Lack) -> bool:
        """Ask one no more that has it not; tell whether the connection is in order: it has said so."""
        if isinstance(answer, Lack):
            kind = DataLost if answer.code in ("D201", "D202") else DataProblem
            self._drop(kind(answer.code, f"{source.address} has it not: {answer.reason}"))
            return True
        self._drop(DataLost("D201", f"{source.address} has {answer:,} bytes of it, and not {source.size:,}"))
        return False

    def _begin(self, region: Region, start: int, end: int) -> Writing | None:
        """Begin to write; unless another process, that was at it until now, has fetched the very same."""
        wanted = self._first
        if region.size != wanted.size:
            self._prepare(region, wanted.size)

        def is_needed(sheet: Sheet) -> bool:
            self._stop_if_cancelled()
            return _has_other(sheet, version=wanted.version, start=start, end=end)

        writing = region.write_if(is_needed, wanted.version, offset=start, length=end - start, is_kept=False)
        if writing is None:
            return None
        writing.level = self._options.level
        if wanted.form != region.sheet.form and not self._options.length:
            writing.describe(wanted.form)
        return writing

    def _prepare(self, region: Region, size: int) -> None:
        """Make room for a version of another size; what was there is void then, but for what is kept."""

        def is_needed(sheet: Sheet) -> bool:
            self._stop_if_cancelled()
            return sheet.size != size

        writing = region.write_if(is_needed, 0, is_kept=False)
        if writing is not None:
            with writing:
                writing.resize(size)
                writing.commit(VOID)

    def _receive(self, line: Line, writing: Writing) -> None:
        """Receive pieces into their places, and make each of them a version."""
        options, end = self._options, writing.end
        while writing.start < end:
            # What has come over the line already would be there even after it was shut.
            self._stop_if_cancelled()
            length = min(options.piece, end - writing.start)
            with writing.view[:length] as place:
                if not line.fill_piece(place):
                    raise Broken("it was written while it was sent")
            self._failures = 0
            self._note(length)
            if writing.start + length == end:
                break
            writing.commit_until(writing.start + length)
        writing.commit()

    def _note(self, length: int) -> None:
        self.progress = Progress(self.progress.done + length, self.progress.size, self.progress.breaks)
        if self._on_progress is not None:
            self._on_progress(self.progress)

    def _drop(self, problem: DataProblem) -> None:
        """Ask this one no more."""
        self._sources.pop(0)
        if not self._sources:
            raise problem

    def _on_break(self, reason: str) -> None:
        self._stop_if_cancelled()
        self._failures += 1
        self.progress = Progress(self.progress.done, self.progress.size, self.progress.breaks + 1)
        if self._failures >= self._options.max_attempts * len(self._sources):
            message = f"version {self._first.version} of `{self._first.resource}` cannot be fetched: {reason}"
            hint = "whoever has it is gone, or cannot be reached from here"
            raise DataProblem("D204", message, hint=hint)
        self._sources.append(self._sources.pop(0))
        if self._failures >= len(self._sources):
            self._pause(min(_PAUSE_SECONDS * 2**self._failures, _MAX_PAUSE_SECONDS))

    def _pause(self, seconds: float) -> None:
        if self._waking is None:
            self._waking = threading.Event()
        # Looked at after that was there to be set: whoever cancels now has either seen it or is seen.
        if not self._is_cancelled:
            self._waking.wait(seconds)

    def _stop_if_cancelled(self) -> None:
        if self._is_cancelled:
            raise DataProblem("D209", f"the fetch of `{self._first.resource}` was cancelled")


def _has_other(sheet: Sheet, *, version: int, start: int, end: int) -> bool:
    """Tell whether a stretch has something else than a version."""
    row = part(sheet.extents, start, end) if sheet.size else sheet.extents
    return sheet.size < end or version_of(row) != version


__all__ = ["Fetch", "Options", "Progress"]
