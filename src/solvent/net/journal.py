"""What a node must not forget: an append-only file of records, given back to it after a crash.

The file begins with a mark; then come frames, each a length, a checksum (CRC-32), a kind and msgpack: a record that
the machine saved, or the number of the life that begins there. A process that dies while it writes leaves a torn
frame at the end; it is cut off when the file is opened again, and a note says so. Damage before the end is something
else: a disk or a person changed what was saved, and going on would forget what others rely on; that is an error.

`append` only takes note. `commit` writes everything noted with one call: the host does it once for a burst of steps,
before anything that follows is said. What is written survives the death of the process; only with `fsync=True` it
also survives the loss of power, at the price of a disk's pause for each burst.

One process at a time may have a journal open.
"""

from __future__ import annotations

import fcntl
import os
import struct
import zlib
from typing import TYPE_CHECKING, Any, Protocol, Self

import msgspec

from solvent.errors import NodeProblem
from solvent.values.encoding import encoder
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MARK = b"SOLVENT\x01"
_HEAD = struct.Struct("!IIB")
# Never zero: blocks of zeros, which a loss of power may leave, must not look like frames.
_LIFE, _RECORD = 1, 2
MAX_RECORD_BYTES = 64 * 1024 * 1024


class Keeps(Protocol):
    """What the host asks of a journal, wherever it is kept; see `Journal`."""

    life: int
    saved: tuple[Any, ...]

    @property
    def is_open(self) -> bool:
        """Whether it has been read, and can be written to."""

    @property
    def is_pending(self) -> bool:
        """Whether something is noted and not yet written."""

    def open(self) -> Any:
        """Read what was saved, and begin a new life."""

    def append(self, record: Any) -> None:
        """Take note of a record."""

    def commit(self) -> None:
        """Write everything noted; what follows is said only when this has returned."""

    def close(self) -> None:
        """Write what is noted, and let go."""


class Journal:
    """The journal of one node.

    `record_type` is what the machine saves, a type or a union that msgspec can decode. After `open`, `life` is the
    number of the life that begins (0 at first), `saved` the records of all lives before, `notes` what was repaired.
    """

    def __init__(self, path: Path, record_type: Any = Any, *, fsync: bool = False) -> None:
        self._path = path
        self._decode = msgspec.msgpack.Decoder(record_type).decode
        self._encode = encoder()
        self._fsync = fsync
        self._file = -1
        self._noted = list[bytes]()
        self.life = 0
        self.saved: tuple[Any, ...] = ()
        self.notes: tuple[str, ...] = ()

    def open(self) -> Self:
        """Read what was saved, repair the end, and begin a new life."""
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise NodeProblem("N110", f"cannot open the journal {self._path}: {error.strerror or error}") from error
        try:
            self._lock()
            self._recover()
        except BaseException:
            self.close()
            raise
        return self

    def append(self, record: Any) -> None:
        """Take note of a record, to be written by the next `commit`."""
        self._noted.append(_frame(_RECORD, self._encode(record)))

    @property
    def is_open(self) -> bool:
        """Whether it has been read, and can be written to."""
        return self._file >= 0

    @property
    def is_pending(self) -> bool:
        """Whether something is noted and not yet written."""
        return bool(self._noted)

    def commit(self) -> None:
        """Write everything noted; when this returns, it is safe."""
        if self._noted:
            data = b"".join(self._noted)
            self._noted.clear()
            self._write(data)

    def close(self) -> None:
        """Write what is noted, and let go of the file."""
        if self._file >= 0:
            try:
                self.commit()
            finally:
                os.close(self._file)
                self._file = -1

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            hint = "another process runs this node; stop it first"
            raise NodeProblem("N111", f"the journal {self._path} is in use", hint=hint) from error

    def _recover(self) -> None:
        with open(self._file, "rb", closefd=False) as file:
            file.seek(0)
            data = file.read()
        if MARK.startswith(data[: len(MARK)]) and len(data) < len(MARK):
            # New, or its first process died before it had written the mark.
            os.ftruncate(self._file, 0)
            self._write(MARK + _frame(_LIFE, self._encode(0)))
            self._sync_folder()
            return
        if not data.startswith(MARK):
            raise NodeProblem("N112", f"{self._path} is no journal", hint="give the path of another file")
        saved, life, end = self._read(data)
        if end < len(data):
            self._cut(data, end)
        self.saved, self.life = tuple(saved), life + 1
        self._write(_frame(_LIFE, self._encode(self.life)))

    def _read(self, data: bytes) -> tuple[list[Any], int, int]:
        """Give the records, the last life, and where the good part ends."""
        saved, life, end = list[Any](), -1, len(MARK)
        for kind, body, stop in _frames(data, end):
            try:
                if kind == _LIFE:
                    life = msgspec.msgpack.decode(body, type=int)
                else:
                    saved.append(self._decode(body))
            except UNREADABLE as error:
                hint = "it was written by another protocol, or by another version of it"
                said = f"the journal {self._path} holds a record that does not fit, at byte {end}: {error}"
                raise NodeProblem("N113", said, hint=hint) from error
            end = stop
        return saved, life, end

    def _cut(self, data: bytes, end: int) -> None:
        """Remove a torn end; refuse a file with good frames behind the bad place."""
        if _is_followed(data, end):
            hint = "what comes after is whole, so this is no torn end; restore the file, or start without it"
            raise NodeProblem("N114", f"the journal {self._path} is damaged at byte {end}", hint=hint)
        os.ftruncate(self._file, end)
        self.notes = (f"{self._path}: {len(data) - end} bytes of an unfinished record were cut off",)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._file, view) :]
            if self._fsync:
                os.fdatasync(self._file)
        except OSError as error:
            raise NodeProblem("N115", f"cannot write {self._path}: {error.strerror or error}") from error

    def _sync_folder(self) -> None:
        if self._fsync:
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def _frame(kind: int, body: bytes) -> bytes:
    if len(body) > MAX_RECORD_BYTES:
        raise NodeProblem("N116", f"a record of {len(body)} bytes is too large to be saved")
    return _HEAD.pack(len(body), zlib.crc32(body, kind), kind) + body


def _frames(data: bytes, start: int) -> Iterator[tuple[int, memoryview, int]]:
    """Give the frames from a place on, until one is not whole: kind, body and where it ends."""
    view = memoryview(data)
    while start + _HEAD.size <= len(data):
        length, checksum, kind = _HEAD.unpack_from(data, start)
        stop = start + _HEAD.size + length
        if stop > len(data) or kind not in (_LIFE, _RECORD):
            return
        body = view[start + _HEAD.size : stop]
        if zlib.crc32(body, kind) != checksum:
            return
        yield kind, body, stop
        start = stop


def _is_followed(data: bytes, bad: int) -> bool:
    """Whether a whole frame begins where the bad one says that it ends."""
    if bad + _HEAD.size > len(data):
        return False
    length = _HEAD.unpack_from(data, bad)[0]
    return any(_frames(data, bad + _HEAD.size + length))


__all__ = ["MARK", "MAX_RECORD_BYTES", "Journal", "Keeps"]
