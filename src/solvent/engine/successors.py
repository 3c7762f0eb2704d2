"""The reactions enabled in a state, and the state after each.

A state is a whole solution. Where no solution stands inside it, which is most of the time, one look finds all matches,
and a state after is what a match leaves and what its reaction makes: molecules that stay are shared, not copied. Where
there are solutions inside, each reaction happens in a copy of its own, since it changes them in place.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.chemistry.molecule import ATOMS, Molecule, copied, has_solution, order_key
from solvent.chemistry.rule import Rule
from solvent.chemistry.solution import Solution
from solvent.engine.choice import Stepper, all_entries
from solvent.engine.compile import Entry, code_of
from solvent.engine.failure import reaction_failed
from solvent.engine.index import Cell, Store, in_order
from solvent.engine.support import store_of
from solvent.errors import Misuse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.engine.trace import Recorder


class Step(NamedTuple):
    """A reaction by its place: which open solution, which rule in it, which of the rule's matches."""

    place: int
    at: int
    number: int
    rule: Rule


class Numbers:
    """Numbers for molecules: equal ones, and only they, have the same; so states are compared by numbers."""

    def __init__(self) -> None:
        self._by_key: dict[Any, int] = {}
        # Molecules that never change, by identity; they are kept, so that no other takes an identity over.
        self._by_id: dict[int, int] = {}
        self._first: list[Molecule | None] = []

    def number(self, molecule: Molecule) -> int:
        """Give the number of a molecule."""
        found = self._by_id.get(id(molecule))
        if found is None:
            found = self._by_key.setdefault(order_key(molecule), len(self._first))
            if found == len(self._first):
                is_fixed = not _holds_solution(molecule)
                self._first.append(molecule if is_fixed else None)
                if is_fixed:
                    self._by_id[id(molecule)] = found
        return found

    def state(self, solution: Solution) -> tuple[int, ...]:
        """Give what tells a state from all others."""
        return tuple(sorted(map(self.number, solution)))

    def shared(self, solution: Solution) -> Solution:
        """Give an independent copy; of molecules that never change and are equal, all copies hold the same one."""
        firsts = [(self._first[self.number(molecule)], molecule) for molecule in solution]
        return Solution(copied(molecule) if first is None else first for first, molecule in firsts)


class Opened:
    """A state in which to look for reactions: settled, and closed where nothing can happen, innermost first."""

    def __init__(self, state: Solution, numbers: Numbers | None = None) -> None:
        self.state = state
        self._numbers = numbers if numbers is not None else Numbers()
        self._stepper = _opened(state.copied())

    def fits(self, rule: Rule) -> bool:
        """Say whether a rule that is not in the state could react there."""
        solution = self._stepper.solution
        entry = Entry(Cell(rule), rule, code_of(rule.node), None)
        try:
            return any(True for _ in entry.matches(store_of(solution), in_order, solution))
        except Exception as error:
            raise reaction_failed(error, entry, (), None, []) from error

    def successors(self) -> Iterator[tuple[Step, Solution]]:
        """Give every reaction enabled here, with the state after it; equal reactions once."""
        is_flat = self._is_flat()
        for step, entry, match in self._enabled(is_flat=is_flat):
            if is_flat and _is_plain(entry, match):
                yield step, self._after(entry, match)
            else:
                solution = self.state.copied()
                take(solution, step, None)
                yield step, solution

    def _is_flat(self) -> bool:
        solution = self._stepper.solution
        return not store_of(solution).has_endless and not any(map(_holds_solution, solution))

    def _enabled(self, *, is_flat: bool) -> list[tuple[Step, Entry, Any]]:
        found = []
        for place, solution in enumerate(self._stepper.open):
            store = store_of(solution)
            for at, entry in enumerate(all_entries(store)):
                if entry.code.is_late and solution.waiting:
                    continue
                seen: set[Any] = set()
                for number, match in enumerate(entry.matches(store, in_order, solution)):
                    signature = self._signature(entry, match, is_flat=is_flat)
                    if signature not in seen:
                        seen.add(signature)
                        found.append((Step(place, at, number, entry.rule), entry, match))
        return found

    def _signature(self, entry: Entry, match: Any, *, is_flat: bool) -> Any:
        """Tell matches apart by what they take: equal molecules make equal successors."""
        if is_flat and not entry.code.is_late:
            # What else a match holds follows from its molecules.
            number = self._numbers.number
            return tuple([number(cell.molecule) for cell in match[: len(entry.code.elements)]])
        return tuple(map(_value_key, match))

    def _after(self, entry: Entry, match: Any) -> Solution:
        """Give the state after a reaction, and leave this one as it was."""
        solution = self._stepper.solution
        store = store_of(solution)
        try:
            products = entry.react(match, entry.rule, solution, store, entry.cell)
        except Exception as error:
            raise reaction_failed(error, entry, match, None) from error
        gone = entry.cell if entry.one_shot else None
        after = Solution([cell.molecule for cell in store.cells() if cell is not gone])
        after.extend(products)
        for cell in _taken(entry, match):
            cell.alive = True
            store.deaths -= 1
        return after


def successors(state: Solution) -> Iterator[tuple[Step, Solution]]:
    """Give every reaction enabled in a state, with the state after it."""
    return Opened(state).successors()


def _holds_solution(molecule: Molecule) -> bool:
    kind = type(molecule)
    if kind in ATOMS:
        return False
    return any(map(has_solution, molecule.captured)) if kind is Rule else has_solution(molecule)


def _is_plain(entry: Entry, match: Any) -> bool:
    """Say whether a reaction only takes molecules and makes others, so that it can be taken back."""
    if entry.is_async or entry.code.is_late:
        return False
    return not entry.code.takes_rules or not any(type(cell.molecule) is Rule for cell in _taken(entry, match))


def _taken(entry: Entry, match: Any) -> list[Cell]:
    return [cell for element, cell in zip(entry.code.elements, match, strict=False) if not element.kept]


def _value_key(value: Any) -> Any:
    if isinstance(value, Cell):
        return order_key(value.molecule)
    return None if value is None or type(value) is Store or getattr(value, "is_solution", False) else order_key(value)


def _opened(solution: Solution) -> Stepper:
    """Settle a solution and close everything in it that has nothing to do, innermost first."""
    stepper = Stepper(solution)
    idle = True
    while idle:
        idle = False
        for at, one in enumerate(stepper.open):
            if one is not solution and not _has_reaction(one):
                del stepper.open[at]
                stepper._close(one)  # noqa: SLF001 - this is the stepper's other half
                idle = True
                break
    return stepper


def _has_reaction(solution: Solution) -> bool:
    store = store_of(solution)
    for entry in all_entries(store):
        if entry.code.is_late and solution.waiting:
            continue
        for _ in entry.matches(store, in_order, solution):
            return True
    return False


def take(solution: Solution, step: Step, recorder: Recorder | None) -> None:
    """Make the reaction at a place happen."""
    stepper = _opened(solution)
    stepper.observe = recorder
    inner = stepper.open[step.place]
    store = store_of(inner)
    entry = all_entries(store)[step.at]
    matches = entry.matches(store, in_order, inner)
    match = next(islice(matches, step.number, None))
    inner.inert = False
    stepper._react(entry, match, None, inner, store)  # noqa: SLF001 - as above
    if stepper.flights:
        for flight in stepper.flights:
            flight.coroutine.close()
        message = f"`{entry.code.title}` calls an asynchronous function, and what it answers cannot be explored"
        raise Misuse("H313", message, hint="explore with a function that answers at once")


__all__ = ["Numbers", "Opened", "Step", "successors", "take"]
