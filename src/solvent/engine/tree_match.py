"""Whether a molecule fits a pattern, and with which bindings: read from the tree, without compiling.

Slow and simple, for reports on a rule that does not react (`explain`, `misfit`); the compiled rules of `matcher` answer
the same question fast. Only sub-solutions make a choice, so the limit counts the molecules that are tried inside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.lang.evaluate import Spread
from solvent.lang.molecule import Endless, List, Molecule, equal
from solvent.lang.rule import KINDS, Rule
from solvent.lang.solution import Solution
from solvent.lang.syntax import (
    ListPattern,
    LiteralPattern,
    Pattern,
    RestPattern,
    RulePattern,
    SolutionPattern,
    TuplePattern,
    VariablePattern,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

Bindings = dict[str, Any]


class SearchCut(Exception):
    """The tries are used up: what has been found holds, what has not been found may still be there."""


class Tries:
    """How many tries a search may still make."""

    __slots__ = ("left",)

    def __init__(self, max_tries: int) -> None:
        self.left = max_tries

    def spend(self) -> None:
        """Count one try, or end the search."""
        if self.left <= 0:
            raise SearchCut
        self.left -= 1


def fits(pattern: Pattern, molecule: Molecule, bindings: Bindings, tries: Tries) -> Iterator[Bindings]:
    """Return the ways in which a molecule fits a pattern, as bindings that extend the given ones."""
    match pattern:
        case LiteralPattern():
            if equal(pattern.value, molecule):
                yield bindings
        case VariablePattern():
            if pattern.kind is None or type(molecule) in KINDS[pattern.kind]:
                yield from _bound(pattern.name, molecule, bindings)
        case RulePattern():
            if type(molecule) is Rule and molecule.name == pattern.rule:
                yield from _bound(pattern.name, molecule, bindings)
        case TuplePattern():
            if type(molecule) is tuple and len(molecule) == len(pattern.parts):
                yield from _each(list(zip(pattern.parts, molecule, strict=True)), bindings, tries)
        case ListPattern():
            if type(molecule) is List:
                yield from _list(pattern, molecule, bindings, tries)
        case SolutionPattern():
            if type(molecule) is Solution and molecule.inert:
                elements, rests = elements_and_rests(pattern)
                # The choosy first: one without a partner then ends the search before the others are combined.
                elements.sort(key=_freedom)
                yield from _inside(elements, rests, list(molecule), bindings, tries)


def is_fitting(pattern: Pattern, molecule: Molecule, bindings: Bindings, tries: Tries) -> bool:
    """Return whether a molecule fits a pattern at all."""
    return next(fits(pattern, molecule, bindings, tries), None) is not None


def elements_and_rests(pattern: SolutionPattern) -> tuple[list[Pattern], list[RestPattern]]:
    """Split what a sub-solution pattern asks for: one molecule each, and what is left."""
    elements: list[Pattern] = [one for one in pattern.items if not isinstance(one, RestPattern)]
    return elements, [one for one in pattern.items if isinstance(one, RestPattern)]


def paired_items(pattern: ListPattern, items: List) -> list[tuple[Pattern, int]] | None:
    """Return the item, by its position, that each pattern but the rest stands for; None where their numbers differ."""
    at = rest_position(pattern)
    if at is None:
        return list(zip(pattern.items, range(len(items)), strict=True)) if len(items) == len(pattern.items) else None
    rest = pattern.items[at]
    assert isinstance(rest, RestPattern)
    after = len(pattern.items) - at - 1
    if len(items) < at + after + rest.at_least_one:
        return None
    fixed = pattern.items[:at] + pattern.items[at + 1 :]
    return list(zip(fixed, [*range(at), *range(len(items) - after, len(items))], strict=True))


def rest_position(pattern: ListPattern) -> int | None:
    """Return where the rest of a list pattern stands."""
    return next((at for at, one in enumerate(pattern.items) if isinstance(one, RestPattern)), None)


def choices(
    element: Pattern, free: list[Molecule], bindings: Bindings, tries: Tries
) -> Iterator[tuple[Bindings, list[Molecule]]]:
    """Return the ways to find a partner for a pattern in a solution, each with the molecules that are then left."""
    for at, molecule in enumerate(free):
        tries.spend()
        # Of an endless molecule there are more.
        is_endless = type(molecule) is Endless
        for bound in fits(element, plain(molecule), bindings, tries):
            yield bound, free if is_endless else free[:at] + free[at + 1 :]


def has_partner(element: Pattern, free: list[Molecule], bindings: Bindings, tries: Tries) -> bool:
    """Return whether some molecule fits a pattern, the others aside."""
    return next(choices(element, free, bindings, tries), None) is not None


def plain(molecule: Molecule) -> Molecule:
    """Return the molecule itself of one that is endless."""
    return molecule.molecule if type(molecule) is Endless else molecule


def _bound(name: str, molecule: Molecule, bindings: Bindings) -> Iterator[Bindings]:
    if name not in bindings:
        yield {**bindings, name: molecule}
    elif equal(bindings[name], molecule):
        yield bindings


def _each(pairs: list[tuple[Pattern, Molecule]], bindings: Bindings, tries: Tries) -> Iterator[Bindings]:
    if not pairs:
        yield bindings
        return
    pattern, molecule = pairs[0]
    for bound in fits(pattern, molecule, bindings, tries):
        yield from _each(pairs[1:], bound, tries)


def _list(pattern: ListPattern, items: List, bindings: Bindings, tries: Tries) -> Iterator[Bindings]:
    pairs = paired_items(pattern, items)
    if pairs is None:
        return
    at = rest_position(pattern)
    if at is not None:
        rest = pattern.items[at]
        assert isinstance(rest, RestPattern)
        middle = Spread(items[at : len(items) - (len(pattern.items) - at - 1)])
        bindings = {**bindings, rest.name: middle}
    yield from _each([(one, items[position]) for one, position in pairs], bindings, tries)


def _freedom(pattern: Pattern) -> int:
    """Rank patterns by how much they leave open."""
    match pattern:
        case LiteralPattern() | RulePattern():
            return 0
        case TuplePattern() if isinstance(pattern.parts[0], LiteralPattern):
            return 1
        case VariablePattern():
            return 3 if pattern.kind is not None else 4
        case _:
            return 2


def _inside(
    elements: list[Pattern], rests: list[RestPattern], free: list[Molecule], bindings: Bindings, tries: Tries
) -> Iterator[Bindings]:
    if not elements:
        if (free and rests) or (not free and not any(rest.at_least_one for rest in rests)):
            greedy = sorted(rests, key=lambda rest: not rest.at_least_one)
            taken = {rest.name: Spread(free if at == 0 else []) for at, rest in enumerate(greedy)}
            yield {**bindings, **taken}
        return
    for bound, left in choices(elements[0], free, bindings, tries):
        yield from _inside(elements[1:], rests, left, bound, tries)
