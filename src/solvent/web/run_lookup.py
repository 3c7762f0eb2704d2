"""A run found by its name: its workflow and its journals, whether one process or agents have it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from solvent.errors import RecordProblem, SolventError
from solvent.hocl.process_settings import deep_stack
from solvent.runs.agents.plans import key_of as agents_key_of
from solvent.runs.agents.plans import name_from, plan_of
from solvent.runs.records import entries
from solvent.runs.records.cards import read_card
from solvent.runs.records.journal import MAX_READ
from solvent.runs.records.runs import key_of, log_of
from solvent.workflows.formats.files import load_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.runs.agents.plans import Plan
    from solvent.runs.records.cards import RunCard
    from solvent.store import Store
    from solvent.store.interface import Record
    from solvent.workflows.model import Workflow

_MAX_KEPT = 16


class FoundRun(msgspec.Struct, frozen=True):
    """The facts of a run that do not change while it goes on."""

    run: str
    title: str
    """The name of its workflow."""
    created: float
    tasks: tuple[str, ...]
    workflow: Workflow | None
    """`None` if its document cannot be read."""
    logs: str
    """The log of its journal, or the prefix of the logs of its journals."""
    inputs: bytes = b""
    file: str = ""
    plan: Plan | None = None
    """How agents divide it, if they have it."""

    @property
    def is_of_agents(self) -> bool:
        """Whether agents have it."""
        return self.plan is not None


class Workflows:
    """A cache of workflows: parsing a large document takes a moment, and several viewers ask for it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Workflow | None] = OrderedDict()
        self._guard = threading.Lock()

    def read(self, store: Store, document: str, title: str) -> Workflow | None:
        """Return the workflow in a blob, or `None` if it cannot be read."""
        with self._guard:
            if document not in self._kept:
                self._kept[document] = _workflow(store, document, title)
                if len(self._kept) > _MAX_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(document)
            return self._kept[document]


def _workflow(store: Store, document: str, title: str) -> Workflow | None:
    try:
        text = store.get_blob(document).decode()
        with deep_stack():
            return load_text(text, name=f"{title}.json").workflow
    except (SolventError, ValueError, RecursionError):
        # Written by another version, or damaged; the rest of the run can still be shown.
        return None


def find(store: Store | None, run: str, workflows: Workflows) -> FoundRun:
    """Find a run; raise `RecordProblem` R401 where there is none."""
    name = name_from(run.encode(errors="replace"))
    plan = plan_of(store, name) if store is not None and name else None
    if store is not None and plan is not None:
        workflow = workflows.read(store, plan.document, plan.name)
        tasks = () if workflow is None else tuple(task.name for task in workflow.tasks)
        logs = agents_key_of(name, "at") + "/"
        return FoundRun(name, plan.name, plan.created, tasks, workflow, logs, plan.inputs, plan=plan)
    card = card_of(store, name)
    if store is None or card is None:
        raise RecordProblem("R401", f"there is no run `{run[:100]}`", hint="the list shows which there are")
    workflow = workflows.read(store, card.document, card.workflow) if card.document else None
    return FoundRun(name, card.workflow, card.created, card.tasks, workflow, log_of(name), card.inputs, card.file)


class Read(NamedTuple):
    """One record of a run's journals."""

    record: Record
    place: int
    """The place that wrote it; -1 for a run of one process."""
    entries: list[entries.Any]
    error: str = ""
    """Why its entries cannot be read."""


def read_journals(store: Store, found: FoundRun, after: int = 0) -> Iterator[Read]:
    """Yield the records of a run's journals after a position."""
    while True:
        records = store.read(found.logs, after, MAX_READ)
        for record in records:
            after = record.position
            place = record.log.removeprefix(found.logs)
            number = int(place) if place.isdigit() else -1
            try:
                read = Read(record, number, entries.read(record.data, store.get_blob))
            except ValueError as error:
                read = Read(record, number, [], str(error))
            yield read
        if len(records) < MAX_READ:
            return


def card_of(store: Store | None, run: str) -> RunCard | None:
    """Return the record of a run of one process, if there is one."""
    entry = store.get(key_of(run)) if store is not None and run else None
    return None if entry is None else read_card(run, entry.value)


__all__ = ["FoundRun", "Workflows", "card_of", "find", "read_journals"]
