"""Data on its way between hosts: fetched from one that has it, or given to one that is to have it as well.

**Fetching.** What arrives is received into place, and is on the card piece by piece. So a fetch that broke goes on
where it was: over a new connection, from another host that has the same version, or in another process of this host if
this one died. Two processes of a host that want the same version fetch it once: the second waits, and looks again. A
fetch is a thing of its own, so that somebody can look at its progress and cancel it while it runs.

**Serving.** A thread listens, and there is one more for each that fetches. They serve whatever lies in the run's folder
of this host, also what a process has written that is not there any more: as long as one process of the run is alive on
a host, the data of that host can be had.

**Giving.** Another host takes a version before whoever wrote it lets others have it:

    giver     Offer      which version it is, which one it is a change of, and what was changed
    taker     a number   what it wants of that: nothing, since it has it, what was changed, or everything; or a Lack
    giver     the bytes
    taker     a number   it has the version now, and so many parts were changed since; or a Lack

The taker keeps what it had until it has all of the new version, so whoever dies meanwhile, a whole one is left. It has
its memory to itself from its first answer on, and nobody sends it anything after giving up. So a version that comes
late never takes the place of a newer one.

A part is taken where the data is, and counted there, as one more. A host that keeps a copy follows: it asks that one
which version each stretch has, and fetches those that it lacks. It makes a draft of each, too.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from solvent.errors import DataLost, DataProblem, Misuse, SolventError
from solvent.handover.data.card import NO_LEVEL, SOME, VOID, Level, Sheet, part, version_of
from solvent.handover.data.wire import (
    MAX_IDLE_SECONDS,
    MAX_PIECE_BYTES,
    PIECE_BYTES,
    Broken,
    Dialling,
    Follow,
    Labels,
    Lack,
    Line,
    Lines,
    Look,
    Offer,
    Unwelcome,
    Want,
    Where,
    welcome,
)
from solvent.handover.data.writing import can_have
from solvent.net.addresses import cannot_listen
from solvent.net.codec import Nonsense
from solvent.protocols.machine import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from solvent.handover.data.card import Extents
    from solvent.handover.data.region import Region
    from solvent.handover.data.writing import Writing
    from solvent.net.addresses import Address
    from solvent.net.handshake import Identity


MAX_RUNS = 1000
"""If more than so many runs of bytes were changed, everything counts as changed."""
_NOTHING, _CHANGED, _EVERYTHING = 0, 1, 2
_BYTES_A_SECOND = 100_000_000
"""So much is put into place at least, while the giver waits for it."""
_MAX_TAKE_SECONDS = 30.0
_OVERTAKEN = frozenset(("D201", "D202", "D209"))
"""What was to be fetched is something else now, there or here: it can be tried again."""


def give(offer: Offer, view: memoryview, to: Where, lines: Lines) -> int:
    """Have whoever is at a place take a version, whose bytes are in a view; raise `DataProblem` if it does not.

    Return how many parts were changed there since the version of the whole.
    """
    refusal = f"{to.address} does not take `{offer.resource}`"
    answer = _talked(lines, to, Dialling(offer.max_seconds), refusal, lambda line: _given(line, offer, view))
    if isinstance(answer, Lack):
        raise DataProblem(answer.code, f"{refusal}: {answer.reason}")
    return answer


def look(start: int, end: int, where: Where, lines: Lines, dialling: Dialling) -> Labels:
    """Ask whoever is at a place what a stretch of a version has become; raise `DataProblem` if it does not say."""
    refusal = f"{where.address} says nothing of `{where.resource}`"
    asked = Look(where.resource, where.version, start, end - start)
    answer = _talked(lines, where, dialling, refusal, lambda line: line.look(asked))
    if isinstance(answer, Lack):
        kind = DataLost if answer.code in ("D201", "D202") else DataProblem
        raise kind(answer.code, f"{refusal}: {answer.reason}")
    return answer


def _talked(lines: Lines, to: Where, dialling: Dialling, refusal: str, talk: Callable[[Line], _T]) -> _T:
    """Talk to whoever is at a place; raise `DataProblem` if that is not possible."""
    while True:
        is_used = False
        try:
            line, is_used = lines.take(to, dialling)
            try:
                dialling.on_line(line)
                answer = talk(line)
            except BaseException:
                line.close()
                raise
        except Unwelcome as error:
            raise DataProblem("D205", f"{refusal}: {error}") from error
        except (Broken, Nonsense) as error:
            if is_used:
                # It was kept from the last time, and may have been closed by the other side long ago.
                continue
            raise DataProblem("D204", f"{refusal}: {error}") from error
        lines.put_back(to, line)
        return answer


def _given(line: Line, offer: Offer, view: memoryview) -> int | Lack:
    """Send what is wanted of it, and hear what became of that."""
    line.wait_at_most(offer.max_seconds + offer.size / _BYTES_A_SECOND)
    answer = line.offer(offer)
    if isinstance(answer, Lack):
        return answer
    runs = [] if answer == _NOTHING else list(_pieces(offer, is_changed=answer == _CHANGED))
    for number, (first, last) in enumerate(runs, 1):
        with view[first - offer.offset : last - offer.offset] as piece:
            line.send(piece, is_more_to_come=number < len(runs))
    return line.hear_answer()


def _pieces(offer: Offer, *, is_changed: bool) -> Iterable[tuple[int, int]]:
    """Give what is sent: what was changed, or everything."""
    for first, last in offer.runs or () if is_changed else (_stretch(offer),):
        for start in range(first, last, PIECE_BYTES):
            yield start, min(start + PIECE_BYTES, last)


def _stretch(offer: Offer) -> tuple[int, int]:
    return offer.offset, offer.offset + (offer.length or offer.size)


def take(line: Line, offer: Offer, room: Callable[[Where], Region], is_current: Callable[[int], bool]) -> None:
    """Take what is offered, and say so, or why not: who offers it may not have heard that the others went on."""
    line.wait_at_most(min(offer.max_seconds, _MAX_TAKE_SECONDS))
    try:
        if not is_current(offer.epoch):
            raise _other_epoch(offer)
        region = room(_where(offer))
        writing, wanted = _begun(offer, region)
    except SolventError as error:
        line.say_lack(Lack(error.code, error.message))
        return
    try:
        line.say_size(wanted)
        if writing is not None:
            for first, last in _pieces(offer, is_changed=wanted == _CHANGED):
                with writing.view[first - writing.start : last - writing.start] as place:
                    line.fill(place)
            writing.commit()
    except SolventError as error:
        line.say_lack(Lack(error.code, error.message))
        return
    finally:
        if writing is not None:
            with suppress(SolventError):
                writing.abandon()
    parts = region.sheet.level[1] if writing is None else writing.reached[1]
    line.say_size(max(0, parts))


def follow(ask: Follow, to: Where, lines: Lines) -> int:
    """Have whoever is at a place catch up with a host that has everything; return how many parts it has then."""
    refusal = f"{to.address} does not follow `{ask.resource}`"

    def talk(line: Line) -> int | Lack:
        line.wait_at_most(ask.max_seconds + ask.size / _BYTES_A_SECOND)
        line.ask(ask)
        answer = line.hear_answer()
        if not isinstance(answer, Lack):
            # Nothing has moved since it has looked: the claim is still held.
            line.say_size(_NOTHING)
            answer = line.hear_answer()
        return answer

    answer = _talked(lines, to, Dialling(ask.max_seconds), refusal, talk)
    if isinstance(answer, Lack):
        raise DataProblem(answer.code, f"{refusal}: {answer.reason}")
    return answer


def catch_up(ask: Follow, region: Region, lines: Lines, go_on: Callable[[], None]) -> int:
    """Fetch what is not here of a version; return how many parts were changed that are here then.

    Whoever wants that holds a claim, so the data stays where it is; `go_on` makes sure that it still does, when it is
    known what is there. A stretch that is changed here from then on is newer, and stays.
    """
    region.fence(ask.epoch)
    sheet = region.sheet
    if ask.is_near and (sheet.level[0] != ask.version or sheet.level[1] < 0):
        raise DataProblem("D201", f"not everything of version {ask.version} of `{ask.resource}` is here")
    places = [replace(_where(ask), address=address, token=token) for address, token in ask.places]
    labels = look_at(places, 0, ask.size, lines, Dialling(ask.max_seconds))
    go_on()
    for start, end, version in labels.rows:
        options = Options(
            offset=start,
            length=0 if (start, end) == (0, ask.size) else end - start,
            max_seconds=ask.max_seconds,
            level=(ask.version, SOME),
            before=sheet,
        )
        fetch = Fetch(tuple(replace(one, version=version) for one in places), lambda: region, lines, options=options)
        try:
            fetch.run()
        except DataProblem as problem:
            if problem.code not in _OVERTAKEN:
                raise
            raise DataProblem("D203", f"another part was changed meanwhile: {problem.message}") from problem
    region.reach((ask.version, labels.parts))
    return labels.parts


def look_at(places: Sequence[Where], start: int, end: int, lines: Lines, dialling: Dialling) -> Labels:
    """Ask what a stretch has become: all processes of a host say the same."""
    *others, last = dict.fromkeys(places)
    for place in others:
        try:
            return look(start, end, place, lines, dialling)
        except DataProblem:
            dialling.go_on()
    return look(start, end, last, lines, dialling)


def _other_epoch(wanted: Offer | Follow) -> DataProblem:
    return DataProblem("D203", f"`{wanted.resource}` is in another epoch than {wanted.epoch} here")


def _not_whole(offer: Offer) -> DataProblem:
    return DataProblem("D201", f"not everything of version {offer.level[0]} of `{offer.resource}` is here")


def _begun(offer: Offer, region: Region) -> tuple[Writing | None, int]:
    """Begin to write it, unless it is here; say what is wanted of it."""
    start, end = _stretch(offer)
    if not 0 <= start <= end <= offer.size or any(not start <= first < last <= end for first, last in offer.runs or ()):
        raise Misuse("D102", f"{start} to {end} is no stretch of `{offer.resource}`, or not what was changed of it")
    region.fence(offer.epoch)
    had = set[int | None]()

    def is_needed(sheet: Sheet) -> bool:
        if sheet.size == offer.size:
            row = part(sheet.extents, start, end) if sheet.size else sheet.extents
            had.add(version_of(row))
        return offer.version not in had

    version, parts = region.sheet.level
    if offer.length and (version != offer.level[0] or parts < 0 or region.size != offer.size):
        raise _not_whole(offer)
    writing = region.write_if(is_needed, offer.version, offset=start, length=offer.length or None)
    if writing is None:
        return None, _NOTHING
    try:
        writing.level = offer.level
        writing.epoch = lambda: offer.epoch
        if writing.is_whole and writing.end != offer.size:
            writing.resize(offer.size)
        if writing.is_whole and writing.form != offer.form:
            writing.describe(offer.form)
    except BaseException:
        writing.abandon()
        raise
    return writing, _CHANGED if offer.runs is not None and offer.base in had else _EVERYTHING


def _where(offer: Offer | Follow) -> Where:
    """Say what memory is to be made for it, if there is none."""
    return Where(
        resource=offer.resource,
        version=offer.version,
        size=offer.size,
        host="",
        segment="",
        birth=0,
        form=offer.form,
        keep_last=True,
        copies=offer.copies,
    )


MAX_CONNECTIONS = 256
_MAX_HANDSHAKE_SECONDS = 5.0
_MAX_SEND_SECONDS = 30.0
_MAX_CLOSE_SECONDS = 5.0


class Server:
    """Hands data to those that fetch it, until it is closed."""

    def __init__(
        self,
        address: Address,
        identity: Identity,
        find: Callable[[str], Region | None],
        room: Callable[[Where], Region],
        is_current: Callable[[int], bool],
        *,
        lines: Lines,
    ) -> None:
        """Hand out what `find` finds, and take what is offered in this epoch into the memory that `room` gives."""
        self._lines_to_others = lines
        host, port = address
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            self._listening = socket.create_server((host, port), family=family, backlog=64)
        except (OSError, OverflowError) as error:
            raise cannot_listen(address, error) from error
        self.address: Address = self._listening.getsockname()[:2]
        self._identity = identity
        self._find = find
        self._room = room
        self._is_current = is_current
        self._guard = threading.Lock()
        self._lines = dict[Line, threading.Thread]()
        self._is_closed = False
        self._thread = threading.Thread(target=self._listen, name="solvent-data", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening, and end what is being sent."""
        with self._guard:
            self._is_closed = True
            lines = dict(self._lines)
        # Closing a socket does not wake a thread that waits for it; shutting it down does.
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for line in lines:
            line.shut()
        # The memory must not be closed under their feet.
        for thread in (self._thread, *lines.values()):
            thread.join(_MAX_CLOSE_SECONDS)

    def abandon(self) -> None:
        """Close what a copy of this process has of it, without a word to those that are connected."""
        self._listening.close()
        for line in self._lines:
            line.close()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                if self._is_closed or self._listening.fileno() < 0:
                    return
                continue
            with self._guard:
                is_full = self._is_closed or len(self._lines) >= MAX_CONNECTIONS
                if not is_full:
                    with suppress(OSError):
                        line = Line(connection, max_seconds=_MAX_SEND_SECONDS)
                        thread = threading.Thread(target=self._talk, args=(line,), name="solvent-data", daemon=True)
                        self._lines[line] = thread
                        thread.start()
                        continue
            connection.close()

    def _talk(self, line: Line) -> None:
        try:
            line.wait_at_most(_MAX_HANDSHAKE_SECONDS)
            if welcome(line, self._identity):
                while True:
                    line.wait_at_most(2 * MAX_IDLE_SECONDS)
                    wanted = line.hear_want()
                    if isinstance(wanted, Offer):
                        take(line, wanted, self._room, self._is_current)
                    elif isinstance(wanted, Look):
                        self._tell(line, wanted)
                    elif isinstance(wanted, Follow):
                        self._follow(line, wanted)
                    else:
                        self._serve(line, wanted)
        except (Broken, Nonsense):
            # Whoever fetched knows best whether that was meant; it asks again if not.
            return
        finally:
            with self._guard:
                self._lines.pop(line, None)
            line.close()

    def _follow(self, line: Line, ask: Follow) -> None:
        line.wait_at_most(min(ask.max_seconds, _MAX_TAKE_SECONDS))

        def go_on() -> None:
            line.say_size(_NOTHING)
            line.hear_answer()

        try:
            if not self._is_current(ask.epoch):
                raise _other_epoch(ask)
            parts = catch_up(ask, self._room(_where(ask)), self._lines_to_others, go_on)
        except SolventError as error:
            line.say_lack(Lack(error.code, error.message))
            return
        line.say_size(parts)

    def _tell(self, line: Line, look: Look) -> None:
        try:
            region = self._find(look.resource)
            if region is None:
                raise DataLost("D201", f"`{look.resource}` is not here")
            row, parts = region.labels(look.version, offset=look.offset, length=look.length)
        except SolventError as error:
            line.say_lack(Lack(error.code, error.message))
            return
        line.say_labels(Labels(tuple((one.start, one.end, one.version) for one in row), parts))

    def _serve(self, line: Line, want: Want) -> None:
        piece = want.piece
        try:
            if not 0 < piece <= MAX_PIECE_BYTES:
                raise Misuse("D102", f"{piece} bytes are no piece")
            region = self._find(want.resource)
            if region is None:
                raise DataLost("D201", f"`{want.resource}` is not here")
            # Whoever asks is to go on with it, since a process of this host that was to do so has died.
            sheet = region.mend(want.version, offset=want.offset, length=want.length)
            if want.offset + want.length > sheet.size:
                raise DataLost("D201", f"`{want.resource}` has {sheet.size:,} bytes, and more of it are asked for")
            if version_of(sheet.extents) != want.version:
                region.check(want.version, offset=want.offset, length=want.length)
            view = region.look(offset=want.offset, length=want.length)
        except SolventError as error:
            line.say_lack(Lack(error.code, error.message))
            return
        if not len(view):
            line.say_size(sheet.size)
        is_still = partial(_is_still, region, want, sheet)
        with view:
            for start in range(0, len(view), piece):
                size = None if start else sheet.size
                with view[start : start + piece] as stretch:
                    if not line.send_piece(stretch, size=size, is_still=is_still):
                        return


