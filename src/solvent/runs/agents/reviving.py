"""Continues a run that has failed only since agents died under its calls: as another run, which knows all the rest.

A run that is over stays as it is. The other one has copies of its messages and journals, but for the answers which say
that a call was lost; what was answered is not called again, and the lost calls have all their attempts. They are told
that they may have been made before, by the name that they had. A loss for which an alternative has stepped in stays as
it was. This is possible where nothing else has followed from the others: nothing was called or said because of them.
That is seen by doing all of it again before it is submitted.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.errors import Conflict, RecordProblem, SolventError
from solvent.hocl.process_settings import deep_stack
from solvent.runs import messages, registry
from solvent.runs.agents.offers import refuse_code
from solvent.runs.closed_shards import report_of
from solvent.runs.events import (
    CallAnswered,
    CallFailed,
    CallLost,
    CallStarted,
    Ended,
    MessagesReceived,
    ShardClosed,
    ShardTaken,
)
from solvent.runs.journal import StoredJournal, read_journal
from solvent.runs.registry import change, existing, journal_of, messages_of, new_name, workflow_of
from solvent.runs.replay import Replay, read_messages
from solvent.store import Append

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.runs.agents.offers import Offers
    from solvent.runs.events import AnyEvent, Event
    from solvent.runs.registry import RunRecord
    from solvent.store import Store

LOST = "LOST"


def lost_tasks(store: Store, record: RunRecord) -> frozenset[str]:
    """Return the tasks of a run that were lost with agents, if it has failed for no other reason."""
    if record.state != "failed" or record.why:
        return frozenset()
    report = report_of(store, record, workflow_of(store, record))
    if report is None or any(one.kind != LOST for one in report.failures):
        return frozenset()
    return frozenset(one.task for one in report.failures)


def revive(store: Store, record: RunRecord, tasks: frozenset[str], offers: Offers) -> str:
    """Continue a run whose tasks were lost, and return its new name: the one that somebody else has given it, if so."""
    run = record.run
    refuse_code(run, workflow_of(store, record), offers, command="resume")
    name = new_name(record.origin or run)
    moved = _copy_messages(store, run, name)
    for shard in range(record.shards):
        _copy_journal(store, journal_of(run, shard), journal_of(name, shard), tasks, moved)
    _check(store, run, _record_after(record, name), offers)
    change(store, run, lambda one: None if one.successor else replace(one, successor=name))
    name = existing(store, run).successor
    announce(store, record, name)
    return name


def announce(store: Store, record: RunRecord, name: str) -> None:
    """Let agents know of the run that continues one, once more if need be: who was to do it may have died before.

    It has a record, and so is a run, only when it is the only one that continues.
    """
    with suppress(Conflict):
        registry.announce(store, _record_after(record, name))


def _record_after(record: RunRecord, name: str) -> RunRecord:
    origin = record.origin or record.run
    return replace(record, run=name, origin=origin, state="running", ended=0.0, why="", successor="")


def _copy_messages(store: Store, run: str, name: str) -> tuple[list[int], list[int]]:
    """Copy what shards have said to each other; return where that was, and where it is."""
    before, now = [0], [0]
    for record in read_messages(store, run):
        before.append(record.position)
        now.extend(store.append_all([Append(messages_of(name), record.data)]))
    return before, now


def _copy_journal(
    store: Store, log: str, other: str, tasks: frozenset[str], moved: tuple[list[int], list[int]]
) -> None:
    lost = {
        one.call
        for _, one in read_journal(store, log)
        if isinstance(one, CallFailed) and one.is_last and one.kind == LOST and one.task in tasks
    }
    journal, at = StoredJournal(store, other, ""), 0
    for position, event in read_journal(store, log):
        if position != at:
            journal.commit()
            at = position
        for one in _copies(event, lost, moved):
            journal.note(one)
    journal.commit()


def _copies(event: AnyEvent, lost: set[str], moved: tuple[list[int], list[int]]) -> Iterator[Event]:
    """Yield what stands for an event in the copy."""
    match event:
        case CallStarted(call, at=at, attempt=1) if call in lost:
            # It may have been made, which it is told; and it counts neither as an attempt nor as a loss.
            yield event
            yield CallLost(call, at)
        case CallStarted(call) | CallLost(call) | CallAnswered(call) | CallFailed(call) if call in lost:
            return
        case ShardClosed() | Ended():
            return
        case ShardTaken():
            # Its leases are new, and begin with the first epoch.
            yield replace(event, epoch=0)
        case MessagesReceived(position):
            before, now = moved
            yield MessagesReceived(now[bisect_right(before, position) - 1])
        case _:
            yield event


def _check(store: Store, run: str, record: RunRecord, offers: Offers) -> None:
    """Raise `RecordProblem` R404 if what was written down does not follow without the losses."""
    sent: dict[tuple[int, int], int] = {}
    for message in read_messages(store, record.run):
        for to, one in messages.dealt(message, range(record.shards)):
            found = messages.read(one.data)
            key = found.sender, to
            sent[key] = max(sent.get(key, 0), found.first + len(found.molecules) - 1)
    replay = Replay(store, record, workflow_of(store, record), folder=offers.folder)
    why = ""
    with deep_stack():
        for shard in range(record.shards):
            try:
                mailbox = replay.shard(shard).mailbox
            except SolventError as error:
                why = error.message
                break
            assert mailbox is not None
            if any(mailbox.sent[to] != sent.get((shard, to), 0) for to in range(record.shards)):
                why = f"shard {shard} has told others of it"
                break
    if why:
        said_so = f"`{run}` cannot go on: more has followed from the calls that were lost: {why}"
        raise RecordProblem("R404", said_so, hint="run it anew")


__all__ = ["announce", "lost_tasks", "revive"]
