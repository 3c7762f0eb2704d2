"""One reaction at a time, chosen by a source of chance.

At each step a solution that may still react is drawn, then its rules are tried in random order, and each search goes
through its molecules in random order: the first match reacts. So every enabled reaction has a chance at every step, and
one that stays enabled happens sooner or later. Without a source of chance the first match in order is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from solvent.chemistry.molecule import ATOMS, Molecule, sub_solutions
from solvent.chemistry.rule import Rule
from solvent.engine.batches import LEVELS_MAX, go_out, note_height, reopen
from solvent.engine.compile import Entry, entries_of
from solvent.engine.failure import reaction_failed
from solvent.engine.reactor import Reactor
from solvent.engine.support import store_of
from solvent.errors import LimitReached, SolventError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.chemistry.solution import Solution
    from solvent.engine.index import Cell, Row, Store


class Chance(Protocol):
    """A source of chance: `random.Random`, for one."""

    def randrange(self, stop: int, /) -> int:
        """Give an integer from 0 up to, not including, `stop`."""


class Stepper(Reactor):
    """Runs a solution reaction by reaction."""

    def __init__(self, solution: Solution, *, chance: Chance | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.solution = solution
        self.chance = chance
        # Solutions that may have a reaction enabled.
        self.open: list[Solution] = []
        if chance is not None:
            self.scan = self._shuffled
        reopen(solution)
        self.settle(solution, 1)

    def settle(self, solution: Solution, level: int) -> None:
        """Settle what is fresh in a solution and in those inside it, without trying anything."""
        if level > LEVELS_MAX:
            raise LimitReached("H503", f"solutions are nested more than {LEVELS_MAX} levels deep")
        if solution.inert:
            return
        store = store_of(solution)
        store.untried = True
        fresh, solution.fresh = solution.fresh, []
        for queue in store.queues.values():
            fresh += queue
            queue.clear()
        left = iter(fresh)
        for molecule in left:
            try:
                is_ready = type(molecule) in ATOMS or self._settle_inside(solution, molecule, level)
            except BaseException:
                solution.fresh = [molecule, *left, *solution.fresh]
                raise
            if is_ready:
                put(store, molecule)
            else:
                solution.waiting[id(molecule)] = molecule
        if solution not in _Identity(self.open):
            self.open.append(solution)

    def _settle_inside(self, solution: Solution, molecule: Molecule, level: int) -> bool:
        ready = True
        for sub in sub_solutions(molecule):
            if not sub.inert:
                sub.host = (solution, molecule)
                self.settle(sub, level + 1)
                ready = ready and sub.inert
            note_height(solution, sub)
        return ready

    def step(self) -> bool:
        """Make one reaction happen; say whether there was one."""
        while self.open:
            at = self.chance.randrange(len(self.open)) if self.chance is not None else len(self.open) - 1
            solution = self.open[at]
            if self._step_in(solution):
                self.settle(solution, _level(solution))
                return True
            del self.open[at]
            self._close(solution)
        return False

    def _close(self, solution: Solution) -> None:
        """Note that a solution has no reaction enabled; if it is inert, its host can go on."""
        solution.inert = not solution.waiting and not solution.flight
        if solution.inert and solution.host is not None:
            host = go_out(solution)
            self.settle(host, _level(host))

    def _step_in(self, solution: Solution) -> bool:
        store = store_of(solution)
        for entry in self._in_order(all_entries(store)):
            if entry.code.is_late and solution.waiting:
                continue
            match = self._first(entry, store, solution)
            if match is not None:
                solution.inert = False
                self._react(entry, match, None, solution, store)
                return True
        return False

    def _first(self, entry: Entry, store: Store, solution: Solution) -> Any:
        """Give the first match of a rule; a function that raises in its condition fails the run, not Python."""
        try:
            return next(entry.matches(store, self.scan, solution), None)
        except SolventError:
            raise
        except Exception as error:
            raise reaction_failed(error, entry, (), None, []) from error

    def run(self, solution: Solution) -> None:
        """React until the solution is inert, or only calls in flight are left to wait for."""
        self.settle(solution, 1)
        while self.step():
            pass

    def go_on(self, solution: Solution) -> None:
        """React in a solution into which something new has come, and everywhere else."""
        self.run(solution)

    def _in_order(self, entries: list[Entry]) -> list[Entry]:
        if self.chance is None:
            return entries
        left = list(entries)
        return [left.pop(self.chance.randrange(len(left))) for _ in range(len(left))]

    def _shuffled(self, row: Row) -> Iterator[Cell]:
        """Go through a row in random order, drawing as far as the search goes."""
        assert self.chance is not None
        cells = [cell for cell in row if cell.alive]
        randrange = self.chance.randrange
        for size in range(len(cells), 0, -1):
            at = randrange(size)
            yield cells[at]
            cells[at] = cells[size - 1]


def _level(solution: Solution) -> int:
    """Say how deep inside others a solution is."""
    level = 1
    while solution.host is not None:
        solution = solution.host[0]
        level += 1
    return level


def put(store: Store, molecule: Molecule) -> None:
    """Settle a molecule; a rule is registered."""
    cell = store.add(molecule)
    if type(cell.molecule) is Rule:
        store.register(cell, entries_of(cell, cell.molecule))


def all_entries(store: Store) -> list[Entry]:
    """Give one entry, without a molecule in hand, for each rule."""
    return [Entry(cell, cell.molecule, entries[0].code, None) for cell, entries in store.rules.items()]


class _Identity:
    """Membership by identity: solutions that are equal are not the same."""

    def __init__(self, things: list[Any]) -> None:
        self._things = things

    def __contains__(self, thing: object) -> bool:
        return any(thing is one for one in self._things)
