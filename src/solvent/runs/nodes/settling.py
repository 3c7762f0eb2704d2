"""Solutions inside molecules: they react where the molecule is, and only at rest others may look at them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from solvent.engine.reactor import Reactor
from solvent.hocl.process_settings import deep_stack
from solvent.lang.molecule import Molecule, sub_solutions

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.engine.reaction import Flight
    from solvent.runs.nodes.writing import Writing


class Settling:
    """Reads molecules, and brings what is inside them to rest."""

    def __init__(self, writing: Writing, should_stop: Callable[[], bool] | None) -> None:
        self._writing = writing
        self._reactor = Reactor(should_stop=should_stop)

    @property
    def reactions(self) -> int:
        """How many reactions there were inside molecules."""
        return self._reactor.reactions

    def read(self, text: str) -> Molecule:
        """Give the molecule that a text stands for, at rest."""
        if self._writing.is_flat(text):
            return self._writing.read(text)
        with deep_stack():
            molecule = self._writing.read_in_full(text)
            self.settle(molecule)
            return molecule

    def settle(self, molecule: Molecule) -> None:
        """Let the solutions inside a molecule react until they are inert."""
        reactor = self._reactor
        for solution in sub_solutions(molecule):
            reactor.run(solution)
            while reactor.flights:
                flights, reactor.flights = reactor.flights, []
                for flight in flights:
                    reactor.land(flight, _wait_for(reactor, flight))


def _wait_for(reactor: Reactor, flight: Flight) -> list[Molecule]:
    """Wait for a call made deep inside a molecule, in a thread of its own: here, an event loop is running."""
    from concurrent.futures import ThreadPoolExecutor

    async def answer() -> list[Molecule]:
        return await flight.coroutine

    with ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(asyncio.run, answer()).result()
        except Exception as error:
            raise reactor.crash(flight, error) from error


__all__ = ["Settling"]
