"""What a run works through: fresh molecules in batches, and solutions inside solutions."""

from __future__ import annotations

from itertools import chain
from operator import countOf
from typing import TYPE_CHECKING

from solvent.engine.index import Store
from solvent.errors import LimitReached
from solvent.lang.molecule import ATOMS, Endless, Molecule, sub_solutions
from solvent.lang.rule import Rule

if TYPE_CHECKING:
    from solvent.lang.solution import Solution

MAX_LEVELS = 200
_FIRST = frozenset({Rule, Endless})


def rules_apart(molecules: list[Molecule]) -> tuple[list[Molecule], list[Molecule], frozenset[type]]:
    """Split rules, and endless molecules, from the others; give the types of the others too.

    They mostly stand at one end, and a large solution should not be gone through for them, nor copied: the list is
    given away by the caller.
    """
    size = len(molecules)
    start, end = 0, size
    while start < size and type(molecules[start]) in _FIRST:
        start += 1
    while end > start and type(molecules[end - 1]) in _FIRST:
        end -= 1
    rules, others = molecules[:start] + molecules[end:], molecules
    del others[end:], others[:start]
    if not others:
        return rules, others, frozenset()
    kind = type(others[0])
    if countOf(map(type, others), kind) == len(others):
        return rules, others, frozenset({kind})
    kinds = frozenset(map(type, others))
    if kinds & _FIRST:
        rules += [one for one in others if type(one) in _FIRST]
        others = [one for one in others if type(one) not in _FIRST]
    return rules, others, kinds - _FIRST


def are_flat(molecules: list[Molecule]) -> bool:
    """Return whether none of these molecules can hold a solution; looks at all parts at once."""
    kinds = set(map(type, molecules))
    if kinds == {tuple}:
        return ATOMS.issuperset(map(type, chain.from_iterable(molecules)))
    return kinds <= ATOMS


def note_height(solution: Solution, inner: Solution) -> None:
    """Note that a solution holds another; too many levels are a limit, since Python's own comes soon after."""
    height = inner.height + 1
    if height > solution.height:
        solution.height = height
        if height > MAX_LEVELS:
            raise LimitReached("H503", f"solutions are nested more than {MAX_LEVELS} levels deep")


def reopen(solution: Solution) -> None:
    """Make fresh again what holds a solution that is not inert.

    A run that was broken off leaves such molecules waiting; and whoever holds a solution in Python may have put
    something into it since it was inert.
    """
    waiting, solution.waiting = solution.waiting, {}
    for molecule in waiting.values():
        for sub in sub_solutions(molecule):
            reopen(sub)
    solution.fresh += waiting.values()
    store = solution.settled
    if type(store) is Store:
        for cell in list(store.cells()):
            if type(cell.molecule) not in ATOMS and not _is_at_rest(cell.molecule):
                store.delete(cell)
                solution.fresh.append(Endless(cell.molecule) if cell.endless else cell.molecule)
    if solution.fresh:
        solution.inert = False


def _is_at_rest(molecule: Molecule) -> bool:
    subs = sub_solutions(molecule)
    for sub in subs:
        reopen(sub)
    return all(sub.inert for sub in subs)


def go_out(solution: Solution) -> Solution:
    """Return the solution that an inert solution is part of; the molecule that held it there goes on if it can."""
    assert solution.host is not None
    host, molecule = solution.host
    solution.host = None
    if id(molecule) in host.waiting and all(sub.inert for sub in sub_solutions(molecule)):
        del host.waiting[id(molecule)]
        host.add(molecule)
    return host


def dissolve(solution: Solution) -> None:
    """Forget what the engine keeps for a solution that nobody needs any more: rules and stores know each other."""
    store = solution.settled
    if type(store) is Store and store.rules:
        store.rules.clear()
        store.forget()
    solution.settled = None
    solution.host = None
