"""A run, as one agent has it: the workflow, the services it is allowed to call, and the places that are here."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from solvent.errors import AgentProblem, Conflict, RecordProblem, SolventError, StoreError
from solvent.runs.agents.adrift import Adrift
from solvent.runs.agents.calls import Calls
from solvent.runs.agents.controlled import ControlledPlace
from solvent.runs.agents.offers import mark_of
from solvent.runs.agents.place import Place
from solvent.runs.agents.shards import MOVED, Standing, shards_of
from solvent.runs.agents.words import dealt
from solvent.runs.events import MessagesReceived
from solvent.runs.journal import MAX_READ, Journal
from solvent.runs.kinds import makers_at
from solvent.runs.mailbox import Mailbox
from solvent.runs.registry import inputs_of, journal_of, key_of, messages_of, workflow_of
from solvent.runs.workflow import FUNCTIONS
from solvent.services import Caller
from solvent.store.leases import Lease, holder_from_entry
from solvent.values.encoding import encode_msgpack
from solvent.values.limits import UNREADABLE
from solvent.workflows.translate import Concretiser

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.runs.agents.offers import Offers
    from solvent.runs.registry import RunRecord
    from solvent.services.admission import Gates
    from solvent.services.observer import CallObserver
    from solvent.store import Record, Store
    from solvent.store.interface import Entry
    from solvent.store.leases import Heartbeats
    from solvent.workflows.model import Service, Workflow


class Case:
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
        gates: Gates | None = None,
    ) -> None:
        self.run = record.run
        self.record = record
        self.here: dict[int, Place] = {}
        #: The calls of places that were here when the store went away.
        self.adrift: dict[int, Adrift] = {}
        #: Whether nothing more can happen anywhere.
        self.is_over = False
        self._store = store
        self._agent = agent
        self._offers = offers
        self._jobs = jobs
        self._may_begin = may_begin
        self.observer = observer
        self._gates = gates
        #: Letters that were read when places were taken, and up to where.
        self._letters: dict[int, list[Record]] = {}
        self._letters_up_to = 0
        #: The revisions of what was told of places.
        self._told = dict[int, int]()
        self.submitted = submitted = workflow_of(store, record)
        offers.refuse(submitted)
        used = {task.service for task in submitted.tasks}
        services = {one.name: offers.of(one) for one in submitted.services if one.name in used}
        #: What each of its services is, so that others see whether they have it.
        self.marks = {one.name: mark_of(one) for one in submitted.services if one.name in used}
        #: Services that this agent does not have: it takes no place whose tasks need one.
        self.missing = frozenset(name for name, own in services.items() if own is None)
        found = tuple(one for one in services.values() if one is not None)
        self.workflow = replace(submitted, services=found)
        # Its tasks are the same, so that what was found out about them (`cached_property`) holds.
        vars(self.workflow).update(vars(submitted))
        self._parts, self._where = shards_of(submitted, record)
        exits = (new for one in submitted.alternatives for new in one.exits.values())
        self._wanted = frozenset((*submitted.outcomes, *exits))
        calls = {task.name: task.service for task in submitted.tasks}
        self._needs = [frozenset(calls[name] for name in part) for part in self._parts]
        self._inputs = inputs_of(store, record)
        #: Places that could not be opened here.
        self._refused = set[int]()
        #: Of the places that were taken here.
        self._leases: dict[int, Lease] = {}
        self._concretiser: Concretiser | None = None
        self._caller: Caller | None = None
        self.calls: Calls | None = None

    def can_serve(self, number: int) -> bool:
        """Whether this agent has the services that a place needs, and can open it as far as is known."""
        return number not in self._refused and self._needs[number].isdisjoint(self.missing)

    def services_of(self, number: int) -> list[Service]:
        """Give the services that a place needs, as they were submitted."""
        return [one for one in self.submitted.services if one.name in self._needs[number]]

    def refuse(self, number: int) -> None:
        """Leave a place to others that cannot be opened here."""
        self._refused.add(number)
        if number in self._leases:
            self._leases[number].release()

    def prepare(self) -> None:
        """Get ready to call services; raise `AgentProblem` A104 if one cannot be called here: others may be able to."""
        if self._caller is not None:
            return
        folder = self._offers.folder
        try:
            self._caller = Caller(
                self.workflow.services,
                jobs=self._jobs,
                folder=folder,
                makers=makers_at(0),
                may_begin=self._may_begin,
                observer=self.observer,
                gates=self._gates,
            )
        except SolventError as error:
            self.missing = frozenset().union(*self._needs)
            raise AgentProblem("A104", error.message) from error
        self.calls = Calls(self.workflow.services, self._caller)

    def take(self, number: int, heartbeats: Heartbeats, answers: Any) -> Place | None:
        """Take a place, if nobody has it or who has it is presumed dead, and be where that one was."""
        self.prepare()
        assert self.calls is not None
        # One that knows of no epoch before: what is opened again is opened in a new one, in which nobody else has it.
        lease = Lease(self._store, key_of(self.run, "lease", number), self._agent)
        epoch = lease.take(heartbeats)
        if epoch is None:
            return None
        self._leases[number] = lease
        journal = Journal(self._store, journal_of(self.run, number), self._agent)
        journal.run = self.record.origin or self.run
        adrift = self.adrift.get(number)
        journal.open(epoch, since=adrift.had_in(epoch) if adrift is not None else ())
        place = self._place(number, journal, self.workflow, answers, self._caller, epoch)
        letters = self._letters_to(number)
        if adrift is not None and journal.is_resumed:
            adrift.again()
            place.go_on_with(adrift)
            place.start(letters)
            adrift.place.successor = place
            for before, (flight, _) in place.aliases.items():
                self.calls.rename(before, flight)
            for answer in adrift.answers():
                answers.put((place, answer))
        else:
            place.start(letters)
        self.end_adrift(number)
        self.here[number] = place
        return place

    def set_adrift(self) -> None:
        """Have no places any more, as far as is known; what they have called goes on."""
        for number, place in self.here.items():
            self.end_adrift(number)
            self.adrift[number] = Adrift(place)
            place.forget_unmade()
        self.here.clear()
        self.is_over = False
        self.forget_letters()

    def end_adrift(self, number: int) -> None:
        """End the calls of a place that another agent has, or that are not wanted any more."""
        adrift = self.adrift.pop(number, None)
        if adrift is not None:
            adrift.end()

    def taken_from(self, number: int) -> str:
        """Give the agent, presumed dead, from which a place was taken over; the empty name, if nobody had it."""
        return self._leases[number].taken_from

    @property
    def waiting(self) -> int:
        """How many calls are ready, or wait for a thread."""
        found = 0 if self._caller is None else self._caller.threads.waiting
        return found if self.calls is None else found + self.calls.waiting

    def admit(self) -> set[Place]:
        """Let places note as many calls as there is room for; give these places."""
        return set() if self.calls is None else self.calls.admit()

    def again(self, number: int, caller: Any) -> Place:
        """Give a place as its journal tells, without having it: nothing is called, and nothing written."""
        journal = Journal(self._store, journal_of(self.run, number), self._agent, is_read_only=True)
        journal.open()
        heard = max((one.position for one in journal.past if isinstance(one, MessagesReceived)), default=0)
        place = self._place(number, journal, self.submitted, Mailbox[Any](), caller)
        place.start([one for one in self._letters_to(number) if one.position <= heard])
        return place

    def _place(  # noqa: PLR0917 -- what differs between a place that is taken and one that is looked at
        self, number: int, journal: Journal, workflow: Workflow, answers: Any, caller: Any, epoch: int = 0
    ) -> Place:
        folder = self._offers.folder
        if self._concretiser is None:
            self._concretiser = Concretiser(workflow, self._inputs, functions=FUNCTIONS, folder=folder)
        is_whole = self.record.shards == 1
        place: Place = self._kind(is_controlled=workflow.is_controlled)(
            workflow,
            self._inputs,
            journal=journal,
            run=self.run,
            number=number,
            where=self._where,
            names=self._parts[number],
            wanted=self._wanted,
            letters=messages_of(self.run),
            answers=answers,
            caller=caller,
            calls=None if journal.is_read_only else self.calls,
            epoch=epoch,
            concrete=self._concretiser.concrete(None if is_whole else self._parts[number]),
            folder=folder,
        )
        return place

    def _kind(self, *, is_controlled: bool) -> Any:
        """Give what makes a place."""
        return ControlledPlace if is_controlled else Place

    def _letters_to(self, number: int) -> list[Record]:
        """Give all letters to a place; those to others, among which they are, wait for the next one that is taken."""
        while True:
            more = self._store.read(messages_of(self.run), self._letters_up_to, MAX_READ)
            for record in more:
                for place, letter in dealt(record, range(self.record.shards)):
                    self._letters.setdefault(place, []).append(letter)
                self._letters_up_to = record.position
            if len(more) < MAX_READ:
                return self._letters.get(number, [])

    def forget_letters(self) -> None:
        """Keep no letters: for now no more places are taken."""
        self._letters, self._letters_up_to = {}, 0

    def release(self, number: int) -> None:
        """Let another agent have a place; calls that are out are ended, and somebody else makes them again."""
        place = self.here.get(number)
        if place is not None:
            self.drop(place)
            # Whoever has the place by now needs no such word.
            with suppress(RecordProblem):
                place.withdraw()
        if number in self._leases:
            self._leases[number].release()

    def drop(self, place: Place) -> None:
        """Have a place no longer; one of the same number that was taken since stays."""
        if self.here.get(place.number) is place:
            del self.here[place.number]
        place.abandon()

    def tell(self, place: Place) -> None:
        """Say how a place is at which nothing more can happen unless a letter comes."""
        standing = Standing(place.journal.position, dict(place.said), dict(place.heard), place.is_closed)
        key, data = key_of(self.run, "rest", place.number), encode_msgpack(standing)
        place.is_fresh = False
        known = self._told.get(place.number, 0)
        while True:
            try:
                self._told[place.number] = self._store.put(key, data, expected=known)
            except Conflict:
                entry = self._store.get(key)
            else:
                return
            known = 0 if entry is None else entry.revision
            if entry is not None and _position_in(entry.value) > standing.position:
                # Another agent has the place by now, and knows more.
                return

    def lost(self) -> list[Place]:
        """Give the places that another agent has taken, as their leases or their journals show."""
        below = key_of(self.run, "lease") + "/"
        held = self._store.keys(below) if self.here else {}
        return [
            place
            for number, place in self.here.items()
            if self._is_taken(number, held.get(f"{below}{number}"))
            or self._store.last(journal_of(self.run, number)) != place.journal.position
        ]

    def _is_taken(self, number: int, entry: Entry | None) -> bool:
        """Whether another agent has the lease of a place that is here; what is no lease takes nothing from anybody."""
        try:
            return entry is not None and holder_from_entry(entry)[:2] != (self._agent, self._leases[number].epoch)
        except StoreError:
            return False

    def is_idle(self) -> bool:
        """Whether nothing more can happen at the places that are here, and that has been told."""
        return all(place.is_idle and not place.is_fresh for place in self.here.values())

    def publish(self) -> None:
        """Tell how the tasks are that are here: the run is over. A place that another agent has by now is dropped."""
        for place in list(self.here.values()):
            if place.is_closed:
                continue
            try:
                place.close()
            except RecordProblem as error:
                if error.code != MOVED:
                    raise
                self.drop(place)
            else:
                self.tell(place)

    def close(self) -> None:
        """Have nothing to do with the run any more."""
        for place in list(self.here.values()):
            self.drop(place)
            place.dissolve()
        for number in list(self.adrift):
            self.end_adrift(number)
        if self._caller is not None:
            with suppress(RecordProblem):
                self._caller.close(cancel=True)


def _position_in(data: bytes) -> int:
    """Give where the journal ended when a place's standing was told; what does not read was told by nobody."""
    try:
        return msgspec.msgpack.decode(data, type=Standing).position
    except UNREADABLE:
        return 0


__all__ = ["Case"]
