"""A run found by its name: its record and its workflow, of which a few are kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

import msgspec

from solvent.errors import RecordProblem, SolventError
from solvent.hocl.process_settings import deep_stack
from solvent.runs.registry import is_name, record_of, task_names, workflow_of

if TYPE_CHECKING:
    from solvent.runs.registry import RunRecord
    from solvent.store import Store
    from solvent.workflows.model import Workflow

_MAX_KEPT = 16


class FoundRun(msgspec.Struct, frozen=True):
    """The facts of a run that do not change while a version of it goes on."""

    record: RunRecord
    """As it was when the run was found: how the run stands may have changed since."""
    tasks: tuple[str, ...]
    workflow: Workflow | None
    """`None` if its document cannot be read."""

    @property
    def run(self) -> str:
        """Its name."""
        return self.record.run


class Workflows:
    """A cache of workflows: parsing a large document takes a moment, and several viewers ask for it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Workflow | None] = OrderedDict()
        self._guard = threading.Lock()

    def read(self, store: Store, record: RunRecord) -> Workflow | None:
        """Return the workflow of a run, or `None` if it cannot be read."""
        with self._guard:
            if record.document not in self._kept:
                self._kept[record.document] = _workflow(store, record)
                if len(self._kept) > _MAX_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(record.document)
            return self._kept[record.document]


def _workflow(store: Store, record: RunRecord) -> Workflow | None:
    try:
        with deep_stack():
            return workflow_of(store, record)
    except (SolventError, ValueError, RecursionError):
        # No file can say it, it was written by another version, or is damaged; the rest of the run can still be shown.
        return None


def find(store: Store | None, run: str, workflows: Workflows) -> FoundRun:
    """Find a run; raise `RecordProblem` R401 where there is none."""
    name = run if is_name(run) else ""
    record = record_of(store, name) if store is not None and name else None
    if store is None or record is None:
        raise RecordProblem("R401", f"there is no run `{run[:100]}`", hint="the list shows which there are")
    return FoundRun(record, task_names(store, record), workflows.read(store, record))


__all__ = ["FoundRun", "Workflows", "find"]
