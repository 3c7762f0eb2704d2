"""Goes on with a run that has failed only since agents died under its calls: as another run, which knows all the rest.

A run that is over stays as it is. The other one has copies of its letters and journals, but for the answers which say
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
from solvent.runs.agents import plans, words
from solvent.runs.agents.case import Case
from solvent.runs.agents.plans import ending_of, key_of, log_at, log_to, report_of, successor_of, workflow_of
from solvent.runs.agents.replaying import NoCaller, refuse_code
from solvent.runs.records.entries import Answered, Called, Heard, Opened, Retried, Withdrawn
from solvent.runs.records.history import task_of
from solvent.runs.records.journal import MAX_READ, Journal, read_journal
from solvent.runs.records.runs import new_name
from solvent.store import Append

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.runs.agents.offers import Offers
    from solvent.runs.agents.plans import Plan
    from solvent.runs.records import entries
    from solvent.store import Record, Store

LOST = "LOST"


def lost_tasks(store: Store, run: str, plan: Plan) -> frozenset[str]:
    """Name the tasks of a run that were lost with agents, if it has failed for no other reason."""
    ending = ending_of(store, run)
    if ending is None or ending.state != "failed" or ending.text:
        return frozenset()
    report = report_of(store, run, workflow_of(store, plan), plan.places)
    if report is None or any(one.kind != LOST for one in report.failures):
        return frozenset()
    return frozenset(one.task for one in report.failures)


def revive(store: Store, run: str, plan: Plan, tasks: frozenset[str], offers: Offers) -> str:
    """Have a run go on whose tasks were lost, and give its new name: the one that somebody else has given it, if so."""
    refuse_code(run, workflow_of(store, plan), offers, command="resume")
    name = new_name(plan.origin or run)
    moved = _copy_letters(store, run, name)
    for place in range(plan.places):
        _copy_journal(store, log_at(run, place), log_at(name, place), tasks, moved)
    _check(store, run, name, _plan_after(run, plan), offers)
    try:
        store.put(key_of(run, "resumed"), name.encode(), expected=0)
    except Conflict:
        name = successor_of(store, run)
    announce(store, run, plan, name)
    return name


def announce(store: Store, run: str, plan: Plan, name: str) -> None:
    """Let agents know of the run that goes on with one, once more if need be: who was to do it may have died before.

    It has a plan, and so is a run, only when it is the only one that goes on.
    """
    with suppress(Conflict):
        plans.announce(store, name, _plan_after(run, plan))


def _plan_after(run: str, plan: Plan) -> Plan:
    return replace(plan, origin=plan.origin or run)


def _letters_of(store: Store, run: str) -> Iterator[Record]:
    after = 0
    while found := store.read(log_to(run), after, MAX_READ):
        yield from found
        after = found[-1].position


def _copy_letters(store: Store, run: str, name: str) -> tuple[list[int], list[int]]:
    """Copy what places have said to each other; give where that was, and where it is."""
    before, now = [0], [0]
    for record in _letters_of(store, run):
        before.append(record.position)
        now.extend(store.append_all([Append(log_to(name), record.data)]))
    return before, now


def _copy_journal(
    store: Store, log: str, other: str, tasks: frozenset[str], moved: tuple[list[int], list[int]]
) -> None:
    lost = {
        one.key
        for _, one in read_journal(store, log)
        if isinstance(one, Answered)
        and one.failure is not None
        and one.failure.kind == LOST
        and task_of(one.key, tasks) in tasks
    }
    journal, at = Journal(store, other, ""), 0
    for position, entry in read_journal(store, log):
        if position != at:
            journal.commit()
            at = position
        for one in _copies(entry, lost, moved):
            journal.note(one)
    journal.commit()


def _copies(entry: entries.Any, lost: set[str], moved: tuple[list[int], list[int]]) -> Iterator[entries.Entry]:
    """Give what stands for an entry in the copy."""
    match entry:
        case Called(key, at) if key in lost:
            # It may have been made, which it is told; and it counts neither as an attempt nor as a loss.
            yield entry
            yield Withdrawn(key, at)
        case Retried(key) | Withdrawn(key) | Answered(key) if key in lost:
            return
        case Opened():
            # Its leases are new, and begin with the first epoch.
            yield replace(entry, epoch=0)
        case Heard(position):
            before, now = moved
            yield Heard(now[bisect_right(before, position) - 1])
        case _:
            yield entry


def _check(store: Store, run: str, name: str, plan: Plan, offers: Offers) -> None:
    """Raise `RecordProblem` R404 if what was written down does not follow without the losses."""
    said: dict[tuple[int, int], int] = {}
    for record in _letters_of(store, name):
        for to, one in words.dealt(record, range(plan.places)):
            letter = words.read(one.data)
            key = letter.sender, to
            said[key] = max(said.get(key, 0), letter.first + len(letter.said) - 1)
    case = Case(store, "resume", name, plan, offers, jobs=None)
    why = ""
    with deep_stack():
        for place in range(plan.places):
            try:
                found = case.again(place, NoCaller())
            except SolventError as error:
                why = error.message
                break
            if any(found.said[to] != said.get((place, to), 0) for to in range(plan.places)):
                why = f"place {place} has told others of it"
                break
    if why:
        said_so = f"`{run}` cannot go on: more has followed from the calls that were lost: {why}"
        raise RecordProblem("R404", said_so, hint="run it anew")


__all__ = ["announce", "lost_tasks", "revive"]
