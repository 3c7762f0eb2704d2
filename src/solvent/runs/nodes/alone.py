"""A share that reacts by itself, at the engine's full speed, before anything of it is offered to others.

It does so in slices, so that the node can hear others and whoever looks on meanwhile: a slice ends between two
reactions, or before a function is called. Asynchronous calls are out side by side, as in a run in one process. Whatever
ends it early leaves every molecule in the solution.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any

from solvent.engine.reaction import Stopped
from solvent.engine.reactor import Reactor
from solvent.errors import LimitReached
from solvent.hocl.process_settings import deep_stack
from solvent.lang.builtin import BUILTIN
from solvent.lang.functions import Function, Functions
from solvent.lang.molecule import Endless, Molecule, equal
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solvent.engine.reaction import Flight

SLICE_SECONDS = 0.02
"""How long the others wait, where molecules are few."""
_SECONDS_PER_MOLECULE = 1e-6
"""And how much longer where they are many: to go on after a slice costs a look at each."""
_OVER = "H504"


class Patient(Functions):
    """Functions that a slice can end at: one that takes long must not put off looking whether it is over."""

    def __init__(self, functions: Functions) -> None:
        super().__init__()
        self._functions = functions
        self._wrapped: dict[str, Function] = {}
        #: Set while molecules react alone.
        self.is_over: Callable[[], bool] | None = None

    def names(self) -> Iterable[str]:
        """Give every name that can be called."""
        return self._functions.names()

    def find(self, name: str) -> Function | None:
        """Give the function of a name."""
        function = self._functions.find(name)
        if function is None or function.is_async or function.call is BUILTIN.get(name):
            return function
        if name not in self._wrapped:
            self._wrapped[name] = self._wrap(function)
        return self._wrapped[name]

    def _wrap(self, function: Function) -> Function:
        call = function.call

        def patient(*arguments: Any) -> Any:
            if self.is_over is not None and self.is_over():
                raise LimitReached(_OVER, "a slice is over")
            return call(*arguments)

        wrapped = Function(function.name, patient, is_raw=function.is_raw)
        wrapped.min_arity, wrapped.max_arity = function.min_arity, function.max_arity
        return wrapped


class Alone:
    """Molecules of one node, together with what all nodes have."""

    def __init__(
        self,
        shared: list[Molecule],
        own: list[Molecule],
        *,
        functions: Patient | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        self._shared = shared
        self._functions = functions
        self._should_stop = should_stop or (lambda: False)
        self._until = 0.0
        self._reactor = Reactor(should_stop=self._is_over)
        self.solution = Solution([*shared, *own])

    @property
    def reactions(self) -> int:
        """How many reactions there were."""
        return self._reactor.reactions

    def _is_over(self) -> bool:
        return time.monotonic() > self._until or self._should_stop()

    async def react(self) -> None:
        """React until nothing can; raises `Stopped` when asked to stop before."""
        calls: dict[asyncio.Future[Any], Flight] = {}
        try:
            while True:
                self._until = time.monotonic() + max(SLICE_SECONDS, len(self.solution) * _SECONDS_PER_MOLECULE)
                is_done = self._react_for_a_while()
                flights, self._reactor.flights = self._reactor.flights, []
                calls |= {asyncio.ensure_future(flight.coroutine): flight for flight in flights}
                if not is_done:
                    # Once to let the loop look at its sockets, and once to let it do what they say.
                    await asyncio.sleep(0)
                    await asyncio.sleep(0)
                elif calls:
                    await self._wait(calls)
                else:
                    return
        finally:
            await self._bring_back(calls)

    def react_until(self, until: float) -> None:
        """React without letting anybody else have a turn; calls that would have to be waited for are not made."""
        self._until = until
        with contextlib.suppress(Stopped):
            self._react_for_a_while()
        flights, self._reactor.flights = self._reactor.flights, []
        for flight in flights:
            flight.coroutine.close()
            self._reactor.crash(flight, asyncio.CancelledError())

    def _react_for_a_while(self) -> bool:
        """Say whether nothing more can react for now."""
        if self._functions is not None:
            self._functions.is_over = self._is_over
        try:
            with deep_stack():
                self._reactor.run(self.solution)
        except (Stopped, LimitReached) as over:
            if isinstance(over, LimitReached) and over.code != _OVER:
                raise
            if self._should_stop():
                raise Stopped from None
            return False
        finally:
            if self._functions is not None:
                self._functions.is_over = None
        return True

    async def _wait(self, calls: dict[asyncio.Future[Any], Flight]) -> None:
        """Wait until a call has answered, and put its answer in."""
        done, _ = await asyncio.wait(calls, timeout=0.1, return_when=asyncio.FIRST_COMPLETED)
        if not done and self._should_stop():
            raise Stopped
        for call in done:
            flight = calls.pop(call)
            error = call.exception()
            if error is not None:
                raise self._reactor.crash(flight, error)
            self._reactor.arrive(flight, call.result())

    async def _bring_back(self, calls: dict[asyncio.Future[Any], Flight]) -> None:
        """Give up what is still out, and put back what it took."""
        for call in calls:
            call.cancel()
        if calls:
            await asyncio.wait(calls)
        for flight in calls.values():
            self._reactor.crash(flight, asyncio.CancelledError())

    def left(self) -> list[Molecule]:
        """Give the molecules that are this node's own: all but one of each that all nodes have."""
        shared = list(self._shared)
        found = []
        for molecule in self.solution:
            at = next((at for at, one in enumerate(shared) if _is_same(one, molecule)), None)
            if at is None:
                found.append(molecule)
            else:
                del shared[at]
        return found


def _is_same(shared: Molecule, molecule: Molecule) -> bool:
    if type(shared) is Endless:
        return type(molecule) is Endless and equal(shared, molecule)
    return shared is molecule


__all__ = ["SLICE_SECONDS", "Alone", "Patient"]
