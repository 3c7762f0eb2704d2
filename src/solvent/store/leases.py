"""Heartbeats and leases, without comparing the clocks of two machines.

*Heartbeat.* An agent keeps writing a key, `agents/NAME`; its value has a number that grows. Others ignore times in it:
each notes, by its own clock, since when the key has not changed. An agent whose heartbeat has not changed for longer
than `ttl` may be presumed dead. Time in which the observer did not run, since it was stopped, or since the store did
not answer, or in which not even its own heartbeat changed, does not count: it says nothing about others. Clocks are
monotonic.

*Lease.* A key names the holder of something, and an epoch; it is taken by compare-and-set, with the next epoch, when it
is free or its holder is presumed dead. Of several agents that try, one succeeds.

An agent that is presumed dead may only be stopped. So a lease protects nothing by itself. Its holder appends to a log
with `expected`; an agent that takes it over reads that log and first appends a record. The next append of the old
holder then raises `Conflict`.
"""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import msgspec

from solvent.errors import Conflict, StoreError
from solvent.store.heartbeat import NOTES_BYTES, HeartbeatWriter, Notes
from solvent.store.interface import Entry, check_name
from solvent.values.limits import UNREADABLE, is_nested_too_deeply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent.store.heartbeat import HeartbeatProcess
    from solvent.store.interface import Store

AGENTS = "agents/"
TTL = 10.0
MAX_TTL = 3600.0
"""No agent is waited for longer than that, whatever its heartbeat says."""
HEARTBEATS_PER_TTL = 4
GIVEN_EPOCH = 1
"""The epoch in which an agent has a lease that it was given (`assign`)."""
_MAX_DEPTH = 20
"""How deeply the value of a heartbeat may be nested."""


class Holder(NamedTuple):
    """The holder of a lease (empty: none), the epoch, and the revision of the key."""

    agent: str
    epoch: int
    revision: int


