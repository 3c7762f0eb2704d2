"""The card of a resource's memory on one host: what is in it, for all processes that have it.

The bytes themselves lie in a file of their own, without anything before them; the card says how many they are and
which version each stretch of them has. It is a small file, mapped by everybody, with room for two *sheets*:

    0     magic
    8     number of the last change, n
    16    number of the last repair: who has not heard of it makes no version
    24    number of the last repair that has looked what is here: who has not heard of it changes no part
    4096  sheet of the even changes: its number, length, checksum, then the sheet itself
    ...   sheet of the odd changes
    ...   room for a few changes of the data, see `writing`
    ...   what of the two sheets does not fit: where the data is in many pieces, see `_far`

Change n + 1 is written over the sheet of n - 1, and then the number is set, which is one store of eight aligned bytes.
A process killed anywhere in between leaves sheet n as it was. So one that changes the card needs a lock against others
that do, but those that read it need none; a reader that is overtaken by two changes sees a wrong number or checksum and
looks again.

*Extents* say which version each stretch of a resource has: a row of them, without gaps, in order. Nearly always there
is one extent, the whole resource. There are more of them while a version is being fetched (what has arrived, and the
rest), and where processes write different stretches at the same time.

A version is a number from zero, and never names two different contents: that is promised by whoever gives the numbers.
Each change of an extent also gives it a new *stamp*, so that somebody who has looked before and looks again sees that
it was written in between, even if it has the same version again.

Parts that were changed have numbers of their own, so a row does not tell whether all of it belongs together. The
*level* of a memory does: of which version of the whole it has everything, and how many parts were changed since.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
import time
import zlib
from bisect import bisect_left, bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec.structs import replace

from solvent.errors import DataProblem, Misuse
from solvent.handover.data.locks import give_first_byte, is_locked, take_first_byte, try_lock, unlock
from solvent.handover.data.opening import opening
from solvent.protocols.machine import Value
from solvent.values.encoding import encoder
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


Level: TypeAlias = tuple[int, int]
"""The newest version of the whole of which anything is here; and how many parts were changed since, or one of these."""
NO_LEVEL: Level = (-1, -1)
SOME = -1
"""Instead of a number of parts: not everything of that version is here, as far as is known."""
ANOTHER = -2
"""Instead of a number of parts: one more than there were."""
VOID = -1
"""The version of what was never filled."""
UNDER_WAY = -2
"""The version of what is being written. It stays, if the process that writes dies: the stretch is torn."""


class Extent(Value, frozen=True, gc=False, array_like=True):
    """A stretch of a resource, from `start` to before `end`."""

    start: int
    end: int
    version: int
    stamp: int


Extents: TypeAlias = tuple[Extent, ...]
_start_of, _end_of = attrgetter("start"), attrgetter("end")


def whole(size: int, version: int, stamp: int) -> Extents:
    """Make the row of a resource that is the same everywhere."""
    return (Extent(0, size, version, stamp),)


def raised(level: Level, to: Level) -> Level:
    """Return the level of a memory when something was written that belongs to another level."""
    version, parts = to
    if version < level[0] or to == NO_LEVEL:
        return level
    if parts >= 0:
        return to
    if version > level[0]:
        return version, SOME
    return (version, level[1] + 1) if parts == ANOTHER and level[1] >= 0 else level


def part(extents: Extents, start: int, end: int) -> Extents:
    """Cut out what lies between two places."""
    if len(extents) == 1 and extents[0].start == start and extents[0].end == end:
        return extents
    if start >= end:
        return ()
    # There may be thousands, and only those at the two ends have to be looked at.
    row = extents[bisect_right(extents, start, key=_end_of) : bisect_left(extents, end, key=_start_of)]
    if row and row[0].start < start:
        row = (replace(row[0], start=start), *row[1:])
    if row and row[-1].end > end:
        row = (*row[:-1], replace(row[-1], end=end))
    return row


def marked(extents: Extents, changed: Extent) -> Extents:
    """Give a stretch another version."""
    start, end, size = changed.start, changed.end, extents[-1].end
    if start == 0 and end == size:
        return (changed,)
    assert 0 <= start < end <= size
    first = max(bisect_right(extents, start, key=_end_of) - 1, 0)
    last = bisect_left(extents, end, key=_start_of) + 1
    around = extents[first:last]
    changes = _joined((*part(around, around[0].start, start), changed, *part(around, end, around[-1].end)))
    return (*extents[:first], *changes, *extents[last:])


def resized(extents: Extents, size: int) -> Extents:
    """Cut a row, or lengthen it by something void."""
    end = extents[-1].end
    if size <= end:
        return part(extents, 0, size) if size else whole(0, extents[0].version, extents[0].stamp)
    kept = extents if end else ()
    return _joined((*kept, Extent(end, size, VOID, 0)))


def version_of(extents: Extents) -> int | None:
    """Give the version that all of a row has, or none."""
    version = extents[0].version
    if len(extents) == 1:
        return version
    return version if all(one.version == version for one in extents) else None


def first_other(extents: Extents, version: int) -> Extent | None:
    """Give the first stretch that has another version, or none."""
    return next((one for one in extents if one.version != version), None)


def _joined(extents: Extents) -> Extents:
    row = list[Extent]()
    for one in extents:
        if row and row[-1].version == one.version:
            last = row.pop()
            one = Extent(last.start, one.end, one.version, max(last.stamp, one.stamp))  # noqa: PLW2901
        row.append(one)
    return tuple(row)


_MAGIC = b"SOLVENT1"
_HEAD = struct.Struct("=QII")
_FIRST = 4096
_SHEET_BYTES = 16 * 1024
_ROOM = _FIRST + 2 * _SHEET_BYTES
ROOM_BYTES = 16 * 1024
_CARD_BYTES = _ROOM + ROOM_BYTES
_BODY_BYTES = _SHEET_BYTES - _HEAD.size
_FAR_BYTES = 16 * 1024 * 1024
MAX_PIECES = 100_000
"""In how many pieces data may be when somebody begins to write another part of it: then there is always room."""
_MAX_LOOKS = 200
#: Locks on stretches of the data are locks on the card, from here on: the data may lie in a file of the user's.
_STRETCHES = 1 << 61
#: And from here on, those that are being fetched.
_FETCHED = 1 << 20
TO_THE_END = 0
"""The length of a stretch that ends where the data ends, even if that changes."""


class Fenced(DataProblem):
    """Who makes a version has not heard of the last epoch."""


class Redo(Value, frozen=True, gc=False, array_like=True):
    """A stretch that is a version as soon as what was noted down is done to it; see `writing`."""

    start: int
    end: int
    #: How many bytes the resource has then.
    size: int
    version: int
    #: What the bytes are then; nothing if that stays as it is.
    form: str | None = None
    #: The runs of bytes that are noted down on the card; none if they are in a file.
    runs: tuple[tuple[int, int], ...] | None = None
    level: Level = NO_LEVEL


class Sheet(Value, frozen=True, gc=False, forbid_unknown_fields=True):
    """What a card says."""

    resource: str
    #: Another number for each memory that was made, so that one that was made anew is not taken for the old one.
    birth: int
    size: int
    extents: Extents
    level: Level = NO_LEVEL
    #: How far somebody who is to change the size has asked for room, or did when it died; 0 if nobody has.
    reach: int = 0
    #: The number of the last stamp.
    stamps: int = 0
    #: Whether what is going to be overwritten is copied first, and what of it is kept now.
    keep_last: bool = False
    kept: Extents = ()
    #: How many hosts are to have a version before others get it; whoever writes one sees to that.
    copies: int = 1
    redo: tuple[Redo, ...] = ()
    #: How many versions in a row, as far as is known, changed a large part of the bytes.
    heavy: int = 0
    #: What the bytes are, for those that read them: opaque here.
    form: str = ""
    #: The file of the user's that has the bytes; if empty, they are beside the card.
    path: str = ""
    #: How often the memory was moved to other files.
    moves: int = 0
    is_removed: bool = False


_encode = encoder()
_decode = msgspec.msgpack.Decoder(Sheet).decode


class Card:
    """A card that is open in this process."""

    def __init__(self, path: Path, *, is_new: bool = False) -> None:
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        with opening():
            self._file = os.open(path, flags | (os.O_CREAT | os.O_EXCL if is_new else 0), 0o600)
        self._changing = threading.Lock()
        self._known: tuple[int, Sheet] | None = None
        self._touched = 0.0
        try:
            if is_new:
                os.posix_fallocate(self._file, 0, _CARD_BYTES)
            # A file that its maker did not live to lengthen cannot be mapped.
            with opening():
                self._map = mmap.mmap(self._file, _CARD_BYTES)
        except ValueError as error:
            os.close(self._file)
            raise DataProblem("D206", f"the card `{path.name}` was never finished") from error
        except BaseException:
            os.close(self._file)
            raise
        self._numbers = memoryview(self._map)[:32].cast("Q")

    def close(self) -> None:
        """Let go of it, and of all locks; other threads that use it are told."""
        with self._changing:
            self.abandon()

    def abandon(self) -> None:
        """Do the same in a copy of the process, where a thread that is not there may have the guard."""
        if self._file >= 0:
            self._numbers.release()
            self._map.close()
            os.close(self._file)
            self._file = -1

    def is_finished(self) -> bool:
        """Tell whether its first sheet was ever written."""
        return self._map[: len(_MAGIC)] == _MAGIC and self._numbers[1] > 0

    def sheet(self) -> Sheet:
        """Read it."""
        try:
            number = self._numbers[1]
            if self._known is not None and self._known[0] == number:
                return self._known[1]
            return self._read()
        except ValueError as error:
            # A map and its views refuse everything when they have been closed.
            raise _closed() from error

    def _read(self) -> Sheet:
        for look in range(_MAX_LOOKS):
            number = self._numbers[1]
            place = _FIRST + (number & 1) * _SHEET_BYTES
            own, length, checksum = _HEAD.unpack_from(self._map, place)
            place += _HEAD.size
            is_far = length > _BODY_BYTES
            body = self._far_body(number, length) if is_far else self._map[place : place + length]
            if own == number and zlib.crc32(body) == checksum:
                try:
                    sheet: Sheet = _decode(body)
                except UNREADABLE:
                    break
                self._known = (number, sheet)
                return sheet
            time.sleep(0.00001 * look)
        raise DataProblem("D206", "a card of shared memory is damaged", hint="remove the resource, and make it anew")

    def change(
        self, how: Callable[[Sheet], Sheet], *, is_alone: bool = False, epoch: int | None = None, is_part: bool = False
    ) -> Sheet:
        """Change it, so that nobody ever sees anything but the old sheet or the new one.

        Who has taken all of the data is alone with the card, too, and need not wait for others that change it. With an
        epoch, raise `Fenced` if a later one is on the card; of a part, also if a later repair has looked here.
        """
        with self._changing:
            self._go_on()
            if is_alone and epoch is None:
                return self._replace(how)
            take_first_byte(self._file)
            try:
                if epoch is not None and epoch < max(self._numbers[2], self._numbers[3] if is_part else 0):
                    raise self._fenced()
                return self._replace(how)
            finally:
                give_first_byte(self._file)

    def _fenced(self) -> Fenced:
        message = f"the others share `{self.sheet().resource}` in an epoch that this process is not in"
        return Fenced("D203", message)

    @property
    def epoch(self) -> int:
        """The last epoch that `fence` has told it of."""
        return self._numbers[2]

    @property
    def barred(self) -> int:
        """The last epoch that `bar` has told it of."""
        return self._numbers[3]

    def fence(self, epoch: int) -> None:
        """Let nobody make a version who has not heard of an epoch; who is making one just now is waited for.

        Raises `Fenced` if a later one is on the card.
        """
        with self._changing:
            self._go_on()
            if self._numbers[2] > epoch:
                raise self._fenced()
            if self._numbers[2] < epoch:
                take_first_byte(self._file)
                self._numbers[2] = max(self._numbers[2], epoch)
                give_first_byte(self._file)

    def bar(self, epoch: int) -> None:
        """Let nobody change a part here any more who has not heard of an epoch that is about to begin."""
        with self._changing:
            self._go_on()
            take_first_byte(self._file)
            self._numbers[3] = max(self._numbers[3], epoch)
            give_first_byte(self._file)

    def forget_epoch(self) -> None:
        """Forget the epoch of an earlier run, of which nobody is there any more."""
        with self._changing:
            self._go_on()
            self._numbers[2] = self._numbers[3] = 0

    def _replace(self, how: Callable[[Sheet], Sheet]) -> Sheet:
        old = self.sheet()
        new = how(old)
        if new is not old:
            self._write(new)
            self._touch()
        return new

    def note(self, data: bytes) -> None:
        """Note down changes of the data, for who has taken all of it."""
        with self._changing:
            self._go_on()
            self._map[_ROOM : _ROOM + len(data)] = data

    def room(self, length: int) -> bytes:
        """Give what was noted down."""
        with self._changing:
            self._go_on()
            return self._map[_ROOM : _ROOM + length]

    def begin(self, sheet: Sheet) -> None:
        """Write the first sheet; whoever made the card sees to it that nobody else does."""
        self._map[: len(_MAGIC)] = _MAGIC
        self._write(sheet)

    def try_take(self, start: int, length: int) -> bool:
        """Take a stretch of the data for this process, until it is given back or the process dies."""
        with self._changing:
            self._go_on()
            return try_lock(self._file, _STRETCHES + start, length)

    def give_back(self, start: int, length: int) -> None:
        """Let others take a stretch."""
        with self._changing:
            if self._file >= 0:
                unlock(self._file, _STRETCHES + start, length)

    def try_turn(self, start: int, end: int) -> bool:
        """Take the turn to fetch a stretch, which keeps nobody from writing it."""
        with self._changing:
            self._go_on()
            return try_lock(self._file, _FETCHED + start, max(1, end - start))

    def end_turn(self, start: int, end: int) -> None:
        """Let others fetch a stretch."""
        with self._changing:
            if self._file >= 0:
                unlock(self._file, _FETCHED + start, max(1, end - start))

    def is_taken(self, start: int, length: int) -> bool:
        """Tell whether a living process has taken a part of a stretch."""
        with self._changing:
            self._go_on()
            return is_locked(self._file, _STRETCHES + start, length)

    def _go_on(self) -> None:
        if self._file < 0:
            raise _closed()

    def _touch(self) -> None:
        """Give the file a new time now and then, which writing to its mapping does not do."""
        now = time.monotonic()
        if now - self._touched > 1.0:
            self._touched = now
            os.utime(self._file)

    def _write(self, sheet: Sheet) -> None:
        body = _encode(sheet)
        number = self._numbers[1] + 1
        place = _FIRST + (number & 1) * _SHEET_BYTES
        record = _HEAD.pack(number, len(body), zlib.crc32(body))
        if len(body) > _BODY_BYTES:
            self._put_far(number, sheet, body)
        else:
            record += body
        self._map[place : place + len(record)] = record
        self._numbers[1] = number
        self._known = (number, sheet)

    def _put_far(self, number: int, sheet: Sheet, body: bytes) -> None:
        """Write a long sheet, where nothing is mapped: a full memory is an error then, and no signal."""
        if len(body) > _FAR_BYTES:
            raise too_many_pieces(sheet)
        place, done = _far(number), 0
        try:
            while done < len(body):
                done += os.pwrite(self._file, body[done:], place + done)
        except OSError as error:
            raise DataProblem(
                "D211", f"there is no room for the card of `{sheet.resource}`: {error.strerror}"
            ) from error

    def _far_body(self, number: int, length: int) -> bytes:
        # What is read while it is written may be of any length; its checksum is wrong then.
        try:
            return os.pread(self._file, min(length, _FAR_BYTES), _far(number))
        except OSError as error:
            raise _closed() from error


def _far(number: int) -> int:
    """Give the place of a long sheet. Nobody asks for memory there before the first of them is written."""
    return _CARD_BYTES + (number & 1) * _FAR_BYTES


def too_many_pieces(sheet: Sheet) -> DataProblem:
    """Say that there is no room for another piece."""
    hint = "claim the whole once: then it is in one piece again; or write longer parts"
    return DataProblem("D207", f"`{sheet.resource}` is in too many pieces of different versions", hint=hint)


def _closed() -> Misuse:
    return Misuse("D103", "this memory was let go of")


__all__ = [
    "ANOTHER",
    "MAX_PIECES",
    "NO_LEVEL",
    "ROOM_BYTES",
    "SOME",
    "TO_THE_END",
    "UNDER_WAY",
    "VOID",
    "Card",
    "Extent",
    "Extents",
    "Fenced",
    "Level",
    "Redo",
    "Sheet",
    "first_other",
    "marked",
    "part",
    "raised",
    "resized",
    "too_many_pieces",
    "version_of",
    "whole",
]
