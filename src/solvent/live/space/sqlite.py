"""A space in one SQLite file: any number of processes of one machine, no server.

    path/to/file.db          the main file
    path/to/file.db-wal      SQLite's log, while somebody has the space open, or after a crash
    path/to/file.db-shm      memory that the processes share
    path/to/file.db-blobs/   large blobs

Positions are given under the lock of writers, and a reader sees one state of the file: so nobody ever sees a record
before one with a smaller position. Nothing is ever taken out of the file but the old values of keys.

Copies are made with SQLite's own means (`VACUUM INTO`), or of all files while nobody has the space open.
"""

from __future__ import annotations

import heapq
import itertools
import math
import threading
from typing import TYPE_CHECKING

from solvent.errors import Conflict, NoSpace, SpaceError
from solvent.live.space.interface import (
    READ_MAX,
    Append,
    Entry,
    Record,
    Space,
    Watch,
    check_below,
    check_blob_name,
    check_name,
    check_scope,
    check_size,
    is_within,
)
from solvent.live.space.sqlite_blobs import SqliteBlobs
from solvent.live.space.sqlite_file import SqliteFile
from solvent.live.space.sqlite_format import checksum, is_whole, path_from_url, url_from_path
from solvent.live.space.sqlite_watch import SqliteWatch

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

RECORD_BYTES_MAX = 16 * 1024 * 1024
BLOB_BYTES_MAX = 1024 * 1024 * 1024
PATIENCE = 30.0
SCANNED_MAX = 4000
"""Up to so many new records are looked through; where there are more, each log's are found by its index."""
AT_ONCE_MAX = 500
"""Records that are asked for at a time."""

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
    record_bytes_max: int = RECORD_BYTES_MAX,
    blob_bytes_max: int = BLOB_BYTES_MAX,
    is_made: bool = True,
) -> SqliteSpace:
    """Open a space in a file, by its path or as `sqlite:///path`; it is made where it is not there, or `NoSpace`.

    Durable: what is acknowledged is on disk. Otherwise it survives the death of any process, and after a loss of power
    the last records may be missing. `patience`: how long to wait for others that write, in seconds.
    """
    limits = ((record_bytes_max, RECORD_BYTES_MAX), (blob_bytes_max, BLOB_BYTES_MAX))
    if not (math.isfinite(patience) and patience > 0 and all(0 < limit <= most for limit, most in limits)):
        said = f"patience is more than 0, records are at most {RECORD_BYTES_MAX:,} bytes, blobs {BLOB_BYTES_MAX:,}"
        raise SpaceError("E401", "an option of the space cannot be", hint=said)
    path = path_from_url(url)
    if not is_made and not path.exists():
        hint = "go to the folder in which the workflow was run, or say where it is: --space FILE"
        raise NoSpace(f"there is no file {path}", hint=hint)
    file = SqliteFile(path, is_durable=is_durable, patience=patience)
    return SqliteSpace(file, record_bytes_max=record_bytes_max, blob_bytes_max=blob_bytes_max)


