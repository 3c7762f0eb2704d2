"""Does a run of agents again, from the journals of its shards and the messages between them, calling nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import RecordProblem
from solvent.hocl.process_settings import deep_stack
from solvent.runs.agents.hosted_run import HostedRun
from solvent.runs.closing import merged
from solvent.runs.kept import MemoryBlobs
from solvent.runs.registry import workflow_of

if TYPE_CHECKING:
    from solvent.runs.agents.offers import Offers
    from solvent.runs.registry import RunRecord
    from solvent.runs.report import Report
    from solvent.store import Store
    from solvent.workflows.model import Workflow


def refuse_code(run: str, workflow: Workflow, offers: Offers, *, command: str = "replay") -> None:
    """Raise `RecordProblem` R406 where functions would be called that are not offered: a record may be anybody's."""
    if what := offers.unknown_code(workflow):
        said = f"the run `{run}` goes by {what}, and only its own files say what that is"
        raise RecordProblem("R406", said, hint=f"`solvent {command} {run} --file WORKFLOW`")


def replayed(store: Store, record: RunRecord, offers: Offers) -> Report:
    """Return the report that follows from what was written down; of `offers` only conditions are asked."""
    refuse_code(record.run, workflow_of(store, record), offers)
    hosted, blobs = HostedRun(store, "replay", record, offers, jobs=None), MemoryBlobs()
    with deep_stack():
        shards = [hosted.again(shard) for shard in range(record.shards)]
        return merged(blobs, record, hosted.workflow, [hosted.closed(one, blobs) for one in shards])


__all__ = ["refuse_code", "replayed"]