class Heartbeat:
    """The heartbeat of this agent: a key that a process or a thread of its own writes every quarter of `ttl`.

    An error is kept in `error`, and the write is repeated; `is_fresh` tells whether others may miss it. `about` is
    information for others, which `heartbeat_from_value` returns.
    """

    def __init__(
        self,
        store: Store,
        agent: str,
        *,
        ttl: float = TTL,
        about: Mapping[str, Any] | None = None,
        process: HeartbeatProcess | None = None,
    ) -> None:
        self.agent = agent
        self.ttl = _checked(ttl)
        self.error: StoreError | None = None
        self._store = store
        self._key = check_name(AGENTS + agent)
        self._about = {"host": socket.gethostname(), "pid": os.getpid(), "started": time.time(), **(about or {})}
        self._process = process
        self._notes = Notes(bytearray(NOTES_BYTES)) if process is None else process.notes
        self._writer = HeartbeatWriter(store, self._key, self._about, self.ttl, self._notes)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name=f"heartbeat of {agent}", daemon=True)

    def start(self) -> Self:
        """Write it for the first time, and begin to repeat it; raise `StoreError` if the first write fails."""
        self._writer.write()
        if self._process is not None:
            self._process.begin(self._key, self._about, ttl=self.ttl, pause=self.ttl / HEARTBEATS_PER_TTL)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop writing, and delete the key, so that no agent waits for this one."""
        self._is_over.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self._process is not None:
            self._process.end()
        with suppress(StoreError):
            self._store.delete(self._key)

    def is_fresh(self) -> bool:
        """Return whether the last heartbeat began less than `ttl` ago: others cannot presume this agent dead."""
        return self._notes.is_fresh(self.ttl)

    @property
    def lapses(self) -> int:
        """How often others may have presumed this agent dead, though it was not: it was stopped, or was not heard."""
        return self._notes.lapses

    def _go_on(self) -> None:
        while not self._is_over.wait(self.ttl / HEARTBEATS_PER_TTL):
            try:
                if self._process is not None and self._process.is_alive():
                    # It has a connection of its own: this one may be cut while that is not.
                    self._store.get(self._key)
                else:
                    self._writer.write()
                self.error = None
            except StoreError as error:
                self.error = error
            self._notes.is_away = self.error is not None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


class Heartbeats:
    """The heartbeats of others, as seen by this process; whoever wants to know calls `look` every quarter of `ttl`.

    Whoever has a heartbeat itself says so by `own`: time in which not even that is heard counts for nobody, since it
    may be that nobody can write. For one thread at a time.
    """

    def __init__(
        self, store: Store, *, ttl: float = TTL, own: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.ttl = _checked(ttl)
        self._store = store
        self._clock = clock
        self._looked_at = -math.inf
        self._own = own
        #: The last of one's own heartbeats, and when it was seen.
        self._own_seen: tuple[Entry | None, float] = None, math.inf
        #: What each heartbeat was, and since when; nothing for agents that were asked for and have none.
        self._seen = dict[str, tuple[Entry | None, float]]()
        self._gone = set[str]()

    def look(self) -> None:
        """See which heartbeats have changed; call it often, since time between two calls that are far apart is lost."""
        # The time before it is asked for: what is read is at least as new, however long the answer takes.
        now = self._clock()
        found = {key.removeprefix(AGENTS): entry for key, entry in self._store.keys(AGENTS).items()}
        # A heartbeat that is new may have been written until now: who wrote it counts from before.
        heard = self._clock()
        lost = self._lost(now)
        if math.isfinite(lost):
            self._seen = {agent: (entry, since + lost) for agent, (entry, since) in self._seen.items()}
        self._looked_at = now
        if self._own and (
            math.isinf(self._own_seen[1]) or found.get(self._own, self._own_seen[0]) != self._own_seen[0]
        ):
            self._own_seen = found.get(self._own), heard
        for agent, entry in found.items():
            if agent not in self._seen or self._seen[agent][0] != entry:
                self._seen[agent] = entry, heard
        for agent in [agent for agent, (entry, _) in self._seen.items() if entry and agent not in found]:
            # It took its heartbeat away itself: there is nothing to wait for.
            del self._seen[agent]
            self._gone.add(agent)
        self._gone -= found.keys()

    def _lost(self, now: float) -> float:
        """Return how much of the time since the last look says nothing about others."""
        between, usual = now - self._looked_at, 2 * self.ttl / HEARTBEATS_PER_TTL
        # This process did not run; or its own heartbeats did not come through either, as when one process holds up
        # all that write to a file.
        return max(0.0, between - usual, min(between, now - self._own_seen[1] - usual))

    def is_presumed_dead(self, agent: str) -> bool:
        """Return whether an agent has been silent for longer than `ttl` (this one's or its own), or has said goodbye.

        One that never had a heartbeat is waited for, too, from the first time it is asked for.
        """
        if agent in self._gone:
            return True
        if math.isinf(self._looked_at):
            self.look()
        entry, since = self._seen.setdefault(agent, (None, self._looked_at))
        still = self._looked_at - since
        return still > self.ttl and (entry is None or still > min(_ttl_of(entry), MAX_TTL))

    def alive(self) -> dict[str, Entry]:
        """Return the agents that have a heartbeat and are not presumed dead."""
        return {a: entry for a, (entry, _) in self._seen.items() if entry and not self.is_presumed_dead(a)}

    def lively(self) -> dict[str, Entry]:
        """Return the agents that miss at most two heartbeats, or were seen for the first time."""
        return {
            a: entry
            for a, entry in self.alive().items()
            if self._looked_at - self._seen[a][1] <= 2 * (_ttl_of(entry) or self.ttl) / HEARTBEATS_PER_TTL
        }

    def silent(self, seconds: float) -> dict[str, Entry]:
        """Return the agents that are presumed dead and whose heartbeat has not changed for longer than that."""
        return {a: entry for a, entry in self.dead().items() if self._looked_at - self._seen[a][1] > seconds}

    def dead(self) -> dict[str, Entry]:
        """Return the agents whose heartbeat exists, and has not changed for too long."""
        return {a: entry for a, (entry, _) in self._seen.items() if entry and self.is_presumed_dead(a)}


class Presumption(Protocol):
    """Who knows which agents are dead: `Heartbeats`."""

    def is_presumed_dead(self, agent: str, /) -> bool:
        """Return whether an agent may be taken for dead."""


class Lease:
    """A key that names the holder of something; for one thread at a time."""

    def __init__(self, store: Store, key: str, agent: str) -> None:
        self.key = check_name(key)
        self.agent = check_name(agent)
        #: The epoch in which this object holds it.
        self.epoch: int | None = None
        #: The agent, presumed dead, from which this object took it last; empty if it was free.
        self.taken_from = ""
        self._store = store
        self._revision = 0

    def holder(self) -> Holder | None:
        """Return its holder; `None` if it was never taken."""
        entry = self._store.get(self.key)
        return None if entry is None else holder_from_entry(entry)

    def take(self, presumption: Presumption | None = None, *, known: Holder | None = None) -> int | None:
        """Take it, if it is free or its holder is presumed dead; return the new epoch, or `None`.

        Without `presumption`, only if it is free. `known` is its holder, if it has just been read. An agent that has
        restarted takes its former leases with a new epoch.
        """
        holder = known or self.holder() or Holder("", 0, 0)
        if self.epoch is not None and holder == (self.agent, self.epoch, self._revision):
            return self.epoch
        is_held = holder.agent not in {"", self.agent}
        if is_held and (presumption is None or not presumption.is_presumed_dead(holder.agent)):
            return None
        value = msgspec.msgpack.encode({"holder": self.agent, "epoch": holder.epoch + 1})
        try:
            self._revision = self._store.put(self.key, value, expected=holder.revision)
        except Conflict:
            return None
        self.epoch = holder.epoch + 1
        self.taken_from = holder.agent if holder.agent != self.agent else ""
        return self.epoch

    def release(self) -> bool:
        """Release it; return false if it was taken over before. The epoch stays, so that the next one is greater."""
        if self.epoch is None:
            return False
        epoch, self.epoch = self.epoch, None
        value = msgspec.msgpack.encode({"holder": "", "epoch": epoch})
        try:
            self._store.put(self.key, value, expected=self._revision)
        except Conflict:
            return False
        return True


def assign(store: Store, key: str, agent: str) -> None:
    """Let an agent be the first holder of a lease; raise `Conflict` if it has had a holder."""
    held = {"holder": check_name(agent), "epoch": GIVEN_EPOCH}
    store.put(check_name(key), msgspec.msgpack.encode(held), expected=0)


class _Held(msgspec.Struct):
    holder: str
    epoch: int


def holder_from_entry(entry: Entry) -> Holder:
    """Decode the key of a lease; raise `StoreError` E406 if it cannot be read."""
    try:
        held = msgspec.msgpack.decode(entry.value, type=_Held)
    except UNREADABLE as error:
        raise StoreError("E406", f"the value of revision {entry.revision} is not a lease: {error}") from error
    return Holder(held.holder, held.epoch, entry.revision)


def heartbeat_from_value(value: bytes) -> dict[str, Any]:
    """Decode the value of a heartbeat; raise `StoreError` E406 if it cannot be read."""
    try:
        about = msgspec.msgpack.decode(value, type=dict[str, Any])
    except UNREADABLE as error:
        raise StoreError("E406", f"the value is not a heartbeat: {error}") from error
    if is_nested_too_deeply(about, _MAX_DEPTH):
        raise StoreError("E406", f"the value is not a heartbeat: it is nested more than {_MAX_DEPTH} deep")
    return about


def _ttl_of(entry: Entry) -> float:
    """Return the `ttl` that an agent states in its heartbeat; 0 if there is none."""
    try:
        told = heartbeat_from_value(entry.value).get("ttl")
    except StoreError:
        return 0.0
    return float(told) if isinstance(told, int | float) and math.isfinite(told) else 0.0


def _checked(ttl: float) -> float:
    if not 0 < ttl <= MAX_TTL:
        said = f"the time to live must be above 0 and at most {MAX_TTL:,.0f} seconds, not {ttl}"
        raise StoreError("E401", said)
    return ttl


__all__ = [
    "AGENTS",
    "GIVEN_EPOCH",
    "HEARTBEATS_PER_TTL",
    "MAX_TTL",
    "TTL",
    "Heartbeat",
    "Heartbeats",
    "Holder",
    "Lease",
    "Presumption",
    "assign",
    "heartbeat_from_value",
    "holder_from_entry",
]
