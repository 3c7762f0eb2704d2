"""Continues runs as another version: runs that have ended, that were stopped, and those that go on.

Whoever does so holds the run still: it puts its name into the record (`RunRecord.updater`). A process that finds it
there does nothing more in this version, says so (`runs/PREFIX/still/AGENT`), and keeps what comes of its calls for
later: an agent, or the process of an embedded run. It keeps its leases, so nobody takes its shards meanwhile; those
that nobody has are taken here. Should who updates die, which its heartbeat tells, the others remove its name and go on.
The compare-and-set that makes a version count asks for the name, so two versions of a run never go on at once.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from solvent.errors import RecordProblem
from solvent.runs.agents.remote_calls import token_of
from solvent.runs.holders import (
    UPDATER_TTL,
    SeenDead,
    ShardLease,
    Updaters,
    agent_name,
    is_there,
    process_of,
    status_of,
    this_process,
)
from solvent.runs.projection import view_of
from solvent.runs.registry import change, end_update, existing, key_of, tell_agents
from solvent.runs.versions import Host, apply, plan_update, tasks_from
from solvent.services.python import function_of
from solvent.store.leases import Heartbeat, Heartbeats, Lease

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from solvent.runs.registry import RunRecord
    from solvent.runs.versions import Update
    from solvent.store import Store
    from solvent.store.leases import Presumption
    from solvent.workflows.model import Workflow

LOOK_SECONDS = 0.02
MAX_SECONDS = 30.0
"""How long others may take to hold still: those that are silent are presumed dead before."""


def next_version(
    store: Store,
    record: RunRecord,
    workflow: Workflow,
    *,
    retry_failed: bool = False,
    since: str | None = None,
    folder: Path | None = None,
    knows_code: bool = True,
    takes_over: bool = False,
    file: tuple[str, str] | None = None,
) -> tuple[RunRecord, Update]:
    """Return the record of the version as which a run continues, and what becomes of its calls.

    It is the old one if nothing is to be otherwise. `since` is the task from which all is done again; `file` says where
    the workflow is now, and in which folder.
    """
    reopened = set() if since is None else tasks_from(workflow, since)
    still: AbstractContextManager[tuple[RunRecord, dict[int, Host]]] = nullcontext((record, {}))
    if not record.has_ended:
        still = held_still(store, record, takes_over=takes_over)
    with still as (held, hosts):
        if knows_code and not held.by_agents:
            # Its process would find out too late.
            for service in workflow.services:
                if service.kind == "python":
                    function_of(service, folder)
        states = view_of(store, held).states if retry_failed else {}
        update = plan_update(
            store,
            held,
            workflow,
            reopened=reopened,
            retried={name for name, state in states.items() if state == "failed"},
            folder=folder,
            knows_code=knows_code,
            hosts=hosts,
        )
        if not update.is_changed:
            return record, update
        if file is not None:
            update = update._replace(record=replace(update.record, file=file[0], folder=file[1]))
        return apply(store, update), update


@contextmanager
def held_still(
    store: Store, record: RunRecord, *, takes_over: bool = False
) -> Iterator[tuple[RunRecord, dict[int, Host]]]:
    """Hold a run still, and give its record as it is meanwhile, and who has its shards.

    Raise `RecordProblem` R405 if who has them does not answer, and R412 if the run is another one by now, or is being
    updated by somebody else; it then goes on as it was. With `takes_over`, who has them is taken for dead.
    """
    name = agent_name("update")
    about = {"process": msgspec.to_builtins(this_process())}
    with Heartbeat(store, name, ttl=UPDATER_TTL, about=about):
        held = _named(store, record, name)
        if held is None:
            said = f"`{record.run}` has ended, or is being updated by another process"
            raise RecordProblem("R412", said, hint=f"look at it: `solvent status {record.run}`")
        shards: list[ShardLease] = []
        try:
            _tell(store, held)
            yield held, _hosts(store, held, name, shards, takes_over=takes_over)
        finally:
            for shard in shards:
                shard.release()
            left = end_update(store, record.run, name)
            if left is not None:
                _tell(store, left)


def _tell(store: Store, record: RunRecord) -> None:
    if record.by_agents:
        tell_agents(store, record)


def _named(store: Store, record: RunRecord, name: str) -> RunRecord | None:
    """Put the name of the updater into the record of a run; return nothing if another one is about to update it."""

    def named(one: RunRecord) -> RunRecord | None:
        return None if one.has_ended or one.prefix != record.prefix or one.updater else replace(one, updater=name)

    updaters, until = Updaters(store, own=name), time.monotonic() + 2 * UPDATER_TTL
    while (held := change(store, record.run, named)) is None:
        found = existing(store, record.run)
        if found.has_ended or found.prefix != record.prefix:
            return None
        if found.updater and updaters.is_updating(found):
            process = process_of(store, found.updater)
            # Of one on another machine only its silence tells whether it is dead.
            if (process is not None and is_there(process)) or time.monotonic() >= until:
                return None
            time.sleep(LOOK_SECONDS)
    return held


def _hosts(
    store: Store, record: RunRecord, name: str, shards: list[ShardLease], *, takes_over: bool
) -> dict[int, Host]:
    """Wait until those that have shards hold still, and return them; take the shards that nobody has."""
    heartbeats, until = Heartbeats(store, ttl=UPDATER_TTL, own=name), time.monotonic() + MAX_SECONDS
    # Of agents, commands that a dead one has called may take a moment to end.
    dead: Presumption = heartbeats if record.by_agents else SeenDead(store, takes_over=takes_over)
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
            if holder is None and status_of(store, record) == "running" and not record.by_agents:
                # Its process has made it just now, and is about to take it.
                continue
            shard = ShardLease(store, record, number, name)
            if shard.take(dead):
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


def refuse_to_update(record: RunRecord, how: str) -> None:
    """Raise `RecordProblem` R409 for a run that has ended; `how` continues it."""
    if record.has_ended:
        said = f"the run `{record.run}` has ended ({record.state})"
        raise RecordProblem("R409", said, hint=f"continue it: `{how}`")


__all__ = ["held_still", "next_version", "refuse_to_update"]
