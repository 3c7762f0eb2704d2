"""What happens in a run that agents have: its journals, read from outside, as events.

Whoever follows a run takes no part in it. Agents do not know that it is there, and it may begin and end at any time.
Times are those of the agents' clocks, which nobody compares: they are for people to read.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from solvent.errors import RecordProblem
from solvent.runs.agents.plans import key_of
from solvent.runs.records import entries
from solvent.runs.records.entries import Answered, Called, Opened, Withdrawn
from solvent.runs.records.history import task_of
from solvent.runs.report import Event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.store import Store
    from solvent.workflows.model import Workflow

MAX_READ = 1000


class Noted:
    """One entry of a journal, and where it stands."""

    __slots__ = ("entry", "place", "position")

    def __init__(self, position: int, place: int, entry: entries.Any) -> None:
        self.position = position
        self.place = place
        self.entry = entry


class Journals:
    """The journals of all places of a run, read together, from where the last reading ended."""

    def __init__(self, store: Store, run: str) -> None:
        self._store = store
        self._below = key_of(run, "at") + "/"
        self._after = 0

    def fresh(self) -> Iterator[Noted]:
        """Give what was noted since, in the order of the store."""
        while True:
            found = self._store.read(self._below, self._after, MAX_READ)
            for record in found:
                try:
                    noted = entries.read(record.data, self._store.get_blob)
                    place = int(record.log.removeprefix(self._below))
                except ValueError as error:
                    said = f"record {record.position} of `{record.log}` does not read: {error}"
                    raise RecordProblem("R403", said) from None
                for entry in noted:
                    yield Noted(record.position, place, entry)
                self._after = record.position
            if len(found) < MAX_READ:
                return


class Following:
    """Tells what has happened in a run, and keeps count of it."""

    def __init__(self, store: Store, run: str, workflow: Workflow, began: float) -> None:
        """`began` is when the run was submitted, by the clock of who did."""
        self.journals = Journals(store, run)
        #: Calls that have begun and have no answer, with the place and when they began.
        self.out: dict[str, tuple[int, float]] = {}
        #: How often calls were made again, because the agent that had made them was gone.
        self.again: Counter[str] = Counter()
        #: The agents that have had each place, in order.
        self.had: dict[int, list[str]] = {}
        #: How the last call of each task ended: `done`, `failed` or `cancelled`.
        self.ends: dict[str, str] = {}
        self.answers = 0
        self._tasks = frozenset(task.name for task in workflow.tasks)
        self._wakers = workflow.wakers
        self._watched = {one.name: one.watched for one in workflow.alternatives}
        self._applied = set[str]()
        self._begun = set[str]()
        self._began = began

    def news(self) -> Iterator[Event]:
        """Give what has happened since the last time."""
        for noted in self.journals.fresh():
            entry = noted.entry
            if isinstance(entry, Opened):
                self.had.setdefault(noted.place, []).append(entry.agent)
            elif isinstance(entry, Called):
                yield from self._call(entry, noted.place)
            elif isinstance(entry, Withdrawn):
                self.out.pop(entry.key, None)
            elif isinstance(entry, Answered):
                yield from self._answer(entry)

    @property
    def called_again(self) -> dict[str, int]:
        """How many calls of each task were made again."""
        found = Counter[str]()
        for key, many in self.again.items():
            found[task_of(key, self._tasks)] += many
        return dict(found)

    def _call(self, entry: Called, place: int) -> Iterator[Event]:
        seconds = max(0.0, entry.at - self._began)
        self.out[entry.key] = place, entry.at
        if entry.key in self._begun:
            self.again[entry.key] += 1
            return
        self._begun.add(entry.key)
        task = task_of(entry.key, self._tasks)
        if task in self._wakers and self._applied.isdisjoint(self._wakers[task]):
            yield self._adapted(task, seconds)
        yield Event("started", task, seconds)

    def _answer(self, entry: Answered) -> Iterator[Event]:
        self.answers += 1
        self.out.pop(entry.key, None)
        self._begun.discard(entry.key)
        task, seconds = task_of(entry.key, self._tasks), max(0.0, entry.at - self._began)
        failure = entry.failure
        kind = "done" if failure is None else "cancelled" if failure.kind == "CANCELLED" else "failed"
        if self.ends.get(task) != "failed" or kind != "cancelled":
            self.ends[task] = kind
        yield Event(kind, task, seconds, "" if failure is None else failure.text)

    def _adapted(self, task: str, seconds: float) -> Event:
        """Tell of an alternative: nobody notes that it applies, but one of its tasks would not be called else."""
        names = self._wakers[task]
        bad = {name for name, end in self.ends.items() if end == "failed"}
        name = next((one for one in names if not bad.isdisjoint(self._watched[one])), names[0])
        self._applied.add(name)
        watched = self._watched[name]
        return Event("adapted", next((one for one in watched if one in bad), watched[0]), seconds, name)


__all__ = ["Following", "Journals", "Noted"]
