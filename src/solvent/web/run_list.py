"""The source that viewers of the list of runs follow: a row for each, whether one process or agents have it.

Run records change seldom; the number of tasks done changes often, and only journals have it. The journals of active
runs are read, each from where the last reading ended; of a run that has ended nothing is read again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from solvent.errors import SolventError
from solvent.runs.agents.plans import FINISHED, SUBMITTED, ending_of
from solvent.runs.records.cards import read_card, summary_of
from solvent.runs.records.entries import Answered, Called
from solvent.runs.records.history import task_of
from solvent.web.run_lookup import find, read_journals
from solvent.web.run_source import state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent.runs.records import entries
    from solvent.runs.records.cards import RunCard
    from solvent.store import Store
    from solvent.store.interface import Entry
    from solvent.web.channel import Message
    from solvent.web.run_lookup import FoundRun, Workflows

MAX_ROWS = 2_000
"""The number of runs listed, the newest ones."""
BUSY_SECONDS = 30.0
"""A run of agents without an entry for so long is shown as waiting; its own page looks at their heartbeats."""


class Progress:
    """The progress of a run: how many of its tasks are done, and how many have failed."""

    def __init__(self, found: FoundRun) -> None:
        self.found = found
        self.heard_at = 0.0
        self._tasks = frozenset(found.tasks)
        self._asleep = frozenset() if found.workflow is None else frozenset(found.workflow.dormant)
        self._done = set[str]()
        self._failed = set[str]()
        self._woken = set[str]()
        self._replaced = set[str]()
        self._after = 0

    def look(self, store: Store) -> Message:
        """Read the new entries, and return the numbers."""
        for read in read_journals(store, self.found, self._after):
            self._after = read.record.position
            # The page of the run shows an error.
            for entry in read.entries:
                self._take(entry)
        total = len(self._tasks) - len(self._asleep - self._woken) - len(self._replaced)
        failed = self._failed - self._done - self._replaced
        return {"total": total, "done": len(self._done - self._replaced), "failed": len(failed)}

    def _take(self, entry: entries.Any) -> None:
        if not isinstance(entry, Called | Answered):
            return
        self.heard_at = max(self.heard_at, entry.at)
        task = task_of(entry.key, self._tasks)
        if isinstance(entry, Called):
            if task in self._asleep:
                self._wake(task)
        elif entry.failure is None:
            self._done.add(task)
        elif entry.failure.kind != "CANCELLED":
            self._failed.add(task)

    def _wake(self, task: str) -> None:
        """Apply the alternative of a task: without it the task would not be called."""
        self._woken.add(task)
        workflow = self.found.workflow
        if workflow is not None:
            for one in workflow.alternatives:
                if one.name in workflow.wakers[task] and not self._failed.isdisjoint(one.watched):
                    self._replaced |= self._tasks.intersection(one.replaced)


class RunList:
    """All runs of a store, as a channel follows them (`channel.Source`)."""

    scopes = ("runs/", SUBMITTED, FINISHED)
    pause_seconds = 0.3

    def __init__(self, store: Callable[[], Store | None], workflows: Workflows) -> None:
        self._store = store
        self._workflows = workflows
        self._rows: dict[str, Message] = {}
        self._cards: dict[str, tuple[int, RunCard]] = {}
        self._progresses: dict[str, Progress] = {}
        self._over = set[str]()

    def look(self) -> list[Message]:
        """Return the rows that have changed, and those that are gone."""
        store = self._store()
        found: dict[str, Message] = {}
        if store is not None:
            keys = store.keys("runs/")
            for key, entry in keys.items():
                run, _, rest = key.removeprefix("runs/").partition("/")
                if rest in {"", "plan"}:
                    found[run] = self._row(store, run, entry, keys, is_of_agents=bool(rest))
        fresh: list[Message] = [{"e": "row", **row} for run, row in found.items() if self._rows.get(run) != row]
        fresh += [{"e": "gone", "run": run} for run in self._rows if run not in found]
        self._rows = found
        return fresh

    def snapshot(self) -> Message:
        """Return all rows, the newest first."""
        rows = sorted(self._rows.values(), key=lambda row: (row["created"], row["run"]), reverse=True)
        return {"rows": rows[:MAX_ROWS], "left_out": max(0, len(rows) - MAX_ROWS)}

    def _row(self, store: Store, run: str, entry: Entry, keys: Mapping[str, Entry], *, is_of_agents: bool) -> Message:
        if run in self._over and run in self._rows:
            return self._rows[run]
        try:
            if is_of_agents:
                return self._of_agents(store, run, has_ended=f"runs/{run}/end" in keys)
            return self._of_process(store, run, entry)
        except SolventError as error:
            self._over.add(run)
            said = {"text": error.message, "state": "damaged", "created": 0.0}
            return {"run": run, "workflow": "", "agents": is_of_agents, "tasks": 0, "file": "", **said}

    def _of_process(self, store: Store, run: str, entry: Entry) -> Message:
        before = self._cards.get(run)
        card = before[1] if before is not None and before[0] == entry.revision else read_card(run, entry.value)
        self._cards[run] = entry.revision, card
        row: Message = {
            "run": run, "workflow": card.workflow, "created": card.created, "state": state_of(card),
            "agents": False, "tasks": len(card.tasks), "file": card.file,
        }  # fmt: skip
        if not card.has_ended:
            return row | self._progress(store, run).look(store)
        self._forget(run)
        return row | {"ended": card.ended} | _totals(store, card)

    def _of_agents(self, store: Store, run: str, *, has_ended: bool) -> Message:
        progress = self._progress(store, run)
        numbers = progress.look(store)
        ending = ending_of(store, run) if has_ended else None
        is_busy = time.time() - progress.heard_at < BUSY_SECONDS
        row: Message = {
            "run": run, "workflow": progress.found.title, "created": progress.found.created,
            "state": ending.state if ending is not None else "running" if is_busy else "waiting",
            "agents": True, "tasks": len(progress.found.tasks), "file": "", **numbers,
        }  # fmt: skip
        if ending is None:
            return row
        self._forget(run)
        return row | {"ended": ending.at}

    def _progress(self, store: Store, run: str) -> Progress:
        if run not in self._progresses:
            self._progresses[run] = Progress(find(store, run, self._workflows))
        return self._progresses[run]

    def _forget(self, run: str) -> None:
        self._over.add(run)
        self._progresses.pop(run, None)
        self._cards.pop(run, None)


def _totals(store: Store, card: RunCard) -> Message:
    """Return how many tasks were done and failed in the end."""
    summary = summary_of(store, card)
    if summary is None:
        return {}
    states = list(summary.states.values())
    left_out = states.count("unused") + states.count("replaced")
    return {
        "total": len(states) - left_out,
        "done": states.count("done"),
        "failed": states.count("failed"),
        "replaced": states.count("replaced"),
    }


__all__ = ["RunList"]
