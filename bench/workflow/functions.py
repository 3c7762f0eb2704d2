"""What the tasks call: functions that do nothing worth measuring.

They stand in a module that worker processes can import, so that every system passes them by name.
"""

import time
from pathlib import Path

MASK = 0x7FFF_FFFF


def combine(task: int, *values: int) -> int:
    """Mix a task's number with its arguments; their order matters. Integers have the same hash in all processes."""
    return hash((task, values)) & MASK


class Broken(Exception):
    """A task failed because it was told to."""


def fail(mark: str) -> int:
    """Write down when the failure happened, and fail.

    The clock is the machine's, so that another process can subtract. Writing is part of what is measured, some
    20 µs, and the same for all.
    """
    now = time.perf_counter()
    Path(mark).write_text(repr(now), encoding="ascii")
    raise Broken


def fall_back(answer: int) -> int:
    """Give the result that the failed task should have given."""
    return answer
