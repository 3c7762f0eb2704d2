"""Recorded runs that are done again in front of a film: nobody is called, and everything is written down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import RecordProblem
from solvent.runs.agents.offers import Offers
from solvent.runs.registry import existing, workflow_of
from solvent.runs.replay import Replay, refuse_code

if TYPE_CHECKING:
    from solvent.runs.replay_index.film import Film
    from solvent.store import Store


def film_shard(store: Store, run: str, shard: int, film: Film) -> str:
    """Do a shard of a run again; return where that ends, if it is not the end of the run."""
    record = existing(store, run)
    if not 0 <= shard < record.shards:
        raise RecordProblem("R401", f"the run `{run}` has no shard {shard}", hint=f"it has {record.shards}, from 0 on")
    if not record.document:
        said = f"the workflow of the run `{run}` cannot be said in a file, and the page runs no code to find it"
        raise RecordProblem("R404", said, hint=f"solvent replay {run} --trace")
    workflow = workflow_of(store, record)
    refuse_code(run, workflow, Offers({}))
    film.at = record.created
    return Replay(store, record, workflow).film(shard, film)


__all__ = ["film_shard"]
