"""Notices that something changed in a space's file, whoever changed it.

SQLite has a number that changes with every transaction of anybody else; asking for it costs some microseconds. It is
asked for every millisecond while what is watched changes, every few milliseconds while only other things do, and less
and less often when nothing does: who waits for the end of a run takes no time from those that work at it. When it has
changed, only what is new since then is looked at, so that those who watch different things do not wake each other.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from typing import TYPE_CHECKING

from solvent.live.space.interface import Watch, check_scope, is_within

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent.live.space.sqlite_file import SqliteFile

PAUSE_MIN, PAUSE_OF_OTHERS_MAX, PAUSE_MAX = 0.001, 0.004, 0.02
PAUSE_GROWTH = 1.25
LOOKED_AT_MAX = 1000
"""New records that are looked at; when there are more, something is taken to have changed."""

_VERSION = "PRAGMA data_version"
_RECORDS = "SELECT position, log FROM records WHERE position > ? ORDER BY position DESC LIMIT ?"
_NAME = "SELECT name FROM logs WHERE number = ?"
_KEYS = "SELECT revision, key FROM keys WHERE revision > ? ORDER BY revision DESC LIMIT ?"


class SqliteWatch(Watch):
    """Watches some logs and keys of one space, with a connection of its own."""

    def __init__(self, file: SqliteFile, below: Sequence[str], forget: Callable[[SqliteWatch], None]) -> None:
        self._scopes = tuple(map(check_scope, below))
        self._file = file
        self._forget = forget
        self._is_closed = threading.Event()
        # Held while the connection is used: `close` gives it back only then.
        self._using = threading.Lock()
        self._pause = PAUSE_MIN
        self._checks_at = 0.0
        self._connection: sqlite3.Connection | None = None
        self._version = -1
        #: Whether the logs of these numbers are watched.
        self._meant = dict[int, bool]()
        self._position, self._revision = file.read(_newest)
        self._connection = file.take()

    def wait(self, seconds: float) -> bool:
        """Wait until something watched may have changed; false when time is over, or the watch is closed."""
        until = time.monotonic() + seconds
        while not self._is_closed.is_set():
            if self._has_changed():
                return True
            rest = until - time.monotonic()
            if rest <= 0:
                return False
            self._is_closed.wait(min(self._pause, rest))
            self._pause = min(self._pause * PAUSE_GROWTH, PAUSE_MAX)
        return False

    def close(self) -> None:
        """Watch no more."""
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
                self._pause = PAUSE_MIN if is_changed else min(self._pause, PAUSE_OF_OTHERS_MAX)
            except sqlite3.OperationalError as error:
                if self._file.is_busy(error):
                    # Somebody recovers the file after a crash; the version is asked for again.
                    return False
                raise self._file.problem(error) from error
            except (sqlite3.Error, UnicodeError) as error:
                raise self._file.problem(error) from error
            self._version = version
            return is_changed

    def _look_after_file(self) -> None:
        """See, from time to time, that the file is still there: that costs more than to ask for its version."""
        now = time.monotonic()
        if now >= self._checks_at:
            self._checks_at = now + PAUSE_MAX
            self._file.check()

    def _look(self, connection: sqlite3.Connection) -> bool:
        records = connection.execute(_RECORDS, (self._position, LOOKED_AT_MAX)).fetchall()
        keys = connection.execute(_KEYS, (self._revision, LOOKED_AT_MAX)).fetchall()
        if records:
            self._position = records[0][0]
        if keys:
            self._revision = keys[0][0]
        if max(len(records), len(keys)) >= LOOKED_AT_MAX:
            return True
        if any(is_within(key, self._scopes) for _, key in keys):
            return True
        return any(self._is_meant(connection, log) for log in {log for _, log in records})

    def _is_meant(self, connection: sqlite3.Connection, log: int) -> bool:
        found = self._meant.get(log)
        if found is None:
            row = connection.execute(_NAME, (log,)).fetchone()
            # A log that is not there is damage, which whoever reads is told of.
            found = self._meant[log] = row is None or is_within(row[0], self._scopes)
        return found


def _newest(connection: sqlite3.Connection) -> tuple[int, int]:
    (position,) = connection.execute("SELECT max(position) FROM records").fetchone()
    (revision,) = connection.execute("SELECT max(revision) FROM keys").fetchone()
    return position or 0, revision or 0


__all__ = ["SqliteWatch"]
