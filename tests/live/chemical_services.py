"""The services of `examples/patterns/coordination.hocl` once more, for agents that are killed.

Each call leaves a line in a file: which task, whether it is repeated, and the process that made it. A call does not end
while there is a file named after its task.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import solvent

LEDGER, HELD = "SOLVENT_TEST_LEDGER", "SOLVENT_TEST_HELD"
"""The variables that name the file, and the folder of the files that keep calls from ending."""


def note() -> None:
    """Leave a line, and wait for as long as the call is held."""
    call = solvent.call()
    assert call is not None
    with Path(os.environ[LEDGER]).open("a") as file:
        file.write(f"{call.run} {call.task} {int(call.repeated)} {os.getpid()}\n")
    held = Path(os.environ[HELD]) / f"{call.run}-{call.task}"
    while held.exists():
        time.sleep(0.01)


def numbers(count: int) -> list[int]:
    """Return the numbers from 1 up to a count."""
    note()
    return list(range(1, count + 1))


def lowest(values: list[int]) -> int:
    """Return the lowest of some numbers."""
    note()
    return min(values)


def highest(values: list[int]) -> int:
    """Return the highest of some numbers."""
    note()
    return max(values)


def difference(one: int, other: int) -> int:
    """Return how far two numbers are apart."""
    note()
    return abs(one - other)


def doubled(number: int) -> int:
    """Return twice a number."""
    note()
    return 2 * number


def named(value: object) -> str:
    """Say what a value is."""
    note()
    return f"the result is {value}"
