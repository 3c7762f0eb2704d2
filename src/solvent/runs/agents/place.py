"""One place of a run, at the agent that has it: some tasks of a workflow, their journal, and what others say to them.

A place reacts when something has come: an answer of a call of its own, or a letter of another place. What it is then
about to do (calls, letters) is done when the journal says what it rests on. Everything is told by the journal and the
letters in the place's log: whoever takes the place over reads both and is where the last one was.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from functools import partial
from typing import TYPE_CHECKING, Any

from solvent.errors import RecordProblem
from solvent.lang.molecule import Molecule, Symbol
from solvent.runs.agents import words
from solvent.runs.agents.calling import CallingRun
from solvent.runs.agents.words import Letter, Writer, molecule_from
from solvent.runs.closing import closed_part
from solvent.runs.events import CallLost, MessagesReceived
from solvent.runs.invoking import current
from solvent.runs.recorded import NO_MEMORY, Again, Deferred
from solvent.services import Failure
from solvent.store import Append, Record
from solvent.values import codec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.runs.events import AnyEvent, ShardClosed
    from solvent.runs.journal import Journal
    from solvent.runs.kept import Blobs
    from solvent.services import Caller
    from solvent.workflows.model import Workflow

_OFF, _REPLACE, _GIVE_UP, _PASS, _BOND, _AWAY = map(Symbol, ("OFF", "REPLACE", "GIVE_UP", "PASS", "BOND", "AWAY"))


class Place(CallingRun):
    """A place of a run.

    `where` says at which place each task is, `number` which place this is; `names` are its tasks, and `wanted` those
    of the workflow whose results may be the workflow's. `letters` is the log of what places say to each other.
    """

    def __init__(
        self,
        workflow: Workflow,
        inputs: Mapping[str, Any] | None,
        *,
        journal: Journal,
        run: str,
        number: int,
        where: Mapping[Molecule, int],
        names: frozenset[str],
        wanted: frozenset[str],
        letters: str,
        answers: Any,
        caller: Caller,
        **options: Any,
    ) -> None:
        super().__init__(workflow, inputs, journal=journal, is_strict=True, **options)
        self.run_name = run
        self.number = number
        #: Up to where letters have come here.
        self.read_up_to = 0
        #: How much was said to each place, and heard of each.
        self.said: Counter[int] = Counter()
        self.heard: Counter[int] = Counter()
        #: Whether anything has changed since it was last told how the place is.
        self.is_fresh = True
        #: Whether the journal says how the tasks are: the run is over.
        self.is_closed = False
        #: Whether what happens has happened before.
        self.is_replaying = bool(journal.past)
        self._where = where
        self._log_of_letters = letters
        self._caller_here = caller
        self._answers = _To(answers, self)  # type: ignore[assignment]
        self._names_here = names
        self._wanted = wanted
        self._letters = deque[Record]()
        # What has come before something that was said before it, by sender and number.
        self._ahead: dict[tuple[int, int], Molecule] = {}
        self._words = Writer(journal.store)
        self._away = {one[1] for one in self.solution if type(one) is tuple and one[0] is _AWAY}
        self._outgoing: dict[int, list[words.Said]] = {}
        #: Letters that follow from what the journal has already.
        self._again: list[Append] = []
        #: Whether what came after the last record has been heard: only then it is known which calls are to be made.
        self._is_caught_up = False
        #: The calls that were out when this place was given up.
        self._ended: list[str] = []

    # --- Being driven.

    def start(self, letters: list[Record]) -> None:
        """Be where the journal ends."""
        self._letters.extend(letters)
        if letters:
            self.read_up_to = letters[-1].position
        self._began = time.perf_counter()
        try:
            self._within(lambda: self.reactor.run(self.solution))
            self.settle()
            self._again = self._written()
            self._is_caught_up = True
            if self._letters:
                # They came after the last one who had this place had died, and may call off what it had called.
                self.journal.note(MessagesReceived(self.read_up_to))
                self._within(lambda: self._hear(self.read_up_to))
            self.settle()
        except BaseException:
            self._forget_flights()
            raise
        self._adrift = None

    def take(self, answer: tuple[Any, ...]) -> None:
        """Take the answer of a call; or that it is to be tried again, which is noted before."""
        if answer[0] in self.aliases:
            flight, call = self.aliases[answer[0]]
            answer = answer._replace(flight=flight) if isinstance(answer, Again) else (flight, call, *answer[2:])
        if answer[0] not in self._out:
            return
        handle = self._out[answer[0]][1]
        if isinstance(handle, Deferred):
            self._landed.append((answer[0], self._keys[answer[0]], handle, answer))
        if isinstance(answer, Again):
            # While it pauses it needs no thread.
            self.end_call(answer.flight, is_done=True)
            self._note_retry(answer)
        else:
            self._within(lambda: self._land(*answer))
            self._within(self._lift)

    def listen(self, letters: list[Record]) -> None:
        """Take letters; those that were there when the place was taken have been taken with it."""
        self._letters.extend(one for one in letters if one.position > self.read_up_to)
        self.read_up_to = letters[-1].position
        self.journal.note(MessagesReceived(self.read_up_to))
        self._within(lambda: self._hear(self.read_up_to))
        self._within(self._lift)

    def _lift(self) -> None:
        """Set out with the calls that are to be made.

        After each thing that happens, as when it is done again: what comes next may call them off, and finds only those
        that are out.
        """
        while True:
            flights, self.reactor.flights = self.reactor.flights, []
            for flight in flights:
                self._take_off(self._caller_here, flight)
            if not self._lets_more_in():
                return

    def settle(self) -> None:
        """Go on until nothing more can happen here without an answer or a letter."""

        def settle() -> None:
            while True:
                self._lift()
                if self._catch_up(self._caller_here) or self.reactor.flights:
                    continue
                if self.report.ended_by:
                    self.abandon()
                return

        self._within(settle)

    def appends(self) -> list[Append]:
        """Give what is to be kept before anything is done: the journal, and letters to others behind it.

        What the last one who had the place may not have said any more comes before the journal: from the next record
        on nobody would know that it was not said.
        """
        found = [*self._again, *self.journal.taken(), *self._written()]
        self._again = []
        if found:
            self.is_fresh = True
        return found

    def _written(self) -> list[Append]:
        """Make letters of what is to be said."""
        found = []
        max_bytes = self.journal.store.max_record_bytes // 2
        for to, said in self._outgoing.items():
            first = self.said[to] - len(said) + 1
            for some in words.parted(said, max_bytes):
                letter = Letter(self.number, first, some)
                found.append(Append(self._log_of_letters, words.addressed(to, letter)))
                first += len(some)
        self._outgoing = {}
        return found

    def go(self) -> None:
        """Make the calls that wait for the journal."""
        ready, self._ready = self._ready, []
        self._landed.clear()
        for deferred in ready:
            deferred.begin()

    @property
    def is_idle(self) -> bool:
        """Whether nothing more can happen here unless a letter comes."""
        return not self._out and not self.reactor.flights

    @property
    def is_done(self) -> bool:
        """Whether nothing more can happen here, whatever comes: all tasks have passed on what they have."""
        return self._lean is not None and not self._lean.undone

    def abandon(self) -> None:
        """Do nothing any more: another agent has the place, or nobody."""
        self._ended = [
            key
            for flight, (_, handle) in self._out.items()
            # Of one that waits, for a thread or for its next attempt, nothing is out.
            if (key := self._keys.get(flight)) is not None
            and key not in self._held
            and not (isinstance(handle, Deferred) and handle.is_pausing)
        ]
        self._held.clear()
        for flight, (_, handle) in reversed(self._out.items()):
            handle.cancel()
            self.end_call(flight)
        self._out.clear()
        self._forget_flights()

    def _forget_flights(self) -> None:
        """Close what was about to set out: Python warns of a coroutine that nobody has begun."""
        for flight in self.reactor.flights:
            flight.coroutine.close()
        self.reactor.flights = []

    def withdraw(self) -> None:
        """Note that the calls which were out have been ended by who had made them, and not by a death."""
        for key in self._ended:
            self.journal.note(CallLost(key, time.time()))
        self.journal.commit()

    def closed(self, blobs: Blobs) -> ShardClosed:
        """Return how the tasks of this place are."""
        report, found = self.report, dict[str, Any]()
        self._read_all(found)
        report.states = {**dict.fromkeys(self._names_here, "waiting"), **report.states}
        report.reactions = self.reactor.reactions
        values = {name: value for name, value in found.items() if name in self._wanted}
        noted, faults = self.journal.adaptations, self._faults.values()
        return closed_part(blobs, report, noted, values=values, replaced=self._replaced, faults=faults)

    def close(self) -> None:
        """Note how the tasks of this place are: the run is over."""
        self.journal.note(self.closed(self.journal.store))
        self.journal.commit()
        self.is_closed = True

    # --- What comes, and what goes.

    def tell(self, task: Molecule, molecule: Molecule) -> None:
        """Say something to a task of another place; called by rules."""
        to = self._where[task]
        self.said[to] += 1
        if len(self.journal.past) >= self.journal.last_inputs and self.is_replaying:
            # It was said before the next record was written; only what the last one led to may not have been.
            return
        self._outgoing.setdefault(to, []).append(self._words.said(molecule))

    def _hear(self, position: int) -> None:
        """Take letters up to a position."""
        while self._letters and self._letters[0].position <= position:
            record = self._letters.popleft()
            try:
                letter = words.read(record.data)
                molecules = [molecule_from(one, self.journal.store) for one in letter.said]
            except ValueError as error:
                raise RecordProblem(
                    "R403", f"record {record.position} of `{record.log}` does not read: {error}"
                ) from None
            sender = letter.sender
            for number, molecule in enumerate(molecules, letter.first):
                # What was said again has been heard; what a server has put before another waits for that.
                if number > self.heard[sender]:
                    self._ahead[sender, number] = molecule
            while (sender, self.heard[sender] + 1) in self._ahead:
                self.heard[sender] += 1
                self._receive(self._ahead.pop((sender, self.heard[sender])))
        self.reactor.go_on(self.solution)

    def _receive(self, molecule: Molecule) -> None:
        kind = molecule[0]
        for part in molecule[1:-1] if kind is _PASS else molecule[1:]:
            if part in self._names and self._where[part] != self.number and part not in self._away:
                self._away.add(part)
                self.solution.add((_AWAY, part))
        if kind is _OFF:
            self.call_off(molecule[1], molecule[3])
        elif kind is _REPLACE or kind is _GIVE_UP:
            self._give_up(self._names[molecule[1]])
        elif kind is _PASS:
            self.wake(molecule[1])
        self.solution.add(molecule)

    def _give_up(self, name: str) -> None:
        """End the calls of a task that an alternative elsewhere replaces."""
        self._replaced.add(name)
        for called, handle in list(self._out.values()):
            if called == name:
                handle.cancel()

    def _within(self, do: Any) -> None:
        before = getattr(current, "run", None)
        current.run = self
        try:
            do()
        finally:
            current.run = before

    # --- The journal.

    def _catch_up(self, _caller: Caller) -> bool:
        past = self.journal.past
        if past:
            self._repeat(past.popleft())
            return True
        self.is_replaying = False
        if not self._is_caught_up:
            return False
        deferred, self._deferred = self._deferred, {}
        for key, waiting in deferred.items():
            if self._adrift is not None and self._adopt(key, waiting):
                continue
            self._held[key] = waiting
            if waiting[2].is_cancelled:
                self.admit(key)
            elif self._made_by is not None:
                waiting[2].on_cancel = partial(self.admit, key)
                self._made_by.wait(self, key, waiting[1].service)
        return False

    def _repeat(self, event: AnyEvent) -> None:
        if isinstance(event, MessagesReceived):
            self._hear(event.position)
        else:
            super()._repeat(event)

    def _land(self, flight: Any, call: Any, value: Any, failure: Failure | None, attempts: int) -> None:
        if failure is None:
            try:
                size, max_bytes = len(codec.pieces(value)), self.journal.store.max_blob_bytes
            except codec.Unrecordable as error:
                failure = Failure("FAILED", f"its result cannot be passed to another machine: {error}")
            except MemoryError:
                failure = Failure("FAILED", NO_MEMORY)
            else:
                if size > max_bytes:
                    said = f"its result has {size:,} bytes, and the store takes at most {max_bytes:,}"
                    failure = Failure("FAILED", said)
        self.end_call(flight, is_done=failure is None or failure.kind != "CANCELLED")
        attempts += self.journal.attempts[self._keys[flight]]
        value = value if failure is None else None
        super()._land(*self._noted(flight, call, value, failure, attempts))


class _To:
    """Where the answers of one place's calls go: the agent's queue, with the place."""

    def __init__(self, queue: Any, place: Place) -> None:
        self._queue = queue
        self._place = place

    def put(self, answer: Any) -> None:
        self._queue.put((self._place, answer))

    def empty(self) -> bool:
        return True


__all__ = ["Place"]
