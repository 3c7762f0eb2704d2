"""The SQLite file of a store: its layout, connections, transactions, durability, and what can go wrong with it.

*Layout.* Logs have numbers, so that their names are kept once. A record's position is its row number, and so is a key's
revision: SQLite never uses such a number twice (AUTOINCREMENT), not even after rows were deleted. A deleted key stays
as a row without a value, so that watches notice the deletion, until it is dropped. A log that was dropped and is there
again has another number; SQLite refuses records of the one that a process remembers (REFERENCES). Records and values
carry a checksum, since SQLite would return what a disk has changed.

*Durability.* A transaction is a write to SQLite's log (the file `-wal`). SQLite could sync it to disk as a part of the
transaction, while everybody else waits. Here the writer syncs after the transaction, and before anything is
acknowledged: the syncs of several writers then run at once and become one in the system, and a process that is stopped
at that moment delays no other. Others may see a record a moment before it is on disk; but since all records are in one
log, in order, whatever they append because of it is on disk only together with it.

*Waiting.* Writers wait for each other's transactions with short random pauses. SQLite's own pauses grow to 100 ms and
make a writer among eight wait for seconds. A writer that was stopped in the middle of a transaction is made to end it
(`stopped_holder_goes_on`). After `patience` seconds a writer gives up, and its error names the process it waited for.

*Checkpoints*, which move pages from the log into the main file, are made by a writer after some megabytes, while it
holds the writers' lock. SQLite before 3.51.3 can, very rarely, damage a file when another process commits during a
checkpoint that follows closely on another; with the lock held no other can.

*Fork.* A copy of the process must neither use nor close the connections: it gets E408.

*Stopped writers.* A process that is stopped (SIGSTOP, Ctrl-Z) in the middle of a transaction blocks all other writers
for as long as it is stopped, and nothing can take the lock from it. So a process that has waited for a while lets it
continue until another has the lock, and stops it again: as if it had been stopped that much later. This is done only
to a process that is stopped, holds this very lock, and may be sent signals. If a user brings it to the foreground
meanwhile (`fg`), it keeps running; a SIGCONT sent by another process in these milliseconds cannot be detected.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import stat
import threading
import time
import weakref
import zlib
from contextlib import contextmanager, suppress
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote, unquote

from solvent.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MARK = 0x534F4C56
"""The application id in the file's header: `SOLV`."""
FORMAT = 3
SCHEME = "sqlite://"

_TABLES = """
CREATE TABLE logs (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
CREATE TABLE records (
    position INTEGER PRIMARY KEY AUTOINCREMENT, log INTEGER NOT NULL REFERENCES logs,
    sum INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE INDEX records_of_logs ON records (log);
CREATE TABLE keys (
    revision INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, sum INTEGER NOT NULL, value BLOB
);
CREATE TABLE blobs (name TEXT NOT NULL UNIQUE, at REAL NOT NULL, data BLOB NOT NULL);
"""
_SETTINGS = (
    # `SqliteFile` waits for others itself: SQLite's own way makes some processes wait for seconds.
    "PRAGMA busy_timeout = 0",
    # `SqliteFile` syncs the log, where needed, after the transaction; SQLite syncs it before it moves pages into the
    # main file, so that a loss of power never leaves a torn file.
    "PRAGMA synchronous = NORMAL",
    # `SqliteFile` starts checkpoints, while it holds the lock of writers.
    "PRAGMA wal_autocheckpoint = 0",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA foreign_keys = ON",
)


def path_from_url(url: str) -> Path:
    """Return the file that a path, or `sqlite://` and a path, names."""
    scheme, sign, rest = url.partition("://")
    if url.lower().startswith(SCHEME):
        url = unquote(rest)
    elif sign:
        hint = "name a file, sqlite:///path/to/file.db, or nats://host:port"
        # What follows may contain a password.
        raise StoreError("E401", f"`{scheme}://` is not an address of a store", hint=hint)
    if not url or "\0" in url:
        raise StoreError("E401", "the name of the store's file is empty or contains a zero byte")
    # Links are followed now, as SQLite does: what lies beside the file is named after where it really is.
    return Path(os.path.realpath(Path(url).expanduser()))


