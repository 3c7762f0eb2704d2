"""Runs of workflows that are recorded, and go on from their record.

The reactions of a workflow depend on nothing but its molecules, the answers of its calls and the order in which those
came. So the journal has the answers, in order; whoever goes on with a run lets it react again, gives each call the
answer that it had, and makes only those calls that have none.

A commit takes about as long as a task's reactions. So what is to be noted waits a moment, while there are further
answers to take, and is noted together with them.
"""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from queue import Empty
from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.engine.reaction import Stopped
from solvent.errors import LimitReached, RecordProblem, StoreError
from solvent.runs.closing import adapted_event
from solvent.runs.controlled import ControlledRun
from solvent.runs.events import CallAnswered, CallFailed, CallStarted, SignalReceived
from solvent.runs.workflow import LOOK_EVERY, WorkflowRun
from solvent.services import Failure
from solvent.services.call import Call as Attempted
from solvent.services.current_call import Allowance, CallIdentity
from solvent.values import codec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent.engine.reaction import Flight
    from solvent.lang.molecule import Molecule
    from solvent.runs.events import AnyEvent
    from solvent.runs.invoking import Call
    from solvent.runs.journal import Journal
    from solvent.services import Caller, Handle
    from solvent.workflows.model import Policy, Workflow

MAX_CALLS_TOGETHER = 200
MAX_SECONDS_TOGETHER = 0.05
"""How many calls wait for each other, and how long, so that they, and answers, are noted together."""
LOST = "it was out when its agent died, {} times, and `max_lost` allows {}"
NO_MEMORY = "MemoryError: there is too little memory to record its result"
NOT_KEPT = "the answer of `{}` is not recorded, and the call is repeated if the run is resumed: {}"


class Deferred:
    """The handle of a call that is made when it is sure that it is not answered yet."""

    __slots__ = ("_handle", "_start", "allowance", "announced", "identity", "is_cancelled", "on_cancel")

    def __init__(self, start: Callable[..., Handle]) -> None:
        self._start = start
        self._handle: Handle | None = None
        self.identity: CallIdentity | None = None
        self.allowance: Allowance | None = None
        #: How many attempts of it are noted, in this life of its run.
        self.announced = 1
        self.is_cancelled = False
        #: Hears that it was cancelled while it waits.
        self.on_cancel: Callable[[], object] | None = None

    def begin(self) -> None:
        """Make the call."""
        # It leads back here: whoever keeps it would keep all that the call was made for until garbage is looked for.
        allowance, self.allowance = self.allowance, None
        self._handle = self._start(identity=self.identity, allowance=allowance)

    @property
    def is_begun(self) -> bool:
        """Whether the call was made."""
        return self._handle is not None

    @property
    def is_pausing(self) -> bool:
        """Whether it is between two attempts, so that none is out."""
        return isinstance(self._handle, Attempted) and self._handle.is_pausing(self.announced)

    def cancel(self) -> None:
        """End it, or do not make it."""
        self.is_cancelled = True
        if self._handle is not None:
            self._handle.cancel()
        elif self.on_cancel is not None:
            self.on_cancel()


class Again(NamedTuple):
    """A call whose attempt has failed, and that is to be tried again."""

    flight: Flight
    deferred: Deferred
    failure: Failure
    begin: Callable[[], None]


