"""Running a solution in this process, to inertia or step by step."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from solvent.chemistry.printer import print_molecule
from solvent.engine.reaction import Flight, Reaction, Stopped
from solvent.engine.reactor import Reactor
from solvent.errors import LimitReached, Misuse
from solvent.running.interpreter import deep_stack
from solvent.running.program import Program

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

    from solvent.chemistry.molecule import Molecule
    from solvent.chemistry.solution import Solution


class Outcome:
    """How a run ended."""

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
    """One run of a solution: how it chooses, what limits it, who watches."""

    def __init__(
        self,
        solution: Solution,
        *,
        seed: int | None = None,
        reactions_max: int | None = None,
        seconds_max: float | None = None,
        observe: Callable[[Reaction], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        self.solution = solution
        self.started = time.perf_counter()
        self.seconds_max = seconds_max
        self._asked_to_stop = should_stop
        self._is_interrupted = False
        options: dict[str, Any] = {
            "reactions_max": reactions_max,
            "should_stop": self._should_stop,
            "observe": observe,
        }
        if seed is None:
            self.reactor = Reactor(**options)
        else:
            import random

            from solvent.engine.choice import Stepper

            with deep_stack():
                self.reactor = Stepper(solution, chance=random.Random(seed), **options)

    def _should_stop(self) -> bool:
        if self._is_interrupted or (self._asked_to_stop is not None and self._asked_to_stop()):
            return True
        return self.seconds_max is not None and time.perf_counter() - self.started > self.seconds_max

    def outcome(self) -> Outcome:
        """Say how it stands."""
        seconds = time.perf_counter() - self.started
        return Outcome(inert=self.solution.inert, reactions=self.reactor.reactions, seconds=seconds)

    def to_inertia(self) -> Outcome:
        """Run until the solution is inert."""
        self._react()
        if self.reactor.flights:
            self._wait_here()
        return self.outcome()

    def _wait_here(self) -> None:
        """Wait for calls in flight, where no event loop is running yet."""
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
        raise Misuse("H307", message, hint="write `await solvent.run_async(solution)`")

    async def to_inertia_async(self) -> Outcome:
        """Run until the solution is inert, without holding up the event loop while calls are out."""
        self._react()
        await self._wait_for_flights()
        return self.outcome()

    def _react(self) -> None:
        with deep_stack(), self._interruptible():
            try:
                self.reactor.run(self.solution)
            except Stopped:
                self._raise_stopped()

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Let Ctrl-C stop the run between two reactions: raised anywhere, it could lose molecules."""
        import signal

        def note(_number: int, _frame: Any) -> None:
            if self._is_interrupted:
                raise KeyboardInterrupt
            self._is_interrupted = True

        try:
            is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
            before = signal.signal(signal.SIGINT, note) if is_default else None
        except ValueError:
            # Only the main thread can; in others no Ctrl-C arrives.
            before = None
        try:
            yield
        finally:
            if before is not None:
                signal.signal(signal.SIGINT, before)

    def _raise_stopped(self) -> None:
        if self._is_interrupted:
            self._is_interrupted = False
            raise KeyboardInterrupt from None
        seconds = time.perf_counter() - self.started
        if self.seconds_max is not None and seconds > self.seconds_max:
            message = f"not inert after {self.seconds_max:g} seconds"
            raise LimitReached("H502", message, hint="allow more: --seconds-max") from None
        raise LimitReached("H504", "interrupted before the solution was inert") from None

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
        """Cancel what is still out and put its reactants back, so that nothing is lost."""
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


def run(solution: Solution | Program, **options: Any) -> Outcome:
    """Run a solution until it is inert; see `Run` for the options.

    Raises `LimitReached` when a limit is met first and `ReactionFailed` when a product cannot be computed; the
    solution then stands as it is and can be run again.
    """
    return Run(_solution(solution), **options).to_inertia()


async def run_async(solution: Solution | Program, **options: Any) -> Outcome:
    """Run a solution until it is inert, from asynchronous code."""
    return await Run(_solution(solution), **options).to_inertia_async()


def _solution(given: Solution | Program) -> Solution:
    if isinstance(given, Program):
        message = "a program is not a solution"
        raise Misuse("H306", message, hint="keep `solution = program.solution()` and run that")
    return given


def show(molecule: Molecule) -> str:
    """Give the text of a molecule or a solution, in canonical order."""
    with deep_stack():
        return print_molecule(molecule)


def step(solution: Solution, *, seed: int | None = None) -> Reaction | None:
    """Make one reaction happen and give it; None when the solution is inert."""
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
    """Wait for the one call that a step has made; a step ends when its products are there."""
    import asyncio

    try:
        products = asyncio.run(_answer(flight))
    except BaseException as error:
        raise reactor.crash(flight, error) from error
    reactor.arrive(flight, products)


async def _answer(flight: Flight) -> list[Molecule]:
    return await flight.coroutine


__all__ = ["Outcome", "Run", "run", "run_async", "show", "step"]
