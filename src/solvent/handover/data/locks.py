"""Locks on stretches of a file that the kernel takes back when their process dies.

They belong to the open file and not to the process, so two parts of one program exclude each other as two programs
do, and whoever closes another file of the same name loses nothing. A process that is killed loses them in the same
moment: no number of a process has to be compared with those that live, which would go wrong across containers and
when numbers are used again.
"""

from __future__ import annotations

import fcntl
import struct
import time

from solvent.errors import DataProblem

CAN_SHARE = hasattr(fcntl, "F_OFD_SETLK")
"""Whether this system has such locks; where it has not, no process attaches to the memory of another."""
_FLOCK = struct.Struct("hhqqi0q")
_TAKE = _FLOCK.pack(fcntl.F_WRLCK, 0, 0, 1, 0)
_GIVE = _FLOCK.pack(fcntl.F_UNLCK, 0, 0, 1, 0)
_MAX_SHORT_SECONDS = 5.0


def try_lock(file: int, start: int, length: int) -> bool:
    """Take a stretch for this open file alone; length 0 reaches to the end, wherever that comes to be."""
    return _set(file, _FLOCK.pack(fcntl.F_WRLCK, 0, start, length, 0))


def unlock(file: int, start: int, length: int) -> None:
    """Give a stretch back."""
    _set(file, _FLOCK.pack(fcntl.F_UNLCK, 0, start, length, 0))


def is_locked(file: int, start: int, length: int) -> bool:
    """Tell whether another open file has a part of a stretch."""
    if not CAN_SHARE:
        return False
    asked = _FLOCK.pack(fcntl.F_WRLCK, 0, start, length, 0)
    found = fcntl.fcntl(file, fcntl.F_OFD_GETLK, asked)
    return bool(_FLOCK.unpack(found)[0] != fcntl.F_UNLCK)


def take_first_byte(file: int) -> None:
    """Take the first byte for some microseconds, and wait for who does the same.

    Raises `DataProblem` where somebody holds it for seconds: a process that was stopped in that very moment.
    """
    pause, end = 0.00002, 0.0
    while not _set(file, _TAKE):
        now = time.monotonic()
        end = end or now + _MAX_SHORT_SECONDS
        if now > end:
            hint = "it may have been stopped by a debugger or a signal; let it go on, or end it"
            raise DataProblem("D203", "another process keeps this memory's card locked", hint=hint)
        time.sleep(pause)
        pause = min(2 * pause, 0.002)


def give_first_byte(file: int) -> None:
    """Give the first byte back."""
    _set(file, _GIVE)


def _set(file: int, lock: bytes) -> bool:
    if not CAN_SHARE:
        return True
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, lock)
    except (BlockingIOError, PermissionError):
        return False
    return True


__all__ = ["CAN_SHARE", "give_first_byte", "is_locked", "take_first_byte", "try_lock", "unlock"]
