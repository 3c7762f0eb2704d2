"""How a store is laid out in a SQLite file, and how such a file is made, known again, or refused.

Logs have numbers, so that their names are kept once. A record's position is its row number, and a key's revision is
one, too: SQLite never gives such a number twice (AUTOINCREMENT), also not after rows were deleted. A key that was
deleted stays as a row without a value, so that whoever watches hears of it. Records and values carry a checksum, since
SQLite would hand out what a disk has changed.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import zlib
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from solvent.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

MARK = 0x534F4C56
"""The application's number in the file's head: `SOLV`."""
FORMAT = 1
SCHEME = "sqlite://"

_TABLES = """
CREATE TABLE logs (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE records (
    position INTEGER PRIMARY KEY AUTOINCREMENT, log INTEGER NOT NULL, sum INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE INDEX records_of_logs ON records (log);
CREATE TABLE keys (
    revision INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, sum INTEGER NOT NULL, value BLOB
);
CREATE TABLE blobs (name TEXT NOT NULL UNIQUE, data BLOB NOT NULL);
"""
_SETTINGS = (
    # Waiting for others is done by us: SQLite's own way lets some processes wait for seconds.
    "PRAGMA busy_timeout = 0",
    # The log is brought to disk by us, where it must be, after others have been let in; SQLite does so before it
    # moves pages into the main file, so that a loss of power never leaves a torn file.
    "PRAGMA synchronous = NORMAL",
    # Moving pages is started by us, under the lock of writers; see `SqliteFile`.
    "PRAGMA wal_autocheckpoint = 0",
    "PRAGMA temp_store = MEMORY",
)


def path_from_url(url: str) -> Path:
    """Return the file that is meant by a path or by `sqlite://` and a path."""
    scheme, sign, rest = url.partition("://")
    if url.lower().startswith(SCHEME):
        url = unquote(rest)
    elif sign:
        hint = "say a file, sqlite:///path/to/file.db, or nats://host:port"
        # What follows may have a password.
        raise StoreError("E401", f"`{scheme}://` is no kind of address for a store", hint=hint)
    if not url or "\0" in url:
        raise StoreError("E401", "a store needs the name of a file")
    # Links are followed now, as SQLite does: what lies beside the file is named after where it really is.
    return Path(os.path.realpath(Path(url).expanduser()))


def url_from_path(path: Path) -> str:
    """Return a URL that means the same file in any folder."""
    return SCHEME + quote(str(path))


def check_place(path: Path) -> None:
    """Raise `StoreError` E401 where no file can be."""
    if path.is_dir():
        raise StoreError("E401", f"cannot open the store {path}: it is a folder", hint="give the name of a file in it")
    if not path.parent.is_dir():
        raise StoreError("E401", f"cannot open the store {path}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.R_OK | os.W_OK)):
        hint = "the file and its folder must be writable for this user; commands that only look can do without"
        raise StoreError("E401", f"cannot open the store {path}: no permission", hint=hint)


def can_be_written(path: Path) -> bool:
    """Return whether this user may write to a file that is there, and to its folder, as SQLite needs it."""
    return os.access(path.parent, os.W_OK | os.X_OK) and os.access(path, os.R_OK | os.W_OK)


def make_private(path: Path) -> None:
    """Create an empty file for its owner only, unless there is one; SQLite gives what lies beside it the same mode.

    The file is never opened here: closing it would end the locks that another thread holds on it.
    """
    try:
        os.mknod(path, stat.S_IFREG | 0o600)
    except FileExistsError:
        # Its owner may have opened it to others.
        return
    except OSError as error:
        raise StoreError("E401", f"cannot make the store {path}: {error.strerror}") from error
    # The umask may have taken away what the owner needs.
    path.chmod(0o600)


def has_log(path: Path) -> bool:
    """Return whether there may be changes that are not in the main file yet."""
    try:
        return Path(f"{path}-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def connect(path: Path, *, is_read_only: bool = False) -> sqlite3.Connection:
    """Open a connection that any thread may use, one at a time."""
    where: Path | str = path
    if is_read_only:
        # Where nobody has a log open there is nothing to read but the file, and no log can be made.
        how = "mode=ro" if has_log(path) or Path(f"{path}-shm").exists() else "mode=ro&immutable=1"
        where = f"{path.as_uri()}?{how}"
    connection = sqlite3.connect(where, timeout=0, isolation_level=None, check_same_thread=False, uri=is_read_only)
    try:
        for setting in _SETTINGS:
            connection.execute(setting)
    except BaseException:
        connection.close()
        raise
    return connection


def prepare(connection: sqlite3.Connection, path: Path, begin: Callable[[sqlite3.Connection], None]) -> None:
    """Make a file that is empty a store; refuse one that is something else.

    Several processes may do so at once. One that dies at it leaves a file that is still empty.
    """
    # In one transaction: somebody else may be making it just now.
    connection.execute("BEGIN")
    try:
        if _is_store(connection, path):
            return
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        hint = "a store needs a file system of this machine, with shared memory: no network folder"
        raise StoreError("E401", f"cannot open the store {path}: its file system does not serve", hint=hint)
    begin(connection)
    try:
        if not _is_store(connection, path):
            for table in filter(str.strip, _TABLES.split(";")):
                connection.execute(table)
            connection.execute(f"PRAGMA application_id = {MARK}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _is_store(connection: sqlite3.Connection, path: Path) -> bool:
    """Return whether a file is a store; raise where it is something else."""
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (things,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if mark == MARK and version == FORMAT:
        return True
    if mark == MARK:
        said = f"the store {path} has format {version}, and this Solvent knows format {FORMAT}"
        raise StoreError("E407", said, hint="use the Solvent that made it, or another file")
    if mark or things:
        raise StoreError("E401", f"{path} is a database, but no store", hint="give the name of another file")
    return False


def checksum(data: bytes, seed: int = 0) -> int:
    """Return a number that changes when bytes change, or stand where others belong."""
    return zlib.crc32(data, seed & 0xFFFFFFFF)


def is_whole(data: object, total: int, seed: int = 0) -> bool:
    """Return whether something that was read is what was written; where a disk has changed it, it may be no bytes."""
    return isinstance(data, bytes) and checksum(data, seed) == total


__all__ = [
    "FORMAT",
    "MARK",
    "SCHEME",
    "can_be_written",
    "check_place",
    "checksum",
    "connect",
    "has_log",
    "is_whole",
    "make_private",
    "path_from_url",
    "prepare",
    "url_from_path",
]
