"""Calls services for a run of a workflow.

    with Caller(workflow.services, jobs=8) as caller:
        handle = caller.start("clean", "T1", [rows], {}, done)     # done(value, failure, attempts), exactly once

For each service it makes a function that starts a call, once. A Python function without a policy goes straight to the
worker threads (or processes); everything else becomes a `Call`, which applies the policy, and a *launch*, a function
that carries out one attempt and comes from the *maker* of the service's kind. Makers of kinds that need upper layers
(`hocl`, `workflow`) are passed in:

    def make_program(service, caller):
        program = load(service.target)
        return caller.in_threads(lambda *arguments, **keywords: program.run(...))

    Caller(services, makers={"hocl": make_program})

`done` is called from any thread, and must be brief. Cancelling may call it before `cancel` returns.
"""

from __future__ import annotations

import copy
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from solvent.errors import Misuse, WorkflowProblem
from solvent.services.admission import CallLimit, ClaimQueue, limit_of
from solvent.services.call import Call
from solvent.services.clock import Clock
from solvent.services.current_call import Allowance
from solvent.services.failure import Failure
from solvent.services.observer import CallSeen, SeenByAll
from solvent.services.parameters import Parameters
from solvent.services.python import Loop, awaiting, function_of, is_asynchronous
from solvent.services.threads import Single, Threads
from solvent.values.classes import Unloaded, needs_restoring, restore
from solvent.workflows.durations import seconds_of
from solvent.workflows.model import Policy

Kept = TypeVar("Kept")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Executor
    from pathlib import Path
    from typing import TypeAlias

    from solvent.services.admission import CallLimits, Lender
    from solvent.services.call import Attempt
    from solvent.services.current_call import CallIdentity
    from solvent.services.failure import Done
    from solvent.services.observer import CallObserver
    from solvent.services.processes import Processes
    from solvent.workflows.model import Service

    Launch: TypeAlias = Callable[[Attempt], None]
    Maker: TypeAlias = Callable[[Service, "Caller"], Launch]
    Starter: TypeAlias = Callable[
        [str, list[Any], dict[str, Any], Done, CallIdentity | None, Allowance | None], "Handle"
    ]


class Handle(Protocol):
    """A call that was started."""

    def cancel(self) -> None:
        """End it, if it has not ended; the outcome is then `CANCELLED`."""


