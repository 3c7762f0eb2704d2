"""Holds a run of agents still while it is updated: its agents do nothing more in this version, and their calls go on.

Whoever updates a run puts its name into the record (`RunRecord.updater`). An agent that finds it there has no shards
from then on, says so (`runs/PREFIX/still/AGENT`), and keeps what comes of its calls for later. It keeps its leases, so
nobody takes its shards meanwhile; those that nobody has are taken here. Should the updater die, which its heartbeat
tells, agents remove its name and go on as after an outage of the store (see `adrift`). The compare-and-set that makes a
version count asks for the name, so there is no moment in which two versions of a run go on.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from solvent.errors import RecordProblem
from solvent.runs.agents.remote_calls import token_of
from solvent.runs.holders import ShardLease, agent_name, this_process
from solvent.runs.recorded_run import SeenDead
from solvent.runs.registry import change, key_of, tell_agents
from solvent.runs.versions import Host
from solvent.store.leases import Heartbeat, Heartbeats, Lease

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.runs.registry import RunRecord
    from solvent.store import Store

LOOK_SECONDS = 0.02
TTL = 5.0
MAX_SECONDS = 30.0
"""How long agents may take to hold still: those that are silent are presumed dead before."""


@contextmanager
def paused(store: Store, record: RunRecord) -> Iterator[tuple[RunRecord, dict[int, Host]]]:
    """Hold a run still, and give its record as it is meanwhile, and the agents that have its shards.

    Raise `RecordProblem` R405 if agents do not answer, and R412 if the run is another one by now, or is being updated
    by somebody else; it then goes on as it was.
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
            yield held, _hosts(store, held, name, shards)
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


def _hosts(store: Store, record: RunRecord, name: str, shards: list[ShardLease]) -> dict[int, Host]:
    """Wait until the agents that have shards hold still, and return them; take the shards that nobody has."""
    heartbeats, until = Heartbeats(store, ttl=TTL, own=name), time.monotonic() + MAX_SECONDS
    todo, found = list(range(record.shards)), dict[int, str]()
    below = key_of(record.prefix, "still") + "/"
    while True:
        heartbeats.look()
        still = {key.removeprefix(below) for key, one in store.keys(below).items() if one.value == name.encode()}
        for number in list(todo):
            holder = Lease(store, key_of(record.prefix, "lease", number), name).holder()
            if holder is not None and holder.agent in still:
                found[number] = holder.agent
                todo.remove(number)
                continue
            shard = ShardLease(store, record, number, name)
            if shard.take(heartbeats):
                shards.append(shard)
                # Whoever had it before, and was only stopped, finds out.
                shard.open()
                todo.remove(number)
        if not todo:
            alive = heartbeats.alive()
            return {one: Host(agent, token_of(alive[agent])) for one, agent in found.items() if agent in alive}
        if time.monotonic() >= until:
            said = f"the run `{record.run}` cannot be updated: who has {len(todo)} of its shards does not answer"
            raise RecordProblem("R405", said, hint=f"it goes on as it was; `solvent status {record.run}` shows who")
        time.sleep(LOOK_SECONDS)


__all__ = ["paused"]
