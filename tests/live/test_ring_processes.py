"""Rings of processes that are killed, stopped, join and leave, and of connections that break."""

from __future__ import annotations

import os
import random
import signal
import time
from typing import TYPE_CHECKING

from tests.live.ring_members import PATIENCE, Members, Process, check, free_places, until

if TYPE_CHECKING:
    from pathlib import Path


def _started(members: Members, count: int) -> list[Process]:
    processes = [members.start(node) for node in range(count)]
    for process in processes:
        members.await_note(process, "began")
    return processes


def _gap(members: Members, killed: Process, what: str) -> None:
    """Wait until another has the lock after a kill, and print how long that took."""
    at = killed.killed_at
    assert at is not None
    others = [process for process in members.processes if not process.is_over]
    until(lambda: any(note["what"] == "locked" and note["at"] > at for one in others for note in one.notes()), members)
    gap = min(note["at"] for one in others for note in one.notes() if note["what"] == "locked" and note["at"] > at) - at
    print(f"{what}: another had the lock after {gap:.2f} s, {gap / PATIENCE:.1f} times the patience")


def test_the_holder_is_killed_again_and_again(tmp_path: Path) -> None:
    """Of eight processes the one that has the lock is killed, and comes back or not; the others go on in good order."""
    options = {"peers": free_places(8), "journal": tmp_path, "patience": PATIENCE}
    with Members(tmp_path, options) as members:
        processes = _started(members, 8)
        for process in processes:
            members.tell(process, "work")
        for node, is_restarted in ((3, True), (0, True), (3, True), (5, False), (6, False)):
            victim = next(process for process in members.processes if process.node == node and not process.is_over)
            members.await_note(victim, "locked", 3)
            members.tell(victim, "rest")
            members.tell(victim, "hold")
            members.await_note(victim, "holds")
            members.kill(victim)
            _gap(members, victim, f"node {node}")
            if is_restarted:
                back = members.start(node)
                members.tell(back, "work")
                members.await_note(back, "locked")
        left = [process for process in members.processes if not process.is_over]
        for process in left:
            members.tell(process, "rest")
        members.tell(left[0], "say the end")
        for process in left:
            until(lambda process=process: _has_heard(process, "the end"), members)  # type: ignore[misc]
        check(members)


def _has_heard(process: Process, text: str) -> bool:
    return any(note["what"] == "heard" and note["said"][1] == text for note in process.notes())


def test_a_holder_that_was_taken_for_dead_learns_that_it_lost_the_lock(tmp_path: Path) -> None:
    """A process that is stopped with the lock and goes on later has lost it; its fence is refused; it comes back."""
    options = {"peers": free_places(3), "patience": PATIENCE}
    with Members(tmp_path, options) as members:
        sleeper, *others = _started(members, 3)
        members.tell(sleeper, "hold")
        members.await_note(sleeper, "holds")
        os.kill(sleeper.pid, signal.SIGSTOP)
        stopped = time.monotonic()
        for process in others:
            members.tell(process, "work")
        for process in others:
            members.await_note(process, "locked", 3, stopped)
        os.kill(sleeper.pid, signal.SIGCONT)
        members.await_note(sleeper, "lost")
        assert [note["accepted"] for note in sleeper.notes() if note["what"] == "again"] == [False]
        members.tell(sleeper, "work")
        members.await_note(sleeper, "unlocked", 3)
        members.tell(sleeper, "rest")
        for process in others:
            members.tell(process, "rest")
        members.tell(sleeper, "say here again")
        members.await_note(sleeper, "said")
        check(members)


def test_nodes_join_and_leave_under_load(tmp_path: Path) -> None:
    """A newcomer that knows one member works with all; one that leaves is missed by nobody; connections may break."""
    places = free_places(3)
    with Members(tmp_path, {"patience": PATIENCE}) as members:
        first = [members.start(node, peers=places) for node in range(3)]
        for process in first:
            members.await_note(process, "began")
            members.tell(process, "work 3")
        newcomer = members.start(7, join=places[1])
        members.await_note(newcomer, "began")
        members.tell(newcomer, "work 3")
        members.await_note(newcomer, "said", 3)
        chance = random.Random(1)
        for _ in range(10):
            members.tell(chance.choice([*first, newcomer]), "break")
            time.sleep(0.02)
        members.tell(first[0], "rest")
        members.await_note(first[0], "rests")
        members.tell(first[0], "leave")
        members.await_note(first[0], "left")
        at = time.monotonic()
        for process in (first[1], first[2], newcomer):
            members.await_note(process, "said", 2, at)
            members.tell(process, "rest")
            members.await_note(process, "rests")
        members.tell(first[0], "end")
        members.await_end(first[0])
        members.end(newcomer)
        members.tell(first[1], "say only two")
        until(lambda: _has_heard(first[2], "only two"), members)
        check(members)