def _is_still(region: Region, want: Want, before: Sheet) -> bool:
    """Look again whether a stretch is what it was before it was sent."""
    try:
        now = region.sheet
    except SolventError:
        return False
    end = want.offset + want.length
    # Mostly nobody has written anything at all.
    return now is before or (
        end <= now.size and part(now.extents, want.offset, end) == part(before.extents, want.offset, end)
    )


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
    #: What the card said before somebody looked what is elsewhere: a stretch that has changed since is newer. What is
    #: there is kept until all of the stretch has arrived.
    before: Sheet | None = None


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
            before = self._options.before
            if before is not None and before.size == sheet.size == wanted.size and _cut(before) != _cut(sheet):
                raise DataProblem("D209", f"`{wanted.resource}` was changed here meanwhile")
            return _has_other(sheet, version=wanted.version, start=start, end=end)

        def _cut(sheet: Sheet) -> Extents:
            return part(sheet.extents, start, end) if end else sheet.extents

        is_kept = self._options.before is not None
        writing = region.write_if(is_needed, wanted.version, offset=start, length=end - start, is_kept=is_kept)
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
        options, start, end = self._options, writing.start, writing.end
        while start < end:
            # What has come over the line already would be there even after it was shut.
            self._stop_if_cancelled()
            length = min(options.piece, end - start)
            with writing.view[start - writing.start : start - writing.start + length] as place:
                if not line.fill_piece(place):
                    raise Broken("it was written while it was sent")
            self._failures = 0
            self._note(length)
            start += length
            if start < end and options.before is None:
                writing.commit_until(start)
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


__all__ = [
    "MAX_CONNECTIONS",
    "MAX_RUNS",
    "Fetch",
    "Options",
    "Progress",
    "Server",
    "catch_up",
    "follow",
    "give",
    "look_at",
    "take",
]
