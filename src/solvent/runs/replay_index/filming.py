"""Recorded runs that are done again in front of a film: nobody is called, and everything is written down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import RecordProblem
from solvent.runs.agents.hosted_run import HostedRun
from solvent.runs.agents.offers import Offers
from solvent.runs.agents.replaying import refuse_code
from solvent.runs.journal import StoredJournal
from solvent.runs.registry import existing, inputs_of, journal_of, signals_of, workflow_of
from solvent.runs.replay import Replay

if TYPE_CHECKING:
    from solvent.runs.registry import RunRecord
    from solvent.runs.replay_index.film import Film
    from solvent.store import Store


def film_run(store: Store, record: RunRecord, film: Film) -> str:
    """Do a run of one process again; return where that ends, if it is not the end of the run."""
    if record.hindrance:
        raise RecordProblem("R406", f"the run `{record.run}` cannot be replayed: {record.hindrance}")
    if not record.document:
        said = f"the workflow of the run `{record.run}` cannot be said in a file, and the page runs no code to find it"
        raise RecordProblem("R404", said, hint=f"solvent replay {record.run} --trace")
    workflow = workflow_of(store, record)
    refuse_code(record.run, workflow, Offers({}))
    journal = StoredJournal(store, journal_of(record.run), "film", is_read_only=True)
    journal.open()
    film.at = record.created
    signals = signals_of(record)
    error = Replay(workflow, inputs_of(store, record), journal, signals=signals, spectator=film).run().error
    return "" if error is None or record.has_ended else error.message


def film_shard(store: Store, run: str, shard: int, film: Film) -> str:
    """Do one shard of a run of agents again."""
    record = existing(store, run)
    if not 0 <= shard < record.shards:
        raise RecordProblem("R401", f"the run `{run}` has no shard {shard}", hint=f"it has {record.shards}, from 0 on")
    refuse_code(run, workflow_of(store, record), Offers({}))
    hosted = HostedRun(store, "film", record, Offers({}), jobs=None)
    film.at = record.created
    hosted.again(shard, film)
    return ""


__all__ = ["film_run", "film_shard"]
