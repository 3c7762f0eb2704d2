"""The calls of an execution that are open: from when their arguments are there to when their answers are.

    planned   its reaction waits, and nothing is written of it
    waiting   until it is admitted: there may be more calls than can be made at once
    ready     noted, to be made when the journal has it
    begun     made, here or at another agent (`Remote`); after a failed attempt it may pause and be tried again
    lost      the agent that was to make it is gone, or did not make it: it waits again, or has failed

Each further attempt is noted before it is made. The calls inside sub-workflows are among them, and are made like any
others. The call of a sub-workflow itself is begun once: whoever continues the run continues inside (see `nested`).
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

from solvent.runs.cache import Cache, Wanted, key_of
from solvent.runs.events import CallLost, CallStarted
from solvent.runs.journal import StoredJournal
from solvent.services import Failure, function_codec
from solvent.services.admission import Changed, limit_of
from solvent.services.call import Call
from solvent.services.code_hash import code_hash
from solvent.services.current_call import Allowance, CallIdentity
from solvent.services.python import function_of
from solvent.values import codec
from solvent.workflows.model import Policy
from solvent.workflows.rule_functions import Unusable, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from solvent.engine.reaction import Flight
    from solvent.lang.molecule import Molecule
    from solvent.runs.adrift import Adrift
    from solvent.runs.events import Why
    from solvent.runs.execution import Execution
    from solvent.runs.functions import Request
    from solvent.runs.journal import Journal
    from solvent.runs.nested import Inside, Subworkflow
    from solvent.runs.report import Item
    from solvent.services import Handle
    from solvent.services.admission import Limit
    from solvent.services.call import Attempt
    from solvent.values.encoding import Pieces
    from solvent.workflows.model import Service

LOST = "it was out when its agent died, {} times, and `max_lost` allows {}"
NO_MEMORY = "MemoryError: there is too little memory to record its result"
WAYS_OUT = "return data or the path of a file, use `@service(pickle=True)`, or register a codec for the type"
MAX_SECONDS_TO_LET_GO = 1.0
_REFERENCES_HERE = 4
DIGEST_BYTES = 16
_CACHED = frozenset({"python", "shell", "http", "hocl"})
"""Kinds of services that `--cache` is about."""
_NO_POLICY = Policy()
_NOTHING_GIVEN: tuple[list[Any], dict[str, Any]] = [], {}


class OpenCall:
    """A call that has no answer yet; also its own handle."""

    __slots__ = (
        "allowance",
        "announced",
        "changes",
        "execution",
        "first",
        "flight",
        "given",
        "handle",
        "identity",
        "instance",
        "is_begun",
        "is_called_off",
        "is_cancelled",
        "is_made",
        "is_refused",
        "item",
        "key",
        "nested",
        "noted",
        "opens",
        "origin",
        "policy",
        "remote",
        "request",
        "reused",
        "service",
        "start",
        "task",
        "verdicts",
    )

    def __init__(  # noqa: PLR0917 - what makes a call
        self,
        instance: Execution,
        flight: Flight,
        request: Request,
        task: str,
        origin: str = "",
        service: Service | None = None,
    ) -> None:
        #: The execution whose reaction waits for it, and that around all sub-workflows, which its host drives.
        self.instance = instance
        self.execution = instance.root
        #: What it calls, if there is such a service, and how often that is tried.
        self.service = service
        self.policy = _NO_POLICY if service is None else service.policy
        #: The sub-workflow that it calls, and with which arguments; and the path under which that is opened next.
        self.nested: Subworkflow | None = None
        self.given = _NOTHING_GIVEN
        self.opens = ""
        self.flight = flight
        self.request = request
        self.task = task
        #: The task in whose instance it is made, if it stands in for that one.
        self.origin = origin or task
        #: Its name in the journal: the task, its item and its round.
        self.key = ""
        #: Makes it.
        self.start: Callable[..., Handle | None] | None = None
        self.handle: Handle | None = None
        self.identity: CallIdentity | None = None
        self.allowance: Allowance | None = None
        #: How many attempts of it are noted, in this life of its run; and how many were when it was adopted.
        self.announced = 1
        self.noted = 0
        #: Which attempt was the first of this object.
        self.first = 1
        #: Where it is made, if another agent makes it.
        self.remote: Remote | None = None
        #: Whether no service is asked: it has failed before it is made.
        self.is_refused = False
        #: Whether it was made, or is about to be, as whoever watches was told.
        self.is_made = False
        self.is_begun = False
        self.is_cancelled = False
        #: Whether its arguments were called off: whatever it answers is not wanted.
        self.is_called_off = False
        #: What it has changed of resources, where that is noted.
        self.changes: tuple[tuple[str, int, bytes], ...] = ()
        #: The run that had made its result, if it was in the cache.
        self.reused = ""
        #: If it is of an item, and has failed or was rejected: which one, and what follows.
        self.item: Item | None = None
        #: Whether predicates reject its answer, by alternative: they judge it before it lands.
        self.verdicts: Mapping[str, bool] = {}

    def begin(self) -> None:
        """Make the call."""
        assert self.start is not None
        # Both lead back here: who keeps the call would keep all that it was made for until garbage is looked for.
        start, self.start = self.start, None
        allowance, self.allowance = self.allowance, None
        self.is_begun = True
        if self.remote is None:
            self.handle = start(identity=self.identity, allowance=allowance)
            return
        self.handle = start(identity=self.identity, allowance=allowance, launch=self.remote.launch)
        if self.is_cancelled and self.handle is not None:
            # It is there already, and was cancelled before that was known.
            self.handle.cancel()

    def done(self, value: Any, failure: Failure | None, attempts: int) -> None:
        """Take the outcome of the call, from any thread."""
        if type(value) is Changed:
            value, self.changes = value
        self.instance.queue_answer(Answer(self, value, failure, attempts))

    def try_again(self, failure: Failure, begin: Callable[[], None]) -> None:
        """Let a further attempt be noted, and then made; from any thread."""
        self.instance.queue_answer(Again(self, failure, begin))

    def began(self, attempt: Attempt) -> None:
        """Take that the call of a sub-workflow has begun, from any thread."""
        self.execution.calls.answers.put(SubworkflowBegan(self, attempt))

    def stopped(self, attempt: Attempt) -> None:
        """Take that the call of a sub-workflow was ended from outside, from any thread."""
        self.execution.calls.answers.put(SubworkflowStopped(self, attempt))

    @property
    def continues(self) -> bool:
        """Whether it is not made again should its process die: it is a delay, or a sub-workflow that is journalled."""
        return self.is_delay if self.nested is None else not self.nested.begins_again

    @property
    def is_delay(self) -> bool:
        """Whether it only waits for a time."""
        return self.service is not None and self.service.kind == "delay"

    @property
    def printed(self) -> str:
        """The end of what its last attempt has printed."""
        found: str = getattr(self.handle, "printed", "")
        return found

    def cancel(self) -> None:
        """End it, or do not make it."""
        self.is_cancelled = True
        if self.handle is not None:
            self.handle.cancel()
        elif not self.is_begun:
            self.execution.admit(self)

    @property
    def is_pausing(self) -> bool:
        """Whether it is between two attempts, so that none is out."""
        return isinstance(self.handle, Call) and self.handle.is_pausing(self.announced)

    @property
    def label(self) -> str:
        """Its task, as people are told of it: below the path of its sub-workflow, if it is made in one."""
        within = self.instance.within
        return f"{within}/{self.task}" if within else self.task


class SubworkflowBegan(NamedTuple):
    """The call of a sub-workflow has begun."""

    call: OpenCall
    attempt: Attempt


class SubworkflowStopped(NamedTuple):
    """The call of a sub-workflow was ended from outside: it took too long, or is not wanted any more."""

    call: OpenCall
    attempt: Attempt


class Answer(NamedTuple):
    """What has come of a call."""

    call: OpenCall
    value: Any
    failure: Failure | None
    attempts: int


class Again(NamedTuple):
    """A call whose attempt has failed, and that is to be tried again."""

    call: OpenCall
    failure: Failure
    begin: Callable[[], None]


class Answers(Protocol):
    """Where answers of calls go, from any thread."""

    def put(self, answer: Any, /) -> None:
        """Take an answer."""


class CallMaker(Protocol):
    """Who makes calls: `services.Caller`."""

    @property
    def start(self) -> Callable[..., Handle]:
        """Makes a call."""

    @property
    def within(self) -> Callable[..., CallMaker]:
        """Returns one for the services of a sub-workflow."""

    def needs_worker(self, service: Service, /) -> bool:
        """Return whether each call of a service needs a worker."""

    def lends_to(self, service: Service, /) -> bool:
        """Return whether calls of a service may claim resources."""


class Remote(Protocol):
    """Another agent that makes a call."""

    @property
    def agent(self) -> str:
        """Its name."""

    #: How many attempts of the call were noted with this one, by anybody: answers name it.
    number: int

    def launch(self, attempt: Attempt, /) -> None:
        """Let it make an attempt."""


class NoCaller:
    """Stands where calls would be made: none is."""

    def start(self, *_: Any, **__: Any) -> NoReturn:
        """Never come to this: a replay makes no calls."""
        raise AssertionError("a replay calls nobody")

    def within(self, *_: Any, **__: Any) -> NoCaller:
        """Return itself."""
        return self

    def needs_worker(self, _service: Service) -> bool:
        """Return false."""
        return False

    def lends_to(self, _service: Service) -> bool:
        """Return false."""
        return False


class Room(Protocol):
    """Which calls are made when: those that wait are admitted by and by."""

    def wait(self, call: OpenCall) -> None:
        """Let a call wait until there is room for it."""

    def end(self, call: OpenCall, *, is_done: bool) -> None:
        """Make room: a call has ended, or its first attempt, or it was given up."""

    def occupy(self, call: OpenCall, service: Service, caller: CallMaker, inside: Inside | None, /) -> None:
        """Count a call that is being made already, whether there is room or not."""

    def adopt(self, call: OpenCall, agent: str, number: int) -> Remote | None:
        """Return the agent that makes a call by now; nothing if it was never asked to."""


class Calls:
    """The open calls of one execution.

    Without `room` calls wait until the host admits them. With `is_shared` other agents may take them over: a call's
    attempts and losses count over all its lives.
    """

    def __init__(
        self,
        journal: Journal,
        answers: Answers,
        room: Room | None = None,
        *,
        is_shared: bool = False,
    ) -> None:
        #: All that have no answer; those that wait to be admitted, by their names; those that are made next.
        self.out: dict[OpenCall, None] = {}
        self.waiting: dict[str, OpenCall] = {}
        self.ready: list[OpenCall | Again] = []
        #: Those that were planned since somebody has looked, if anybody looks.
        self.fresh: list[OpenCall] | None = None
        self.answers = answers
        self._journal = journal
        #: Where results are that calls share.
        self.cache = (
            Cache(journal.store, journal.run)
            if isinstance(journal, StoredJournal) and not journal.is_read_only
            else None
        )
        if self.cache is not None and isinstance(journal, StoredJournal):
            self.cache.is_for_all = journal.caches_all
        self.room = room
        self._is_shared = is_shared
        # By the service, which is an object of its own in each workflow.
        self._codes: dict[int, bytes] = {}
        self._counts: dict[tuple[str, int | None], int] = {}
        #: How many items of each task are known.
        self.items: Counter[str] = Counter()
        # The open calls of each task, once those of one were asked for; and of each sub-workflow, by its path.
        self._of: dict[tuple[str, str], dict[OpenCall, None]] | None = None
        self._within: dict[str, dict[OpenCall, None]] = {}
        # How often each call has opened its sub-workflow.
        self._openings: Counter[str] = Counter()
        self._planned: dict[str, OpenCall] = {}
        # Answers that may not be in the journal yet; and the calls that were out when all was given up.
        self._taken: list[Answer | Again] = []
        self._given_up: list[str] = []

    @property
    def has_plans(self) -> bool:
        """Whether there are calls to be made."""
        return bool(self._planned or self.waiting)

    @property
    def is_none_out(self) -> bool:
        """Whether none was made that has no answer, but for sub-workflows: these another process continues."""
        return len(self.out) == len(self.waiting) or all(
            call.key in self.waiting or call.key in self._planned or call.continues for call in self.out
        )

    def has_begun(self, limits: Collection[Limit]) -> bool:
        """Return whether a call of a service with one of these limits was made here and has no answer."""
        return bool(limits) and any(
            one.is_begun
            and one.remote is None
            and (service := one.instance.services.get(one.request.service)) is not None
            and limit_of(service) in limits
            for one in self.out
        )

    def of(self, within: str, origin: str) -> list[OpenCall]:
        """Give the calls of a task, the newest first: those that wait for a worker are to be ended before others."""
        if self._of is None:
            # In most runs nothing is cancelled, and there may be very many calls.
            self._of = {}
            for call in self.out:
                self._of.setdefault((call.instance.within, call.origin), {})[call] = None
        return list(reversed(self._of.get((within, origin), ())))

    def inside(self, within: str) -> list[OpenCall]:
        """Return the open calls of a sub-workflow."""
        return list(self._within.get(within, ()))

    def has_inside(self, within: str) -> bool:
        """Return whether a sub-workflow has open calls."""
        return bool(self._within.get(within))

    # --- From a plan to a call.

    def plan(self, call: OpenCall) -> None:
        """Take a call that is to be made."""
        label, index = call.label, call.request.index
        if index is not None and not call.request.route:
            self.items[label] += 1
        count = self._counts[label, index] = self._counts.get((label, index), 0) + 1
        key = label if index is None else f"{label}[{index}]"
        call.key = key if count == 1 else f"{key}#{count}"
        self._add(call)
        self._planned[call.key] = call
        if self.fresh is not None:
            self.fresh.append(call)

    @property
    def plans(self) -> list[OpenCall]:
        """The calls that are planned, and do not wait to be made yet."""
        return [*self._planned.values()]

    def _add(self, call: OpenCall) -> None:
        within = call.instance.within
        self.out[call] = None
        if self._of is not None:
            self._of.setdefault((within, call.origin), {})[call] = None
        if within:
            self._within.setdefault(within, {})[call] = None

    def _remove(self, call: OpenCall) -> None:
        within = call.instance.within
        self.out.pop(call, None)
        if self._of is not None:
            _drop(self._of, (within, call.origin), call)
        if within:
            _drop(self._within, within, call)

    def planned(self, key: str) -> OpenCall | None:
        """Return a planned call, if it is one."""
        return self._planned.get(key)

    def pop_planned(self, key: str) -> OpenCall | None:
        """Give a planned call that was answered before."""
        return self._planned.pop(key, None)

    def offer(self, adrift: Adrift | None) -> None:
        """Let the calls wait that were planned, until they are admitted; adopt those that are out already."""
        planned, self._planned = self._planned, {}
        for key, call in planned.items():
            if key in self._journal.elsewhere:
                if not call.instance.is_live:
                    # Its sub-workflow is continued first.
                    self._planned[key] = call
                    continue
                if self._continue_elsewhere(call):
                    continue
            elif adrift is not None:
                # One that another version of the run has lost is made again by the same name.
                if key in self._journal.out and self._adopt(call, adrift.adopt(self._journal.name_of(key))):
                    continue
                # Whoever resumes has all that were made.
                self._journal.withdraw(key)
            if not call.instance.is_live:
                # Its sub-workflow is continued first.
                self._planned[key] = call
                continue
            if key in self._journal.open_calls and not self._journal.is_read_only:
                self._continue(call)
                continue
            self._wait(call)

    def _adopt(self, planned: OpenCall, call: OpenCall | None) -> bool:
        """Go on with a call that is out, if it is."""
        if call is None:
            return False
        key = call.key = planned.key
        # Its attempts are counted by itself. That the next one is made may be in the journal already, or not.
        call.noted = self._journal.out.get(key, 0)
        self._journal.attempts[key] -= call.noted
        self._remove(planned)
        call.execution, call.instance = planned.execution, planned.instance
        call.flight, call.request = planned.flight, planned.request
        self._add(call)
        call.is_called_off = planned.is_called_off
        call.instance.tell_made(planned)
        if self.room is not None:
            instance = call.instance
            self.room.occupy(call, instance.services[call.request.service], instance.caller, instance.inside)
        if planned.is_cancelled:
            call.cancel()
        return True

    def _continue(self, call: OpenCall) -> None:
        """Continue the call of a sub-workflow that was open, or a delay."""
        journal, key = self._journal, call.key
        opens = journal.open_calls.pop(key)
        if call.is_cancelled:
            self.answers.put(Answer(call, None, Failure("CANCELLED", "it was cancelled before it was called"), 0))
            return
        # It goes on with the attempt that was noted last.
        journal.attempts[key] -= 1
        self._allow(call)
        call.opens = opens
        call.instance.tell_made(call)
        self.ready.append(call)

    def _continue_elsewhere(self, call: OpenCall) -> bool:
        """Wait for a call that another agent was asked to make; tell whether it was asked."""
        journal, key = self._journal, call.key
        attempt, number = journal.out[key], journal.number(key)
        call.remote = None if self.room is None else self.room.adopt(call, journal.elsewhere[key], number)
        if call.remote is None:
            journal.lost(key, "unmade", 0)
            return False
        # This one is counted by itself.
        journal.attempts[key] -= 1
        call.remote.number = number
        call.first = call.announced = call.noted = attempt
        self._allow(call)
        call.instance.tell_made(call)
        self.ready.append(call)
        return True

    def lose(self, call: OpenCall, why: Why) -> None:
        """Let a call wait again that another agent was to make."""
        if call not in self.out:
            return
        self._journal.lost(call.key, why, call.announced - call.first + 1)
        self.end_room(call)
        again = call.instance.planned_again(call)
        again.key, again.is_cancelled, again.is_made = call.key, call.is_cancelled, call.is_made
        again.is_called_off = call.is_called_off
        self._remove(call)
        self._add(again)
        self._wait(again)

    def _wait(self, call: OpenCall) -> None:
        """Let a call wait until it is admitted."""
        self.waiting[call.key] = call
        if call.is_cancelled:
            self.admit(call)
        elif self.room is not None:
            self.room.wait(call)

    def admit(self, call: OpenCall) -> bool:
        """Note a call that waits, and make it next; tell whether it is: one that was cancelled or lost often is not."""
        if self.waiting.pop(call.key, None) is None or not self._announce(call):
            return False
        self.ready.append(call)
        return True

    def _announce(self, call: OpenCall) -> bool:
        """Note that a call is about to be made; tell whether it is."""
        journal, key, policy = self._journal, call.key, call.policy
        if call.is_cancelled:
            self.answers.put(Answer(call, None, Failure("CANCELLED", "it was cancelled before it was called"), 0))
            return False
        losses = journal.losses.get(key, 0) if self._is_shared else 0
        if losses > policy.max_lost:
            self.answers.put(Answer(call, None, Failure("LOST", LOST.format(losses, policy.max_lost)), 0))
            return False
        if journal.is_kept:
            self._note_start(call)
            self._allow(call)
        return True

    def _note_start(self, call: OpenCall, attempt: int = 1) -> None:
        """Note that an attempt of a call is about to be made, and the path of the sub-workflow that it opens."""
        journal, within, nested = self._journal, call.instance.within, call.nested
        opens = definition = ""
        if nested is not None:
            journal.defined(nested.definition, nested.defined)
            call.opens = opens = self.path(call)
            call.execution.nested.reserve(opens, nested.workflow)
            definition = nested.definition
        arguments, code = (self.arguments_digest(call), self.code_of(call)) if attempt == 1 else (b"", b"")
        is_drawn = False
        if journal.pool and arguments and code and nested is None:
            is_drawn = self._draw(call, arguments, code)
        if self.cache is not None and arguments and code and nested is None and not is_drawn:
            self._look_up(self.cache, call, arguments, code)
        agent = "" if call.remote is None else call.remote.agent
        name = journal.name_noted(call.key) if attempt == 1 else ""
        number = journal.started(
            CallStarted(
                call.key,
                call.task,
                time.time(),
                attempt,
                arguments,
                code,
                name,
                within,
                opens,
                definition,
                agent,
                call.is_delay,
                -1 if call.request.index is None else call.request.index,
                0 if call.request.index is None else self.items[call.label],
                call.request.service if call.request.route else "",
            )
        )
        if call.remote is not None:
            call.remote.number = number

    def _draw(self, call: OpenCall, arguments: bytes, code: bytes) -> bool:
        """Let a call have an answer of the version before, if one waits for it: its service is not asked."""
        answer = self._journal.draw(call.key, (call.label, round_of(call.key, call.label), arguments, code))
        if answer is not None:
            value = self._journal.value_of(answer)
            call.start = lambda **_: call.done(value, None, answer.attempts)
            call.remote = None
        return answer is not None

    def _look_up(self, cache: Cache, call: OpenCall, arguments: bytes, code: bytes) -> None:
        """Let a call have what the cache has; if that has nothing, claim it, or wait for who makes it."""
        service = call.service
        if service is None or call.is_refused or call.instance.tasks[call.task].claims:
            return
        max_age = service.policy.cache
        if max_age is None and cache.is_for_all and service.kind in _CACHED:
            max_age = math.inf
        own = None if max_age is None else self._cache_key(call, arguments)
        if max_age is None or own is None:
            return
        wanted = Wanted(key_of(code, own), service.name, call.key, max_age)
        result = cache.find(wanted)
        if result is not None:
            with suppress(LookupError):
                value = cache.value_of(result)
                call.reused, call.remote = result.run, None
                call.start = lambda **_: call.done(value, None, 1)
                call.instance.tell_cache(call, "reused", f"reused from {result.run}")
                return
        if cache.claim(wanted):
            call.instance.tell_cache(call, "missed", self._why_missed(cache, call, code))
        else:
            call.instance.tell_cache(call, "missed", "another call is making it")
            start, remote, call.remote = call.start, call.remote, None
            assert start is not None
            call.start = partial(self._wait_for, cache, wanted, call, start, remote)

    @staticmethod
    def _wait_for(
        cache: Cache, wanted: Wanted, call: OpenCall, start: Any, remote: Remote | None, **options: Any
    ) -> Handle:
        """Have a call wait for what another one makes."""
        more = {} if remote is None else {"launch": remote.launch}
        return cache.wait(wanted, call.done, lambda: start(**options, **more))

    def _cache_key(self, call: OpenCall, arguments: bytes) -> bytes | None:
        """Return what decides of a call's arguments whether a result fits; nothing where that cannot be said."""
        service, task = call.service, call.instance.tasks[call.task]
        assert service is not None
        try:
            own = (
                getattr(function_of(service, call.instance.folder), "cache_key", None) if _is_python(service) else None
            )
            if own is None:
                return arguments
            values = [value_of(one) for one in call.request.arguments]
            many = len(task.arguments)
            return codec.encode(own(*values[:many], **dict(zip(task.keywords, values[many:], strict=True))))
        except Exception:  # noqa: BLE001 - it is the user's; whoever makes the call says what is wrong with it
            return None

    @staticmethod
    def _why_missed(cache: Cache, call: OpenCall, code: bytes) -> str:
        task = call.instance.tasks[call.task]
        digests = []
        for one in call.request.arguments:
            with suppress(codec.Unrecordable):
                digests.append(blake2b(codec.encode(_plain(one)), digest_size=DIGEST_BYTES).digest())
        names = [*(str(at) for at in range(len(task.arguments))), *(f"`{name}`" for name in task.keywords)]
        return cache.why(call.instance.workflow.name, call.key, code, digests, names)

    def path(self, call: OpenCall) -> str:
        """Return the path under which a call opens its sub-workflow next."""
        self._openings[call.key] += 1
        number = self._openings[call.key]
        return call.key if number == 1 else f"{call.key}!{number}"

    def opened(self, call: OpenCall) -> None:
        """Count that a call has opened its sub-workflow before."""
        self._openings[call.key] += 1

    def _allow(self, call: OpenCall) -> None:
        """Let a call know who it is, and how many attempts it has."""
        journal, key, policy = self._journal, call.key, call.policy
        if policy.retries:
            # All lives of the run count together; what was lost with its agent has not failed.
            failed = journal.attempts[key] - journal.losses.get(key, 0) if self._is_shared else 0
            call.allowance = Allowance(max(1, policy.retries + 1 - failed), call.try_again)
        is_repeated, since = journal.begun.get(key, 0) > 0, journal.began.get(key, 0.0)
        call.identity = CallIdentity(journal.run, call.task, journal.name_of(key), is_repeated, since)

    def code_of(self, call: OpenCall) -> bytes:
        """Return the hash of the code of a call's service; no bytes where it cannot be said."""
        service = call.service
        code = self._codes.get(id(service))
        if code is None:
            code = self._codes[id(service)] = b"" if service is None else code_hash(service, call.instance.folder)
        return code

    @staticmethod
    def arguments_digest(call: OpenCall) -> bytes:
        """Return the digest of a call's arguments, or themselves if shorter; no bytes where they are not data."""
        given = [*call.request.arguments]
        try:
            data = codec.pieces(given if codec.is_flat(given) else [_plain(one) for one in given])
        except codec.Unrecordable:
            return b""
        if isinstance(data, bytes):
            # Most arguments are short, and a digest takes as long as writing them.
            return data if len(data) < DIGEST_BYTES else blake2b(data, digest_size=DIGEST_BYTES).digest()
        digest = blake2b(digest_size=DIGEST_BYTES)
        for piece in data:
            digest.update(piece)
        return digest.digest()

    def begin(self) -> None:
        """Make those that are ready: the journal has them."""
        ready, self.ready = self.ready, []
        self._taken.clear()
        for one in ready:
            one.begin()

    # --- From an answer to its end.

    def take(self, answer: Answer | Again) -> Answer | None:
        """Note an answer, and return what is to be made of it: nothing, where the call is tried again."""
        if self._is_shared:
            self._taken.append(answer)
        if isinstance(answer, Again):
            # While it pauses it needs no thread.
            self.end_room(answer.call, is_done=True)
            self._note_retry(answer)
            return None
        call, value, failure, attempts = answer
        if self._is_shared:
            attempts += self._journal.attempts[call.key]
        self.end_room(call, is_done=failure is None or failure.kind != "CANCELLED")
        value, failure = pickled_parts(call.service, value, failure) if self._journal.is_kept else (value, failure)
        is_same = attempts == answer.attempts and value is answer.value and failure is answer.failure
        failure = self.note(answer if is_same else Answer(call, value, failure, attempts))
        if failure is None:
            return answer if is_same else Answer(call, value, None, attempts)
        # A value that memory does not hold twice must be gone when the run goes on without it.
        if self._is_shared:
            self._taken[-1] = answer._replace(value=None, failure=failure)
        if failure.text == NO_MEMORY:
            _wait_until_let_go(value)
        return Answer(call, None, failure, attempts)

    def note(self, answer: Answer) -> Failure | None:
        """Note an answer, and return the failure that it is: also one whose result cannot be kept may have failed."""
        call, value, failure, attempts = answer
        journal = self._journal
        for name, start, data in call.changes:
            # Also where its result cannot be kept: others have them already.
            journal.changed(call.key, name, start, data)
        if failure is None:
            call.item = call.instance.item_of(call, value, None)
            if not journal.is_kept:
                return None
            try:
                failure = self._note_value(call, attempts, value)
            except MemoryError:
                failure = Failure("FAILED", NO_MEMORY)
            if failure is None:
                return None
        call.item = call.instance.item_of(call, None, failure)
        if self.cache is not None:
            self.cache.release(call.key)
        journal.failed(call.key, call.task, attempts, failure, within=call.instance.within, item=call.item)
        return failure

    def _note_value(self, call: OpenCall, attempts: int, value: Any) -> Failure | None:
        """Note the value of an answer; return why it fails its call, where it cannot be kept."""
        data = keepable(value, self._journal.max_value_bytes)
        if isinstance(data, Failure):
            return data
        within, printed = call.instance.within, call.printed
        self._journal.answered(
            call.key, attempts, data, within=within, output=printed, item=call.item, reused=call.reused
        )
        if self.cache is not None:
            self.cache.keep(call.key, data)
        return None

    def _note_retry(self, again: Again) -> None:
        """Note that an attempt of a call failed, and that the next one is about to be made."""
        call = again.call
        failed, call.announced = call.announced, call.announced + 1
        if call.announced > call.noted:
            within = call.instance.within
            self._journal.failed(call.key, call.task, failed, again.failure, is_last=False, within=within)
            self._note_start(call, call.announced)
        self.ready.append(again)

    def end(self, call: OpenCall) -> None:
        """Forget a call that has its answer."""
        self._remove(call)
        # It leads back to the call.
        call.handle = None

    def end_room(self, call: OpenCall, *, is_done: bool = False) -> None:
        """Make room for other calls."""
        if self.room is not None:
            self.room.end(call, is_done=is_done)

    # --- Giving up.

    def abandon(self, within: Iterable[str] | None = None) -> list[OpenCall]:
        """End all calls, or those of the sub-workflows with some paths, and return them."""
        if within is None and self.cache is not None:
            self.cache.close()
        if within is None:
            # Of one that waits, for a thread or for its next attempt, nothing is out; one at another agent goes on.
            self._given_up = [
                call.key
                for call in self.out
                if call.key not in self.waiting
                and call.remote is None
                and not call.continues
                and call.instance.is_live
                and not call.is_pausing
            ]
        found = list(self.out) if within is None else [call for path in within for call in self.inside(path)]
        for call in reversed(found):
            self.waiting.pop(call.key, None)
            call.cancel()
            self.end_room(call)
            self._planned.pop(call.key, None)
            self._remove(call)
            if self.cache is not None:
                self.cache.release(call.key)
        self.ready = [one for one in self.ready if (one.call if isinstance(one, Again) else one) in self.out]
        return found

    def withdraw(self) -> None:
        """Note that the calls which were out have been ended by who had made them, and not by a death."""
        for key in self._given_up:
            self._journal.note(CallLost(key, time.time()))
        self._journal.commit()

    def unkept_calls(self) -> Iterator[tuple[OpenCall, Answer | Again | None]]:
        """Yield the calls that were made here, whose answers may not be in the journal, and what has come of them."""
        taken = {one.call for one in self._taken}
        for call in self.out:
            if call.is_begun and call.remote is None and call not in taken and not call.continues:
                yield call, None
        for one in self._taken:
            if one.call.remote is None and not one.call.continues:
                yield one.call, one

    def forget_unmade(self) -> None:
        """Have only calls that were made: the others never will be, and would keep their room for ever."""
        self.waiting.clear()
        for call in self.out:
            if call.continues:
                # What happened inside, or when it began, is in the journal.
                call.cancel()
            if not call.is_begun or call.continues:
                self.end_room(call)


