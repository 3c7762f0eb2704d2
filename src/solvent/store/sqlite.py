"""A store in one SQLite file: any number of processes of one machine, no server.

    path/to/file.db          the main file
    path/to/file.db-wal      SQLite's log, while a process has the store open, or after a crash
    path/to/file.db-shm      memory that the processes share
    path/to/file.db-blobs/   large blobs

Positions are assigned under the lock of writers, and a reader sees one state of the file: so no reader sees a record
before one with a smaller position. What is removed leaves room in the file for what comes next; it does not shrink.

Make copies with SQLite's own means (`VACUUM INTO`), or of all files while no process has the store open.

*Blobs.* Small ones are in a table, others are files beside it. A small blob in the table costs as much as a record. A
large one would be written twice there, into SQLite's log and from it into the main file, while all other writers wait;
and it would have to fit into memory twice. As a file of its own it is written once, and by several processes at once:
under a temporary name, synced to disk if that was promised, and renamed, so that a file with its final name is
complete. Readers compare the content with the name.

A process that dies leaves a locked temporary file: the next process that opens the store removes it.

*Watches* notice changes of the file by any process. SQLite has a number that changes with every transaction of others;
reading it takes some microseconds. A watch reads it every millisecond while watched names change, every few
milliseconds while only others do, and less and less often when nothing does: waiting for the end of a run takes no time
from its agents. When the number has changed, only newer records and keys are looked at, so that watches of different
names do not wake each other.
"""

from __future__ import annotations

import fcntl
import heapq
import itertools
import math
import os
import sqlite3
import threading
import time
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING

