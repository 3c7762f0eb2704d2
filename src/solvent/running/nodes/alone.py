"""A share that reacts by itself, at the engine's full speed, before anything of it is offered to others.

It does so in slices, so that the node can hear others and whoever looks on meanwhile. Calls that take time are out side
by side, as in a run in one process. Whatever ends it early leaves every molecule in the solution.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from solvent.chemistry.molecule import Endless, Molecule, equal
from solvent.chemistry.solution import Solution
from solvent.engine.reaction import Stopped
from solvent.engine.reactor import Reactor
from solvent.running.program import deep_stack

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.engine.reaction import Flight

SLICE_SECONDS = 0.02
"""How long the others wait at most, at first. To go on after a slice costs more where there are more molecules."""
_SLICE_SECONDS_MAX = 0.5


class Alone:
    """Molecules of one node, together with what all nodes have."""

    def __init__(
        self, shared: list[Molecule], own: list[Molecule], *, should_stop: Callable[[], bool] | None = None
    ) -> None:
        self._shared = shared
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
        seconds = SLICE_SECONDS
        try:
            while True:
                self._until = time.monotonic() + seconds
                try:
                    with deep_stack():
                        self._reactor.run(self.solution)
                except Stopped:
                    if self._should_stop():
                        raise
                    seconds = min(2 * seconds, _SLICE_SECONDS_MAX)
                    await asyncio.sleep(0)
                    continue
                finally:
                    flights, self._reactor.flights = self._reactor.flights, []
                    calls |= {asyncio.ensure_future(flight.coroutine): flight for flight in flights}
                if not calls:
                    return
                await self._wait(calls)
        finally:
            await self._bring_back(calls)

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


__all__ = ["SLICE_SECONDS", "Alone"]
