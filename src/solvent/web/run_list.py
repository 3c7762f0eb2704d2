"""The source that viewers of the list of runs follow: a row for each, whether one process or agents have it.

Run records change seldom; the number of tasks done changes often, and only journals have it. The journals of active
runs are read, each from where the last reading ended; of a run that has ended nothing is read again.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from solvent.errors import SolventError
from solvent.runs.closed_shards import closed_shards
from solvent.runs.holders import status_of
from solvent.runs.projection import Follower
from solvent.runs.registry import FINISHED, SUBMITTED, record_of, run_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solvent.runs.registry import RunRecord
    from solvent.store import Store
    from solvent.store.interface import Entry
    from solvent.web.channel import Message
    from solvent.web.run_lookup import Workflows

MAX_ROWS = 2_000
"""The number of runs listed, the newest ones."""
BUSY_SECONDS = 30.0
"""A run of agents without an entry for so long is shown as waiting; its own page looks at their heartbeats."""


class RunList:
    """All runs of a store, as a channel follows them (`channel.Source`)."""

    scopes = ("runs/", SUBMITTED, FINISHED)
    pause_seconds = 0.3

    def __init__(self, store: Callable[[], Store | None], workflows: Workflows) -> None:
        self._store = store
        self._workflows = workflows
        self._rows: dict[str, Message] = {}
        self._records: dict[str, tuple[int, RunRecord]] = {}
        self._followers: dict[str, Follower] = {}
        #: The revisions of records at which runs were over: one may be continued.
        self._over: dict[str, int] = {}

    def look(self) -> list[Message]:
        """Return the rows that have changed, and those that are gone."""
        store = self._store()
        found: dict[str, Message] = {}
        if store is not None:
            for key, entry in store.keys("runs/").items():
                run, _, rest = key.removeprefix("runs/").partition("/")
                if not rest:
                    found[run] = self._row(store, run, entry)
        fresh: list[Message] = [{"e": "row", **row} for run, row in found.items() if self._rows.get(run) != row]
        fresh += [{"e": "gone", "run": run} for run in self._rows if run not in found]
        self._rows = found
        return fresh

    def snapshot(self) -> Message:
        """Return all rows, the newest first."""
        rows = sorted(self._rows.values(), key=lambda row: (row["created"], row["run"]), reverse=True)
        return {"rows": rows[:MAX_ROWS], "left_out": max(0, len(rows) - MAX_ROWS)}

    def _row(self, store: Store, run: str, entry: Entry) -> Message:
        if self._over.get(run) == entry.revision and run in self._rows:
            return self._rows[run]
        try:
            return self._row_of(store, self._record(store, run, entry))
        except SolventError as error:
            self._forget(run)
            said = {"text": error.message, "state": "damaged", "created": 0.0}
            return {"run": run, "workflow": "", "agents": False, "tasks": 0, "file": "", **said}

    def _record(self, store: Store, run: str, entry: Entry) -> RunRecord:
        """Return a run's record; one that has not changed is not decoded again."""
        before = self._records.get(run)
        if before is not None and before[0] == entry.revision:
            return before[1]
        record = record_of(store, run)
        assert record is not None
        self._records[run] = entry.revision, record
        return record

    def _row_of(self, store: Store, record: RunRecord) -> Message:
        run = record.run
        row: Message = {
            "run": run, "workflow": record.workflow, "created": record.created, "state": status_of(store, record),
            "agents": record.by_agents, "tasks": record.tasks, "file": record.file,
        }  # fmt: skip
        if record.has_ended and not record.by_agents:
            closed = closed_shards(store, record)
            # The process of a run that was cancelled may not have written that yet.
            if closed is not None:
                self._forget(run)
                return row | {"ended": record.ended} | _counts(closed[0].states.values())
        if record.prefix not in self._followers:
            self._followers[record.prefix] = Follower(store, record, self._workflows.read(store, record))
        follower = self._followers[record.prefix]
        for _ in follower.news():
            pass
        counts = _counts([follower.view.states[name] for name in follower.view.tasks])
        if record.has_ended:
            self._forget(run)
            return row | {"ended": record.ended} | counts
        if record.by_agents:
            # How alive its agents are is shown by the page of the run.
            is_busy = time.time() - record.created - follower.view.seconds < BUSY_SECONDS
            row["state"] = "running" if is_busy and follower.view.calls else "queued"
        if row["state"] in {"running", "queued"} and follower.view.is_waiting:
            row["state"] = "waiting"
        return row | counts

    def _forget(self, run: str) -> None:
        for prefix in [one for one in self._followers if run_at(one) == run]:
            del self._followers[prefix]
        known = self._records.pop(run, None)
        if known is not None:
            self._over[run] = known[0]


def _counts(found: Iterable[str]) -> Message:
    states = Counter(found)
    left_out = states["unused"] + states["asleep"] + states["replaced"]
    return {
        "total": states.total() - left_out,
        "done": states["done"],
        "failed": states["failed"],
        "replaced": states["replaced"],
    }


__all__ = ["RunList"]