from solvent.errors import Conflict, NoStore, StoreError
from solvent.store.interface import (
    FRESH,
    Append,
    Entry,
    Record,
    Store,
    Swept,
    Watch,
    is_within,
)
from solvent.store.sqlite_file import (
    SqliteFile,
    can_be_written,
    checksum,
    is_whole,
    path_from_url,
    sync_folder,
    url_from_path,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from solvent.values.encoding import Pieces

MAX_SMALL_BYTES = 64 * 1024
_UNFINISHED = "unfinished-"
_MAX_ATTEMPTS = 10


class SqliteBlobs:
    """The blobs of one store."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        self._folder = file.path.with_name(file.path.name + "-blobs")
        self._sweep()

    def put(self, name: str, pieces: Pieces) -> None:
        """Keep bytes."""
        if len(pieces) <= MAX_SMALL_BYTES:
            self._put_row(name, b"".join(pieces))
        else:
            try:
                self._put_file(name, pieces)
            except OSError as error:
                raise self._file.problem(error) from error

    def get(self, name: str) -> bytes:
        """Return the bytes of a name; raise `StoreError` E406 if they are missing or damaged."""
        row = self._file.read(lambda connection: _row(connection, name))
        data = None if row is None else row[1]
        if data is None:
            try:
                data = self._path(name).read_bytes()
            except FileNotFoundError as error:
                raise StoreError("E406", f"the store {self._file.path} has no blob {name}") from error
            except OSError as error:
                said = f"the blob {name} of the store {self._file.path} cannot be read: {error.strerror}"
                raise StoreError("E406", said) from error
        if sha256(data).hexdigest() != name:
            said = f"the blob {name} of the store {self._file.path} is damaged"
            raise StoreError("E406", said, hint="put the same bytes again to repair it")
        return data

    def _put_row(self, name: str, data: bytes) -> None:
        def is_there(connection: sqlite3.Connection) -> bool:
            row = _row(connection, name)
            if row is None or row[1] != data or not _is_fresh(row[0]):
                return False
            # Its writer may not have promised durability.
            self._file.sync()
            return True

        if not self._file.read(is_there):
            self._file.write(
                lambda connection: connection.execute(
                    "REPLACE INTO blobs (name, at, data) VALUES (?, ?, ?)", (name, time.time(), data)
                ),
                len(data),
            )

    def _put_file(self, name: str, pieces: Pieces) -> None:
        path = self._path(name)
        if _is_there(path, pieces, is_synced=self._file.is_durable) and self._is_kept(path):
            return
        for folder in (self._folder, path.parent):
            _make_private(folder)
        for _ in range(_MAX_ATTEMPTS):
            # Before it is locked, another process may remove the new file as that of a dead one.
            with suppress(FileNotFoundError):
                self._write(path, pieces)
                break
        else:
            raise StoreError("E409", f"the blob {name} was removed again and again while it was written")
        if self._file.is_durable:
            for folder in (path.parent, self._folder, self._folder.parent):
                sync_folder(folder)

    def _is_kept(self, path: Path) -> bool:
        """Mark a file as just put, if that is some time ago; return whether it is still there."""

        def mark(_: sqlite3.Connection) -> bool:
            # With the lock of writers, which a sweep has as well.
            with suppress(FileNotFoundError):
                os.utime(path)
                return True
            return False

        try:
            return _is_fresh(path.stat().st_mtime) or self._file.write(mark)
        except FileNotFoundError:
            return False

    def sweep(self, used: Collection[str], before: float, *, is_tried: bool) -> Swept:
        """Remove blobs that are not used and were put before a time."""
        rows = self._file.read(lambda connection: connection.execute(_OLD_BLOBS, (before,)).fetchall())
        names = [name for (name,) in rows if name not in used]
        paths = [path for path in self._folder.glob("??/*") if path.parent.name + path.name not in used]
        count = size = 0
        for at in range(0, max(len(names), len(paths)), MAX_AT_ONCE):
            some, files = names[at : at + MAX_AT_ONCE], paths[at : at + MAX_AT_ONCE]

            def work(connection: sqlite3.Connection, some: list[str] = some, files: list[Path] = files) -> Swept:
                return _swept(connection, some, files, before, is_tried=is_tried)

            found = self._file.read(work) if is_tried else self._file.write(work)
            count, size = count + found.blobs, size + found.bytes
        return Swept(count, size)

    def _write(self, path: Path, pieces: Pieces) -> None:
        unfinished = self._folder / f"{_UNFINISHED}{os.urandom(8).hex()}"
        number = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(number, 0o600)
            fcntl.flock(number, fcntl.LOCK_EX)
            for piece in pieces:
                view = memoryview(piece)
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


def _row(connection: sqlite3.Connection, name: str) -> tuple[float, bytes] | None:
    """Return when a small blob was put, and its bytes."""
    found: tuple[float, bytes] | None = connection.execute(
        "SELECT at, data FROM blobs WHERE name = ?", (name,)
    ).fetchone()
    return found


_OLD_BLOBS = "SELECT name FROM blobs WHERE at < ?"


def _swept(
    connection: sqlite3.Connection, names: list[str], paths: list[Path], before: float, *, is_tried: bool
) -> Swept:
    """Remove the blobs of these that were put before a time; with the lock of writers."""
    where = f"FROM blobs WHERE name IN ({','.join('?' * len(names))}) AND at < ?"
    count, size = connection.execute(
        f"SELECT count(*), coalesce(sum(length(data)), 0) {where}",
        (*names, before),
    ).fetchone()
    if not is_tried:
        connection.execute(f"DELETE {where}", (*names, before))
    for path in paths:
        with suppress(FileNotFoundError):
            about = path.stat()
            if about.st_mtime < before:
                count, size = count + 1, size + about.st_size
                if not is_tried:
                    path.unlink()
    return Swept(count, size)


def _is_fresh(at: float) -> bool:
    """Return whether a blob was put so recently that no sweep takes it for one that is not used."""
    return abs(time.time() - at) < FRESH


def _make_private(folder: Path) -> None:
    """Create a folder for its owner only, unless it exists."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        # The umask may have removed permissions that the owner needs.
        folder.chmod(0o700)


def _is_there(path: Path, pieces: Pieces, *, is_synced: bool) -> bool:
    """Return whether a file has these bytes; a damaged one is written again."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        if all(file.read(len(piece)) == piece for piece in pieces) and not file.read(1):
            if is_synced:
                # Its writer may not have promised durability.
                os.fsync(file.fileno())
                sync_folder(path.parent)
            return True
    return False


MIN_PAUSE, MAX_PAUSE_OF_OTHERS, MAX_PAUSE = 0.001, 0.004, 0.02
PAUSE_GROWTH = 1.25
MAX_LOOKED_AT = 1000
"""New records that are looked at; if there are more, the watch reports a change."""

_VERSION = "PRAGMA data_version"
_RECORDS = "SELECT position, log FROM records WHERE position > ? ORDER BY position DESC LIMIT ?"
_NAME = "SELECT name FROM logs WHERE number = ?"
_OLD_DELETIONS = "DELETE FROM keys WHERE value IS NULL AND revision < (SELECT max(revision) FROM keys) - ?"
_KEYS = "SELECT revision, key FROM keys WHERE revision > ? ORDER BY revision DESC LIMIT ?"


class SqliteWatch(Watch):
    """Watches some logs and keys of one store, with a connection of its own."""

    def __init__(self, file: SqliteFile, scopes: Sequence[str], forget: Callable[[Watch], None]) -> None:
        self._scopes = scopes
        self._file = file
        self._forget = forget
        self._is_closed = threading.Event()
        # Held while the connection is used: `close` gives it back only then.
        self._using = threading.Lock()
        self._pause = MIN_PAUSE
        self._checks_at = 0.0
        self._connection: sqlite3.Connection | None = None
        self._version = -1
        #: Whether the logs of these numbers are watched.
        self._meant = dict[int, bool]()
        self._position, self._revision = file.read(_newest)
        self._connection = file.take()

    def wait(self, seconds: float) -> bool:
        """Wait until something watched may have changed; return false when the time is over, or the watch is closed."""
        until = time.monotonic() + seconds
        while not self._is_closed.is_set():
            if self._has_changed():
                return True
            rest = until - time.monotonic()
            if rest <= 0:
                return False
            self._is_closed.wait(min(self._pause, rest))
            self._pause = min(self._pause * PAUSE_GROWTH, MAX_PAUSE)
        return False

    def close(self) -> None:
        """Stop watching."""
        self._is_closed.set()
        if self._file.is_copy:
            return
        with self._using:
            connection, self._connection = self._connection, None
        if connection is not None:
            self._file.give_back(connection)
            self._forget(self)

    def _has_changed(self) -> bool:
        with self._using:
            if self._connection is None:
                return False
            try:
                (version,) = self._connection.execute(_VERSION).fetchone()
                if version == self._version:
                    self._look_after_file()
                    return False
                self._file.check()
                is_changed = self._look(self._connection)
                self._pause = MIN_PAUSE if is_changed else min(self._pause, MAX_PAUSE_OF_OTHERS)
            except sqlite3.OperationalError as error:
                if self._file.is_busy(error):
                    # Another process recovers the file after a crash; the version is read again later.
                    return False
                raise self._file.problem(error) from error
            except (sqlite3.Error, UnicodeError) as error:
                raise self._file.problem(error) from error
            self._version = version
            return is_changed

    def _look_after_file(self) -> None:
        """Check, from time to time, that the file still exists: that costs more than reading its version."""
        now = time.monotonic()
        if now >= self._checks_at:
            self._checks_at = now + MAX_PAUSE
            self._file.check()

    def _look(self, connection: sqlite3.Connection) -> bool:
        records = connection.execute(_RECORDS, (self._position, MAX_LOOKED_AT)).fetchall()
        keys = connection.execute(_KEYS, (self._revision, MAX_LOOKED_AT)).fetchall()
        if records:
            self._position = records[0][0]
        if keys:
            self._revision = keys[0][0]
        if max(len(records), len(keys)) >= MAX_LOOKED_AT:
            return True
        if any(is_within(key, self._scopes) for _, key in keys):
            return True
        return any(self._is_meant(connection, log) for log in {log for _, log in records})

    def _is_meant(self, connection: sqlite3.Connection, log: int) -> bool:
        found = self._meant.get(log)
        if found is None:
            row = connection.execute(_NAME, (log,)).fetchone()
            # A missing log is damage, which `read` reports.
            found = self._meant[log] = row is None or is_within(row[0], self._scopes)
        return found


def _newest(connection: sqlite3.Connection) -> tuple[int, int]:
    (position,) = connection.execute("SELECT max(position) FROM records").fetchone()
    (revision,) = connection.execute("SELECT max(revision) FROM keys").fetchone()
    return position or 0, revision or 0


MAX_RECORD_BYTES = 16 * 1024 * 1024
MAX_BLOB_BYTES = 1024 * 1024 * 1024
PATIENCE = 30.0
MAX_SCANNED = 4000
"""Up to this number, new records are scanned; beyond it, those of each log are found by the index."""
MAX_AT_ONCE = 500
"""Records that one query selects."""

_LOG = "SELECT number FROM logs WHERE name = ?"
_LAST = "SELECT max(position) FROM records WHERE log = ?"
_INSERT = "INSERT INTO records (log, sum, data) VALUES (?, ?, ?)"
_HEADS = "SELECT position, log FROM records WHERE position > ? ORDER BY position"
_AT = "SELECT position, log, sum, data FROM records WHERE position IN ({}) ORDER BY position"
_OF_LOG = "SELECT position, log, sum, data FROM records WHERE log = ? AND position > ? ORDER BY position LIMIT ?"
_GET = "SELECT revision, sum, value FROM keys WHERE key = ?"
_PUT = "REPLACE INTO keys (key, sum, value) VALUES (?, ?, ?)"
# `0` follows `/` in the order of characters.
_BELOW = "{column} >= ? AND {column} < ?"


def open_sqlite(
    url: str,
    *,
    is_durable: bool = True,
    patience: float = PATIENCE,
    max_record_bytes: int = MAX_RECORD_BYTES,
    max_blob_bytes: int = MAX_BLOB_BYTES,
    is_made: bool = True,
) -> SqliteStore:
    """Open a store in a file, by its path or as `sqlite:///path`; create it if missing, or raise `NoStore`.

    Durable: what is acknowledged is on disk. Otherwise it survives the death of any process, and after a loss of power
    the last records may be missing. `patience`: how long to wait for other writers, in seconds.
    """
    limits = ((max_record_bytes, MAX_RECORD_BYTES), (max_blob_bytes, MAX_BLOB_BYTES))
    if not (math.isfinite(patience) and patience > 0 and all(0 < limit <= most for limit, most in limits)):
        hint = f"patience must be above 0, records at most {MAX_RECORD_BYTES:,} bytes, blobs {MAX_BLOB_BYTES:,}"
        raise StoreError("E401", "an option of the store is out of range", hint=hint)
    path = path_from_url(url)
    if not is_made and not path.exists():
        hint = "go to the folder in which the workflow was run, or name the file: --store FILE"
        raise NoStore(f"there is no file {path}", hint=hint)
    # A command that only reads may have no permission to write.
    is_read_only = not is_made and os.access(path, os.R_OK) and not can_be_written(path)
    file = SqliteFile(path, is_durable=is_durable, patience=patience, is_read_only=is_read_only)
    return SqliteStore(file, max_record_bytes=max_record_bytes, max_blob_bytes=max_blob_bytes)


class _Dropped(Exception):
    """A log whose number is remembered was dropped."""


class SqliteStore(Store):
    """A store in a file; `open_sqlite` makes them."""

    is_atomic = True

    def __init__(self, file: SqliteFile, *, max_record_bytes: int, max_blob_bytes: int) -> None:
        super().__init__(
            url_from_path(file.path),
            is_durable=file.is_durable,
            max_record_bytes=max_record_bytes,
            max_blob_bytes=max_blob_bytes,
        )
        self._file = file
        self._blobs = SqliteBlobs(file)
        #: Numbers of logs that are in the file, unless they were dropped: then none has this number.
        self._numbers = dict[str, int]()
        self._names = dict[int, str]()

    # ------------------------------------------------------------------------------------------------------- logs

    def _append_all(self, appends: Sequence[Append]) -> list[int]:
        fresh = dict[str, int]()
        size = sum(len(one.data) for one in appends)

        def work(connection: sqlite3.Connection) -> list[int]:
            try:
                return self._insert_all(connection, appends, fresh)
            except sqlite3.IntegrityError:
                raise _Dropped from None

        try:
            positions = self._file.write(work, size)
        except _Dropped:
            self._numbers.clear()
            fresh.clear()
            positions = self._file.write(lambda connection: self._insert_all(connection, appends, fresh), size)
        self._note(fresh.items())
        return positions

    def _insert_all(
        self, connection: sqlite3.Connection, appends: Sequence[Append], fresh: dict[str, int]
    ) -> list[int]:
        positions = list[int]()
        rows, logs = list[tuple[int, int, bytes]](), set[int]()
        for log, data, expected in appends:
            number = self._numbers.get(log) or fresh.get(log) or _number(connection, log, fresh)
            if expected is not None:
                if number in logs:
                    positions += _insert(connection, rows)
                    rows, logs = [], set()
                last = _last_position(connection, number)
                if last != expected:
                    raise Conflict(log, expected=expected, last=last)
            rows.append((number, checksum(data, number), data))
            logs.add(number)
        positions += _insert(connection, rows)
        return positions

    def _read(self, scopes: Sequence[str], after: int, limit: int) -> list[Record]:
        rows = self._file.read(lambda connection: self._rows(connection, scopes, after, limit))
        records = list[Record]()
        for position, number, total, data in rows:
            if not is_whole(data, total, number):
                raise self._file.damaged(f"record {position} of `{self._names[number]}` was changed")
            records.append(Record(position, self._names[number], data))
        return records

    def _rows(
        self, connection: sqlite3.Connection, scopes: Sequence[str], after: int, limit: int
    ) -> list[tuple[int, int, int, bytes]]:
        connection.execute("BEGIN")
        (last,) = connection.execute("SELECT max(position) FROM records").fetchone()
        if last is None or last <= after:
            return []
        if last - after <= MAX_SCANNED:
            return self._scan(connection, scopes, after, limit)
        numbers = self._find(connection, scopes)
        if not numbers:
            return []
        if len(numbers) == 1:
            return connection.execute(_OF_LOG, (*numbers, after, limit)).fetchall()
        rows = heapq.merge(*(connection.execute(_OF_LOG, (number, after, limit)) for number in numbers))
        return list(itertools.islice(rows, limit))

    def _scan(
        self, connection: sqlite3.Connection, scopes: Sequence[str], after: int, limit: int
    ) -> list[tuple[int, int, int, bytes]]:
        """Scan the few last records, whatever their logs: there may be very many logs."""
        heads = connection.execute(_HEADS, (after,)).fetchall()
        names = self._names
        logs = {number for _, number in heads}
        for number in logs - names.keys():
            self._note(connection.execute("SELECT name, number FROM logs WHERE number = ?", (number,)))
        for number in logs - names.keys():
            position = next(position for position, log in heads if log == number)
            raise self._file.damaged(f"record {position} belongs to a missing log")
        meant = {number for number in logs if is_within(names[number], scopes)}
        wanted = [position for position, number in heads if number in meant][:limit]
        found = list[tuple[int, int, int, bytes]]()
        for first in range(0, len(wanted), MAX_AT_ONCE):
            some = wanted[first : first + MAX_AT_ONCE]
            found += connection.execute(_AT.format(",".join("?" * len(some))), some)
        return found

    def _find(self, connection: sqlite3.Connection, scopes: Sequence[str]) -> set[int]:
        """Return the numbers of the logs in these scopes."""
        found = list[tuple[str, int]]()
        for scope in scopes:
            if not scope or scope[-1] == "/":
                where = _BELOW.format(column="name")
                found += connection.execute(f"SELECT name, number FROM logs WHERE {where}", _bounds(scope))  # noqa: S608
            else:
                found += ((scope, number) for (number,) in connection.execute(_LOG, (scope,)))
        self._note(found)
        return {number for _, number in found}

    def _note(self, logs: Iterable[tuple[str, int]]) -> None:
        for name, number in logs:
            self._names[number] = name
            self._numbers[name] = number

    def _last(self, log: str) -> int:
        def work(connection: sqlite3.Connection) -> int:
            found = connection.execute(_LOG, (log,)).fetchone()
            return _last_position(connection, found[0]) if found else 0

        return self._file.read(work)

    # ------------------------------------------------------------------------------------------------------- keys

    def _get(self, key: str) -> Entry | None:
        row = self._file.read(lambda connection: connection.execute(_GET, (key,)).fetchone())
        return None if row is None or row[2] is None else self._entry(key, *row)

    def _put(self, key: str, value: bytes, expected: int | None) -> int:
        def work(connection: sqlite3.Connection) -> int:
            _compare(connection, key, expected)
            revision = connection.execute(_PUT, (key, checksum(value), value)).lastrowid
            assert revision is not None
            return revision

        return self._file.write(work, len(value))

    def _delete(self, key: str, expected: int | None) -> None:
        def work(connection: sqlite3.Connection) -> None:
            if _compare(connection, key, expected):
                connection.execute(_PUT, (key, 0, None))

        self._file.write(work)

    def _keys(self, below: str) -> dict[str, Entry]:
        where = _BELOW.format(column="key")
        query = f"SELECT key, revision, sum, value FROM keys WHERE {where} AND value NOT NULL ORDER BY key"  # noqa: S608
        rows = self._file.read(lambda connection: connection.execute(query, _bounds(below)).fetchall())
        return {key: self._entry(key, *rest) for key, *rest in rows}

    def _drop(self, scope: str, up_to: int | None) -> None:
        below = scope[-1] == "/"
        of_logs, of_keys = (_BELOW.format(column=one) if below else f"{one} = ?" for one in ("name", "key"))
        names = _bounds(scope) if below else (scope,)
        records = f"DELETE FROM records WHERE log IN (SELECT number FROM logs WHERE {of_logs})"  # noqa: S608

        def work(connection: sqlite3.Connection) -> None:
            if up_to is not None:
                connection.execute(f"{records} AND position <= ?", (*names, up_to))
                return
            connection.execute(records, names)
            connection.execute(f"DELETE FROM logs WHERE {of_logs}", names)  # noqa: S608
            connection.execute(f"DELETE FROM keys WHERE {of_keys}", names)  # noqa: S608
            # What was deleted so long ago has been noticed by all watches.
            connection.execute(_OLD_DELETIONS, (MAX_LOOKED_AT,))

        self._file.write(work)

    def _entry(self, key: str, revision: int, total: int, value: bytes) -> Entry:
        if not is_whole(value, total):
            raise self._file.damaged(f"the value of `{key}` was changed")
        return Entry(revision, value)

    # ------------------------------------------------------------------------------------------------- all others

    def _put_blob(self, name: str, pieces: Pieces) -> None:
        self._blobs.put(name, pieces)

    def _get_blob(self, name: str) -> bytes:
        return self._blobs.get(name)

    def _sweep_blobs(self, used: Collection[str], min_age: float, is_tried: bool) -> Swept:  # noqa: FBT001
        return self._blobs.sweep(used, time.time() - min_age, is_tried=is_tried)

    def shrink(self) -> int:
        """Release the room of what was removed to the system; return how many bytes the file is smaller."""
        return self._file.shrink()

    def _watch(self, scopes: Sequence[str]) -> Watch:
        return SqliteWatch(self._file, scopes, self._forget)

    def close(self) -> None:
        """Close the store, unless this process is a copy (fork) of the one that opened it."""
        if not self._file.is_copy:
            super().close()

    def _close(self) -> None:
        self._file.close()


def _bounds(below: str) -> tuple[str, str]:
    """Return the first name below a name, and the first one after those; all names are ASCII."""
    return (below, below[:-1] + "0") if below else ("", "\x7f")


def _number(connection: sqlite3.Connection, log: str, fresh: dict[str, int]) -> int:
    """Return the number of a log, assigning one if it has none."""
    found: tuple[int] | None = connection.execute(_LOG, (log,)).fetchone()
    number = found[0] if found else connection.execute("INSERT INTO logs (name) VALUES (?)", (log,)).lastrowid
    assert number is not None
    fresh[log] = number
    return number


def _insert(connection: sqlite3.Connection, rows: list[tuple[int, int, bytes]]) -> range:
    """Append records and return their positions."""
    if len(rows) == 1:
        position = connection.execute(_INSERT, rows[0]).lastrowid
        assert position is not None
        return range(position, position + 1)
    connection.executemany(_INSERT, rows)
    (last,) = connection.execute("SELECT last_insert_rowid()").fetchone()
    # No other writer gets a position in between: each is one more than the one before.
    return range(last - len(rows) + 1, last + 1)


def _last_position(connection: sqlite3.Connection, number: int) -> int:
    (last,) = connection.execute(_LAST, (number,)).fetchone()
    return last or 0


def _compare(connection: sqlite3.Connection, key: str, expected: int | None) -> int:
    """Return a key's revision, 0 if it does not exist; raise `Conflict` if another one is expected."""
    row = connection.execute(_GET, (key,)).fetchone()
    revision: int = 0 if row is None or row[2] is None else row[0]
    if expected is not None and expected != revision:
        raise Conflict(key, expected=expected, last=revision)
    return revision


__all__ = [
    "MAX_BLOB_BYTES",
    "MAX_RECORD_BYTES",
    "MAX_SMALL_BYTES",
    "PATIENCE",
    "SqliteBlobs",
    "SqliteStore",
    "SqliteWatch",
    "open_sqlite",
]
