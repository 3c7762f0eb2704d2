"""Who keeps a SQLite file locked, and a way around one that was stopped while it did.

A process that is stopped (SIGSTOP, Ctrl-Z) in the middle of a transaction holds up all other writers, for as long as
it is stopped, and nobody can take the lock from it. So it is let go on until somebody else has the lock, and stopped
again: as if it had been stopped that much later. This is done only to a process that is stopped, holds this very lock,
and may be sent signals, and only by somebody who has waited for a while. Whoever brings it to the foreground meanwhile
(`fg`) has it running; that somebody else has sent it SIGCONT in these milliseconds cannot be seen.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# SQLite's lock of writers: one byte of the file of shared memory.
_WRITERS_BYTE = 120
_STOPPING_SECONDS_MAX = 0.5
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
    until = time.monotonic() + _STOPPING_SECONDS_MAX
    while not _is_stopped(process) and time.monotonic() < until:
        time.sleep(0.001)


def _holder(path: Path) -> int:
    """Give the number of the process that has the lock of writers; 0 for none."""
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
    """Whether what the system says of a lock (`fe:00:123456`) is this file, and not one of its number elsewhere."""
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
    """Whether a process is what its terminal runs in the foreground."""
    status = _status(process)
    return len(status) > _FOREGROUND and status[_GROUP] == status[_FOREGROUND]


def _status(process: int) -> list[str]:
    with suppress(OSError):
        # The name in parentheses may contain anything.
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return []


__all__ = ["describe_holder", "stopped_holder_goes_on"]