def _is_python(service: Service) -> bool:
    return service.kind == "python"


def _drop(calls: dict[Any, dict[OpenCall, None]], key: Any, call: OpenCall) -> None:
    """Remove a call from those of a key; there may be very many keys, one after the other."""
    of = calls.get(key, {})
    of.pop(call, None)
    if not of:
        calls.pop(key, None)


def _plain(argument: Molecule) -> Any:
    """Return an argument as data; what no service can be called with is a text that says so."""
    value = value_of(argument)
    return str(value) if type(value) is Unusable else value


def round_of(key: str, label: str) -> str:
    """Return which round of its task or item a call is, as its name says."""
    return key[len(label) :].partition("#")[2]


def pickled_parts(service: Service | None, value: Any, failure: Failure | None) -> tuple[Any, Failure | None]:
    """Return a result with pickles in place of what is no data, if its service asks for that; or why it fails."""
    if failure is not None or service is None or not service.pickle:
        return value, failure
    try:
        return codec.with_pickles(value, function_codec.encode), None
    except codec.Unrecordable as error:
        return None, Failure("FAILED", f"its result cannot be kept: {error}; {WAYS_OUT}")


def keepable(value: Any, max_bytes: int) -> bytes | Pieces | Failure:
    """Return a result as bytes, or why it fails its call: it cannot be kept."""
    try:
        data = codec.pieces(value)
    except codec.Unrecordable as error:
        return Failure("FAILED", f"its result cannot be kept: {error}; {WAYS_OUT}")
    if len(data) > max_bytes:
        return Failure("FAILED", f"its result has {len(data):,} bytes, and the store takes at most {max_bytes:,}")
    return data


def _wait_until_let_go(value: Any) -> None:
    """Wait a moment for the thread that a value came from: it may not have left the function that handed it over."""
    until = time.monotonic() + MAX_SECONDS_TO_LET_GO
    # What is left is here: the answer, the variable that it was unpacked into, and the two arguments.
    while sys.getrefcount(value) > _REFERENCES_HERE and time.monotonic() < until:
        time.sleep(0.001)


__all__ = [
    "NO_MEMORY", "Again", "Answer", "Answers", "CallMaker", "Calls", "NoCaller", "OpenCall", "Remote", "Room",
    "SubworkflowBegan", "SubworkflowStopped", "keepable", "pickled_parts",
]  # fmt: skip
