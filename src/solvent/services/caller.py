"""The one that calls services for a run of a workflow.

    with Caller(workflow.services, jobs=8) as caller:
        handle = caller.start("clean", "T1", [rows], {}, done)     # done(value, failure, attempts), exactly once

For each service it makes, once, a way to start a call. A Python function without a policy goes straight to the
worker threads (or processes); everything else becomes a `Call`, which minds the policy, and a *launch*, a function
that carries out one attempt and comes from the *maker* of the service's kind. Kinds that need upper layers (`hocl`,
`workflow`) bring their makers along:

    def make_program(service, caller):
        program = load(service.target)
        return caller.in_threads(lambda *arguments, **keywords: program.run(...))

    Caller(services, makers={"hocl": make_program})

`done` is called from any thread, and must be brief. Cancelling may call it before `cancel` returns.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from solvent.errors import Misuse, WorkflowProblem
from solvent.services.call import Call
from solvent.services.claims import Turns
from solvent.services.clock import Clock
from solvent.services.gate import Gate
from solvent.services.loop import Loop
from solvent.services.python import awaiting, function_of, is_asynchronous
from solvent.services.threads import KnownSingle, Single, Threads
from solvent.workflows.model import Policy

Kept = TypeVar("Kept")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Executor
    from pathlib import Path
    from typing import TypeAlias

    from solvent.services.call import Attempt
    from solvent.services.claims import Lender
    from solvent.services.failure import Done
    from solvent.services.gate import Gates
    from solvent.services.observer import CallObserver
    from solvent.services.processes import Processes
    from solvent.services.signs import Allowance, CallIdentity
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
        gates: Gates | None = None,
    ) -> None:
        """`may_begin` is asked before each call is really begun, by any thread; while it says no, calls wait.

        With `gates`, limits of number and pace hold for all callers that have them, together.
        """
        self.folder = folder
        self._gates = gates
        self._observer = observer
        self._may_begin = may_begin
        self.lender = lender
        self.executor = executor
        self.clock = Clock()
        self.loop = Loop()
        self.threads = Threads(jobs, may_begin)
        self._pools = [self.threads]
        self._farewells: list[Callable[[], None]] = []
        # A pool that someone brings along serves further runs after this one.
        self.processes = _open_processes(jobs) if processes is True else processes or None
        self._owns_processes = processes is True
        self._makers: dict[str, Maker] = {**_MAKERS, **makers}
        self._kept: dict[str, Any] = {}
        self._turns = Turns()
        self._live: set[Call] = set()
        self._quiet = threading.Condition()
        self._closed = False
        self._starters: dict[str, Starter] = {}
        try:
            for service in services:
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
    ) -> Handle:
        """Start a call of a service and return at once; `done` gets its outcome, exactly once, from any thread.

        Which call it is the service may ask (`solvent.call`) where the run is recorded. How often it may be tried its
        policy says, unless there is an `allowance`.
        """
        if self._closed:
            raise Misuse("H320", "a caller that is closed cannot start calls")
        try:
            starter = self._starters[service]
        except KeyError:
            raise Misuse("H321", f"there is no service `{service}` to call") from None
        return starter(task, arguments, keywords, done, identity, allowance)

    def in_threads(self, function: Callable[..., Any]) -> Launch:
        """Make a launch that runs a function, with the call's arguments, in a worker thread."""
        threads = self.threads

        def launch(attempt: Attempt) -> None:
            attempt.function = function if attempt.seen is None else attempt.seen.within(function)
            attempt.on_stop(lambda: threads.give_up(attempt))
            threads.put(attempt)

        return launch

    def keep(self, name: str, make: Callable[[Caller], Kept]) -> Kept:
        """Return what the services of a kind share, made for the first of them."""
        if name not in self._kept:
            self._kept[name] = make(self)
        kept: Kept = self._kept[name]
        return kept

    def open_threads(self, jobs: int, farewell: Callable[[], None]) -> Threads:
        """Open a further pool of threads, for calls that only wait; it closes with the caller, and then the rest."""
        pool = Threads(jobs)
        self._pools.append(pool)
        self._farewells.append(farewell)
        return pool

    def prepare_close(self) -> None:
        """Start no more threads: those of calls that are cancelled from now on need no successors."""
        for pool in self._pools:
            pool.jobs = 0

    def close(self, *, cancel: bool = False) -> None:
        """Wait for the calls that run, or cancel them, and end all threads and processes."""
        self._closed = True
        if cancel:
            for call in list(self._live):
                call.cancel()
        with self._quiet:
            self._quiet.wait_for(lambda: not self._live)
        if self.processes is not None and self._owns_processes:
            self.processes.close(cancel=cancel)
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
        """Make the way to start calls of a service: the short one where nothing but a function is asked for."""
        if self._makers.get(service.kind) is make_python and not self.lends_to(service):
            function = function_of(service, self.folder)
            is_plain = service.policy == Policy() and self.executor is None and self._observer is None
            if is_plain and not is_asynchronous(function):
                return self._direct(function) if self.processes is None else self._sent(service.name, function)
        maker = self._makers.get(service.kind)
        if maker is None:
            raise WorkflowProblem("W175", f"service `{service.name}`: nobody here can call the kind `{service.kind}`")
        return self._guarded(service, maker(service, self))

    def lends_to(self, service: Service) -> bool:
        """Return whether calls of a service may claim resources."""
        return self.lender is not None and service.name in self.lender.services

    def is_pooled(self, service: Service) -> bool:
        """Return whether calls of a service need a thread, or worker process, each; others run all at once."""
        if service.kind == "python":
            return not is_asynchronous(function_of(service, self.folder))
        return service.kind not in {"http", "replay"}

    def _direct(self, function: Callable[..., Any]) -> Starter:
        threads = self.threads
        put = threads.put

        def start(
            _task: str,
            arguments: list[Any],
            keywords: dict[str, Any],
            done: Done,
            identity: CallIdentity | None,
            _allowance: Allowance | None,
        ) -> Handle:
            if identity is None:
                call = Single(function, arguments, keywords, done, threads)
            else:
                call = KnownSingle(function, arguments, keywords, done, threads).identify(identity)
            put(call)
            return call

        return start

    def _sent(self, name: str, function: Callable[..., Any]) -> Starter:
        processes = self.processes
        assert processes is not None
        number = processes.add_function(name, function)
        put = processes.put

        def start(
            _task: str,
            arguments: list[Any],
            keywords: dict[str, Any],
            done: Done,
            identity: CallIdentity | None,
            _allowance: Allowance | None,
        ) -> Handle:
            if identity is None:
                call = Single(function, arguments, keywords, done, processes)
            else:
                call = KnownSingle(function, arguments, keywords, done, processes).identify(identity)
            put(number, call)
            return call

        return start

    def _guarded(self, service: Service, launch: Launch) -> Starter:
        policy, observer = service.policy, self._observer
        gate = self._gate(service) if policy.concurrency or policy.rate else None
        turns = self._turns if self.lends_to(service) else None

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
                launch=launch, gate=gate, clock=self.clock, forget=self._forget, turns=turns, identity=identity,
                may_begin=self._may_begin, allowance=allowance, seen=seen,
            )  # fmt: skip
            self._live.add(call)
            call.enter()
            return call

        return start

    def _gate(self, service: Service) -> Gate:
        return Gate(service.policy, self.clock) if self._gates is None else self._gates.of(service)

    def _forget(self, call: Call) -> None:
        self._live.discard(call)
        if self._closed and not self._live:
            with self._quiet:
                self._quiet.notify_all()


def make_python(service: Service, caller: Caller) -> Launch:
    """Make the launch of a Python function."""
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
    """Make a launch that runs a function in a worker process."""
    number = processes.add_function(name, function)

    def launch(attempt: Attempt) -> None:
        attempt.on_stop(lambda: processes.give_up(attempt))
        processes.put(number, attempt)

    return launch


def make_replay(service: Service, caller: Caller) -> Launch:
    """Make the launch of a recorded call: it waits `options["seconds"]` on the one clock, and returns nothing."""
    seconds = service.options.get("seconds", 0.0)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
        raise WorkflowProblem("W181", f"service `{service.name}`: `seconds` must be a number, not {seconds!r}")
    clock = caller.clock

    def launch(attempt: Attempt) -> None:
        attempt.begin()
        timer = clock.after(seconds, lambda: attempt.settle(None, None))
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


# A module is imported by the first service that needs it.
_MAKERS: dict[str, Maker] = {"python": make_python, "shell": _make_shell, "http": _make_http, "replay": make_replay}

__all__ = ["Caller", "Handle"]