class Caller:
    """Calls services."""

    def __init__(
        self,
        services: Iterable[Service],
        *,
        jobs: int | None = None,
        executor: Executor | None = None,
        processes: bool | Processes = False,
        folder: Path | None = None,
        makers: Mapping[str, Maker] = {},
        lender: Lender | None = None,
        may_begin: Callable[[], bool] | None = None,
        observer: CallObserver | None = None,
        limits: CallLimits | None = None,
        after: Callable[[], None] | None = None,
    ) -> None:
        """Any thread calls `may_begin` before a call begins; while it returns false, calls wait.

        A worker thread calls `after` when a call has ended there (see `threads`). With `limits`, those of
        concurrency and rate hold for all callers that share them.
        """
        self.folder = folder
        self._limits = limits
        self._is_inner = False
        self._observer = observer
        self._may_begin = may_begin
        self.lender = lender
        self.executor = executor
        self.clock = Clock()
        self.loop = Loop()
        self.threads = Threads(jobs, may_begin, after)
        self._pools = [self.threads]
        self._farewells: list[Callable[[], None]] = []
        # A pool that is passed in serves further runs after this one.
        self.processes = _open_processes(jobs) if processes is True else processes or None
        self._owns_processes = processes is True
        self._former_processes: list[Processes] = []
        self._makers: dict[str, Maker] = {**_MAKERS, **makers}
        self._kept: dict[str, Any] = {}
        self._claim_queue = ClaimQueue()
        self._live: set[Call] = set()
        self._quiet = threading.Condition()
        self._closed = threading.Event()
        self._starters: dict[str, Starter] = {}
        self._services: dict[str, Service] = {}
        # Of functions that take classes with fields.
        self._parameters: dict[str, Parameters] = {}
        self._launches: dict[str, Launch] = {}
        try:
            for service in services:
                self._services[service.name] = service
                self._starters[service.name] = self._make_starter(service)
        except BaseException:
            self.close(cancel=True)
            raise

    def start(  # noqa: PLR0917 -- as positional as the calls that it makes; this is the path of thousands of them
        self,
        service: str,
        task: str,
        arguments: list[Any],
        keywords: dict[str, Any],
        done: Done,
        identity: CallIdentity | None = None,
        allowance: Allowance | None = None,
        launch: Launch | None = None,
    ) -> Handle:
        """Start a call of a service and return at once; `done` gets its outcome, exactly once, from any thread.

        In a recorded run the service can get the `identity` of the call (`solvent.call`). The number of attempts is
        that of its policy, unless there is an `allowance`. With `launch` somebody else carries out the attempts, within
        the limits and time-outs of the service.
        """
        if self._closed.is_set():
            raise Misuse("H320", "a closed caller cannot start calls")
        if launch is not None:
            return self._begin(
                Call(
                    self._services[service], task, arguments, keywords, done, launch=launch, limit=None,
                    clock=self.clock, forget=self._forget, identity=identity, allowance=allowance,
                )
            )  # fmt: skip
        if needs_restoring():
            try:
                arguments, keywords = self._restored(arguments), self._restored(keywords)
            except (Unloaded, ValueError) as error:
                return _refuse(done, error)
        if service in self._parameters:
            try:
                arguments, keywords = self._parameters[service].fit(arguments, keywords)
            except ValueError as error:
                return _refuse(done, error)
        try:
            starter = self._starters[service]
        except KeyError:
            raise Misuse("H321", f"there is no service `{service}`") from None
        return starter(task, arguments, keywords, done, identity, allowance)

    def _restored(self, value: Any) -> Any:
        return restore(value, unpickles=any(one.pickle for one in self._services.values()))

    @property
    def observer(self) -> CallObserver | None:
        """Who hears of its calls, if anybody does."""
        return self._observer

    def within(
        self,
        services: Iterable[Service],
        *,
        folder: Path | None,
        makers: Mapping[str, Maker],
        lender: Lender | None = None,
        observer: CallObserver | None = None,
    ) -> Caller:
        """Return a caller of other services that has the threads and processes of this one, and is closed with it."""
        inner = copy.copy(self)
        inner.turn_to(services, folder=folder, makers=makers, lender=lender, observer=observer, is_inner=True)
        return inner

    def turn_to(
        self,
        services: Iterable[Service],
        *,
        folder: Path | None,
        makers: Mapping[str, Maker],
        lender: Lender | None = None,
        observer: CallObserver | None = None,
        is_inner: bool = False,
    ) -> None:
        """Call other services from now on, or those of a sub-workflow (`is_inner`); calls that were started go on."""
        self.folder, self.lender, self._observer, self._makers = folder, lender, observer, {**_MAKERS, **makers}
        self._claim_queue, self._is_inner = ClaimQueue(), is_inner
        self._services, self._launches = {service.name: service for service in services}, {}
        self._parameters = {}
        self._starters = {name: self._make_starter(service) for name, service in self._services.items()}

    def renew_processes(self) -> None:
        """Call functions in other worker processes from now on, which import modules anew; calls that run go on."""
        if self.processes is not None and self._owns_processes:
            self._former_processes.append(self.processes)
            self.processes.wind_down()
            self.processes = _open_processes(self.processes.jobs)

    def attempt(  # noqa: PLR0917 -- what makes a call
        self,
        service: str,
        task: str,
        arguments: list[Any],
        keywords: dict[str, Any],
        done: Done,
        identity: CallIdentity,
        began: Callable[[], None],
    ) -> Handle:
        """Make one attempt of a call for somebody else, who counts them; `began` is called when the service begins."""
        try:
            arguments, keywords = self._restored(arguments), self._restored(keywords)
            if service in self._parameters:
                arguments, keywords = self._parameters[service].fit(arguments, keywords)
        except (Unloaded, ValueError) as error:
            return _refuse(done, error)
        found = self._services[service]
        if service not in self._launches:
            self._launches[service] = self._makers[found.kind](found, self)
        seen: list[CallSeen] = [_Begun(began)]
        if self._observer is not None:
            seen.insert(0, self._observer.call(service, task, identity))
        policy = found.policy
        return self._begin(
            Call(
                found, task, arguments, keywords, done, launch=self._launches[service],
                limit=self._limit(found) if policy.concurrency or policy.rate else None,
                clock=self.clock, forget=self._forget, identity=identity, may_begin=self._may_begin,
                allowance=Allowance(1, _never), seen=SeenByAll(seen),
            )
        )  # fmt: skip

    def _begin(self, call: Call) -> Call:
        self._live.add(call)
        call.enter()
        return call

    def pause(self, service: Service) -> None:
        """Let no call of a service with a rate begin before the next is due, whoever made the last one."""
        self._limit(service).pause()

    def in_threads(self, function: Callable[..., Any]) -> Launch:
        """Return a launch that runs a function, with the call's arguments, in a worker thread."""
        threads = self.threads

        def launch(attempt: Attempt) -> None:
            attempt.function = function if attempt.seen is None else attempt.seen.within(function)
            attempt.on_stop(lambda: threads.give_up(attempt))
            threads.put(attempt)

        return launch

    def keep(self, name: str, make: Callable[[Caller], Kept]) -> Kept:
        """Return an object that the services of a kind share, made for the first of them."""
        if name not in self._kept:
            self._kept[name] = make(self)
        kept: Kept = self._kept[name]
        return kept

    def open_threads(self, jobs: int, farewell: Callable[[], None]) -> Threads:
        """Open another pool of threads, for calls that only wait; it is closed with the caller, before `farewell`."""
        pool = Threads(jobs)
        self._pools.append(pool)
        self._farewells.append(farewell)
        return pool

    def prepare_close(self) -> None:
        """Start no more threads: calls that are cancelled from now on need no replacement."""
        for pool in self._pools:
            pool.jobs = 0

    def close(self, *, cancel: bool = False) -> None:
        """Wait for the calls that run, or cancel them, and end all threads and processes."""
        self._closed.set()
        if cancel:
            for call in list(self._live):
                call.cancel()
        with self._quiet:
            self._quiet.wait_for(lambda: not self._live)
        if self.processes is not None and self._owns_processes:
            for processes in (*self._former_processes, self.processes):
                processes.close(cancel=cancel)
        for pool in self._pools:
            pool.close(cancel=cancel)
        for farewell in self._farewells:
            farewell()
        self.loop.close()
        self.clock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(cancel=kind is not None)

    def _make_starter(self, service: Service) -> Starter:
        """Return the function that starts calls of a service: the short path for a plain function."""
        if service.kind == "python" and (parameters := Parameters(function_of(service, self.folder))):
            self._parameters[service.name] = parameters
        if self._makers.get(service.kind) is make_python and not self.lends_to(service):
            function = function_of(service, self.folder)
            is_plain = service.policy == Policy() and self.executor is None and self._observer is None
            if is_plain and not is_asynchronous(function):
                return self._direct(service.name, function)
        maker = self._makers.get(service.kind)
        if maker is None:
            raise WorkflowProblem("W175", f"service `{service.name}`: the kind `{service.kind}` cannot be called here")
        return self._guarded(service, maker(service, self))

    def lends_to(self, service: Service) -> bool:
        """Return whether calls of a service may claim resources."""
        return self.lender is not None and service.name in self.lender.services

    @property
    def jobs(self) -> int:
        """How many calls of plain functions run at the same time."""
        return self.threads.jobs if self.processes is None else self.processes.jobs

    def needs_worker(self, service: Service) -> bool:
        """Return whether each call of a service needs a thread or worker process; others run all at once."""
        if self.lends_to(service):
            return False
        if service.kind == "python":
            return not is_asynchronous(function_of(service, self.folder))
        return service.kind not in {"http", "replay", "workflow", "delay"}

    def _direct(self, name: str, function: Callable[..., Any]) -> Starter:
        processes = self.processes
        pool: Threads | Processes = self.threads if processes is None else processes
        put: Callable[[Single], None] = self.threads.put
        if processes is not None:
            put = partial(processes.put, processes.add_function(name, function))

        def start(
            _task: str,
            arguments: list[Any],
            keywords: dict[str, Any],
            done: Done,
            identity: CallIdentity | None,
            _allowance: Allowance | None,
        ) -> Handle:
            call = Single(function, arguments, keywords, done, pool, identity)
            put(call)
            return call

        return start

    def _guarded(self, service: Service, launch: Launch) -> Starter:
        policy, observer = service.policy, self._observer
        limit = self._limit(service) if policy.concurrency or policy.rate else None
        claim_queue = self._claim_queue if self.lends_to(service) else None

        def start(  # noqa: PLR0917 -- as `start` above
            task: str,
            arguments: list[Any],
            keywords: dict[str, Any],
            done: Done,
            identity: CallIdentity | None,
            allowance: Allowance | None,
        ) -> Handle:
            seen = None if observer is None else observer.call(service.name, task, identity)
            call = Call(
                service, task, arguments, keywords, done,
                launch=launch, limit=limit, clock=self.clock, forget=self._forget, claim_queue=claim_queue,
                identity=identity, may_begin=self._may_begin, allowance=allowance, seen=seen,
            )  # fmt: skip
            self._live.add(call)
            call.enter()
            return call

        return start

    def _limit(self, service: Service) -> CallLimit:
        if self._limits is not None and not self._is_inner:
            return self._limits.of(service)
        policy = service.policy
        if service.kind == "workflow":
            # One for each depth: a workflow that calls itself waits for those inside it.
            return CallLimit(policy, self.clock)
        if self._limits is not None:
            return self._limits.of(service)
        return self.keep(f"limit {limit_of(service)}", lambda _: CallLimit(policy, self.clock))

    def _forget(self, call: Call) -> None:
        self._live.discard(call)
        if self._closed.is_set() and not self._live:
            with self._quiet:
                self._quiet.notify_all()


