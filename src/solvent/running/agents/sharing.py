"""Which places an agent takes: its share of those that nobody has, or somebody who is presumed dead."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from solvent.errors import SpaceError
from solvent.live.space.leases import Pulses, holder_from_entry
from solvent.running.agents.plans import key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from solvent.live.space import Space
    from solvent.running.agents.case import Case


class Shares:
    """What an agent knows of who has what; for one thread."""

    def __init__(self, space: Space, agent: str, ttl: float) -> None:
        self.pulses = Pulses(space, ttl=ttl, own=agent)
        self._space = space
        self._agent = agent
        self._ttl = ttl
        self._share = 0
        self._mine = 0
        #: Since when places have been free that this agent has left to others.
        self._free: dict[tuple[str, int], float] = {}

    def look(self, cases: Mapping[str, Case]) -> None:
        """See who is alive, and what this agent's share is."""
        self.pulses.look()
        self._free = {place: since for place, since in self._free.items() if place[0] in cases}
        alive = {*self.pulses.alive(), self._agent}
        total = sum(case.plan.places for case in cases.values())
        self._mine = sum(len(case.here) for case in cases.values())
        self._share = -(-total // len(alive))

    def wanted(self, case: Case) -> Iterator[int]:
        """Give places of a run to take; whoever takes one says so by `took`."""
        now = time.monotonic()
        below = key_of(case.run, "has") + "/"
        held = {key.removeprefix(below): entry for key, entry in self._space.keys(below).items()}
        numbers = [one for one in range(case.plan.places) if one not in case.here and case.can_serve(one)]
        random.shuffle(numbers)
        for number in numbers:
            try:
                known = holder_from_entry(held[str(number)]) if str(number) in held else None
            except SpaceError:
                # Nobody who keeps to the rules has written that; nobody can take it by them.
                continue
            is_free = known is None or not known.agent or known.agent == self._agent
            if not is_free and known is not None and not self.pulses.is_presumed_dead(known.agent):
                self._free.pop((case.run, number), None)
                continue
            since = self._free.setdefault((case.run, number), now)
            if self._mine < self._share:
                yield number
            elif not is_free and now > since:
                # Those whose share it is may have come just now, and do not know yet that its holder is dead. They get
                # it when nothing is out there.
                del self._free[case.run, number]
                yield number
            elif now - since > self._ttl:
                # The others may not have the services that it needs.
                yield number

    def took(self, case: Case, number: int) -> None:
        """Count a place that was taken."""
        if self._mine < self._share:
            # One that was taken only since nobody else did is not left to others again.
            self._free.pop((case.run, number), None)
        self._mine += 1

    def surplus(self, case: Case) -> list[int]:
        """Give places to leave to others that have come: those at which nothing is out, and that others can serve."""
        idle = [
            number
            for number, place in case.here.items()
            if place.is_idle and not place.is_fresh and (case.run, number) not in self._free
        ]
        left = idle[: max(0, self._mine - self._share)]
        self._mine -= len(left)
        return left


__all__ = ["Shares"]
