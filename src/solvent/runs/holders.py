"""Which process has a shard of a run, how it takes and leaves that, and how it is asked to end.

A process is known by its host, its number, and when it started: numbers are used again, also after the machine was.
Containers of one machine number their processes each for itself, and may have one host's name: what is in another
container cannot be seen from here.

A shard is had by a lease, whose epoch opens its journal. An agent has some shards of many runs, an embedded run the
only one of its own.

Agents are asked to end by a key of the store: who reaches the store needs no way to their machines. Whoever can write
to a store can end its agents; it can end its runs as well. What agents had goes on with others.
"""

from __future__ import annotations

import os
import platform
import re
import secrets
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from solvent.errors import RecordProblem, StoreError
from solvent.runs.journal import StoredJournal, pool_from
from solvent.runs.registry import end_update, journal_of, key_of, record_of, run_at
from solvent.store.leases import AGENTS, Heartbeats, Lease, heartbeat_from_value, holder_from_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from solvent.runs.events import Event
    from solvent.runs.registry import RunRecord
    from solvent.store import Store
    from solvent.store.leases import Presumption
BEGINNING_SECONDS = 5.0
"""For how long after a run was made its process may not have come to its lease."""
UPDATER_TTL = 5.0
"""How long the process that updates a run may be silent before it is presumed dead."""
_STARTED_FIELD = 19
"""Where `/proc/N/stat` says when a process started, counted from behind its name."""


class Holder(msgspec.Struct, frozen=True):
    """A process."""

    host: str
    process: int
    started: str
    #: Which processes it is numbered among, where the system tells.
    among: str = ""

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}"


def this_process() -> Holder:
    """Say which process this is."""
    number = os.getpid()
    return Holder(platform.node() or "localhost", number, _started(number) or "", _among())


def is_there(holder: Holder) -> bool | None:
    """Tell whether a process is there; nothing where that cannot be known, since it is elsewhere."""
    if holder.host != (platform.node() or "localhost"):
        return None
    # Nobody has survived that the machine was started anew, in whichever container.
    if holder.among not in {"", _among()} and _boot(holder.started) == _boot(this_process().started):
        return None
    return _started(holder.process) == holder.started


def agent_name(base: str) -> str:
    """Return a name that no other agent has had: work of an agent with the same name would never be taken over."""
    words = re.sub(r"[^A-Za-z0-9_.=-]+", "-", base).strip("-")[:60]
    return f"{words or 'agent'}-{secrets.token_hex(3)}"


def process_of(store: Store, agent: str) -> Holder | None:
    """Return the process of an agent, as its heartbeat says; nothing if it has none."""
    entry = store.get(AGENTS + agent)
    try:
        return None if entry is None else msgspec.convert(heartbeat_from_value(entry.value).get("process"), Holder)
    except (StoreError, msgspec.ValidationError):
        return None


def holder_of(store: Store, record: RunRecord) -> Holder | None:
    """Return the process that has a run; nothing if none has, or if agents run it: these find out all by themselves.

    One that died is returned as well, unless another has said so since.
    """
    agent = "" if record.by_agents else _agent_of(store, record)
    return process_of(store, agent) if agent else None


def _agent_of(store: Store, record: RunRecord) -> str:
    entry = store.get(key_of(record.prefix, "lease", 0))
    try:
        return "" if entry is None else holder_from_entry(entry).agent
    except StoreError:
        # It was not written by an agent, so nobody has the shard by it.
        return ""


class SeenDead:
    """Whether the process of an agent is gone, as seen from here; with `takes_over`, every agent is taken for dead."""

    def __init__(self, store: Store, *, takes_over: bool = False) -> None:
        self._store = store
        self._takes_over = takes_over

    def is_presumed_dead(self, agent: str) -> bool:
        """Return whether an agent is dead: it has no heartbeat any more, or its process is gone."""
        process = process_of(self._store, agent)
        return self._takes_over or process is None or is_there(process) is False


class Updaters:
    """Who is about to update runs, as seen by one process; for one thread. `own` is its heartbeat, if it has one."""

    def __init__(self, store: Store, *, own: str = "") -> None:
        self._store = store
        self._seen = SeenDead(store)
        self._heartbeats = Heartbeats(store, ttl=UPDATER_TTL, own=own)

    def is_updating(self, record: RunRecord) -> bool:
        """Return whether a process is about to update a run; the name of one that is dead is removed.

        Of a process on another machine only its heartbeat tells, so this is asked again and again.
        """
        if not record.updater:
            return False
        self._heartbeats.look()
        is_dead = self._seen.is_presumed_dead(record.updater) or self._heartbeats.is_presumed_dead(record.updater)
        if is_dead:
            end_update(self._store, record.run, record.updater)
        return not is_dead


def status_of(store: Store, record: RunRecord) -> str:
    """Return the state of a run; of one that is not over, and not run by agents, whether anybody runs it.

    That is `running`, `stopped` if its process has left it, or `interrupted` if that has died without a word.
    """
    if record.has_ended or record.by_agents:
        return record.state
    agent = _agent_of(store, record)
    if not agent:
        return "running" if _is_beginning(store, record) else "stopped"
    process = process_of(store, agent)
    return "interrupted" if process is None or is_there(process) is False else "running"


