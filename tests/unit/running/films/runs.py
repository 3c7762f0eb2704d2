"""Recorded runs, to be filmed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.running.films.making import Order, make
from solvent.running.films.viewing import Viewer
from solvent.running.records import recorded_run
from solvent.running.records.runs import new_run

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.live.space import Space
    from solvent.running.records.recorded import RecordedRun
    from solvent.workflow.model import Workflow


def recorded(space: Space, name: str, workflow: Workflow, **options: Any) -> RecordedRun:
    """Run a workflow, recorded under a name."""
    held = new_run(space, workflow)
    held.name(name)
    run = recorded_run(workflow, None, journal=held.journal, should_stop=held.is_cancelled, **options)
    held.open()
    held.end(run.run())
    return run


def viewed(space: Space, run: str, path: Path, place: int | None = None) -> Viewer:
    """Film a run, and look at it."""
    make(Order(space.url, run, str(path), place))
    return Viewer(path)


__all__ = ["recorded", "viewed"]
