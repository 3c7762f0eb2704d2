"""Holds a run of agents still while it is updated: its agents make no further calls, and leave its shards.

Whoever updates a run puts its name into the record (`RunRecord.updater`), and takes the shards as agents leave them: a
shard is left when none of its calls is out, so no call is ended, and what was answered is in the journal. Should the
updater die, which its heartbeat tells, agents remove its name and go on; the compare-and-set that makes a version count
asks for the name.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from solvent.errors import RecordProblem
from solvent.runs.holders import ShardLease, agent_name, this_process
from solvent.runs.recorded_run import SeenDead
from solvent.runs.registry import change, tell_agents
from solvent.store.leases import Heartbeat, Heartbeats

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.runs.registry import RunRecord
    from solvent.store import Store

LOOK_SECONDS = 0.05
TTL = 5.0


@contextmanager
def paused(store: Store, record: RunRecord, *, max_seconds: float) -> Iterator[RunRecord]:
    """Hold a run still, and give its record as it is meanwhile.

    Raise `RecordProblem` R405 if calls are still out after so many seconds, and R412 if the run is another one by now,
    or is being updated by somebody else; it then goes on as it was.
    """
    name = agent_name("update")
    about = {"process": msgspec.to_builtins(this_process())}
    with Heartbeat(store, name, ttl=TTL, about=about):
        held = change(store, record.run, lambda one: _taken(store, one, record, name))
        if held is None:
            said = f"`{record.run}` has ended, or is being updated by another process"
            raise RecordProblem("R412", said, hint=f"look at it: `solvent status {record.run}`")
        shards: list[ShardLease] = []
        try:
            tell_agents(store, held)
            _take(store, held, name, shards, max_seconds)
            yield held
        finally:
            for shard in shards:
                shard.release()
            left = change(store, record.run, lambda one: replace(one, updater="") if one.updater == name else None)
            if left is not None:
                tell_agents(store, left)


def _taken(store: Store, one: RunRecord, record: RunRecord, name: str) -> RunRecord | None:
    """Return the record with the name of who updates the run, if that may."""
    if one.has_ended or one.prefix != record.prefix:
        return None
    if one.updater and not SeenDead(store).is_presumed_dead(one.updater):
        return None
    return replace(one, updater=name)


def _take(store: Store, record: RunRecord, name: str, shards: list[ShardLease], max_seconds: float) -> None:
    """Take all shards, as their agents leave them or are presumed dead."""
    heartbeats, until = Heartbeats(store, ttl=TTL, own=name), time.monotonic() + max_seconds
    todo = list(range(record.shards))
    while True:
        heartbeats.look()
        for number in list(todo):
            shard = ShardLease(store, record, number, name)
            if shard.take(heartbeats):
                shards.append(shard)
                # Whoever had it before, and was only stopped, finds out.
                shard.open()
                todo.remove(number)
        if not todo:
            return
        if time.monotonic() >= until:
            said = f"the run `{record.run}` cannot be updated yet: calls of {len(todo)} of its shards are still out"
            raise RecordProblem("R405", said, hint="it goes on as it was; wait longer for them: --wait SECONDS")
        time.sleep(LOOK_SECONDS)


__all__ = ["paused"]
