"""The roll of a run: who is there, and who is dead for certain."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

from solvent.handover.data.roll import Roll

if TYPE_CHECKING:
    from pathlib import Path


def test_two_threads_leave_once(tmp_path: Path) -> None:
    """The number of a file that is closed twice may be somebody else's by then."""
    roll, both = Roll(tmp_path), threading.Barrier(2)
    roll.enter(1, "member", "here")
    path = roll._path

    def slow(node: int) -> Path:
        with suppress(threading.BrokenBarrierError):
            both.wait(0.1)
        return path(node)

    roll._path = slow  # type: ignore[method-assign]
    with ThreadPoolExecutor(2) as threads:
        for leaving in [threads.submit(roll.leave) for _ in range(2)]:
            leaving.result()
    assert not path(1).exists()
