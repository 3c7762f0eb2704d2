"""Runs of a solution in this process: to inertia, step by step, or with every reaction recorded."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from solvent.engine.reaction import POLL_MASK, Flight, Reaction, Stopped
from solvent.engine.reactor import Reactor
from solvent.errors import LIMIT_HINT, Interrupted, LimitReached, Misuse
from solvent.hocl.process_settings import deep_stack, interruptible
from solvent.hocl.program import Program
from solvent.lang.molecule import check_printable
from solvent.lang.printer import print_molecule
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from solvent.engine.trace import Recorder
    from solvent.lang.molecule import Molecule


_POLL_SECONDS = 0.001


class RunLimits(TypedDict, total=False):
    """Options of a run that is recorded: in which order to react, and when to stop.

    >>> from solvent import hocl
    >>> solution = hocl.parse("<1, 2, 3, (sum = replace x::int, y::int by x + y)>").solution()
    >>> len(hocl.record(solution, seed=7, max_seconds=10).records)
    2
    """

    seed: int | None
    """Draw reactions at random, repeatably; without it the order is fixed."""
    max_reactions: int | None
    """Raise `LimitReached` (H501) after this many reactions."""
    max_seconds: float | None
    """Raise `LimitReached` (H502) after this time."""
    should_stop: Callable[[], bool] | None
    """Called now and then; raise `LimitReached` (H504) when it returns true."""


class RunOptions(RunLimits, total=False):
    """Options of a run: those of `RunLimits`, and an observer.

    >>> from solvent import hocl
    >>> rules = []
    >>> solution = hocl.parse("<1, 2, 3, (sum = replace x::int, y::int by x + y)>").solution()
    >>> _ = hocl.react(solution, observe=lambda reaction: rules.append(reaction.rule.name))
    >>> rules
    ['sum', 'sum']
    """

    observe: Callable[[Reaction], None] | None
    """Called with each reaction after it has happened."""


class Outcome:
    """How a run of a solution ended: whether it is `inert`, after how many `reactions` and `seconds`.

    >>> from solvent import hocl
    >>> outcome = hocl.react(hocl.parse("<1, 2, replace x, y by x + y>").solution())
    >>> outcome.inert, outcome.reactions, outcome.seconds >= 0
    (True, 1, True)
    """

    __slots__ = ("inert", "reactions", "seconds")

    def __init__(self, *, inert: bool, reactions: int, seconds: float) -> None:
        self.inert = inert
        self.reactions = reactions
        self.seconds = seconds

    def __repr__(self) -> str:
        return f"Outcome(inert={self.inert}, reactions={self.reactions}, seconds={self.seconds:.3f})"

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        state = "inert" if self.inert else "not inert"
        many = f"{self.reactions:,} reaction{'' if self.reactions == 1 else 's'}"
        return f'<div class="solvent">{state} after {many}, in {self.seconds:.3f} s</div>'


class Run:
    """One run of a solution: its order of choice, its limits and its observer.

    `react` makes one and runs it; use `Run` to ask for the `outcome()` after an error. The options are `RunOptions`.

    >>> from solvent import LimitReached, hocl
    >>> run = hocl.Run(hocl.parse("<1, replace x::int by x + 1>").solution(), max_reactions=5)
    >>> try:
    ...     run.to_inertia()
    ... except LimitReached:
    ...     print(run.outcome().reactions)
    5
    """

    def __init__(
        self,
        solution: Solution,
        *,
        seed: int | None = None,
        max_reactions: int | None = None,
        max_seconds: float | None = None,
        observe: Callable[[Reaction], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        self.solution = solution
        self.started = time.perf_counter()
        self.max_seconds = max_seconds
        self._polled = self.started
        self._asked_to_stop = should_stop
        self._is_interrupted = False
        options: dict[str, Any] = {
            "max_reactions": max_reactions,
            "should_stop": self._should_stop,
            "observe": observe,
        }
        if seed is None:
            self.reactor = Reactor(**options)
        else:
            import random

            from solvent.engine.choice import Stepper

            # It settles the solution now, which ends; it cannot ask this run yet whether to stop.
            asked = options.pop("should_stop")
            with deep_stack():
                self.reactor = Stepper(solution, chance=random.Random(seed), **options)
            self.reactor.should_stop = asked
        self.reactor.poll_mask = 0

    def _should_stop(self) -> bool:
        reactor, now = self.reactor, time.perf_counter()
        # Products that double make each reaction take as long as all before it: these are looked at one by one.
        mask = reactor.poll_mask
        reactor.poll_mask = min(POLL_MASK, 2 * mask + 1) if now - self._polled < _POLL_SECONDS else mask >> 1
        self._polled = now
        if self._is_interrupted or (self._asked_to_stop is not None and self._asked_to_stop()):
            return True
        return self.max_seconds is not None and now - self.started > self.max_seconds

    def outcome(self) -> Outcome:
        """Return how far the run has come."""
        seconds = time.perf_counter() - self.started
        return Outcome(inert=self.solution.inert, reactions=self.reactor.reactions, seconds=seconds)

    def to_inertia(self) -> Outcome:
        """Run until the solution is inert. Raises what `react` raises."""
        self._react()
        if self.reactor.flights:
            self._wait_here()
        return self.outcome()

    def _wait_here(self) -> None:
        """Wait for calls in flight, if no event loop is running."""
        import asyncio  # most programs call nothing asynchronous, and it is slow to import

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            asyncio.run(self._wait_for_flights())
            return
        for flight in self.reactor.flights:
            flight.coroutine.close()
            self.reactor.crash(flight, asyncio.CancelledError())
        self.reactor.flights = []
        message = "`run` cannot wait for an asynchronous call inside a running event loop"
        raise Misuse("H307", message, hint="write `await solvent.hocl.react_async(solution)`")

    async def to_inertia_async(self) -> Outcome:
        """Run until the solution is inert, without blocking the event loop while calls are in progress."""
        self._react()
        await self._wait_for_flights()
        return self.outcome()

    def _react(self) -> None:
        with deep_stack(), interruptible(self._note_interrupt):
            try:
                self.reactor.run(self.solution)
            except Stopped:
                self._raise_stopped()

    def _note_interrupt(self) -> None:
        self._is_interrupted = True

    def _raise_stopped(self) -> None:
        if self._is_interrupted:
            self._is_interrupted = False
            raise KeyboardInterrupt from None
        seconds = time.perf_counter() - self.started
        if self.max_seconds is not None and seconds > self.max_seconds:
            message = f"still reacting after {self.max_seconds:g} seconds"
            raise LimitReached("H502", message, hint=LIMIT_HINT.format("--max-seconds")) from None
        raise Interrupted("H504", "interrupted before the solution was inert") from None

    async def _wait_for_flights(self) -> None:
        import asyncio

        tasks: dict[asyncio.Task[Any], Flight] = {}
        try:
            while self.reactor.flights or tasks:
                for flight in self.reactor.flights:
                    tasks[asyncio.ensure_future(flight.coroutine)] = flight
                self.reactor.flights = []
                done, _ = await asyncio.wait(tasks, timeout=0.1, return_when=asyncio.FIRST_COMPLETED)
                if not done and self._should_stop():
                    self._raise_stopped()
                for task in done:
                    self._land(tasks.pop(task), task)
        finally:
            await self._bring_back(tasks)

    def _land(self, flight: Flight, task: asyncio.Task[Any]) -> None:
        error = task.exception()
        if error is not None:
            raise self.reactor.crash(flight, error)
        with deep_stack():
            try:
                self.reactor.land(flight, task.result())
            except Stopped:
                self._raise_stopped()

    async def _bring_back(self, tasks: dict[asyncio.Task[Any], Flight]) -> None:
        """Cancel the calls still in flight and put their reactants back, so that nothing is lost."""
        import asyncio

        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for flight in tasks.values():
            self.reactor.crash(flight, asyncio.CancelledError())
        for flight in self.reactor.flights:
            flight.coroutine.close()
            self.reactor.crash(flight, asyncio.CancelledError())
        self.reactor.flights = []


def react(solution: Solution | Program, **options: Unpack[RunOptions]) -> Outcome:
    """Run a solution until it is inert.

    - `solution`: it is changed in place. What was added since the last run is tried, and nothing twice.
    - `options`: seed, limits and observer: `RunOptions`.

    Raises `LimitReached` when a limit is met first, `ReactionFailed` when a product cannot be computed; the solution
    then stands as it is and can be run again. Raises `Misuse`: H306 for a program in place of a solution, H307 for
    asynchronous calls inside an event loop.

    >>> from solvent import hocl
    >>> solution = hocl.parse("let max = replace x, y by x if x >= y in <2, 9, 5, max>").solution()
    >>> hocl.react(solution, max_reactions=1000).reactions
    2
    >>> hocl.show(solution)
    '<9, max>'
    """
    return Run(_solution(solution), **options).to_inertia()


async def react_async(solution: Solution | Program, **options: Unpack[RunOptions]) -> Outcome:
    """Run a solution until it is inert, from asynchronous code; arguments and errors are those of `react`.

    Asynchronous functions of the program run in the caller's event loop; other reactions happen meanwhile.

    Raises `LimitReached` and `ReactionFailed`, as `react` does.

    >>> import asyncio
    >>> from solvent import hocl
    >>> functions = hocl.Functions()
    >>> @functions.register
    ... async def double(number: int) -> int:
    ...     return 2 * number
    >>> solution = hocl.parse("<1, 2, replace-one x by GOT : double(x)>", functions=functions).solution()
    >>> asyncio.run(hocl.react_async(solution, max_seconds=10)).reactions
    1
    """
    return await Run(_solution(solution), **options).to_inertia_async()


def record(solution: Solution, **options: Unpack[RunLimits]) -> Recorder:
    """Run a solution until it is inert and return the record of its reactions.

    `options` are `RunLimits`; the errors are those of `react`.

    Raises `LimitReached` and `ReactionFailed`, as `react` does.

    >>> from solvent import hocl
    >>> recorder = hocl.record(hocl.parse("<1, 2, (sum = replace x::int, y::int by x + y)>").solution())
    >>> [(one.rule, sorted(one.before), one.after) for one in recorder.records]
    [('sum', ['1', '2'], ['3'])]
    """
    from solvent.engine.trace import Recorder

    recorder = Recorder(solution)
    react(solution, observe=recorder, **options)
    return recorder


def _solution(given: Solution | Program) -> Solution:
    if isinstance(given, Program):
        message = "a program is not a solution"
        raise Misuse("H306", message, hint="keep `solution = program.solution()` and run that")
    return given


def show(molecule: Molecule) -> str:
    """Return the text of a molecule or a solution, in canonical order.

    Raises `LimitReached` (H323) if the text would be too long.

    >>> from solvent import hocl
    >>> hocl.show(hocl.Solution([3, "a", (hocl.Symbol("T"), 1)]))
    '<3, "a", T:1>'
    """
    with deep_stack():
        check_printable(molecule if isinstance(molecule, Solution) else (molecule,))
        return print_molecule(molecule)


def step(solution: Solution, *, seed: int | None = None) -> Reaction | None:
    """Perform one reaction and return it, or return `None` if the solution is inert.

    With `seed` the reaction is drawn at random, repeatably.

    Raises `ReactionFailed` when a product cannot be computed.

    >>> from solvent import hocl
    >>> solution = hocl.parse("<1, 2, 3, (sum = replace x::int, y::int by x + y)>").solution()
    >>> while reaction := hocl.step(solution):
    ...     print(reaction.rule.name)
    sum
    sum
    """
    from solvent.engine.choice import Stepper

    seen: list[Reaction] = []
    chance = None
    if seed is not None:
        import random

        chance = random.Random(seed)
    with deep_stack():
        stepper = Stepper(solution, chance=chance, observe=seen.append)
        stepper.step()
        for flight in stepper.flights:
            wait_for(stepper, flight)
    return seen[0] if seen else None


def wait_for(reactor: Reactor, flight: Flight) -> None:
    """Wait for the call of a step; the step ends when its products are in the solution."""
    import asyncio

    try:
        products = asyncio.run(_answer(flight))
    except BaseException as error:
        raise reactor.crash(flight, error) from error
    reactor.arrive(flight, products)


async def _answer(flight: Flight) -> list[Molecule]:
    return await flight.coroutine
