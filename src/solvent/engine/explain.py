"""Why a rule does not react: how far its patterns get in an inert solution, and what stops it.

Searches as the rule would, but one pattern after the other in the order they are written and without compiling, and
remembers the furthest it came. The search is bounded; a report says so when the bound was met.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from solvent.chemistry.evaluate import Spread, evaluate
from solvent.chemistry.kinds import KINDS
from solvent.chemistry.molecule import Endless, List, Molecule, equal, sub_solutions
from solvent.chemistry.operators import Incomputable, truth
from solvent.chemistry.printer import TreePrinter, print_molecule, print_pattern, print_rule
from solvent.chemistry.rule import Rule
from solvent.chemistry.solution import Solution
from solvent.chemistry.syntax import (
    ListPattern,
    LiteralPattern,
    Pattern,
    RestPattern,
    RulePattern,
    SolutionPattern,
    TuplePattern,
    VariablePattern,
)
from solvent.engine.expressions import conjuncts

if TYPE_CHECKING:
    from collections.abc import Iterator

TRIES_MAX = 200_000
_CANDIDATES_SHOWN = 3
Bindings = dict[str, Any]


@dataclass(slots=True)
class PatternReport:
    """How one pattern fared: how many molecules fit it alone, and whether it fits together with those before it."""

    pattern: str
    fit: int
    fits_together: bool
    nearest: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ConditionReport:
    """A part of the condition: how often it was false, and for which bindings first."""

    condition: str
    failures: int = 0
    example: str = ""


@dataclass(slots=True)
class Report:
    """What stops a rule."""

    rule: str
    text: str
    solution: str
    patterns: list[PatternReport]
    conditions: list[ConditionReport]
    combinations: int = 0
    is_complete: bool = True
    can_react: bool = False

    @property
    def verdict(self) -> str:
        """The reason in one sentence."""
        if self.can_react:
            return "the rule can react"
        for at, pattern in enumerate(self.patterns):
            if not pattern.fit:
                return f"no molecule fits pattern {at + 1}, `{pattern.pattern}`"
            if not pattern.fits_together:
                return f"no molecule is left for pattern {at + 1}, `{pattern.pattern}`, beside the patterns before it"
        failing = [one for one in self.conditions if one.failures]
        if failing:
            worst = max(failing, key=lambda one: one.failures)
            return (
                f"the patterns fit {self.combinations} times, but `{worst.condition}` is false each time"
                if len(failing) == 1
                else f"the patterns fit {self.combinations} times, but the condition is false each time"
            )
        return "nothing stops it"


def rules_named(solution: Solution, name: str) -> Iterator[tuple[Solution, Rule]]:
    """Give every rule of a name in a solution and the solutions inside it, with where it is."""
    for molecule in solution:
        if type(molecule) is Rule and molecule.name == name:
            yield solution, molecule
        for sub in sub_solutions(molecule):
            yield from rules_named(sub, name)


def why_not(solution: Solution, rule: Rule) -> Report:
    """Say how far a rule gets in its solution."""
    return _Search(solution, rule).report()


class _Search:
    def __init__(self, solution: Solution, rule: Rule) -> None:
        self.rule = rule
        self.solution = solution
        own = [False]
        self.molecules: list[Molecule] = []
        for molecule in solution:
            # A rule is never its own reactant; of several equal rules one is itself.
            if molecule is rule and not own[0]:
                own[0] = True
            else:
                self.molecules.append(molecule.molecule if type(molecule) is Endless else molecule)
        self.patterns = [one for one in rule.node.patterns if not isinstance(one, RestPattern)]
        self.parts = list(conjuncts(rule.node.condition))
        self.conditions = [ConditionReport(TreePrinter(rule).expression(one, 1)) for one in self.parts]
        self.outer: Bindings = {}
        for (name, meaning), value in zip(rule.node.captures.items(), rule.captured, strict=True):
            self.outer[name] = Spread(value) if meaning == "rest" else value
        self.reached = 0
        self.tries = 0
        self.combinations = 0
        self.can_react = False

    def report(self) -> Report:
        patterns = []
        for pattern in self.patterns:
            fitting = [one for one in self.molecules if next(fits(pattern, one, {}), None) is not None]
            nearest = [] if fitting else self._nearest(pattern)
            patterns.append(PatternReport(print_pattern(pattern), len(fitting), False, nearest))
        self._search(0, list(range(len(self.molecules))), dict(self.outer))
        for at, one in enumerate(patterns):
            one.fits_together = at < self.reached
        return Report(
            self.rule.name or "anonymous",
            print_rule(self.rule),
            print_molecule(self.solution),
            patterns,
            self.conditions,
            combinations=self.combinations,
            is_complete=self.tries < TRIES_MAX,
            can_react=self.can_react,
        )

    def _search(self, at: int, free: list[int], bindings: Bindings) -> None:
        self.reached = max(self.reached, at)
        if at == len(self.patterns):
            self.combinations += 1
            self._check(bindings)
            return
        for index in free:
            self.tries += 1
            if self.tries >= TRIES_MAX or self.can_react:
                return
            for bound in fits(self.patterns[at], self.molecules[index], bindings):
                self._search(at + 1, [one for one in free if one != index], bound)

    def _check(self, bindings: Bindings) -> None:
        for part, report in zip(self.parts, self.conditions, strict=True):
            try:
                holds = truth(evaluate(part, bindings, self.rule.node.functions))
                why = ""
            except (Incomputable, ArithmeticError) as error:
                holds, why = False, f" ({error})"
            if not holds:
                report.failures += 1
                if not report.example:
                    shown = {name: value for name, value in bindings.items() if name not in self.outer}
                    report.example = ", ".join(f"{name} = {_show(value)}" for name, value in shown.items()) + why
                return
        self.can_react = True

    def _nearest(self, pattern: Pattern) -> list[str]:
        """Give molecules of the right shape that do not fit all the same."""
        return [print_molecule(one) for one in self.molecules if _same_shape(pattern, one)][:_CANDIDATES_SHOWN]


def _show(value: Any) -> str:
    return ", ".join(map(print_molecule, value)) if type(value) is Spread else print_molecule(value)


def _same_shape(pattern: Pattern, molecule: Molecule) -> bool:
    if isinstance(pattern, TuplePattern):
        if type(molecule) is not tuple or len(molecule) != len(pattern.parts):
            return False
        first = pattern.parts[0]
        return not isinstance(first, LiteralPattern) or equal(first.value, molecule[0])
    if isinstance(pattern, SolutionPattern):
        return type(molecule) is Solution
    return isinstance(pattern, ListPattern) and type(molecule) is List


def fits(pattern: Pattern, molecule: Molecule, bindings: Bindings) -> Iterator[Bindings]:
    """Give the ways in which a molecule fits a pattern, as bindings that extend the given ones."""
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
                yield from _each(pattern.parts, molecule, bindings)
        case ListPattern():
            if type(molecule) is List:
                yield from _list(pattern, molecule, bindings)
        case SolutionPattern():
            if type(molecule) is Solution and molecule.inert:
                elements: list[Pattern] = [one for one in pattern.items if not isinstance(one, RestPattern)]
                rests = [one for one in pattern.items if isinstance(one, RestPattern)]
                yield from _inside(elements, rests, list(molecule), bindings)


def _bound(name: str, molecule: Molecule, bindings: Bindings) -> Iterator[Bindings]:
    if name not in bindings:
        yield {**bindings, name: molecule}
    elif equal(bindings[name], molecule):
        yield bindings


def _each(patterns: list[Pattern], parts: tuple[Molecule, ...], bindings: Bindings) -> Iterator[Bindings]:
    if not patterns:
        yield bindings
        return
    for bound in fits(patterns[0], parts[0], bindings):
        yield from _each(patterns[1:], parts[1:], bound)


def _list(pattern: ListPattern, items: List, bindings: Bindings) -> Iterator[Bindings]:
    at = next((at for at, one in enumerate(pattern.items) if isinstance(one, RestPattern)), None)
    if at is None:
        if len(items) == len(pattern.items):
            yield from _each(pattern.items, items, bindings)
        return
    rest = pattern.items[at]
    assert isinstance(rest, RestPattern)
    after = len(pattern.items) - at - 1
    if len(items) >= at + after + rest.at_least_one:
        middle = Spread(items[at : len(items) - after])
        fixed = pattern.items[:at] + pattern.items[at + 1 :]
        ends = (*items[:at], *items[len(items) - after :])
        yield from _each(fixed, ends, {**bindings, rest.name: middle})


def _inside(
    elements: list[Pattern], rests: list[RestPattern], free: list[Molecule], bindings: Bindings
) -> Iterator[Bindings]:
    if not elements:
        if (free and rests) or (not free and not any(rest.at_least_one for rest in rests)):
            greedy = sorted(rests, key=lambda rest: not rest.at_least_one)
            taken = {rest.name: Spread(free if at == 0 else []) for at, rest in enumerate(greedy)}
            yield {**bindings, **taken}
        return
    for at, molecule in enumerate(free):
        for bound in fits(elements[0], molecule, bindings):
            yield from _inside(elements[1:], rests, free[:at] + free[at + 1 :], bound)
