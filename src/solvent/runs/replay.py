"""Does a recorded run again, from its journals and messages: nobody is called, and nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.errors import LimitReached, ReactionFailed, RecordProblem
from solvent.hocl.process_settings import deep_stack, few_collections
from solvent.lang.rule import Rule
from solvent.runs.calls import NoCaller
from solvent.runs.closed_shards import merged, wanted_of
from solvent.runs.events import MessagesReceived
from solvent.runs.execution import Execution
from solvent.runs.functions import FUNCTIONS
from solvent.runs.journal import MAX_READ, StoredJournal
from solvent.runs.kept import MemoryBlobs
from solvent.runs.messages import Mailbox, dealt
from solvent.runs.registry import inputs_of, journal_of, messages_of, shards_of, signals_of
from solvent.runs.turns import Inbox
from solvent.workflows.translate import Concretiser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from solvent.lang.molecule import Molecule
    from solvent.runs.calls import OpenCall
    from solvent.runs.events import CallFailed
    from solvent.runs.execution import Spectator
    from solvent.runs.registry import RunRecord
    from solvent.runs.report import Report
    from solvent.store import Record, Store
    from solvent.workflows.model import Workflow


class Standing(NamedTuple):
    """Where a run stands: the molecules of each shard but for the rules, and how many are under way between shards."""

    shards: list[list[Molecule]]
    under_way: int


class Replay:
    """A replay; conditions and rule libraries of the workflow are looked for in `folder`."""

    def __init__(self, store: Store, record: RunRecord, workflow: Workflow, *, folder: Path | None = None) -> None:
        if record.hindrance:
            raise RecordProblem("R406", f"the run `{record.run}` cannot be replayed: {record.hindrance}")
        self._store = store
        self._record = record
        self._workflow = workflow
        self._folder = folder
        self._parts, self._where = shards_of(workflow, record)
        self._concretiser = Concretiser(workflow, inputs_of(store, record), functions=FUNCTIONS, folder=folder)
        self._messages: dict[int, list[Record]] = {}
        for message in read_messages(store, record.prefix):
            for shard, one in dealt(message, range(record.shards)):
                self._messages.setdefault(shard, []).append(one)

    def shard(self, number: int) -> Execution:
        """Return a shard to which all has happened that its journal tells."""
        shard, messages = self._opened(number, None)
        try:
            shard.start(NoCaller(), messages)
        except BaseException:
            shard.abandon()
            raise
        return shard

    def standing(self) -> Standing:
        """Return the molecules of all shards, as far as they are recorded; calls that are out are what they take."""
        shards, sent, heard = [], 0, 0
        with deep_stack(), few_collections():
            for number in range(self._record.shards):
                shard = self.shard(number)
                shard.abandon()
                shards.append([one for one in shard.solution if type(one) is not Rule])
                assert shard.mailbox is not None
                sent += shard.mailbox.sent.total()
                heard += shard.mailbox.heard.total()
        return Standing(shards, sent - heard)

    def film(self, number: int, spectator: Spectator) -> str:
        """Do a shard again; return where that ends, if it is not the end of the run."""
        with few_collections():
            shard, messages = self._opened(number, spectator)
            error = self._do(shard, messages)
        return "" if error is None or self._record.has_ended else error.message

    def run(
        self,
        spectator: Spectator | None = None,
        *,
        on_failure: Callable[[OpenCall, CallFailed], None] | None = None,
    ) -> Report:
        """Do all that is recorded, and report; if the run was not over, the report's `error` says so (R407).

        `on_failure` is called with each call that failed, before what follows.
        """
        blobs = MemoryBlobs()
        with few_collections():
            opened = [self._opened(number, spectator) for number in range(self._record.shards)]
            for shard, _ in opened:
                shard.on_failure = on_failure
            errors = [self._do(shard, messages) for shard, messages in opened]
            shards = [shard for shard, _ in opened]
            if len(shards) == 1:
                shards[0].report.error = errors[0]
                return shards[0].finish()
            wanted = wanted_of(self._workflow)
            closed = [one.closed(blobs, names, wanted) for one, names in zip(shards, self._parts, strict=True)]
            report = merged(blobs, self._record, self._workflow, closed)
        report.error = next((one for one in errors if one is not None), None)
        return report

    def _opened(self, number: int, spectator: Spectator | None) -> tuple[Execution, list[Record]]:
        """Return a shard to which nothing has happened yet, and the messages that it has heard."""
        journal = StoredJournal(self._store, journal_of(self._record.prefix, number), "replay", is_read_only=True)
        journal.open()
        heard = max((one.position for one in journal.past if isinstance(one, MessagesReceived)), default=0)
        shard = Execution(
            self._concretiser.concrete(None if self._record.shards == 1 else self._parts[number]),
            answers=Inbox[Any](),
            journal=journal,
            mailbox=Mailbox(self._store, self._record.prefix, number, self._where),
            signals=signals_of(self._record),
            folder=self._folder,
            spectator=spectator,
        )
        return shard, [one for one in self._messages.get(number, ()) if one.position <= heard]

    @staticmethod
    def _do(shard: Execution, messages: list[Record]) -> ReactionFailed | LimitReached | None:
        """Do a shard again; return what went wrong, or that it went on, or would have."""
        with deep_stack():
            try:
                shard.start(NoCaller(), messages)
            except ReactionFailed as error:
                return error
            else:
                waits = shard.is_signal_coming or shard.waits or shard.limits
                if shard.is_idle and (shard.report.ended_by or not waits):
                    return None
                count = len(shard.calls.waiting)
            finally:
                shard.abandon()
        said = "the record ends here" + (f": {count:,} calls have no answer in it" if count else "")
        return LimitReached("R407", said)


def read_messages(store: Store, prefix: str) -> Iterator[Record]:
    """Yield all records of messages between the shards of a run."""
    after = 0
    while found := store.read(messages_of(prefix), after, MAX_READ):
        yield from found
        after = found[-1].position


__all__ = ["Replay", "Standing", "read_messages"]
