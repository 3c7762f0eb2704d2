"""Who keeps a SQLite file locked, and a way around one that was stopped while it did.

A process that is stopped (SIGSTOP, Ctrl-Z) in the middle of a transaction holds up all other writers, for as long as
it is stopped, and nobody can take the lock from it. So it is let go on until somebody else has the lock, and stopped
again: as if it had been stopped that much later. This is done only to a process that is stopped, holds this very lock,
and may be sent signals, and only by somebody who has waited for a while.
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
    try:
        yield True
    finally:
        with suppress(OSError):
            os.kill(process, signal.SIGSTOP)
            _wait_until_stopped(process)


def _wait_until_stopped(process: int) -> None:
    until = time.monotonic() + _STOPPING_SECONDS_MAX
    while not _is_stopped(process) and time.monotonic() < until:
        time.sleep(0.001)


def _holder(path: Path) -> int:
    """Give the number of the process that has the lock of writers; 0 for none."""
    with suppress(OSError, ValueError, IndexError):
        wanted = os.stat(f"{path}-shm").st_ino  # noqa: PTH116
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            # 7: POSIX  ADVISORY  WRITE 4711 fe:00:123456 120 120
            fields = line.split()
            if fields[1] != "POSIX" or fields[3] != "WRITE" or int(fields[5].rpartition(":")[2]) != wanted:
                continue
            if int(fields[6]) <= _WRITERS_BYTE <= int(fields[7]):
                return int(fields[4])
    return 0


def _is_stopped(process: int) -> bool:
    with suppress(OSError, IndexError):
        # The name in parentheses may contain anything. `T`: by a signal, and not by a debugger.
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "T"
    return False


__all__ = ["describe_holder", "stopped_holder_goes_on"]
