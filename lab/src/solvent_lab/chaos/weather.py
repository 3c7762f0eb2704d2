"""How a storm of `solvent lab serve handover` is to be, what has happened in it, and each of its processes."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from solvent_lab.chaos.worker import Order, Task

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

STALL_SECONDS = 50.0
"""After how long in which a process does nothing it hangs: it waits for the data, to be let in or to be let go."""
MIN_STALL = 0.001


@dataclass(frozen=True, kw_only=True)
class Weather:
    """How a storm is to be."""

    processes: int = 8
    cycles: int = 100
    leaving: float = 0.5
    #: How many are to be killed, or how often, in seconds.
    kills: int = 0
    kill_every: float | None = None
    body_bytes: int = 65_536
    #: In how many parts it is, with counters of their own, that are claimed apart most of the time.
    parts: int = 1
    hosts: int = 1
    #: How many hosts are to have every version; with more than one, hosts die with all that is on them.
    copies: int = 1
    patience: float = 5.0
    stall: float = STALL_SECONDS
    seed: int = 0

    @property
    def total(self) -> int:
        """How far is to be counted."""
        return self.processes * self.cycles

    @property
    def stayers(self) -> int:
        """How many never leave: they keep the data of their host, and let others in."""
        is_deadly = self.kills > 0 or self.kill_every is not None
        return max(self.processes - round(self.processes * self.leaving), self.hosts * (2 if is_deadly else 1))


@dataclass
class Tally:
    """What has happened so far."""

    cycles: int = 0
    joins: int = 0
    leaves: int = 0
    starts: int = 0
    expelled: int = 0
    #: How many were killed, by the point at which they were.
    kills: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    #: For each cycle and each joining how long it took, in seconds.
    waited: list[float] = field(default_factory=list)
    joined: list[float] = field(default_factory=list)
    counter: int | None = None
    wrong: list[str] = field(default_factory=list)

    @property
    def killed(self) -> int:
        """How many were killed."""
        return sum(self.kills.values())


class Place:
    """One of the processes: whoever has its number now."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.process: BaseProcess | None = None
        #: Whether it runs; and how far it is.
        self.is_up = self.is_inside = self.is_done = self.is_away = False
        #: What it has been told and has not done yet; and the last that it was ever told.
        self.order = self.told = Order.NONE
        #: When it last noted anything.
        self.seen_at = 0.0
        self._read = 0

    def notes(self) -> list[dict[str, Any]]:
        """Give what it has noted since the last look."""
        found = []
        with suppress(FileNotFoundError), self.task.journal.open("rb") as journal:
            journal.seek(self._read)
            data = journal.read()
            whole = data.rfind(b"\n") + 1
            self._read += whole
            for line in data[:whole].split(b"\n"):
                with suppress(ValueError):
                    found.append(json.loads(line))
        return found


__all__ = ["MIN_STALL", "STALL_SECONDS", "Place", "Tally", "Weather"]
