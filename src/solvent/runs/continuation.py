"""Continues runs as another version: one that was stopped or has ended, or one of agents while it goes on."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.errors import RecordProblem
from solvent.runs.agents.pause import paused
from solvent.runs.projection import view_of
from solvent.runs.recorded_run import held_still
from solvent.runs.versions import apply, plan_update, tasks_from

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.runs.registry import RunRecord
    from solvent.runs.versions import Update
    from solvent.store import Store
    from solvent.workflows.model import Workflow


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
    """Return the record of the version by which a run that nobody executes continues, and what becomes of its calls.

    It is the old one if nothing is to be otherwise. `since` is the task from which all is done again; `file` says where
    the workflow is now, and in which folder.
    """
    states = view_of(store, record).states if retry_failed else {}
    retried = {name for name, state in states.items() if state == "failed"}
    reopened = set() if since is None else tasks_from(workflow, since)
    still = nullcontext() if record.has_ended else held_still(store, record, takes_over=takes_over)
    with still:
        update = plan_update(
            store, record, workflow, reopened=reopened, retried=retried, folder=folder, knows_code=knows_code
        )
        if not update.is_changed:
            return record, update
        if file is not None:
            update = update._replace(record=replace(update.record, file=file[0], folder=file[1]))
        return apply(store, update), update


def refuse_to_update(record: RunRecord, how: str) -> None:
    """Raise `RecordProblem` for a run that does not go on at agents; `how` continues it otherwise."""
    if record.has_ended:
        said = f"the run `{record.run}` has ended ({record.state})"
        raise RecordProblem("R409", said, hint=f"continue it: `{how}`")
    if not record.by_agents:
        said = f"the run `{record.run}` is one process's, not of agents"
        raise RecordProblem("R405", said, hint=f"stop it, and then: `{how}`")


def update_run(
    store: Store,
    record: RunRecord,
    workflow: Workflow,
    *,
    since: str | None = None,
    folder: Path | None = None,
    knows_code: bool = True,
) -> tuple[RunRecord, Update]:
    """Change a run of agents while it goes on; see `next_version`."""
    reopened = set() if since is None else tasks_from(workflow, since)
    with paused(store, record) as (held, hosts):
        update = plan_update(
            store, held, workflow, reopened=reopened, folder=folder, knows_code=knows_code, hosts=hosts
        )
        return (apply(store, update) if update.is_changed else held), update


__all__ = ["next_version", "refuse_to_update", "update_run"]