def is_left(store: Store, record: RunRecord) -> bool:
    """Return whether somebody may continue a run: it has not ended, and no process that is there has it."""
    if record.has_ended:
        return False
    holder = holder_of(store, record)
    if holder is None:
        return record.by_agents or not _is_beginning(store, record)
    return not is_there(holder)


def _is_beginning(store: Store, record: RunRecord) -> bool:
    """Return whether a run was made just now, by a process that has yet to take its lease."""
    if record.branch or record.lasted >= BEGINNING_SECONDS:
        # A further version is made for the process that has the run, or for nobody.
        return False
    return store.get(key_of(record.prefix, "lease", 0)) is None


def _among() -> str:
    """Say which processes this one is numbered among."""
    try:
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - what it says is no path
    except OSError:
        return ""


def _boot(started: str) -> str:
    return started.partition("@")[2]


def _started(process: int) -> str | None:
    """Say when a process of this machine started, in a way that no other process shares; nothing if there is none."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        fields = text.rpartition(")")[2].split()
        if fields[0] in {"Z", "X"}:
            return None
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, IndexError):
        return None if Path("/proc/self/stat").exists() else _started_by_ps(process)
    return f"{fields[_STARTED_FIELD]}@{boot}"


def _started_by_ps(process: int) -> str | None:
    """The same where there is no `/proc`."""
    words = ["ps", "-o", "lstart=", "-p", str(process)]
    try:
        found = subprocess.run(words, capture_output=True, check=False, text=True)  # noqa: S603 -- a fixed command
    except OSError:
        return None
    return found.stdout.strip() or None


class ShardLease:
    """The lease of a shard that this process has, and the journal that it writes in the epoch of it; for one thread."""

    def __init__(self, store: Store, record: RunRecord, number: int, agent: str) -> None:
        self.journal = StoredJournal(store, journal_of(record.prefix, number), agent, version=record.version)
        self.journal.caches_all = record.options.cache
        if record.pool:
            self.journal.pool = pool_from(store, record.pool)
        # One that knows of no epoch before: what is opened again is opened in a new one, in which nobody else has it.
        self._lease = Lease(store, key_of(record.prefix, "lease", number), agent)
        #: The epoch in which it is here.
        self.epoch = 0

    def take(self, presumption: Presumption) -> bool:
        """Take the lease, if nobody has it or who has it is presumed dead; return whether it was taken."""
        epoch = self._lease.take(presumption)
        self.epoch = epoch or 0
        return epoch is not None

    def open(self, *, since: Collection[int] = ()) -> None:
        """Open the journal, in the epoch of the lease; see `StoredJournal.open`."""
        self.journal.open(self.epoch, since=since)

    @property
    def taken_from(self) -> str:
        """The agent, presumed dead, from which it was taken over; the empty name, if nobody had it."""
        return self._lease.taken_from

    def close(self, *events: Event) -> None:
        """Note how its tasks are; raise `RecordProblem` R402 if another process has it by now."""
        for event in events:
            self.journal.note(event)
        self.journal.commit()

    def release(self) -> None:
        """Let another process have it."""
        self._lease.release()


def damaged_lease(prefix: str, shard: int, error: StoreError) -> RecordProblem:
    """Say that the key which tells who has a shard does not read, and what to do: no agent takes a shard by guess."""
    key, run = key_of(prefix, "lease", shard), run_at(prefix)
    said = f"the lease `{key}` is damaged, and no agent can take shard {shard} of {run}: {error.message}"
    hint = (
        f"delete this key, in Python by `solvent.store.open_store(STORE).delete({key!r})`: agents then go on from "
        f"the journal; or `solvent cancel {run}`, and submit the workflow again"
    )
    return RecordProblem("R403", said, hint=hint)


STOPS = "stops/"
LOOK_SECONDS = 0.5
"""How often it is looked whether an agent is to end."""


def ask_to_stop(store: Store, agent: str) -> None:
    """Ask an agent to end."""
    store.put(STOPS + agent, b"")


class Stopper:
    """Looks whether an agent is asked to end, or a run is over after which it is to; a thread, while in its context."""

    def __init__(
        self,
        store: Store,
        agent: str,
        stop: Callable[[], None],
        *,
        until: str = "",
        look: Callable[[RunRecord], None] = lambda _: None,
    ) -> None:
        """Look whether the run `until` is over; `look` gets its record each time."""
        self._store = store
        self._key = STOPS + agent
        self._stop = stop
        self._until = until
        self._look_at = look
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="stopper", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        try:
            self._store.delete(self._key)
        except StoreError:
            return

    def _look(self) -> None:
        while not self._is_over.wait(LOOK_SECONDS):
            try:
                is_time = self._store.get(self._key) is not None
                if not is_time and self._until:
                    record = record_of(self._store, self._until)
                    is_time = record is not None and record.has_ended
                    if record is not None:
                        self._look_at(record)
            except (StoreError, RecordProblem):
                # The store is away, or the record damaged; the agent itself finds that out.
                continue
            if is_time:
                self._stop()
                return


__all__ = [
    "STOPS",
    "Holder",
    "SeenDead",
    "ShardLease",
    "Stopper",
    "Updaters",
    "agent_name",
    "ask_to_stop",
    "damaged_lease",
    "holder_of",
    "is_left",
    "is_there",
    "process_of",
    "status_of",
    "this_process",
]
