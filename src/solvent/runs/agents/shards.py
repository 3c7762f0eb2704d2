"""The shards of a run, as agents know them: how it is divided, who may have them, and how each one stands.

Keys: `runs/RUN/lease/K` (who has shard K), `runs/RUN/rest/K` (how it stands, when nothing more can happen there unless
a message comes), `runs/RUN/refusal/AGENT` (shards that an agent could not open). Logs: `runs/RUN/shard/K` (the journal
of shard K, written by who has it), `messages/runs/RUN` (what its shards say to each other).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import AgentProblem, RecordProblem, SolventError, StoreError
from solvent.runs.registry import FORMAT, KeptOptions, RunRecord, announce, key_of, new_record
from solvent.values.limits import UNREADABLE
from solvent.workflows.formats.yaml.writer import write_json
from solvent.workflows.shards import MAX_SHARDS, divided, shards_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.store import Store
    from solvent.workflows.model import Workflow

_OF_DATA = frozenset({"E404", "E405", "E406", "E410"})
"""A name that cannot be, too much for the store, missing or damaged."""
MAX_DIVISION_BYTES = 64 * 1024
MOVED = "R402"
"""The code of what says that another agent has the shard."""


class Standing(msgspec.Struct, frozen=True):
    """How a shard stands: where its journal ends, and how many messages it has sent and received, by shard."""

    position: int
    sent: dict[int, int]
    received: dict[int, int]
    #: Whether the run is over, and its journal says how its tasks are.
    is_closed: bool = False
    #: Whether tasks of it wait for people.
    waits: bool = False


def is_away(error: SolventError) -> bool:
    """Return whether the store is out of reach; and not that what is in it, or is to be, cannot be used."""
    return isinstance(error, StoreError) and error.code not in _OF_DATA


def submit(
    store: Store,
    run: str,
    workflow: Workflow,
    inputs: Mapping[str, Any] | None,
    *,
    max_shards: int | None = None,
    offered: Mapping[str, frozenset[str]] | None = None,
    deadline: float | None = None,
) -> RunRecord:
    """Have a workflow run by whichever agents there are; `offered` says who offers each service, if that matters."""
    max_shards = min(max_shards or shards_for(workflow), MAX_SHARDS)
    # Where a record is too large to have the division, everybody divides for himself, and knows nothing of this.
    shards = divided(workflow, max_shards, offered if len(workflow.tasks) < MAX_DIVISION_BYTES else None)
    where = {name: number for number, names in enumerate(shards) for name in names}
    record = new_record(
        store,
        run,
        workflow,
        inputs,
        options=KeptOptions(deadline=deadline),
        by_agents=True,
        shards=len(shards),
        max_shards=max(max_shards, len(shards)),
        division=bytes(where[task.name] for task in workflow.tasks) if len(where) < MAX_DIVISION_BYTES else b"",
    )
    if not record.document:
        # It says why.
        write_json(workflow)
    if not record.inputs:
        raise RecordProblem("R406", f"`{workflow.name}` cannot be sent to agents: {record.hindrance}")
    announce(store, record)
    return record


def refuse_format(record: RunRecord) -> None:
    """Raise `AgentProblem` A110 for a run that agents of this version of Solvent must not have a part in."""
    if record.format != FORMAT:
        other = "a later" if record.format > FORMAT else "an earlier"
        said = f"it was submitted by {other} version of Solvent (format {record.format}, and here {FORMAT})"
        raise AgentProblem("A110", said, hint="start agents of that version, or submit the workflow again")


def standings(store: Store, prefix: str) -> dict[int, Standing]:
    """Return how the shards of a run stand, as far as they have told."""
    below = key_of(prefix, "rest") + "/"
    found = {}
    for key, entry in store.keys(below).items():
        # What does not read was not told by an agent.
        with suppress(*UNREADABLE):
            found[int(key.removeprefix(below))] = msgspec.msgpack.decode(entry.value, type=Standing)
    return found


def is_over(found: Mapping[int, Standing], shards: int) -> bool:
    """Return whether nothing more can happen: all shards have told, and each has received what the others have sent.

    Where a task waits for people, something can.

    They have told at different times. But who has sent or received more since was not idle for nothing: somebody had
    sent something to it that it had not received, and the numbers differ.
    """
    if len(found) < shards or any(one.waits for one in found.values()):
        return False
    return all(
        one.sent.get(to, 0) == other.received.get(number, 0)
        for number, one in found.items()
        for to, other in found.items()
    )


def is_closed(found: Mapping[int, Standing], shards: int) -> bool:
    """Return whether the journals of all shards say how their tasks are."""
    return len(found) >= shards and all(one.is_closed for one in found.values())


__all__ = [
    "MOVED", "Standing", "is_away", "is_closed", "is_over", "refuse_format", "standings", "submit",
]  # fmt: skip
