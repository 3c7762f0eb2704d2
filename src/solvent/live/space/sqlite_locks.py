"""Who keeps a SQLite file locked: for people that have to do something about it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

# SQLite's lock of writers: one byte of the file of shared memory.
_WRITERS_BYTE = 120


def holder_of_lock(path: Path) -> str:
    """Name the process that writes to a file in WAL mode now; nothing where the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        wanted = os.stat(f"{path}-shm").st_ino  # noqa: PTH116
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            # 7: POSIX  ADVISORY  WRITE 4711 fe:00:123456 120 120
            fields = line.split()
            if fields[1] != "POSIX" or fields[3] != "WRITE" or int(fields[5].rpartition(":")[2]) != wanted:
                continue
            if int(fields[6]) <= _WRITERS_BYTE <= int(fields[7]):
                return _described(int(fields[4]))
    return ""


def _described(process: int) -> str:
    state = ""
    with suppress(OSError):
        # The name in parentheses may contain anything.
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    return f"process {process} holds the lock" + (", and is stopped" if state in {"T", "t"} else "")


__all__ = ["holder_of_lock"]
