"""A ring of processes in a long storm: killed, stopped, cut off, coming and going, all at random."""

from __future__ import annotations

import os
import random
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.live.ring_members import PATIENCE, Members, Process, check, free_places, until

if TYPE_CHECKING:
    from pathlib import Path

FIRST = 7
SECONDS = 60


class _Storm:
    """What happens to the members."""

    def __init__(self, members: Members, places: dict[int, str], chance: random.Random) -> None:
        self.members = members
        self.places = places
        self.chance = chance
        self.stopped = list[tuple[float, Process]]()
        self.down = list[tuple[float, int]]()
        self.guests = list[Process]()
        self.next_guest = 100
        self.done = dict[str, int]()

    def up(self) -> list[Process]:
        """Give the first members that run."""
        halted = [process for _, process in self.stopped]
        return [one for one in self.members.processes if one.node < FIRST and not one.is_over and one not in halted]

    def is_safe(self) -> bool:
        """Whether one more may be away: most of all members must stay."""
        # Guests that are on their way in or out may count already, or still.
        away = len(self.stopped) + len(self.down)
        return 2 * (away + 1 + len(self.guests)) < FIRST

    def begin(self, node: int) -> None:
        """Start a first member, anew or again."""
        self.members.tell(self.members.start(node, peers=self.places, journal=self.members.folder), "work 7")

    def turn(self) -> None:
        """Let something happen."""
        now = time.monotonic()
        for at, process in [one for one in self.stopped if one[0] < now]:
            self.stopped.remove((at, process))
            os.kill(process.pid, signal.SIGCONT)
        for at, node in [one for one in self.down if one[0] < now]:
            self.down.remove((at, node))
            self.begin(node)
        what = self.chance.choice(("kill", "kill", "stop", "break", "break", "come", "go"))
        act = getattr(self, f"_{what}")
        if act(now):
            self.done[what] = self.done.get(what, 0) + 1

    def _kill(self, now: float) -> bool:
        if not self.is_safe():
            return False
        victim = self.chance.choice(self.up())
        self.members.kill(victim)
        self.down.append((now + self.chance.uniform(0, 4 * PATIENCE), victim.node))
        return True

    def _stop(self, now: float) -> bool:
        if not self.is_safe():
            return False
        victim = self.chance.choice(self.up())
        os.kill(victim.pid, signal.SIGSTOP)
        self.stopped.append((now + self.chance.uniform(0, 4 * PATIENCE), victim))
        return True

    def _break(self, _: float) -> bool:
        self.members.tell(self.chance.choice(self.up()), "break")
        return True

    def _come(self, _: float) -> bool:
        if self.guests or not self.is_safe():
            return False
        contacts = [self.places[process.node] for process in self.up()]
        guest = self.members.start(self.next_guest, join=self.chance.sample(contacts, 2))
        self.next_guest += 1
        self.members.await_note(guest, "began")
        self.members.tell(guest, "work 3")
        self.guests.append(guest)
        return True

    def _go(self, _: float) -> bool:
        if not self.guests:
            return False
        guest = self.guests[0]
        self.members.tell(guest, "rest")
        self.members.await_note(guest, "rests")
        self.members.tell(guest, "leave")
        self.members.await_note(guest, "left")
        self.members.end(guest)
        self.guests.remove(guest)
        return True

    def calm(self) -> None:
        """Let all come back."""
        for _, process in self.stopped:
            os.kill(process.pid, signal.SIGCONT)
        for _, node in self.down:
            self.begin(node)
        self.stopped.clear()
        self.down.clear()


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_ring_survives_a_storm(tmp_path: Path) -> None:
    """Whatever happens to fewer than half of the members, lock and order are one, and nothing safe is lost."""
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    with Members(tmp_path, {"patience": PATIENCE}) as members:
        storm = _Storm(members, free_places(FIRST), random.Random(seed))
        for node in range(FIRST):
            storm.begin(node)
        for process in members.processes:
            members.await_note(process, "said")
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            storm.turn()
            time.sleep(storm.chance.uniform(0, 2 * PATIENCE))
        storm.calm()
        for process in (*storm.up(), *storm.guests):
            members.tell(process, "rest")
            members.await_note(process, "rests")
        members.tell(storm.up()[0], "say it is over")
        for process in (*storm.up(), *storm.guests):
            until(lambda process=process: _has_heard(process, "it is over"), members)  # type: ignore[misc]
        print(storm.done, sum(len(process.notes()) for process in members.processes), "notes")
        check(members)


def _has_heard(process: Process, text: str) -> bool:
    return any(note["what"] == "heard" and note["said"][1] == text for note in process.notes())