class _Begun(CallSeen):
    """Sees when a service begins."""

    def __init__(self, began: Callable[[], None]) -> None:
        self._began = began

    def began(self) -> None:
        """Note that."""
        self._began()


class _Refused:
    """The handle of a call that was never begun."""

    def cancel(self) -> None:
        """Leave it: it has its outcome."""


def _refuse(done: Done, error: Exception) -> Handle:
    """Fail a call whose arguments cannot be what they were."""
    done(None, Failure("FAILED", str(error)), 1)
    return _Refused()


def _never(*_: Any) -> None:
    raise AssertionError("the only attempt was made")


def make_python(service: Service, caller: Caller) -> Launch:
    """Return the launch of a Python function."""
    function = function_of(service, caller.folder)
    lender = caller.lender if caller.lends_to(service) else None
    if is_asynchronous(function):
        work = awaiting(function if lender is None else lender.lent_awaited(function))
        return lambda attempt: caller.loop.run(attempt, work)
    if lender is not None:
        function = lender.lent(service.name, function)
    if caller.executor is not None:
        from solvent.services.executors import in_executor

        return in_executor(service, function, caller.executor, lends=lender is not None)
    if caller.processes is not None:
        return in_processes(caller.processes, service.name, function)
    return caller.in_threads(function)


