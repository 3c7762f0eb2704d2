"""Who is killed in a storm of `solvent lab serve handover`, and when.

Some are killed from outside, whatever they do just then. Others are told to die at a point that is hard to hit: with
the lock and amid writing, amid a release, amid leaving or joining, or as the founder. Nobody is killed if its host
would be left without any that stays: the last version of the data may be in the memory of that host only.

Where several hosts have every version (`--copies`), a host may die: all its processes are killed at once, and its
memory is gone. Most of the others must be on other hosts, or nobody could go on; and until there are enough copies
again, no second one dies.
"""

from __future__ import annotations

import mmap
import random
import shutil
import time
from typing import TYPE_CHECKING

from solvent_lab.chaos.worker import Order

if TYPE_CHECKING:
    from pathlib import Path

    from solvent_lab.chaos.weather import Place, Tally, Weather

_WAYS = (
    *3 * (Order.DIE_ANYWHERE,),
    *2 * (Order.DIE_WRITING,),
    Order.DIE_RELEASING,
    Order.DIE_LEAVING,
    Order.DIE_JOINING,
    Order.DIE_AS_FOUNDER,
)
_HOST_CHANCE = 0.5
_HOST_CYCLES = 10
"""How often a host dies where it may; and after how many cycles the next one may: each makes new copies."""
_OF_LEAVERS = (Order.DIE_LEAVING, Order.DIE_JOINING)
_MAX_PENDING = 3
_MIN_LIVING = 2
"""Of those that stay on a host one may be killed if so many are in, itself among them."""


class Deaths:
    """Tells processes when to die."""

    def __init__(self, weather: Weather, places: list[Place], tally: Tally, orders: Path) -> None:
        self._weather = weather
        self._places = places
        self._tally = tally
        self._chance = random.Random(weather.seed)
        #: How many cycles have been made when the next one is due.
        self._due_at = sorted(self._chance.uniform(0.02, 0.95) * weather.total for _ in range(weather.kills))
        self._due = 0
        self._next_at: float | None = None
        #: How many cycles have been made when a host may die, the first time or again.
        self._host_at = _HOST_CYCLES
        orders.write_bytes(bytes(weather.processes))
        with orders.open("r+b") as file:
            self._orders = mmap.mmap(file.fileno(), 0)

    def order(self, place: Place, order: Order) -> None:
        """Tell a process something, or nothing any more."""
        place.order = order
        place.told = order or place.told
        self._orders[place.task.number] = order
        if order in (Order.DIE_ANYWHERE, Order.DIE_WITH_HOST) and place.process is not None:
            place.process.kill()

    def end(self) -> None:
        """Tell all that it is over."""
        for place in self._places:
            self.order(place, Order.END)

    def on_killed(self, place: Place) -> None:
        """Note that a process was killed."""
        # It may die after it has done its work, when nothing of the kind was wanted any more.
        name = place.told.name.lower().removeprefix("die_").replace("_", " ")
        self._tally.kills[name] = self._tally.kills.get(name, 0) + 1
        if place.told is Order.DIE_AS_FOUNDER:
            for one in self._places:
                if one.order is Order.DIE_AS_FOUNDER:
                    self.order(one, Order.NONE)

    def go_on(self) -> None:
        """Have one more die if it is due."""
        while self._due_at and self._tally.cycles >= self._due_at[0]:
            self._due_at.pop(0)
            self._due += 1
        every, now = self._weather.kill_every, time.monotonic()
        if every is not None and now >= (self._next_at or 0):
            self._due += self._next_at is not None
            self._next_at = now + every * self._chance.uniform(0.5, 1.5)
        pending = self._pending()
        if pending < _MAX_PENDING and self._due > self._tally.killed + pending:
            self._kill()

    def _pending(self) -> int:
        orders = [place.order for place in self._places if place.order > Order.END]
        founders = orders.count(Order.DIE_AS_FOUNDER)
        return len(orders) - founders + bool(founders)

    def _kill(self) -> None:
        hosts = [host for host in range(self._weather.hosts) if self._can_be_lost(host)]
        if hosts and self._chance.random() < _HOST_CHANCE:
            self._lose(self._chance.choice(hosts))
            return
        way = self._chance.choice(_WAYS)
        if way is Order.DIE_AS_FOUNDER:
            chosen = self._founders()
        else:
            able = [place for place in self._places if self._can_die(place, way)]
            chosen = [self._chance.choice(able)] if able else []
        for place in chosen:
            self.order(place, way)

    def _can_be_lost(self, host: int) -> bool:
        """Tell whether a host can be spared: others have copies of what it has, and are enough to go on."""
        if self._weather.copies == 1 or self._tally.cycles < self._host_at or self._pending():
            return False
        if any(self._living(one) < _MIN_LIVING for one in range(self._weather.hosts)):
            return False
        there = [place for place in self._places if place.task.host == host]
        inside = sum(place.is_inside for place in self._places)
        return (
            not any(place.is_done for place in there) and 2 * sum(place.process is not None for place in there) < inside
        )

    def _lose(self, host: int) -> None:
        """Kill all processes of a host, and take its memory away."""
        there = [place for place in self._places if place.task.host == host and place.process is not None]
        for place in there:
            self.order(place, Order.DIE_WITH_HOST)
        for place in there:
            assert place.process is not None
            place.process.join()
        shutil.rmtree(there[0].task.shared, ignore_errors=True)
        self._host_at = self._tally.cycles + _HOST_CYCLES

    def _founders(self) -> list[Place]:
        """Give all that may be the founder, if that one can be spared; it knows that it is."""
        if any(self._living(host) < _MIN_LIVING for host in range(self._weather.hosts)):
            return []
        return [place for place in self._places if not place.is_done and place.order is Order.NONE]

    def _can_die(self, place: Place, way: Order) -> bool:
        if place.process is None or place.is_done or place.order is not Order.NONE:
            return False
        if place.task.is_leaver:
            return True
        return way not in _OF_LEAVERS and self._living(place.task.host) >= _MIN_LIVING

    def _living(self, host: int) -> int:
        """Tell how many of those that stay on a host are in, and are not to die."""
        return sum(
            place.task.host == host and not place.task.is_leaver and place.is_inside and place.order is Order.NONE
            for place in self._places
        )


__all__ = ["Deaths"]
