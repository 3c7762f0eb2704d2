"""The file of a store: its connections, transactions and their durability, and what can go wrong with it.

*Durability.* A transaction is a write to SQLite's log (the file `-wal`). SQLite could bring it to disk as a part of the
transaction, while everybody else waits. Here it is done after the transaction, by the writer alone, and before anything
is acknowledged: several writers' syncs then go on at once, and become one in the system, and a process that is stopped
at that moment holds up nobody. Others may see a record a moment before it is on disk; but since all records are in one
log, in order, whatever they append on the strength of it is on disk only together with it.

*Waiting.* Writers wait for each other's transactions with short random pauses. SQLite's own pauses grow to 100 ms and
let a writer among eight wait for seconds. One that was stopped in the middle of a transaction is made to end it
(`stopped_holder_goes_on`). Whoever has waited for longer than `patience` says so, and for whom.

*Checkpoints*, which move pages from the log into the main file, are made by a writer after some megabytes, while it
holds the writers' lock. SQLite before 3.51.3 can spoil a file when somebody commits during a checkpoint that follows
closely on another (very rarely); nobody can here.

*Fork.* A copy of the process must neither use nor close the connections: the copy is told so by E408.

*Stopped writers.* A process that is stopped (SIGSTOP, Ctrl-Z) in the middle of a transaction holds up all other
writers, for as long as it is stopped, and nobody can take the lock from it. So it is let go on until somebody else has
the lock, and stopped again: as if it had been stopped that much later. This is done only to a process that is stopped,
holds this very lock, and may be sent signals, and only by somebody who has waited for a while. Whoever brings it to the
foreground meanwhile (`fg`) has it running; that somebody else has sent it SIGCONT in these milliseconds cannot be seen.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import threading
import time
import weakref
from contextlib import contextmanager, suppress
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from solvent.errors import StoreError
from solvent.store.sqlite_format import check_place, connect, has_log, make_private, prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# SQLite's lock of writers: one byte of the file of shared memory.
_WRITERS_BYTE = 120
_MAX_STOPPING_SECONDS = 0.5
# Of what the system tells of a process behind its name: its group, and that in the foreground of its terminal.
_GROUP, _FOREGROUND = 2, 5


def describe_holder(path: Path) -> str:
    """Name the process that writes to a file in WAL mode now; nothing where the system does not tell."""
    process = _holder(path)
    if not process:
        return ""
    return f"process {process} holds the lock" + (", and is stopped" if _is_stopped(process) else "")


@contextmanager
def stopped_holder_goes_on(path: Path) -> Iterator[bool]:
    """Let a process that was stopped in a transaction go on for the while; say whether there is one."""
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
    """Return the number of the process that has the lock of writers; 0 for none."""
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
    """Return whether what the system says of a lock (`fe:00:123456`) is this file, not one of its number elsewhere."""
    major, minor, number = said.split(":")
    if int(number) != wanted.st_ino:
        return False
    if (int(major, 16), int(minor, 16)) == (os.major(wanted.st_dev), os.minor(wanted.st_dev)):
        return True
    # Some file systems have a device for each of their parts, and tell another one of locks.
    return any(os.path.samestat(one.stat(), wanted) for one in Path(f"/proc/{process}/fd").iterdir())


def _is_stopped(process: int) -> bool:
    # `T`: by a signal, and not by a debugger.
    return _status(process)[:1] == ["T"]


def _is_in_front(process: int) -> bool:
    """Return whether a process is what its terminal runs in the foreground."""
    status = _status(process)
    return len(status) > _FOREGROUND and status[_GROUP] == status[_FOREGROUND]


def _status(process: int) -> list[str]:
    with suppress(OSError):
        # The name in parentheses may contain anything.
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return []


PAUSE_FIRST, MAX_PAUSE = 0.0002, 0.003
PASS_BY_FIRST, PASS_BY_NEXT, PASSING = 0.2, 1.0, 0.5
"""After how long somebody who is stopped with the lock is let go on, how often again, and for how long."""
CHECKPOINT_PAGES = 4000
_PAGE_BYTES = 4096
_PAGES_PER_TRANSACTION = 4

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
# Names that a disk has changed may be no text any more.
_ERRORS = (sqlite3.Error, UnicodeError)
_FULL = {ENOSPC, EDQUOT, EFBIG}

Result = TypeVar("Result")


class _Busy(Exception):
    """Somebody else was at work all the time."""


class SqliteFile:
    """A file that is a store, and connections to it; made and closed once, used by any thread."""

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
        """Do something that only reads, and may be done again; with one state of the store, if it begins so."""
        connection = self.take()
        try:
            return self._patiently(lambda: self._read(connection, work))
        except _ERRORS as error:
            raise self.problem(error) from error
        finally:
            self.give_back(connection)

    def write(self, work: Callable[[sqlite3.Connection], Result], size: int = 0) -> Result:
        """Do something in a transaction; when this returns, it is kept as was promised."""
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
        """Try again while others are at work."""
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
        """Try again for a while; raise `_Busy` when it is over."""
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
        """Bring the log to disk, if that was promised; whoever calls has a connection."""
        if self.is_durable:
            try:
                os.fdatasync(self._wal)
            except OSError as error:
                # The system forgets what it could not write, and would say next time that all is well.
                self._closed = f"it could not be brought to disk: {error.strerror}"
                said = f"the store {self.path} could not be brought to disk: {error.strerror}"
                raise StoreError("E403", said, hint="whether what was written last is kept is not known") from error

    def _checkpoint(self, connection: sqlite3.Connection) -> None:
        """Move pages from the log into the main file; without success the log only grows."""
        # Most of it is brought to disk before anybody has to wait.
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
        """Have a connection for oneself, until it is given back."""
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
        """Let others have a connection."""
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
        """Close what nobody uses now; what is in use is closed when it is given back."""
        with self._guard:
            self._closed = self._closed or "`close` was called"
            free, self._free = self._free, []
        for connection in free:
            with suppress(sqlite3.Error):
                connection.close()
        self._let_go()

    def abandon(self) -> None:
        """In a copy of the process: forget everything, and let nothing be closed."""
        import ctypes

        self._guard, self._turn = threading.Lock(), threading.Lock()
        for connection in (*self._free, *self._used):
            # SQLite would take itself for the process that it is a copy of. One count too many keeps it for ever.
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
            # From now on the connection has a lock, so that nobody removes the log.
            self._patiently(lambda: connection.execute("SELECT max(number) FROM logs").fetchone())
            if self._wal < 0:
                self._find_files()
        except BaseException:
            connection.close()
            raise
        return connection

    def _find_files(self) -> None:
        """Note which files are open, and see to it that they are found again after a loss of power."""
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
        """Return whether somebody else is at work, and trying again helps."""
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY

    def check(self) -> None:
        """Raise where the files are gone, or are others: what is written now would be lost."""
        self._check_open()
        try:
            numbers = self._numbers()
        except OSError:
            numbers = (0, 0)
        if numbers != self._files:
            said = f"the store {self.path} is gone: its files were removed or replaced while it was open"
            hint = "stop all that use it; put the files back, or begin with a new store"
            raise StoreError("E409", said, hint=hint, is_lasting=True)

    def _numbers(self) -> tuple[int, int]:
        path, log = self._names
        # Who only reads may find no log.
        return os.stat(path).st_ino, 0 if self._is_read_only else os.stat(log).st_ino  # noqa: PTH116 - faster so

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("E408", f"the store {self.path} is closed: {self._closed}")

    def _locked(self) -> StoreError:
        said = f"the store {self.path} was locked by somebody else for {self.patience:g} seconds"
        who = describe_holder(self.path)
        return StoreError("E409", said, hint=f"{who}: let it go on, or kill it" if who else "")

    def damaged(self, what: str) -> StoreError:
        """Return the error of a file that is not as it was written."""
        hint = "stop all that use it, and restore the file from a copy"
        return StoreError("E406", f"the store {self.path} is damaged: {what}", hint=hint)

    def problem(self, error: sqlite3.Error | UnicodeError | OSError, *, is_opening: bool = False) -> StoreError:
        """Return the error of what went wrong, in our words."""
        if isinstance(error, OSError):
            if error.errno in _FULL:
                return StoreError("E403", f"there is no room for the store {self.path}: {error.strerror}")
            return StoreError("E401", f"cannot use the store {self.path}: {error.strerror or error}")
        if isinstance(error, UnicodeError):
            return self.damaged("a name is no text")
        code = getattr(error, "sqlite_errorcode", 0)
        match code & 0xFF:
            case sqlite3.SQLITE_FULL:
                hint = "nothing was changed; make room and try again"
                return StoreError("E403", f"there is no room for the store {self.path}: the disk is full", hint=hint)
            case sqlite3.SQLITE_IOERR if not is_opening:
                hint = "nothing was changed; see whether the disk is full, or broken"
                said = f"the store {self.path} could not be read or written: {error} ({error.sqlite_errorname})"
                return StoreError("E403", said, hint=hint)
            case sqlite3.SQLITE_READONLY:
                hint = f"run this as the owner of the file, or let this user write to it and to {self.path.parent}"
                said = f"the store {self.path} can only be read: this user may not write to it"
                return StoreError("E415", said, hint=hint)
            case sqlite3.SQLITE_CANTOPEN if self._is_read_only and has_log(self.path):
                said = (
                    f"cannot read the store {self.path}: it was not closed in order. {self.path.name}-wal has changes "
                    f"that can be read only with {self.path.name}-shm, which this user can neither open nor make"
                )
                hint = (
                    "let its owner run `solvent status` on it; or copy the file and its -wal into a folder of your "
                    "own, make them writable, and name the copy"
                )
                return StoreError("E401", said, hint=hint)
            case sqlite3.SQLITE_NOTADB if is_opening:
                return StoreError("E401", f"{self.path} is no store", hint="give the name of another file")
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
                return self.damaged(str(error))
            case _:
                name = getattr(error, "sqlite_errorname", "")
                said = f"cannot {'open' if is_opening else 'use'} the store {self.path}: {error}"
                return StoreError("E401", said + (f" ({name})" if name else ""))


def sync_folder(folder: Path) -> None:
    """Bring to disk which files a folder has."""
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


__all__ = ["CHECKPOINT_PAGES", "SqliteFile", "describe_holder", "stopped_holder_goes_on", "sync_folder"]