def url_from_path(path: Path) -> str:
    """Return a URL that names the same file in any folder."""
    return SCHEME + quote(str(path))


def check_place(path: Path) -> None:
    """Raise `StoreError` E401 where no file can be opened or created."""
    if path.is_dir():
        raise StoreError("E401", f"cannot open the store {path}: it is a folder", hint="name a file in it")
    if not path.parent.is_dir():
        raise StoreError("E401", f"cannot open the store {path}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.R_OK | os.W_OK)):
        hint = "the file and its folder must be writable for this user, except for commands that only read"
        raise StoreError("E401", f"cannot open the store {path}: no permission", hint=hint)


def can_be_written(path: Path) -> bool:
    """Return whether this user may write to a file and to its folder, as SQLite requires."""
    return os.access(path.parent, os.W_OK | os.X_OK) and os.access(path, os.R_OK | os.W_OK)


def make_private(path: Path) -> None:
    """Create an empty file for its owner only, unless it exists; SQLite gives the files beside it the same mode.

    The file is never opened here: closing it would end the locks that another thread holds on it.
    """
    try:
        os.mknod(path, stat.S_IFREG | 0o600)
    except FileExistsError:
        # Its owner may have made it accessible to others.
        return
    except OSError as error:
        raise StoreError("E401", f"cannot create the store {path}: {error.strerror}") from error
    # The umask may have removed permissions that the owner needs.
    path.chmod(0o600)


def has_log(path: Path) -> bool:
    """Return whether the log may have changes that are not in the main file yet."""
    try:
        return Path(f"{path}-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def connect(path: Path, *, is_read_only: bool = False) -> sqlite3.Connection:
    """Open a connection that any thread may use, one at a time."""
    where: Path | str = path
    if is_read_only:
        # Where no process has a log open there is nothing to read but the file, and no log can be created.
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
    """Turn an empty file into a store; refuse a file that is something else.

    Several processes may do so at once. One that dies meanwhile leaves a file that is still empty.
    """
    # In one transaction: another process may be creating it just now.
    connection.execute("BEGIN")
    try:
        if _is_store(connection, path):
            return
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    # Before the first page is written: free pages can be given back to the system, in steps (`SqliteFile.shrink`).
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        hint = "use a local folder: a store needs a file system with shared memory, not a network folder"
        raise StoreError("E401", f"cannot open the store {path}: its file system is not suitable", hint=hint)
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
    """Return whether a file is a store, or false if it is empty; raise `StoreError` for anything else."""
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (things,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if mark == MARK and version == FORMAT:
        return True
    if mark == MARK:
        said = f"the store {path} has format {version}, but this version of Solvent reads format {FORMAT}"
        raise StoreError("E407", said, hint="use the version of Solvent that created it, or another file")
    if mark or things:
        raise StoreError("E401", f"{path} is a database, but not a store", hint="name another file")
    return False


def checksum(data: bytes, seed: int = 0) -> int:
    """Return a checksum of bytes and of where they belong (`seed`)."""
    return zlib.crc32(data, seed & 0xFFFFFFFF)


def is_whole(data: object, total: int, seed: int = 0) -> bool:
    """Return whether data is what was written; if a disk has changed it, it may not even be bytes."""
    return isinstance(data, bytes) and checksum(data, seed) == total


# --- Stopped writers.

# SQLite's lock of writers: one byte of the file of shared memory.
_WRITERS_BYTE = 120
_MAX_STOPPING_SECONDS = 0.5
# Fields of /proc/PID/stat after the name: the process group, and the foreground group of its terminal.
_GROUP, _FOREGROUND = 2, 5


def describe_holder(path: Path) -> str:
    """Describe the process that holds the lock of writers; empty if the system does not name it."""
    process = _holder(path)
    if not process:
        return ""
    return f"process {process} holds the lock" + (", and is stopped" if _is_stopped(process) else "")


@contextmanager
def stopped_holder_goes_on(path: Path) -> Iterator[bool]:
    """Continue a process that was stopped in a transaction, inside this context; yield whether there is one."""
    process = _holder(path)
    if not process or process == os.getpid() or not _is_stopped(process):
        yield False
        return
    try:
        os.kill(process, signal.SIGCONT)
    except OSError:
        yield False
        return
    was_in_front = _is_in_front(process)
    try:
        yield True
    finally:
        with suppress(OSError):
            if was_in_front or not _is_in_front(process):
                os.kill(process, signal.SIGSTOP)
                _wait_until_stopped(process)


def _wait_until_stopped(process: int) -> None:
    until = time.monotonic() + _MAX_STOPPING_SECONDS
    while not _is_stopped(process) and time.monotonic() < until:
        time.sleep(0.001)


def _holder(path: Path) -> int:
    """Return the id of the process that holds the lock of writers; 0 for none."""
    with suppress(OSError, ValueError, IndexError):
        wanted = os.stat(f"{path}-shm")  # noqa: PTH116
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            # 7: POSIX  ADVISORY  WRITE 4711 fe:00:123456 120 120
            fields = line.split()
            if fields[1] != "POSIX" or fields[3] != "WRITE" or not _is_file(fields[5], wanted, int(fields[4])):
                continue
            if int(fields[6]) <= _WRITERS_BYTE <= int(fields[7]):
                return int(fields[4])
    return 0


def _is_file(said: str, wanted: os.stat_result, process: int) -> bool:
    """Return whether a lock's file (`fe:00:123456`) is this one, not one of the same number on another device."""
    major, minor, number = said.split(":")
    if int(number) != wanted.st_ino:
        return False
    if (int(major, 16), int(minor, 16)) == (os.major(wanted.st_dev), os.minor(wanted.st_dev)):
        return True
    # Some file systems have a device for each of their parts, and name another one for locks.
    return any(os.path.samestat(one.stat(), wanted) for one in Path(f"/proc/{process}/fd").iterdir())


def _is_stopped(process: int) -> bool:
    # `T`: by a signal, and not by a debugger.
    return _status(process)[:1] == ["T"]


def _is_in_front(process: int) -> bool:
    """Return whether a process runs in the foreground of its terminal."""
    status = _status(process)
    return len(status) > _FOREGROUND and status[_GROUP] == status[_FOREGROUND]


def _status(process: int) -> list[str]:
    with suppress(OSError):
        # The name in parentheses may contain anything.
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return []


# --- The file.

PAUSE_FIRST, MAX_PAUSE = 0.0002, 0.003
PASS_BY_FIRST, PASS_BY_NEXT, PASSING = 0.2, 1.0, 0.5
"""Seconds until a stopped holder of the lock is continued, until the next time, and for how long it runs."""
CHECKPOINT_PAGES = 4000
_PAGE_BYTES = 4096
_PAGES_PER_TRANSACTION = 4
_PAGES_PER_STEP = 1000
"""How many pages are given back at once: other writers wait for a step, and not for all of them."""

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
# Names that a disk has changed may be no text any more.
_ERRORS = (sqlite3.Error, UnicodeError)
_FULL = {ENOSPC, EDQUOT, EFBIG}

Result = TypeVar("Result")


class _Busy(Exception):
    """The file was locked by others all the time."""


class SqliteFile:
    """The file of a store, and connections to it; opened and closed once, used by any thread."""

    def __init__(self, path: Path, *, is_durable: bool, patience: float, is_read_only: bool = False) -> None:
        self.path = path
        self.is_durable = is_durable and not is_read_only
        self._is_read_only = is_read_only
        self.patience = patience
        self._guard = threading.Lock()
        self._turn = threading.Lock()
        self._free = list[sqlite3.Connection]()
        self._used = set[sqlite3.Connection]()
        self._closed = ""
        self._names = (str(path), f"{path}-wal")
        self._files = (0, 0)
        self._wal = -1
        self._pages = 0
        #: Whether this process is a copy (fork) of the one that opened the file.
        self.is_copy = False
        if not is_read_only:
            check_place(path)
            make_private(path)
        try:
            first = self._opened()
        except _ERRORS as error:
            raise self.problem(error, is_opening=True) from error
        self._free.append(first)
        _OPEN.add(self)

    # ---------------------------------------------------------------------------------------------- transactions

    def read(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run work that only reads, repeating it while the file is busy."""
        connection = self.take()
        try:
            return self._patiently(lambda: self._read(connection, work))
        except _ERRORS as error:
            raise self.problem(error) from error
        finally:
            self.give_back(connection)

    def write(self, work: Callable[[sqlite3.Connection], Result], size: int = 0) -> Result:
        """Run work in a transaction; when this returns, its effect is as durable as promised."""
        if not self._turn.acquire(timeout=self.patience):
            raise self._locked()
        try:
            connection = self.take()
            try:
                result = self._transact(connection, work)
                self._pages += _PAGES_PER_TRANSACTION + size // _PAGE_BYTES
                is_due = self._pages >= CHECKPOINT_PAGES
                if is_due:
                    self._checkpoint(connection)
            except BaseException:
                self.give_back(connection)
                raise
        finally:
            self._turn.release()
        try:
            self.sync()
        finally:
            self.give_back(connection)
        return result

    def shrink(self) -> int:
        """Release free pages to the system; return how many bytes the file is smaller then.

        It is as soon as no reader needs what was there before; at the latest when a process closes it.
        """
        count: int = self.read(lambda connection: connection.execute("PRAGMA page_count").fetchone()[0])
        left = count
        while True:
            free, left = self.write(_release_pages)
            if not free:
                break
        with self._turn:
            connection = self.take()
            try:
                self._checkpoint(connection)
            finally:
                self.give_back(connection)
        return max(0, count - left) * _PAGE_BYTES

    def _read(self, connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], Result]) -> Result:
        try:
            self.check()
            return work(connection)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _transact(self, connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], Result]) -> Result:
        try:
            self._begin(connection)
            try:
                result = work(connection)
                self.check()
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        except _ERRORS as error:
            raise self.problem(error) from error
        return result

    def _begin(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if not self.is_busy(error):
                raise
            self._patiently(lambda: connection.execute("BEGIN IMMEDIATE"))

    def _patiently(self, work: Callable[[], Result]) -> Result:
        """Repeat work while the file is locked by others, for at most `patience` seconds."""
        until, seconds = 0.0, PASS_BY_FIRST
        while True:
            with suppress(_Busy):
                return self._tried(work, seconds)
            with stopped_holder_goes_on(self.path) as is_somebody, suppress(_Busy):
                if is_somebody:
                    return self._tried(work, PASSING)
            until = until or time.monotonic() + self.patience - seconds
            if time.monotonic() > until:
                raise self._locked()
            seconds = min(PASS_BY_NEXT, self.patience)

    def _tried(self, work: Callable[[], Result], seconds: float) -> Result:
        """Repeat work for a while; raise `_Busy` when the time is over."""
        pause, until = PAUSE_FIRST, 0.0
        while True:
            try:
                return work()
            except sqlite3.OperationalError as error:
                if not self.is_busy(error):
                    raise
            until = until or time.monotonic() + seconds
            if time.monotonic() > until:
                raise _Busy
            time.sleep(pause * random.random())
            pause = min(2 * pause, MAX_PAUSE)

    def sync(self) -> None:
        """Sync the log to disk, if that was promised; the caller has a connection."""
        if self.is_durable:
            try:
                os.fdatasync(self._wal)
            except OSError as error:
                # The system forgets what it could not write, and would report success next time.
                self._closed = f"it could not be synced to disk: {error.strerror}"
                said = f"the store {self.path} could not be synced to disk: {error.strerror}"
                raise StoreError("E403", said, hint="the last writes may be lost: check the disk") from error

    def _checkpoint(self, connection: sqlite3.Connection) -> None:
        """Move pages from the log into the main file; if that fails, the log only grows."""
        # Most of it is synced to disk before any other writer has to wait.
        self.sync()
        self._pages = 0
        other = self.take()
        try:
            with suppress(sqlite3.Error, StoreError):
                self._begin(connection)
                other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        finally:
            with suppress(sqlite3.Error):
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            self.give_back(other)

    # ----------------------------------------------------------------------------------------------- connections

    def take(self) -> sqlite3.Connection:
        """Take a connection, to be given back."""
        with self._guard:
            self._check_open()
            connection = self._free.pop() if self._free else None
            if connection is not None:
                self._used.add(connection)
                return connection
        try:
            connection = self._opened()
        except _ERRORS as error:
            raise self.problem(error, is_opening=True) from error
        with self._guard:
            self._used.add(connection)
        return connection

    def give_back(self, connection: sqlite3.Connection) -> None:
        """Return a connection to the pool."""
        with self._guard:
            if connection not in self._used:
                # It belongs to the process that this one is a copy of.
                return
            self._used.remove(connection)
            if not self._closed:
                self._free.append(connection)
                return
        connection.close()
        self._let_go()

    def close(self) -> None:
        """Close unused connections now, and others when they are given back."""
        with self._guard:
            self._closed = self._closed or "`close` was called"
            free, self._free = self._free, []
        for connection in free:
            with suppress(sqlite3.Error):
                connection.close()
        self._let_go()

    def abandon(self) -> None:
        """Forget everything without closing it, in a copy (fork) of the process."""
        import ctypes

        self._guard, self._turn = threading.Lock(), threading.Lock()
        for connection in (*self._free, *self._used):
            # SQLite would act as if it were the original process. One reference too many keeps it for ever.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
        self._free, self._used = [], set()
        self.is_copy = True
        self._closed = "this process is a copy (fork) of the one that opened it; open it again"

    def _let_go(self) -> None:
        with self._guard:
            if self._wal >= 0 and not self._used and not self._free:
                os.close(self._wal)
                self._wal = -1

    def _opened(self) -> sqlite3.Connection:
        connection = self._patiently(lambda: connect(self.path, is_read_only=self._is_read_only))
        try:
            self._patiently(lambda: prepare(connection, self.path, self._begin))
            # From now on the connection has a lock, so that no process removes the log.
            self._patiently(lambda: connection.execute("SELECT max(number) FROM logs").fetchone())
            if self._wal < 0:
                self._find_files()
        except BaseException:
            connection.close()
            raise
        return connection

    def _find_files(self) -> None:
        """Record which files are open, and sync their names to disk."""
        try:
            self._files = self._numbers()
            if self._is_read_only:
                return
            self._wal = os.open(self._names[1], os.O_RDONLY | os.O_CLOEXEC)
            if self.is_durable:
                os.fdatasync(self._wal)
                sync_folder(self.path.parent)
        except OSError as error:
            raise StoreError("E401", f"cannot open the store {self.path}: {error.strerror}") from error

    # --------------------------------------------------------------------------------------------------- problems

    @staticmethod
    def is_busy(error: sqlite3.OperationalError) -> bool:
        """Return whether an error only says that others use the file now."""
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY

    def check(self) -> None:
        """Raise `StoreError` E409 if the files were removed or replaced: what is written now would be lost."""
        self._check_open()
        try:
            numbers = self._numbers()
        except OSError:
            numbers = (0, 0)
        if numbers != self._files:
            said = f"the store {self.path} is gone: its files were removed or replaced while it was open"
            hint = "stop all processes that use it; restore the files, or start with a new store"
            raise StoreError("E409", said, hint=hint, is_lasting=True)

    def _numbers(self) -> tuple[int, int]:
        path, log = self._names
        # A read-only store may have no log.
        return os.stat(path).st_ino, 0 if self._is_read_only else os.stat(log).st_ino  # noqa: PTH116 - faster so

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("E408", f"the store {self.path} is closed: {self._closed}")

    def _locked(self) -> StoreError:
        said = f"the store {self.path} was locked by another process for {self.patience:g} seconds"
        who = describe_holder(self.path)
        return StoreError("E409", said, hint=f"{who}: let it continue, or kill it" if who else "")

    def damaged(self, what: str) -> StoreError:
        """Return the error for a file that was changed since it was written."""
        hint = "stop all processes that use it, and restore the file from a backup"
        return StoreError("E406", f"the store {self.path} is damaged: {what}", hint=hint)

    def problem(self, error: sqlite3.Error | UnicodeError | OSError, *, is_opening: bool = False) -> StoreError:
        """Return the `StoreError` for an error of SQLite or of the system."""
        if isinstance(error, OSError):
            if error.errno in _FULL:
                return StoreError("E403", f"there is no room for the store {self.path}: {error.strerror}")
            return StoreError("E401", f"cannot use the store {self.path}: {error.strerror or error}")
        if isinstance(error, UnicodeError):
            return self.damaged("a name is not valid text")
        code = getattr(error, "sqlite_errorcode", 0)
        match code & 0xFF:
            case sqlite3.SQLITE_FULL:
                hint = "nothing was changed; free some space and try again"
                return StoreError("E403", f"there is no room for the store {self.path}: the disk is full", hint=hint)
            case sqlite3.SQLITE_IOERR if not is_opening:
                hint = "nothing was changed; check whether the disk is full or broken"
                said = f"the store {self.path} could not be read or written: {error} ({error.sqlite_errorname})"
                return StoreError("E403", said, hint=hint)
            case sqlite3.SQLITE_READONLY:
                hint = f"run this as the owner of the file, or let this user write to it and to {self.path.parent}"
                said = f"the store {self.path} is read-only: this user may not write to it"
                return StoreError("E415", said, hint=hint)
            case sqlite3.SQLITE_CANTOPEN if self._is_read_only and has_log(self.path):
                said = (
                    f"cannot read the store {self.path}: it was not closed properly. {self.path.name}-wal has changes "
                    f"that can be read only with {self.path.name}-shm, which this user can neither open nor create"
                )
                hint = (
                    "ask its owner to run `solvent status` on it; or copy the file and its -wal into a folder of "
                    "your own, make them writable, and use the copy"
                )
                return StoreError("E401", said, hint=hint)
            case sqlite3.SQLITE_NOTADB if is_opening:
                return StoreError("E401", f"{self.path} is not a store", hint="name another file")
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
                return self.damaged(str(error))
            case _:
                name = getattr(error, "sqlite_errorname", "")
                said = f"cannot {'open' if is_opening else 'use'} the store {self.path}: {error}"
                return StoreError("E401", said + (f" ({name})" if name else ""))


def _release_pages(connection: sqlite3.Connection) -> tuple[int, int]:
    """Release some free pages; return how many can be released still, and how many the file has."""
    before = connection.execute("PRAGMA freelist_count").fetchone()[0]
    connection.execute(f"PRAGMA incremental_vacuum({_PAGES_PER_STEP})").fetchall()
    left = connection.execute("PRAGMA freelist_count").fetchone()[0]
    # A file that was created otherwise keeps its free pages, and uses them again.
    return left if left < before else 0, connection.execute("PRAGMA page_count").fetchone()[0]


def sync_folder(folder: Path) -> None:
    """Sync the entries of a folder to disk."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)


_OPEN = weakref.WeakSet[SqliteFile]()


def _abandon_all() -> None:
    for file in list(_OPEN):
        file.abandon()


os.register_at_fork(after_in_child=_abandon_all)


__all__ = [
    "CHECKPOINT_PAGES",
    "FORMAT",
    "SqliteFile",
    "can_be_written",
    "check_place",
    "checksum",
    "is_whole",
    "path_from_url",
    "stopped_holder_goes_on",
    "sync_folder",
    "url_from_path",
]
