"""A shard of a recorded run that this process has: by a lease, whose epoch opens its journal.

An agent has some shards of many runs, an embedded run the only one of its own. Both take, end and leave them so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import RecordProblem
from solvent.runs.journal import StoredJournal
from solvent.runs.registry import journal_of, key_of
from solvent.store.leases import Lease

if TYPE_CHECKING:
    from collections.abc import Collection

    from solvent.errors import StoreError
    from solvent.runs.events import Event
    from solvent.store import Store
    from solvent.store.leases import Presumption


class HostedShard:
    """One shard; see above. For one thread."""

    def __init__(self, store: Store, run: str, number: int, agent: str, *, origin: str = "") -> None:
        """Name the shard; `origin` is the run that this one continues: calls have the names that they had there."""
        self.journal = StoredJournal(store, journal_of(run, number), agent)
        self.journal.run = origin or run
        # One that knows of no epoch before: what is opened again is opened in a new one, in which nobody else has it.
        self._lease = Lease(store, key_of(run, "lease", number), agent)
        self._number = number
        #: The epoch in which it is here.
        self.epoch = 0

    def rename(self, run: str) -> None:
        """Be a shard of another run, before it is taken."""
        self.journal.rename(journal_of(run, self._number))
        self._lease.key = key_of(run, "lease", self._number)

    def take(self, presumption: Presumption) -> bool:
        """Take the lease, if nobody has it or who has it is presumed dead; return whether it was taken."""
        epoch = self._lease.take(presumption)
        self.epoch = epoch or 0
        return epoch is not None

    def open(self, *, since: Collection[int] = ()) -> None:
        """Open the journal, in the epoch of the lease; see `StoredJournal.open`."""
        self.journal.open(self.epoch, since=since)

    @property
    def taken_from(self) -> str:
        """The agent, presumed dead, from which it was taken over; the empty name, if nobody had it."""
        return self._lease.taken_from

    def close(self, *events: Event) -> None:
        """Note how its tasks are; raise `RecordProblem` R402 if another process has it by now."""
        for event in events:
            self.journal.note(event)
        self.journal.commit()

    def release(self) -> None:
        """Let another process have it."""
        self._lease.release()


def damaged_lease(run: str, shard: int, error: StoreError) -> RecordProblem:
    """Say that the key which tells who has a shard does not read, and what to do: no agent takes a shard by guess."""
    key = key_of(run, "lease", shard)
    said = f"the lease `{key}` is damaged, and no agent can take shard {shard} of {run}: {error.message}"
    hint = (
        f"delete this key, in Python by `solvent.store.open_store(STORE).delete({key!r})`: agents then go on from "
        f"the journal; or `solvent cancel {run}`, and submit the workflow again"
    )
    return RecordProblem("R403", said, hint=hint)


__all__ = ["HostedShard", "damaged_lease"]
