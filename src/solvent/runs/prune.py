"""Removes what is not needed any more from a store: runs that have ended, and what nobody uses.

A run goes in an order that a kill may cut anywhere. Its record is marked (`pruned`) by compare-and-set, so one that is
going on is never removed; from then on there is no such run, and its name stays taken. Then its journals, messages and
keys go, and what announced it to agents; then the record. Whatever was marked and is still there goes the next time.

A blob is used if its name stands anywhere in a record or a value, or in a blob that holds a record; so nobody has to
know all places where blobs are named. One that is put for a run which is not recorded yet is left (`sweep_blobs`).

Agents read the announcements of all runs when they begin. Those of runs that are not over are announced once more, and
all that were before are removed; who is told late that a run is over sees that by its record.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from solvent.errors import Conflict, RecordProblem, StoreError
from solvent.runs import events
from solvent.runs.agents.store_outage import TROUBLES
from solvent.runs.holders import STOPS, Holder, holder_of, is_there
from solvent.runs.nodes.shared import JOURNALS, PROGRAMS, STATES, Board, runs_in
from solvent.runs.registry import (
    FINISHED,
    OVER,
    SUBMITTED,
    announced,
    calls_of,
    change,
    key_of,
    list_runs,
    messages_of,
    run_at,
)
from solvent.store.interface import MIN_AGE
from solvent.store.leases import AGENTS, TTL, heartbeat_from_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from solvent.runs.registry import RunRecord
    from solvent.store import Entry, Record, Store

_BLOB = re.compile(rb"(?=([0-9a-f]{64}))")
_TTLS = 1.5
"""For how many times its `ttl` an agent must be silent; one that is stopped begins anew anyway when it goes on."""
_MAX_WAIT_SECONDS = 10.0
_LOOK_SECONDS = 0.05


class EndedRun(msgspec.Struct, frozen=True):
    """A run that has ended: of a workflow, or of a program over nodes."""

    run: str
    what: str
    state: str
    created: float
    ended: float
    is_program: bool = False


class Pruned(msgspec.Struct, frozen=True):
    """What was removed: runs, blobs and their bytes, and what agents that are dead have left."""

    runs: tuple[EndedRun, ...]
    blobs: int
    bytes: int
    agents: tuple[str, ...] = ()
    #: How many bytes the store's file is smaller, where it is a file.
    freed: int = 0


def ended_runs(store: Store) -> list[EndedRun]:
    """Return the runs that have ended and that no process has any more, the latest last."""
    found = [
        EndedRun(one.run, one.workflow, one.state, one.created, one.ended)
        for one in list_runs(store)
        if one.has_ended and not _is_held(store, one)
    ]
    for run in runs_in(store):
        board = Board(store, run)
        # One that does not read is left to people.
        with suppress(StoreError):
            record, ending = board.record(), board.look().ending
            if ending is not None:
                found.append(EndedRun(run, record.name, ending.how, record.started_at, ending.at, is_program=True))
    return sorted(found, key=lambda one: (one.created, one.run))


def _is_held(store: Store, record: RunRecord) -> bool:
    """Return whether a process has not left a run yet that has ended under it."""
    holder = holder_of(store, record)
    return holder is not None and is_there(holder) is True


def choose(
    runs: Sequence[EndedRun],
    *,
    older_than: float = 0.0,
    states: Collection[str] = (),
    workflow: str = "",
    keep: int = 0,
) -> list[EndedRun]:
    """Return those of some runs that ended so many seconds ago, in these states; but the `keep` that began last."""
    found = [one for one in runs if (not states or one.state in states) and workflow in {"", one.what}]
    until = time.time() - older_than
    return [one for one in found[: max(0, len(found) - keep)] if one.ended <= until]


def prune(store: Store, runs: Sequence[EndedRun], *, is_tried: bool = False, min_age: float = MIN_AGE) -> Pruned:
    """Remove runs that have ended, those that an earlier call has left in part, and what nothing uses any more.

    With `is_tried` nothing is removed. Of blobs, those that were put in the last `min_age` seconds stay.
    """
    if is_tried:
        swept = store.sweep_blobs(used_blobs(store, without=runs), min_age=min_age, is_tried=True)
        return Pruned(tuple(runs), *swept)
    gone = [one for one in runs if one.is_program or _mark(store, one)]
    for one in gone:
        if one.is_program:
            store.drop(f"{STATES}{one.run}/")
            store.drop(f"{JOURNALS}{one.run}/")
            store.drop(f"{PROGRAMS}{one.run}/")
    # Those that were marked before as well.
    marked = [one for one in list_runs(store, is_pruned=True) if one.state == "pruned"]
    for record in marked:
        store.drop(f"{key_of(record.run)}/")
        store.drop(messages_of(record.run))
        store.drop(f"{messages_of(record.run)}/")
        store.drop(calls_of(record.run))
        store.drop(f"{calls_of(record.run)}/")
    _trim_announcements(store)
    for record in marked:
        store.drop(key_of(record.run))
    agents = _drop_dead_agents(store)
    swept = store.sweep_blobs(used_blobs(store), min_age=min_age)
    return Pruned(tuple(gone), *swept, agents=tuple(agents), freed=store.shrink())


def _mark(store: Store, run: EndedRun) -> bool:
    def pruned(record: RunRecord) -> RunRecord | None:
        is_it = record.has_ended and record.created == run.created
        return msgspec.structs.replace(record, state="pruned") if is_it else None

    try:
        return change(store, run.run, pruned) is not None
    except RecordProblem:
        return False


def _trim_announcements(store: Store) -> None:
    """Remove the announcements of runs that are over."""
    # In this order: a version of a run that is announced by then is in its record, and of a run that another process
    # removes meanwhile the announcement is gone before the record. One that has no record is about to get it.
    up_to = {log: store.last(log) for log in (SUBMITTED, OVER, FINISHED)}
    ended = {one.run for one in list_runs(store, is_pruned=True) if one.has_ended}
    again = dict[str, bytes]()
    for record in _records(store, SUBMITTED):
        run, _ = announced(record.data)
        if run and run_at(run) not in ended and record.position <= up_to[SUBMITTED]:
            again[run] = record.data
    for data in again.values():
        store.append(SUBMITTED, data)
    for log, position in up_to.items():
        if position:
            store.drop(log, up_to=position)


def used_blobs(store: Store, *, without: Sequence[EndedRun] = ()) -> set[str]:
    """Return the names of all blobs that something in a store names, but for what some runs alone do."""
    found, inner = set[str](), set[str]()
    below = tuple(f"{one}/" for run in without for one in _prefixes(run))
    logs = (key_of, messages_of, calls_of)
    alone = {name_of(run.run) for run in without if not run.is_program for name_of in logs}
    runs = {run.run for run in without if not run.is_program}
    for record in _records(store, ""):
        is_announced = record.log == SUBMITTED
        if record.log in alone or record.log.startswith(below):
            continue
        if is_announced and run_at(announced(record.data)[0]) in runs:
            continue
        names = _named(record.data)
        found |= names
        if is_announced or events.is_in_blob(record.data):
            inner |= names
    for key, entry in store.keys("").items():
        if key not in alone and not key.startswith(below):
            found |= _named(entry.value)
    for name in inner:
        # One that is missing is found out by who needs it.
        with suppress(StoreError):
            found |= _named(store.get_blob(name))
    return found


def _prefixes(run: EndedRun) -> list[str]:
    """Return what the names begin with of all that a run has, besides a log and a key of these names."""
    if run.is_program:
        return [f"{PROGRAMS}{run.run}", f"{JOURNALS}{run.run}"]
    return [key_of(run.run), messages_of(run.run), calls_of(run.run)]


def _named(data: bytes) -> set[str]:
    return {name.decode() for name in _BLOB.findall(data)}


def _records(store: Store, log: str) -> Iterator[Record]:
    after = 0
    while found := store.read(log, after):
        yield from found
        after = found[-1].position


def _drop_dead_agents(store: Store) -> list[str]:
    """Remove the heartbeats of agents that are dead, and what else they have left; return their names."""
    before = store.keys(AGENTS)
    silent = {key: entry for key, entry in before.items() if _is_running(entry) is not True}
    unsure = {key for key, entry in silent.items() if _is_running(entry) is None}
    waits = {key: _TTLS * _ttl_of(silent[key]) for key in unsure}
    began = time.monotonic()
    until = began + min(_MAX_WAIT_SECONDS, max(waits.values(), default=0.0))
    while unsure and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)
        now = store.keys(AGENTS)
        for key in [key for key in unsure if now.get(key) != silent[key]]:
            unsure.discard(key)
            del silent[key]
    waited = time.monotonic() - began
    dead = []
    for key, entry in silent.items():
        if key in unsure and waited < waits[key]:
            continue
        with suppress(Conflict):
            store.delete(key, expected=entry.revision)
            dead.append(key.removeprefix(AGENTS))
    there = {key.removeprefix(AGENTS) for key in store.keys(AGENTS)}
    for below in (TROUBLES, STOPS):
        for key in store.keys(below):
            if key.removeprefix(below) not in there:
                store.drop(key)
    return dead


def _is_running(entry: Entry) -> bool | None:
    """Return whether the process of an agent is there; nothing where that cannot be seen from here."""
    try:
        return is_there(msgspec.convert(heartbeat_from_value(entry.value).get("process"), Holder))
    except (StoreError, msgspec.ValidationError):
        return None


def _ttl_of(entry: Entry) -> float:
    try:
        ttl = heartbeat_from_value(entry.value).get("ttl")
    except StoreError:
        return TTL
    return float(ttl) if isinstance(ttl, int | float) else TTL


__all__ = ["EndedRun", "Pruned", "choose", "ended_runs", "prune", "used_blobs"]