def in_processes(processes: Processes, name: str, function: Callable[..., Any]) -> Launch:
    """Return a launch that runs a function in a worker process."""
    number = processes.add_function(name, function)

    def launch(attempt: Attempt) -> None:
        attempt.on_stop(lambda: processes.give_up(attempt))
        processes.put(number, attempt)

    return launch


def make_replay(service: Service, caller: Caller) -> Launch:
    """Return the launch of a replayed call: it waits for `options["seconds"]`, and has no result."""
    seconds = service.options.get("seconds", 0.0)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
        raise WorkflowProblem("W181", f"service `{service.name}`: `seconds` must be a number, not {seconds!r}")
    clock = caller.clock

    def launch(attempt: Attempt) -> None:
        attempt.begin()
        timer = clock.after(seconds, lambda: attempt.settle(None, None))
        attempt.on_stop(timer.cancel)

    return launch


def make_delay(service: Service, caller: Caller) -> Launch:
    """Return the launch of a delay: it answers with its argument, so long after the run first came to it."""
    seconds, clock = seconds_of(service.target) or 0.0, caller.clock

    def launch(attempt: Attempt) -> None:
        attempt.begin()
        since = attempt.identity.since if attempt.identity is not None else 0.0
        left = seconds if not since else max(0.0, min(seconds, since + seconds - time.time()))
        value = attempt.arguments[0] if attempt.arguments else None
        timer = clock.after(left, lambda: attempt.settle(value, None))
        attempt.on_stop(timer.cancel)

    return launch


def _open_processes(jobs: int | None) -> Processes:
    from solvent.services.processes import Processes

    return Processes(jobs)


def _make_shell(service: Service, caller: Caller) -> Launch:
    from solvent.services.shell import make_shell

    return make_shell(service, caller)


def _make_http(service: Service, caller: Caller) -> Launch:
    from solvent.services.http import make_http

    return make_http(service, caller)


# Modules are imported by the first service that needs them.
_MAKERS: dict[str, Maker] = {
    "python": make_python,
    "shell": _make_shell,
    "http": _make_http,
    "replay": make_replay,
    "delay": make_delay,
}

__all__ = ["Caller", "Handle"]