class RecordedRun(WorkflowRun):
    """One run of a workflow with a journal."""

    def __init__(
        self,
        workflow: Workflow,
        inputs: Mapping[str, Any] | None = None,
        *,
        journal: Journal,
        is_strict: bool = False,
        **options: Any,
    ) -> None:
        """With `is_strict`, the attempts of a call before its process died count, and how often that has happened.

        Where somebody has decided to resume the run it is made again in any case, and has all its attempts again.
        """
        super().__init__(workflow, inputs, **options)
        self.journal = journal
        self._is_strict = is_strict
        #: What could not be kept, and why.
        self.unkept: dict[str, str] = {}
        self._counts: Counter[tuple[str, int | None]] = Counter()
        # The calls that wait for what the journal says of them, and the names of all that are out.
        self._deferred: dict[str, tuple[Flight, Call, Deferred]] = {}
        self._keys: dict[Flight, str] = {}
        # What is begun as soon as the journal says so.
        self._ready: list[Deferred | Again] = []
        self._waiting_since = 0.0

    def _begin(self, flight: Flight, call: Call, name: str, start: Callable[..., Handle]) -> None:
        """Wait for what the journal says of a call."""
        count = self._counts[name, call.index] = self._counts[name, call.index] + 1
        key = name if call.index is None else f"{name}[{call.index}]"
        key = key if count == 1 else f"{key}#{count}"
        deferred = Deferred(start)
        self._out[flight] = name, deferred
        self._deferred[key] = flight, call, deferred
        self._keys[flight] = key

    def _catch_up(self, caller: Caller) -> bool:
        """Do again the next thing that was done; or make the calls that are not answered, which is noted before."""
        past = self.journal.past
        if past:
            self._repeat(past.popleft())
            return True
        if self._deferred and self.journal.is_read_only:
            raise Stopped
        if self._may_wait():
            return super()._catch_up(caller)
        deferred, self._deferred = self._deferred, {}
        for key, one in deferred.items():
            if (fresh := self._fresh(key, one)) is not None:
                self._ready.append(fresh)
        self._commit()
        return super()._catch_up(caller)

    def _commit(self) -> None:
        """Keep what was noted, and begin the calls that waited for that."""
        self.journal.commit()
        ready, self._ready = self._ready, []
        for one in ready:
            one.begin()

    def _may_wait(self) -> bool:
        """Tell whether there are further answers to take before anything is noted."""
        if self._answers.empty() or len(self._deferred) >= MAX_CALLS_TOGETHER:
            self._waiting_since = 0.0
            return False
        now = time.monotonic()
        self._waiting_since = self._waiting_since or now
        if now - self._waiting_since < MAX_SECONDS_TOGETHER:
            return True
        self._waiting_since = 0.0
        return False

    def _stopped(self) -> LimitReached:
        if self.journal.is_read_only and not self.journal.past:
            return LimitReached("R407", f"the record ends here: {len(self._deferred):,} calls have no answer in it")
        return super()._stopped()

    def _fresh(self, key: str, waiting: tuple[Flight, Call, Deferred]) -> Deferred | None:
        """Give a call that is to be made; one that was cancelled, or lost too often, is not."""
        flight, call, deferred = waiting
        journal, name = self.journal, self._out[flight][0]
        begun, losses = journal.begun[key], journal.losses[key]
        policy = self._policy_of(call)
        if deferred.is_cancelled:
            self._answers.put((flight, call, None, Failure("CANCELLED", "it was cancelled before it was called"), 0))
        elif self._is_strict and losses > policy.max_lost:
            self._answers.put((flight, call, None, Failure("LOST", LOST.format(losses, policy.max_lost)), 0))
        else:
            journal.note(CallStarted(key, name, time.time()))
            if policy.retries:
                # All lives of the run count together; what was lost with its agent has not failed.
                failed = journal.attempts[key] - losses if self._is_strict else 0
                left = max(1, policy.retries + 1 - failed)
                deferred.allowance = Allowance(left, partial(self._try_again, flight, deferred))
            deferred.identity = CallIdentity(journal.run, name, f"{journal.run}/{key}", begun > 0)
            return deferred
        return None

    def _try_again(self, flight: Flight, deferred: Deferred, failure: Failure, begin: Callable[[], None]) -> None:
        """Let a further attempt of a call be noted, and then made; called by any thread."""
        self._answers.put(Again(flight, deferred, failure, begin))

    def _take(self, answer: Any) -> None:
        if isinstance(answer, Again):
            self._note_retry(answer)
            return
        # The answer that came is let go: its value may be all that memory holds.
        answer = self._noted(*answer)
        self._land(*answer)

    def _note_retry(self, again: Again) -> None:
        """Note that an attempt of a call failed, and that the next one is about to be made."""
        flight, deferred = again.flight, again.deferred
        key, name = self._keys[flight], self._out[flight][0]
        self.journal.failed(key, name, deferred.announced, again.failure, is_last=False)
        deferred.announced += 1
        self.journal.note(CallStarted(key, name, time.time(), deferred.announced))
        self._ready.append(again)

    def note_adaptation(self, alternative: str, task: Molecule, kind: Molecule, what: Molecule) -> None:
        """Note that an alternative applies."""
        super().note_adaptation(alternative, task, kind, what)
        self.journal.adapted(adapted_event(self.report.adaptations[-1], at=time.time()))

    def _policy_of(self, call: Call) -> Policy:
        service = self.workflow.service(call.service)
        assert service is not None
        return service.policy

    def _repeat(self, event: AnyEvent) -> None:
        """Do again what was done."""
        if not isinstance(event, CallAnswered | CallFailed):
            raise RecordProblem("R403", f"an event `{type(event).__name__}` where none is expected")
        waiting = self._deferred.pop(event.call, None)
        if waiting is None:
            raise RecordProblem(
                "R404",
                f"the record does not fit the workflow `{self.workflow.name}`: it has an answer of `{event.call}`, "
                "which is not called there",
                hint="resume it with the workflow as it was, or run it anew",
            )
        flight, call, deferred = waiting
        if isinstance(event, CallFailed):
            self._keys.pop(flight)
            super()._land(flight, call, None, Failure(event.kind, event.text, event.output), event.attempts)
        elif event.is_discarded:
            self._call_again(flight, call, deferred)
        else:
            self._keys.pop(flight)
            super()._land(flight, call, self._kept_value(event), None, event.attempts)

    def _kept_value(self, event: CallAnswered) -> Any:
        try:
            return self.journal.value_of(event)
        except ValueError as error:
            raise RecordProblem("R403", f"the answer of `{event.call}` does not read: {error}") from None

    def _call_again(self, flight: Flight, call: Call, deferred: Deferred) -> None:
        """Make a call whose answer was not kept, and take its answer where it was taken."""
        if self.journal.is_read_only:
            raise RecordProblem(
                "R406",
                f"the answer of `{self._names[call.task]}` is no data and was not kept, and nobody is called here",
                hint="`solvent resume` makes such calls again",
            )
        self._fresh(self._keys[flight], (flight, call, deferred))
        self._ready.append(deferred)
        self._commit()
        answer, others = self._await_answer(), []
        while answer[0] is not flight:
            others.append(answer)
            answer = self._await_answer()
        for other in others:
            self._answers.put(other)
        self._keys.pop(flight)
        super()._land(flight, call, *answer[2:])

    def _await_answer(self) -> tuple[Flight, Call, Any, Failure | None, int]:
        """Wait for the next answer, unless the run is to stop."""
        while True:
            if self._must_stop():
                raise Stopped
            try:
                answer = self._answers.get(timeout=LOOK_EVERY)
            except Empty:
                continue
            if not isinstance(answer, Again):
                found: tuple[Flight, Call, Any, Failure | None, int] = answer
                return found
            self._note_retry(answer)
            self._commit()

    def _noted(self, *answer: Any) -> Any:
        flight, call, value, failure, attempts = answer
        # Before it is taken: a value that memory does not hold twice must be gone when the run goes on without it.
        failure = self._note_answer(flight, value, failure, attempts)
        return flight, call, value if failure is None else None, failure, attempts

    def _note_answer(self, flight: Flight, value: Any, failure: Failure | None, attempts: int) -> Failure | None:
        """Note an answer, and return the failure that it is: the call has failed if memory does not hold its result."""
        key, name = self._keys.pop(flight), self._out[flight][0]
        if failure is None:
            try:
                why = self.journal.answered(key, attempts, value)
            except MemoryError:
                failure = Failure("FAILED", NO_MEMORY)
            else:
                if why:
                    self.unkept[key] = why
                return None
        self.journal.failed(key, name, attempts, failure)
        return failure

    def _bring_back(self) -> None:
        """Keep the answers that have come and were not taken any more; calls that are still out are made again."""
        problem: StoreError | None = None
        while not self._answers.empty():
            came = self._answers.get()
            if isinstance(came, Again):
                continue
            flight, _, value, failure, attempts = came
            if flight in self._keys and (failure is None or failure.kind != "CANCELLED"):
                try:
                    self._note_answer(flight, value, failure, attempts)
                except StoreError as error:
                    # There may be no room for this one, and for others, and for what was noted already.
                    problem = error
        try:
            self.journal.commit()
        finally:
            super()._bring_back()
        if problem is not None:
            raise problem


class RecordedControlledRun(RecordedRun, ControlledRun):
    """One run of a controlled workflow with a journal; signals are among what is kept."""

    def _repeat(self, event: AnyEvent) -> None:
        if isinstance(event, SignalReceived):
            sent = next((one for one in self._signals if one[1] == event.name), None)
            if sent is not None:
                self._signals.remove(sent)
            ControlledRun._send(self, event.name, codec.decode(event.value))  # noqa: SLF001
        else:
            super()._repeat(event)

    def _send(self, name: str, value: Any) -> None:
        self.journal.note(SignalReceived(name, time.time(), codec.encode(value)))
        super()._send(name, value)


def recorded_run(workflow: Workflow, inputs: Mapping[str, Any] | None, **options: Any) -> RecordedRun:
    """Make the run of a workflow that is recorded; see `WorkflowRun` for the options."""
    kind = partial(RecordedControlledRun if workflow.is_controlled else RecordedRun)
    return kind(workflow, inputs, **options)


__all__ = ["NOT_KEPT", "NO_MEMORY", "Again", "Deferred", "RecordedControlledRun", "RecordedRun", "recorded_run"]
