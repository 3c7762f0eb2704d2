"""Blobs of a space in a SQLite file: small ones in a table, others as files beside it.

A small blob in the table costs what a record costs. A large one would be written twice there, into SQLite's log and
from it into the main file, while all other writers wait; and it would have to fit into memory twice. As a file of its
own it is written once, and by several processes at once: under another name, brought to disk if that was promised,
and renamed, so that what has its name is whole. Whoever reads one compares it with its name.

A process that dies leaves a file under another name, which it had locked: the next that opens the space removes it.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING

from solvent.errors import SpaceError
from solvent.live.space.sqlite_file import sync_folder

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from solvent.live.space.sqlite_file import SqliteFile

SMALL_BYTES_MAX = 64 * 1024
_UNFINISHED = "unfinished-"
_ATTEMPTS_MAX = 10


class SqliteBlobs:
    """The blobs of one space."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        self._folder = file.path.with_name(file.path.name + "-blobs")
        self._sweep()

    def put(self, data: bytes | memoryview) -> str:
        """Keep bytes."""
        view = memoryview(data).cast("B")
        name = sha256(view).hexdigest()
        if len(view) <= SMALL_BYTES_MAX:
            self._put_row(name, bytes(view))
        else:
            try:
                self._put_file(name, view)
            except OSError as error:
                raise self._file.problem(error) from error
        return name

    def get(self, name: str) -> bytes:
        """Give bytes back; raise `SpaceError` E406 where they are missing or damaged."""
        data = self._file.read(lambda connection: _row(connection, name))
        if data is None:
            try:
                data = self._path(name).read_bytes()
            except FileNotFoundError as error:
                raise SpaceError("E406", f"the space {self._file.path} has no blob {name}") from error
            except OSError as error:
                said = f"the blob {name} of the space {self._file.path} cannot be read: {error.strerror}"
                raise SpaceError("E406", said) from error
        if sha256(data).hexdigest() != name:
            said = f"the blob {name} of the space {self._file.path} is damaged"
            raise SpaceError("E406", said, hint="putting the same bytes again repairs it")
        return data

    def _put_row(self, name: str, data: bytes) -> None:
        def is_there(connection: sqlite3.Connection) -> bool:
            if _row(connection, name) != data:
                return False
            # Whoever wrote it may not have promised what is promised here.
            self._file.sync()
            return True

        if not self._file.read(is_there):
            self._file.write(
                lambda connection: connection.execute("REPLACE INTO blobs (name, data) VALUES (?, ?)", (name, data)),
                len(data),
            )

    def _put_file(self, name: str, view: memoryview) -> None:
        path = self._path(name)
        if _is_there(path, view, is_synced=self._file.is_durable):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        for _ in range(_ATTEMPTS_MAX):
            # Somebody who sweeps may take the new file for a dead process's, before it is locked.
            with suppress(FileNotFoundError):
                self._write(path, view)
                break
        else:
            raise SpaceError("E409", f"the blob {name} is removed again and again while it is written")
        if self._file.is_durable:
            for folder in (path.parent, self._folder, self._folder.parent):
                sync_folder(folder)

    def _write(self, path: Path, view: memoryview) -> None:
        unfinished = self._folder / f"{_UNFINISHED}{os.urandom(8).hex()}"
        number = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(number, fcntl.LOCK_EX)
            while view:
                view = view[os.write(number, view) :]
            if self._file.is_durable:
                os.fsync(number)
            unfinished.rename(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
        finally:
            os.close(number)

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name[2:]

    def _sweep(self) -> None:
        with suppress(OSError):
            for path in self._folder.glob(f"{_UNFINISHED}*"):
                number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    with suppress(BlockingIOError):
                        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        path.unlink(missing_ok=True)
                finally:
                    os.close(number)


def _row(connection: sqlite3.Connection, name: str) -> bytes | None:
    found: tuple[bytes] | None = connection.execute("SELECT data FROM blobs WHERE name = ?", (name,)).fetchone()
    return None if found is None else found[0]


def _is_there(path: Path, view: memoryview, *, is_synced: bool) -> bool:
    """Whether a file has these bytes; one that is damaged is written again."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        if file.read() == view:
            if is_synced:
                # Whoever wrote it may not have promised what is promised here.
                os.fsync(file.fileno())
                sync_folder(path.parent)
            return True
    return False


__all__ = ["SMALL_BYTES_MAX", "SqliteBlobs"]
