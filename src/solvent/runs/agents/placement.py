"""Which shards an agent takes: its share of those that nobody has, or somebody who is presumed dead."""

from __future__ import annotations

import random
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import ValidationError, convert, to_builtins

from solvent.errors import Conflict, StoreError
from solvent.runs import holders
from solvent.runs.agents.hosted_run import number_of
from solvent.runs.agents.membership import takes_runs
from solvent.runs.registry import FORMAT, key_of
from solvent.store.leases import AGENTS, Heartbeats, heartbeat_from_value, holder_from_entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from solvent.runs.agents.hosted_run import HostedRun
    from solvent.runs.agents.offers import Offers
    from solvent.store import Store
    from solvent.store.interface import Entry
    from solvent.store.leases import Holder


FORGET_TTLS = 60.0
"""After how many times its own `ttl` an agent removes the heartbeat of another that is silent."""


class Shares:
    """What an agent knows of who has what; for one thread."""

    def __init__(self, store: Store, agent: str, ttl: float) -> None:
        self.heartbeats = Heartbeats(store, ttl=ttl, own=agent)
        self._store = store
        self._agent = agent
        self._ttl = ttl
        #: How many shards this agent has, and how many at most, and at least, would be its share.
        self._mine = self._most = self._least = 0
        #: How many shards others have that live, and how many nobody has.
        self._others: dict[str, int] = {}
        self._left = 0
        #: Who has each shard of each run.
        self._held: dict[str, dict[int, Holder | None]] = {}
        #: Leases that do not read, of each run, by shard.
        self.damaged: dict[str, dict[int, StoreError]] = {}
        #: Since when shards have been free that this agent has left to others.
        self._free: dict[tuple[str, int], float] = {}

    def look(self, runs: Mapping[str, HostedRun]) -> None:
        """See who is alive, who has what, and what this agent's share is."""
        self.heartbeats.look()
        for name, entry in self.heartbeats.silent(FORGET_TTLS * self._ttl).items():
            # Somebody else may be faster.
            with suppress(Conflict):
                self._store.delete(AGENTS + name, expected=entry.revision)
        self._free = {shard: since for shard, since in self._free.items() if shard[0] in runs}
        self.damaged = {}
        self._held = {run: self._holders(hosted) for run, hosted in runs.items()}
        # Of those who have just died, elsewhere, nobody knows it yet; they are not waited for with what nobody has.
        able = {name for name, entry in self.heartbeats.lively().items() if _is_able(entry, runs)} - {self._agent}
        has = Counter(one.agent for held in self._held.values() for one in held.values() if one is not None)
        self._others = {name: has[name] for name in able}
        total = sum(hosted.record.shards for hosted in runs.values())
        self._mine = sum(len(hosted.here) for hosted in runs.values())
        self._left = total - self._mine - sum(self._others.values())
        self._least = total // (1 + len(able))
        self._most = -(-total // (1 + len(able)))

    def _holders(self, hosted: HostedRun) -> dict[int, Holder | None]:
        """Give who has each shard; where no lease is written, nobody who keeps to the rules can take it by them."""
        below = key_of(hosted.prefix, "lease") + "/"
        found: dict[int, Holder | None] = dict.fromkeys(range(hosted.record.shards))
        written = self._store.keys(below)
        for number in range(hosted.record.shards):
            if (entry := written.get(f"{below}{number}")) is None:
                continue
            try:
                found[number] = holder_from_entry(entry)
            except StoreError as error:
                del found[number]
                self.damaged.setdefault(hosted.run, {})[number] = error
        return found

    def wanted(self, hosted: HostedRun) -> Iterator[int]:
        """Give shards of a run to take; whoever takes one says so by `took`."""
        now = time.monotonic()
        held = self._held.get(hosted.run, {})
        numbers = [one for one in held if one not in hosted.here and hosted.can_serve(one)]
        random.shuffle(numbers)
        for number in numbers:
            known = held[number]
            is_free = known is None or not known.agent or known.agent == self._agent
            if not is_free and known is not None and not self.heartbeats.is_presumed_dead(known.agent):
                self._free.pop((hosted.run, number), None)
                continue
            since = self._free.setdefault((hosted.run, number), now)
            if self._may_have_more():
                yield number
            elif not is_free and now > since:
                # Those whose share it is may have come just now, and do not know yet that its holder is dead. They get
                # it when nothing is out there.
                del self._free[hosted.run, number]
                yield number
            elif now - since > self._ttl:
                # The others may not have the services that it needs.
                yield number

    def _may_have_more(self) -> bool:
        """Whether one more is this agent's: where shards cannot be divided evenly, those that have none come first."""
        return self._mine < self._least or (self._mine < self._most and self._left > self._missing())

    def _missing(self) -> int:
        """Say how many shards others should have and have not."""
        return sum(max(0, self._least - count) for count in self._others.values())

    def took(self, hosted: HostedRun, number: int) -> None:
        """Count a shard that was taken."""
        if self._mine < self._most:
            # One that was taken only since nobody else did is not left to others again.
            self._free.pop((hosted.run, number), None)
        self._mine += 1
        self._left -= 1

    def surplus(self, hosted: HostedRun) -> list[int]:
        """Give shards to leave to others that have come: those at which nothing is out, and that others can serve.

        Others that are too many are marked: they take on no calls as long as there are others here. Those that are kept
        have their part of the work: calls that are out, and calls that are ready.
        """
        mine = [shard for number, shard in hosted.here.items() if (hosted.run, number) not in self._free]
        many = min(len(mine), max(self._mine - self._most, int(self._is_to_give())))
        self._mine -= many
        mine.sort(key=lambda shard: (shard.calls.is_none_out, -len(shard.calls.waiting)))
        keeps = len(mine) - many
        kept = {number * len(mine) // keeps for number in range(keeps)}
        for number, shard in enumerate(mine):
            shard.is_leaving = number not in kept
        return [number_of(shard) for shard in mine if shard.is_leaving and shard.calls.is_none_out]

    def _is_to_give(self) -> bool:
        """Whether one more is to be left to who has none: by those that have the most, who agree on that by names."""
        own = self._mine, self._agent
        rich = sorted((*((count, name) for name, count in self._others.items()), own), reverse=True)
        return self._mine > self._least and own in rich[: max(0, self._missing() - self._left)]


def about_this(offers: Offers, token: str) -> dict[str, Any]:
    """Say what others may want to know of this agent."""
    return {
        "token": token,
        "services": offers.marks(),
        "trusts_all": offers.trusts_all,
        "format": FORMAT,
        "process": to_builtins(holders.this_process()),
    }


def _is_able(entry: Entry, runs: Mapping[str, HostedRun]) -> bool:
    """Return whether an agent's heartbeat names this format and a service of any of these runs."""
    try:
        about = heartbeat_from_value(entry.value)
    except StoreError:
        return False
    if about.get("format") != FORMAT or not takes_runs(entry.value) or _is_gone(about.get("process")):
        return False
    services = about.get("services")
    if about.get("trusts_all") or not isinstance(services, dict):
        return True
    return not runs or any(
        services.get(name) == mark for hosted in runs.values() for name, mark in hosted.marks.items()
    )


def _is_gone(told: object) -> bool:
    """Whether a process is seen to be dead: one of this machine that was killed has left its heartbeat.

    Who is new here would leave a share to it, until it is seen not to beat. What it had is left to it for longer, as
    to any other: commands that it has called may take a moment to end.
    """
    try:
        return holders.is_there(convert(told, holders.Holder)) is False
    except ValidationError:
        return False


__all__ = ["Shares", "about_this"]
