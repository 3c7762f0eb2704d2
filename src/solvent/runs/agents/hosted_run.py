"""A run, as one agent has it: the workflow, the services it is allowed to call, and the shards that are here."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from solvent.errors import AgentProblem, Conflict, RecordProblem, SolventError, StoreError
from solvent.runs.adrift import Adrift
from solvent.runs.agents.offers import mark_of
from solvent.runs.agents.remote_calls import RemoteCalls
from solvent.runs.agents.shards import MOVED, Standing
from solvent.runs.closed_shards import wanted_of, with_resources
from solvent.runs.execution import Execution
from solvent.runs.functions import FUNCTIONS
from solvent.runs.holders import ShardLease
from solvent.runs.journal import MAX_READ
from solvent.runs.kinds import MAKERS
from solvent.runs.messages import Mailbox, dealt
from solvent.runs.registry import inputs_of, journal_of, key_of, messages_of, record_of, shards_of, workflow_of
from solvent.runs.resources import lender_of
from solvent.services import Caller
from solvent.store.leases import Heartbeats, holder_from_entry
from solvent.values.encoding import encode_msgpack
from solvent.values.limits import UNREADABLE
from solvent.workflows.translate import Concretiser

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.runs.agents.offers import Offers
    from solvent.runs.call_queue import CallQueue
    from solvent.runs.calls import Again, Answer, Answers, OpenCall
    from solvent.runs.events import ShardClosed
    from solvent.runs.journal import StoredJournal
    from solvent.runs.kept import Blobs
    from solvent.runs.registry import RunRecord
    from solvent.runs.resources.lender import Lender
    from solvent.services.admission import CallLimits
    from solvent.services.observer import CallObserver
    from solvent.store import Record, Store
    from solvent.store.interface import Entry
    from solvent.workflows.model import Service


class HostedRun:
    """A run at an agent."""

    def __init__(
        self,
        store: Store,
        agent: str,
        record: RunRecord,
        offers: Offers,
        *,
        jobs: int | None,
        may_begin: Callable[[], bool] | None = None,
        observer: CallObserver | None = None,
        limits: CallLimits | None = None,
        token: str = "",
        heartbeats: Heartbeats | None = None,
        put: Callable[[Any], None] = lambda _: None,
    ) -> None:
        """See `RemoteCalls` for the last three."""
        self.run = record.run
        self.prefix = record.prefix
        #: Who is about to update the run, if anybody: it is held still. And who was told that it is.
        self.updater = self.told_updater = ""
        #: The prefix of the version that has followed, if one has.
        self.next = ""
        #: The calls that agents make for each other.
        self.remote = RemoteCalls(
            store, record.prefix, agent, token=token, heartbeats=heartbeats or Heartbeats(store), put=put
        )
        self.record = record
        self.here: dict[int, Execution] = {}
        #: The calls of shards that were here when the store went away.
        self.adrift: dict[int, Adrift] = {}
        #: Whether nothing more can happen anywhere.
        self.is_over = False
        self._store = store
        self._agent = agent
        self._offers = offers
        self._jobs = jobs
        self._may_begin = may_begin
        self.observer = observer
        self._limits = limits
        #: Messages that were read when shards were taken, and up to where.
        self._messages: dict[int, list[Record]] = {}
        self._messages_up_to = 0
        #: The revisions of what was told of shards.
        self._told = dict[int, int]()
        self.submitted = submitted = workflow_of(store, record)
        used = {name for task in submitted.tasks for name in task.services}
        services = {one.name: offers.of(one) for one in submitted.services if one.name in used}
        #: What each of its services is, so that others see whether they have it.
        self.marks = {one.name: mark_of(one) for one in submitted.services if one.name in used}
        #: Services that this agent does not have: it takes no shard whose tasks need one.
        self.missing = frozenset(name for name, own in services.items() if own is None)
        found = tuple(one for one in services.values() if one is not None)
        self.workflow = replace(submitted, services=found)
        self._parts, self._where = shards_of(submitted, record)
        # Its tasks are the same, so that what was found out about them (`cached_property`, forms) holds.
        vars(self.workflow).update(vars(submitted))
        self._wanted = wanted_of(submitted)
        calls = {task.name: task.services for task in submitted.tasks}
        self._needs = [frozenset(one for name in part for one in calls[name]) for part in self._parts]
        self._inputs = inputs_of(store, record)
        #: Shards that could not be opened here.
        self._refused = set[int]()
        #: Of the shards that were taken here.
        self._shards: dict[int, ShardLease] = {}
        self._concretiser: Concretiser | None = None
        self._caller: Caller | None = None
        self._lender: Lender | None = None
        self.calls: CallQueue | None = None

    def can_serve(self, number: int) -> bool:
        """Whether this agent has the services that a shard needs, and can open it as far as is known."""
        return number not in self._refused and self._needs[number].isdisjoint(self.missing)

    def services_of(self, number: int) -> list[Service]:
        """Give the services that a shard needs, as they were submitted."""
        return [one for one in self.submitted.services if one.name in self._needs[number]]

    def refuse(self, number: int) -> None:
        """Leave a shard to others that cannot be opened here."""
        self._refused.add(number)
        if number in self._shards:
            self._shards[number].release()

    def prepare(self) -> None:
        """Get ready to call services; raise `AgentProblem` A104 if one cannot be called here: others may be able to."""
        if self.calls is not None:
            return
        folder = self._offers.folder
        try:
            self._lender = lender = lender_of(self.submitted, self._inputs, folder, is_noted=True)
            if self._caller is not None:
                # It makes calls of an earlier version.
                self._caller.turn_to(
                    self.workflow.services, folder=folder, makers=MAKERS, observer=self.observer, lender=lender
                )
            else:
                self._caller = Caller(
                    self.workflow.services,
                    jobs=self._jobs,
                    folder=folder,
                    makers=MAKERS,
                    may_begin=self._may_begin,
                    observer=self.observer,
                    limits=self._limits,
                    lender=lender,
                )
        except SolventError as error:
            self.missing = frozenset().union(*self._needs)
            raise AgentProblem("A104", error.message) from error
        self.calls = self.remote.open(self._caller, self.workflow.services, self.missing)

    def take(self, number: int, heartbeats: Heartbeats, answers: Answers) -> Execution | None:
        """Take a shard, if nobody has it or who has it is presumed dead, and be where that one was."""
        self.prepare()
        assert self.calls is not None
        hosted = ShardLease(self._store, self.record, number, self._agent)
        if not hosted.take(heartbeats):
            return None
        record = record_of(self._store, self.run)
        if record is None or record.prefix != self.prefix or record.updater:
            # Whoever updates a run puts its name there and then looks who has shards: one of the two sees the other.
            hosted.release()
            return None
        self._shards[number], journal = hosted, hosted.journal
        self.remote.take_shard(number, hosted.epoch)
        adrift = self.adrift.get(number)
        hosted.open(since=adrift.had_in(hosted.epoch) if adrift is not None else ())
        shard = self._execution(number, journal, answers)
        messages = self._messages_to(number)
        assert self._caller is not None
        is_continued = adrift is not None and journal.is_resumed
        if self._lender is not None and not is_continued:
            changes = [(one.resource, one.start, one.data.read(self._store)) for one in journal.changes]
            self._lender.open(changes)
        if adrift is not None and is_continued:
            adrift.again()
            shard.start(self._caller, messages, adrift=adrift)
            for answer in adrift.answers():
                answers.put(answer)
        else:
            shard.start(self._caller, messages)
        self.end_adrift(number)
        self.here[number] = shard
        return shard

    def offer_room(self) -> None:
        """Offer to make calls for shards of other agents."""
        self.prepare()
        if len(self.missing) < len(self.marks):
            self.remote.offer()

    def hold_still(self) -> None:
        """Do nothing more in this version of the run, for who updates it; calls go on, and their answers wait."""
        if self.here:
            self.set_adrift()
        self.remote.flush(may_ask=False)
        if self.told_updater != self.updater:
            self._store.put(key_of(self.prefix, "still") + f"/{self._agent}", self.updater.encode())
            self.told_updater = self.updater

    def inherit(self, before: HostedRun) -> None:
        """Continue the calls that were made here in an earlier version of the run, as far as they are wanted now."""
        before.set_adrift()
        self._caller, before._caller = before._caller, None
        calls, answers = dict[str, "OpenCall"](), list["Answer | Again"]()
        for adrift in before.adrift.values():
            answers += adrift.answers()
            calls |= adrift.inherited()
        before.adrift.clear()
        self.remote.inherit(before.remote, calls, answers)

    def refuse_all(self) -> None:
        """Take no shards: the workflow cannot be run here."""
        self._refused.update(range(self.record.shards))

    def set_adrift(self) -> None:
        """Have no shards any more, as far as is known; what they have called goes on."""
        for number, shard in self.here.items():
            self.end_adrift(number)
            self.adrift[number] = Adrift(shard, self._shards[number].epoch)
            shard.calls.forget_unmade()
            self.remote.forget(shard)
        self.remote.set_adrift()
        self.here.clear()
        self.is_over = False
        self.forget_messages()

    def end_adrift(self, number: int) -> None:
        """End the calls of a shard that another agent has, or that are not wanted any more."""
        adrift = self.adrift.pop(number, None)
        if adrift is not None:
            adrift.end()

    def taken_from(self, number: int) -> str:
        """Give the agent, presumed dead, from which a shard was taken over; the empty name, if nobody had it."""
        return self._shards[number].taken_from

    @property
    def waiting(self) -> int:
        """How many calls are ready, or wait for a thread."""
        found = 0 if self._caller is None else self._caller.threads.count_waiting()
        return found if self.calls is None else found + self.calls.waiting

    def admit(self) -> set[Execution]:
        """Let shards note as many calls as there is room for; give these shards."""
        return set() if self.calls is None else self.calls.admit()

    def _execution(self, number: int, journal: StoredJournal, answers: Answers) -> Execution:
        folder = self._offers.folder
        if self._concretiser is None:
            self._concretiser = Concretiser(self.workflow, self._inputs, functions=FUNCTIONS, folder=folder)
        return Execution(
            self._concretiser.concrete(None if self.record.shards == 1 else self._parts[number]),
            answers=answers,
            journal=journal,
            mailbox=Mailbox(self._store, self.prefix, number, self._where),
            room=self.calls,
            folder=folder,
            is_shared=True,
        )

    def closed(self, shard: Execution, blobs: Blobs) -> ShardClosed:
        """Return how the tasks of a shard are."""
        return shard.closed(blobs, self._parts[number_of(shard)], self._wanted)

    def _messages_to(self, number: int) -> list[Record]:
        """Give all messages to a shard; those to others, among which they are, wait for the next one that is taken."""
        while True:
            more = self._store.read(messages_of(self.prefix), self._messages_up_to, MAX_READ)
            for record in more:
                for shard, message in dealt(record, range(self.record.shards)):
                    self._messages.setdefault(shard, []).append(message)
                self._messages_up_to = record.position
            if len(more) < MAX_READ:
                return self._messages.get(number, [])

    def forget_messages(self) -> None:
        """Keep no messages: for now no more shards are taken."""
        self.remote.forget_history()
        self._messages, self._messages_up_to = {}, 0

    def release(self, number: int) -> None:
        """Let another agent have a shard; calls that are out are ended, and somebody else makes them again."""
        shard = self.here.get(number)
        if shard is not None:
            self.drop(shard)
            # Whoever has the shard by now needs no such word.
            with suppress(RecordProblem):
                shard.calls.withdraw()
        if number in self._shards:
            self._shards[number].release()

    def drop(self, shard: Execution) -> None:
        """Have a shard no longer; one of the same number that was taken since stays."""
        if self.here.get(number_of(shard)) is shard:
            del self.here[number_of(shard)]
        self.remote.forget(shard)
        shard.abandon()

    def tell(self, shard: Execution) -> None:
        """Say how a shard is at which nothing more can happen unless a message comes."""
        mailbox = shard.mailbox
        assert mailbox is not None
        sent, heard, waits = dict(mailbox.sent), dict(mailbox.heard), bool(shard.waits or shard.due)
        standing = Standing(shard.journal.position, sent, heard, shard.is_closed, waits)
        key, data = key_of(self.prefix, "rest", number_of(shard)), encode_msgpack(standing)
        shard.is_fresh = False
        known = self._told.get(number_of(shard), 0)
        while True:
            try:
                self._told[number_of(shard)] = self._store.put(key, data, expected=known)
            except Conflict:
                entry = self._store.get(key)
            else:
                return
            known = 0 if entry is None else entry.revision
            if entry is not None and _position_in(entry.value) > standing.position:
                # Another agent has the shard by now, and knows more.
                return

    def lost(self) -> list[Execution]:
        """Give the shards that another agent has taken, as their leases or their journals show."""
        below = key_of(self.prefix, "lease") + "/"
        held = self._store.keys(below) if self.here else {}
        return [
            shard
            for number, shard in self.here.items()
            if self._is_taken(number, held.get(f"{below}{number}"))
            or self._store.last(journal_of(self.prefix, number)) != shard.journal.position
        ]

    def _is_taken(self, number: int, entry: Entry | None) -> bool:
        """Whether another agent has the lease of a shard that is here; what is no lease takes nothing from anybody."""
        try:
            return entry is not None and holder_from_entry(entry)[:2] != (self._agent, self._shards[number].epoch)
        except StoreError:
            return False

    def is_idle(self) -> bool:
        """Whether nothing more can happen at the shards that are here, and that has been told."""
        return all(shard.is_idle and not shard.is_fresh for shard in self.here.values())

    def publish(self) -> None:
        """Tell how the tasks are that are here: the run is over. A shard that another agent has by now is dropped."""
        for shard in list(self.here.values()):
            if shard.is_closed:
                continue
            try:
                self._close(shard)
            except RecordProblem as error:
                if error.code != MOVED:
                    raise
                self.drop(shard)
            else:
                self.tell(shard)

    def _close(self, shard: Execution) -> None:
        """Note how the tasks of a shard are: the run is over."""
        closed = self.closed(shard, self._store)
        if self._lender is not None:
            closed = with_resources(self._store, closed, self._lender)
        self._shards[number_of(shard)].close(closed)
        shard.is_closed = True

    def close(self) -> None:
        """Have nothing to do with the run any more."""
        for shard in list(self.here.values()):
            self.drop(shard)
            shard.dissolve()
        for number in list(self.adrift):
            self.end_adrift(number)
        if self._caller is not None:
            with suppress(RecordProblem):
                self._caller.close(cancel=True)
        if self._lender is not None:
            self._lender.close()


def number_of(shard: Execution) -> int:
    """Give the number of a shard."""
    assert shard.mailbox is not None
    return shard.mailbox.shard


def _position_in(data: bytes) -> int:
    """Give where the journal ended when a shard's standing was told; what does not read was told by nobody."""
    try:
        return msgspec.msgpack.decode(data, type=Standing).position
    except UNREADABLE:
        return 0


__all__ = ["HostedRun", "number_of"]
