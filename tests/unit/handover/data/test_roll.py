"""The roll of a run: who is there, and who is dead for certain."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

from solvent.handover.data.folder import Roll

if TYPE_CHECKING:
    from pathlib import Path


def test_a_copy_of_a_process_does_not_stand_for_it(tmp_path: Path) -> None:
    """A process that was split off from one on the roll does not keep that one alive."""
    roll, mine = Roll(tmp_path), Roll(tmp_path)
    mine.enter(2, "member", "here")
    ready, said = os.pipe()
    waits, ends = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(200)
        os.close(ends)
        os.write(said, b"x")
        os.read(waits, 1)
        os._exit(0)
    os.read(ready, 1)
    assert not roll.is_dead(2)
    mine.abandon()
    assert roll.is_dead(2)
    for end in (ready, said, waits, ends):
        os.close(end)
    assert os.waitpid(child, 0)[1] == 0


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


def test_who_is_not_on_the_roll_any_more_says_nothing(tmp_path: Path) -> None:
    """It may have been taken for dead while it was let in, and have left in another thread."""
    roll = Roll(tmp_path)
    roll.enter(7, "waiting", "here:1")
    roll.leave()
    roll.say("member", "here:1")
    assert list(tmp_path.glob("*.here")) == []
    assert roll.is_dead(7)