class SqliteSpace(Space):
    """A space in a file; `open_sqlite` makes them."""

    is_atomic = True

    def __init__(self, file: SqliteFile, *, record_bytes_max: int, blob_bytes_max: int) -> None:
        self.url = url_from_path(file.path)
        self.is_durable = file.is_durable
        self.record_bytes_max = record_bytes_max
        self.blob_bytes_max = blob_bytes_max
        self._file = file
        self._blobs = SqliteBlobs(file)
        self._watches = set[SqliteWatch]()
        self._watching = threading.Lock()
        #: Numbers of logs that are in the file; they never change.
        self._numbers = dict[str, int]()
        self._names = dict[int, str]()

    # ------------------------------------------------------------------------------------------------------- logs

    def append(self, log: str, data: bytes, *, expected: int | None = None) -> int:
        """Append a record and give its position; see `Space`."""
        return self.append_all((Append(log, data, expected),))[0]

    def append_all(self, appends: Sequence[Append]) -> list[int]:
        """Append records in one transaction: all of them, or none; see `Space`."""
        size = 0
        for log, data, _ in appends:
            check_name(log)
            check_size(data, self.record_bytes_max, "record")
            size += len(data)
        if not appends:
            return []
        fresh = dict[str, int]()
        positions = self._file.write(lambda connection: self._append_all(connection, appends, fresh), size)
        self._note(fresh.items())
        return positions

    def _append_all(
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
                last = _last(connection, number)
                if last != expected:
                    raise Conflict(log, expected=expected, last=last)
            rows.append((number, checksum(data, number), data))
            logs.add(number)
        positions += _insert(connection, rows)
        return positions

    def read(self, logs: Sequence[str] | str, after: int = 0, limit: int = READ_MAX) -> list[Record]:
        """Give the first records of these logs behind a position; see `Space`."""
        scopes = tuple(map(check_scope, (logs,) if isinstance(logs, str) else logs))
        if limit <= 0:
            return []
        rows = self._file.read(lambda connection: self._read(connection, scopes, after, limit))
        records = list[Record]()
        for position, number, total, data in rows:
            if not is_whole(data, total, number):
                raise self._file.damaged(f"record {position} of `{self._names[number]}` was changed")
            records.append(Record(position, self._names[number], data))
        return records

    def _read(
        self, connection: sqlite3.Connection, scopes: Sequence[str], after: int, limit: int
    ) -> list[tuple[int, int, int, bytes]]:
        connection.execute("BEGIN")
        (last,) = connection.execute("SELECT max(position) FROM records").fetchone()
        if last is None or last <= after:
            return []
        if last - after <= SCANNED_MAX:
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
        """Look through the few last records, whatever logs they are of: there may be very many logs."""
        heads = connection.execute(_HEADS, (after,)).fetchall()
        names = self._names
        logs = {number for _, number in heads}
        for number in logs - names.keys():
            self._note(connection.execute("SELECT name, number FROM logs WHERE number = ?", (number,)))
        for number in logs - names.keys():
            position = next(position for position, log in heads if log == number)
            raise self._file.damaged(f"record {position} is of a log that is not there")
        meant = {number for number in logs if is_within(names[number], scopes)}
        wanted = [position for position, number in heads if number in meant][:limit]
        found = list[tuple[int, int, int, bytes]]()
        for first in range(0, len(wanted), AT_ONCE_MAX):
            some = wanted[first : first + AT_ONCE_MAX]
            found += connection.execute(_AT.format(",".join("?" * len(some))), some)
        return found

    def _find(self, connection: sqlite3.Connection, scopes: Sequence[str]) -> set[int]:
        """Give the numbers of logs, as far as they have records."""
        found = list[tuple[str, int]]()
        for scope in scopes:
            if not scope or scope[-1] == "/":
                where = _BELOW.format(column="name")
                found += connection.execute(f"SELECT name, number FROM logs WHERE {where}", _bounds(scope))  # noqa: S608
            elif scope in self._numbers:
                found.append((scope, self._numbers[scope]))
            else:
                found += ((scope, number) for (number,) in connection.execute(_LOG, (scope,)))
        self._note(found)
        return {number for _, number in found}

    def _note(self, logs: Iterable[tuple[str, int]]) -> None:
        for name, number in logs:
            self._names[number] = name
            self._numbers[name] = number

    def last(self, log: str) -> int:
        """Give the position of a log's last record; 0 if it has none."""
        check_name(log)

        def work(connection: sqlite3.Connection) -> int:
            found = connection.execute(_LOG, (log,)).fetchone()
            return _last(connection, found[0]) if found else 0

        return self._file.read(work)

    # ------------------------------------------------------------------------------------------------------- keys

    def get(self, key: str) -> Entry | None:
        """Give what a key has."""
        check_name(key)
        row = self._file.read(lambda connection: connection.execute(_GET, (key,)).fetchone())
        return None if row is None or row[2] is None else self._entry(key, *row)

    def put(self, key: str, value: bytes, *, expected: int | None = None) -> int:
        """Set a key and give its new revision; see `Space`."""
        check_name(key)
        check_size(value, self.record_bytes_max, "value")

        def work(connection: sqlite3.Connection) -> int:
            _compare(connection, key, expected)
            revision = connection.execute(_PUT, (key, checksum(value), value)).lastrowid
            assert revision is not None
            return revision

        return self._file.write(work, len(value))

    def delete(self, key: str, *, expected: int | None = None) -> None:
        """Remove a key; see `Space`."""
        check_name(key)

        def work(connection: sqlite3.Connection) -> None:
            if _compare(connection, key, expected):
                connection.execute(_PUT, (key, 0, None))

        self._file.write(work)

    def keys(self, below: str) -> dict[str, Entry]:
        """Give all keys below a name, sorted."""
        check_below(below)
        where = _BELOW.format(column="key")
        query = f"SELECT key, revision, sum, value FROM keys WHERE {where} AND value NOT NULL ORDER BY key"  # noqa: S608
        rows = self._file.read(lambda connection: connection.execute(query, _bounds(below)).fetchall())
        return {key: self._entry(key, *rest) for key, *rest in rows}

    def _entry(self, key: str, revision: int, total: int, value: bytes) -> Entry:
        if not is_whole(value, total):
            raise self._file.damaged(f"the value of `{key}` was changed")
        return Entry(revision, value)

    # ------------------------------------------------------------------------------------------------- all others

    def put_blob(self, data: bytes | memoryview) -> str:
        """Keep bytes and give their name."""
        check_size(data, self.blob_bytes_max, "blob")
        return self._blobs.put(data)

    def get_blob(self, name: str) -> bytes:
        """Give the bytes of a name."""
        return self._blobs.get(check_blob_name(name))

    def watch(self, below: Sequence[str]) -> Watch:
        """Watch logs and keys."""
        watch = SqliteWatch(self._file, below, self._forget)
        with self._watching:
            self._watches.add(watch)
        return watch

    def _forget(self, watch: SqliteWatch) -> None:
        with self._watching:
            self._watches.discard(watch)

    def close(self) -> None:
        """Let go of the file."""
        if self._file.is_copy:
            return
        with self._watching:
            watches = list(self._watches)
        for watch in watches:
            watch.close()
        self._file.close()


def _bounds(below: str) -> tuple[str, str]:
    """Give the first name below a name, and the first one behind those; all names are ASCII."""
    return (below, below[:-1] + "0") if below else ("", "\x7f")


def _number(connection: sqlite3.Connection, log: str, fresh: dict[str, int]) -> int:
    """Give the number of a log; it gets one if it has none."""
    found: tuple[int] | None = connection.execute(_LOG, (log,)).fetchone()
    number = found[0] if found else connection.execute("INSERT INTO logs (name) VALUES (?)", (log,)).lastrowid
    assert number is not None
    fresh[log] = number
    return number


def _insert(connection: sqlite3.Connection, rows: list[tuple[int, int, bytes]]) -> range:
    """Append records and give their positions."""
    if len(rows) == 1:
        position = connection.execute(_INSERT, rows[0]).lastrowid
        assert position is not None
        return range(position, position + 1)
    connection.executemany(_INSERT, rows)
    (last,) = connection.execute("SELECT last_insert_rowid()").fetchone()
    # Nobody else has got a position in between: each is one more than the one before.
    return range(last - len(rows) + 1, last + 1)


def _last(connection: sqlite3.Connection, number: int) -> int:
    (last,) = connection.execute(_LAST, (number,)).fetchone()
    return last or 0


def _compare(connection: sqlite3.Connection, key: str, expected: int | None) -> int:
    """Give a key's revision, 0 if it is not there; raise `Conflict` where another one is expected."""
    row = connection.execute(_GET, (key,)).fetchone()
    revision: int = 0 if row is None or row[2] is None else row[0]
    if expected is not None and expected != revision:
        raise Conflict(key, expected=expected, last=revision)
    return revision


__all__ = ["BLOB_BYTES_MAX", "PATIENCE", "RECORD_BYTES_MAX", "SqliteSpace", "open_sqlite"]
