"""A process that was stopped with the lock of a ring, and goes on when others have had the lock."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.live.ring_members import PATIENCE, Members, Process, free_places, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SLOW = 2.0
"""A patience after which nobody who does not want the lock misses its holder for long."""


def _three(folder: Path, patience: float) -> Iterator[Members]:
    with Members(folder, {"peers": free_places(3), "patience": patience}) as members:
        for node in range(3):
            members.start(node)
        for process in members.processes:
            members.await_note(process, "began")
        yield members


@pytest.fixture(name="members")
def _members(tmp_path: Path) -> Iterator[Members]:
    yield from _three(tmp_path, PATIENCE)


@pytest.fixture(name="slow")
def _slow(tmp_path: Path) -> Iterator[Members]:
    yield from _three(tmp_path, SLOW)


def _go_on_after_others(members: Members, stopped: Process) -> None:
    """Let all others have the lock while a process is stopped; then let it go on."""
    others = [process for process in members.processes if process is not stopped]
    since = members.await_stop(stopped)
    for process in others:
        members.tell(process, "work")
    for process in others:
        members.await_note(process, "locked", 3, since)
        members.tell(process, "rest")
        members.await_note(process, "rests")
    os.kill(stopped.pid, signal.SIGCONT)


def _is_over(process: Process) -> bool:
    return any(note["what"] in ("unlocked", "lost") for note in process.notes())


@pytest.mark.parametrize("use", ["fence", "await", "leave"])
def test_the_next_use_of_a_lock_that_others_have_had_raises(members: Members, use: str) -> None:
    """A holder that was stopped while others had the lock gets `LockLost`, whatever it does first."""
    stopped = members.processes[0]
    members.tell(stopped, f"stop {use}")
    _go_on_after_others(members, stopped)
    until(lambda: _is_over(stopped), members)
    notes = [note for note in stopped.notes() if note["what"] in ("used", "unlocked", "lost")]
    assert [note.get("code") for note in notes] == ["N201"]


def test_a_lock_that_others_have_had_says_that_it_is_lost(members: Members) -> None:
    """`is_lost` is true at once in a holder that was stopped while others had the lock, and the fence is refused."""
    stopped = members.processes[0]
    members.tell(stopped, "stop is_lost")
    _go_on_after_others(members, stopped)
    until(lambda: _is_over(stopped), members)
    assert [note["is_lost"] for note in stopped.notes() if note["what"] == "used"] == [True]
    fences = [note["fence"] for one in members.processes[1:] for note in one.notes() if note["what"] == "locked"]
    assert min(fences) > next(note["fence"] for note in stopped.notes() if note["what"] == "locked")


def test_a_process_that_was_stopped_enters_only_with_a_lock_of_now(members: Members) -> None:
    """A process that was stopped where the token rested does not get the lock by the token that it had."""
    stopped = members.processes[0]
    members.tell(stopped, "stop_idle")
    _go_on_after_others(members, stopped)
    members.await_note(stopped, "went on")
    others = [note["fence"] for one in members.processes[1:] for note in one.notes() if note["what"] == "locked"]
    first, second = (note for note in stopped.notes() if note["what"] == "locked")
    assert first["accepted"]
    assert second["accepted"]
    assert second["fence"] > max(others)


def test_a_lock_that_nobody_else_can_take_is_still_held(tmp_path: Path) -> None:
    """Of two members one alone never goes on: a holder that was stopped has the lock still."""
    with Members(tmp_path, {"peers": free_places(2), "patience": PATIENCE}) as members:
        stopped, other = members.start(0), members.start(1)
        members.await_note(stopped, "began")
        members.await_note(other, "began")
        members.tell(stopped, "stop fence")
        members.await_stop(stopped)
        members.tell(other, "work")
        os.kill(stopped.pid, signal.SIGCONT)
        members.await_note(stopped, "unlocked")
        members.await_note(other, "locked")


def _lock(members: Members, *processes: Process) -> None:
    """Have each of some processes have the lock."""
    for process in processes:
        members.tell(process, "work")
        members.await_note(process, "locked")
        members.tell(process, "rest")


def test_a_lock_in_doubt_is_given_back(slow: Members) -> None:
    """A holder blocks its loop for longer than the patience and gets `LockLost` from the fence; all can lock again."""
    blocked, *others = slow.processes
    slow.tell(blocked, f"block {1.2 * SLOW} fence")
    slow.await_note(blocked, "lost")
    _lock(slow, *others, blocked)


def test_a_lock_that_cannot_be_confirmed_is_given_back(slow: Members) -> None:
    """A holder that was stopped leaves while nobody answers: it gets `LockLost`, and all can lock again."""
    stopped, *others = slow.processes
    slow.tell(stopped, "stop leave")
    since = slow.await_stop(stopped)
    for process in others:
        os.kill(process.pid, signal.SIGSTOP)
    until(lambda: time.monotonic() > since + SLOW, slow)
    os.kill(stopped.pid, signal.SIGCONT)
    slow.await_note(stopped, "lost")
    for process in others:
        os.kill(process.pid, signal.SIGCONT)
    _lock(slow, *others)


def test_doubt_ends_when_the_others_confirm_the_lock(slow: Members) -> None:
    """After a standstill in which nobody else had the lock, `confirm` ends the doubt and the fence is the same."""
    blocked, *others = slow.processes
    slow.tell(blocked, f"block {1.2 * SLOW} confirm")
    until(lambda: _is_over(blocked), slow)
    notes = {note["what"]: note for note in blocked.notes()}
    assert "unlocked" in notes
    assert notes["doubts"]["is_lost"]
    assert not notes["confirmed"]["is_lost"]
    assert notes["confirmed"]["fence"] == notes["blocks"]["fence"]
    _lock(slow, *others, blocked)
