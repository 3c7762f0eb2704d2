"""Recorded runs, to be filmed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.runs.embedded import EmbeddedRun
from solvent.runs.recorded_run import new_run
from solvent.runs.replay_index.maker import Order, make
from solvent.runs.replay_index.viewer import Viewer

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.store import Store
    from solvent.workflows.model import Workflow


def recorded(store: Store, name: str, workflow: Workflow, **options: Any) -> EmbeddedRun:
    """Run a workflow, recorded under a name."""
    held = new_run(store, workflow)
    held.name(name)
    run = EmbeddedRun(workflow, None, journal=held.journal, should_stop=held.should_stop, **options)
    held.open()
    held.end(run.run())
    return run


def viewed(store: Store, run: str, path: Path, place: int = 0) -> Viewer:
    """Film a run, and look at it."""
    make(Order(store.url, run, str(path), place))
    return Viewer(path)


__all__ = ["recorded", "viewed"]
