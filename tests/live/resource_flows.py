"""A workflow whose tasks count in a resource, each by a bit of its own, so that a lost or repeated change shows."""

from __future__ import annotations

from typing import Any

from solvent import resource, service, workflow
from tests.live.chemical_services import note

COUNT = 6
BYTES = 8


@service
def count(table: Any, number: int) -> int:
    """Add a number; in the middle the resource holds something else."""
    before = int.from_bytes(table[:BYTES], "big")
    table[:BYTES] = b"\xff" * BYTES
    note()
    table[:BYTES] = (before + number).to_bytes(BYTES, "big")
    return before + number


@service
def read(table: Any) -> int:
    """Return the number."""
    return int.from_bytes(table[:BYTES], "big")


@workflow
def counted() -> int:
    """Count in one resource by several tasks, one after the other."""
    table = resource("table", size=2 * BYTES)
    steps = [count.named("T0")(table, 1)]
    for number in range(1, COUNT):
        steps.append(count.named(f"T{number}").after(steps[-1])(table, 1 << number))
    return read.after(*steps)(table.read)


__all__ = ["COUNT", "counted"]
