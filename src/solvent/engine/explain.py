"""Why a rule does not react: how far its patterns get in an inert solution, and what stops it.

Searches as the rule would, but one pattern after the other in the order they are written and without compiling, and
remembers the furthest it came. For the pattern that stops it there, and for those that nothing fits at all, `misfit`
says what inside the nearest molecules does not fit. The search is bounded; a report says so when the bound was met.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from solvent.engine.misfit import MAX_WAYS, Misfit, Way, alike, nearest_misfits
from solvent.engine.tree_match import Bindings, SearchCut, Tries, fits, is_fitting, plain
from solvent.lang.evaluate import Spread, evaluate
from solvent.lang.molecule import Endless, Molecule, sub_solutions
from solvent.lang.operators import Incomputable, truth
from solvent.lang.printer import TreePrinter, print_molecule, print_pattern, print_rule
from solvent.lang.rule import Rule
from solvent.lang.syntax import Pattern, RestPattern, conjuncts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.lang.solution import Solution

MAX_TRIES = 200_000
MAX_INNER_TRIES = 1_000_000
MAX_MISFIT_TRIES = 100_000
_CANDIDATES_SHOWN = 3


@dataclass(slots=True)
class PatternReport:
    """How one pattern of a rule fared.

    `fit` molecules fit it alone; `fits_together` says whether one is left beside the patterns before it. `nearest` are
    molecules that come near, and `misfits` say what inside them does not fit.

    >>> from solvent import hocl
    >>> tasks = hocl.parse("<T1 : <SRC : <T0>>, (start = replace T1 : <SRC : <>, ?w> by T1 : <w>)>").solution()
    >>> _ = hocl.react(tasks)
    >>> start = next(one for one in tasks if isinstance(one, hocl.Rule))
    >>> misfit = hocl.why_not(tasks, start).patterns[0].misfits[0]
    >>> misfit.found, misfit.reason
    ('<T0>', 'it is not empty')
    """

    pattern: str
    fit: int
    fits_together: bool
    nearest: list[str] = field(default_factory=list)
    misfits: list[Misfit] = field(default_factory=list)


@dataclass(slots=True)
class ConditionReport:
    """A part of a rule's condition: how often it was false, and for which bindings first.

    >>> from solvent import hocl
    >>> report = hocl.why_not(hocl.Solution([1]), hocl.rule("replace x by x + 1 if x > 2"))
    >>> report.conditions[0].condition, report.conditions[0].failures, report.conditions[0].example
    ('x > 2', 1, 'x = 1')
    """

    condition: str
    failures: int = 0
    example: str = ""


@dataclass(slots=True)
class Report:
    """What stops a rule: what `why_not` returns.

    `patterns` and `conditions` say how each part fared, `combinations` how often all patterns fitted together, and
    `is_complete` whether the search came to its end.

    >>> from solvent import hocl
    >>> hocl.why_not(hocl.Solution(["a"]), hocl.rule("replace x::int by x + 1")).verdict
    'no molecule fits pattern 1, `x::int`'
    """

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
        return self._reason() if self.is_complete else f"as far as the search went, {self._reason()}"

    def _reason(self) -> str:
        for at, pattern in enumerate(self.patterns):
            if not pattern.fit:
                return f"no molecule fits pattern {at + 1}, `{pattern.pattern}`"
            if not pattern.fits_together:
                return f"no molecule is left for pattern {at + 1}, `{pattern.pattern}`, beside the patterns before it"
        failing = [one for one in self.conditions if one.failures]
        if failing:
            times = f"{self.combinations} time{'' if self.combinations == 1 else 's'}"
            worst = max(failing, key=lambda one: one.failures)
            return (
                f"the patterns fit {times}, but `{worst.condition}` is false each time"
                if len(failing) == 1
                else f"the patterns fit {times}, but the condition is false each time"
            )
        return "nothing stops it"


def rules_named(solution: Solution, name: str) -> Iterator[tuple[Solution, Rule]]:
    """Return every rule of a name in a solution and the solutions inside it, with where it is."""
    for molecule in solution:
        if type(molecule) is Rule and molecule.name == name:
            yield solution, molecule
        for sub in sub_solutions(molecule):
            yield from rules_named(sub, name)


def why_not(solution: Solution, rule: Rule) -> Report:
    """Return how far a rule gets in a solution, and what stops it.

    `solution` is where the rule would react; the rule need not be in it.

    Raises nothing; a search that takes too long is cut short, and the report says so.

    >>> from solvent import hocl
    >>> report = hocl.why_not(hocl.Solution([9]), hocl.rule("replace x, y by x if x >= y"))
    >>> report.verdict
    'no molecule is left for pattern 2, `y`, beside the patterns before it'
    """
    return _Search(solution, rule).report()


class _Search:
    """A search for the reactants of one rule that remembers how far it came."""

    def __init__(self, solution: Solution, rule: Rule) -> None:
        self.rule = rule
        self.solution = solution
        self.molecules = _without(rule, solution)
        self.patterns = [one for one in rule.node.patterns if not isinstance(one, RestPattern)]
        rests = [one for one in rule.node.patterns if isinstance(one, RestPattern)]
        # The first rest takes everything, so one that must not be empty comes first.
        self.rests = sorted(rests, key=lambda rest: not rest.at_least_one)
        self.parts = list(conjuncts(rule.node.condition))
        self.conditions = [ConditionReport(TreePrinter(rule).expression(one, 1)) for one in self.parts]
        self.outer: Bindings = {}
        for (name, meaning), value in zip(rule.node.captures.items(), rule.captured, strict=True):
            self.outer[name] = Spread(value) if meaning == "rest" else value
        self.reached = 0
        # Some of the ways that lead to the furthest pattern, with what they leave for it.
        self.ways: list[Way] = []
        self.tries = Tries(MAX_TRIES)
        self.inner_tries = Tries(MAX_INNER_TRIES)
        self.is_complete = True
        self.combinations = 0
        # A pattern that nothing fits is where every search ends.
        self.end: int | None = None
        self.is_decided = False
        self.can_react = False

    def report(self) -> Report:
        """Search, and say what was found."""
        counts = [self._count(pattern) for pattern in self.patterns]
        if self.is_complete and 0 in counts:
            self.end = counts.index(0)
        try:
            self._search(0, frozenset(), dict(self.outer))
        except SearchCut:
            self.is_complete = False
        patterns = [self._pattern_report(at, count) for at, count in enumerate(counts)]
        for rest in self.rests:
            if rest.at_least_one:
                is_met = self.reached > len(self.patterns)
                patterns.append(PatternReport(print_pattern(rest), len(self.molecules), is_met))
        return Report(
            self.rule.name or "anonymous",
            print_rule(self.rule),
            print_molecule(self.solution),
            patterns,
            self.conditions,
            combinations=self.combinations,
            is_complete=self.is_complete,
            can_react=self.can_react,
        )

    def _count(self, pattern: Pattern) -> int:
        """Count the molecules that fit a pattern alone."""
        count = 0
        try:
            for molecule in self.molecules:
                count += is_fitting(pattern, plain(molecule), {}, self.inner_tries)
        except SearchCut:
            self.is_complete = False
        return count

    def _pattern_report(self, at: int, count: int) -> PatternReport:
        """Return how one pattern fared; if it is one that stops the rule, with what stops the nearest molecules."""
        pattern = self.patterns[at]
        report = PatternReport(print_pattern(pattern), count, at < self.reached)
        ways: list[Way] = []
        if not count:
            ways = [({}, self.molecules)]
        elif at == self.reached:
            ways = self.ways
        report.misfits = nearest_misfits(pattern, ways, Tries(MAX_MISFIT_TRIES), max_shown=_CANDIDATES_SHOWN)
        report.nearest = [one.molecule for one in report.misfits]
        if not report.nearest and not count:
            # The tries were used up by the first molecule: then it is named without a reason.
            report.nearest = [print_molecule(one) for one in alike(pattern, self.molecules)[:_CANDIDATES_SHOWN]]
        return report

    def _search(self, at: int, taken: frozenset[int], bindings: Bindings) -> None:
        """Find a molecule for this pattern and those after it, in every way."""
        if at > self.reached:
            self.reached, self.ways = at, []
        if at == self.end:
            self.is_decided = True
            return
        if at == len(self.patterns):
            self._combine(taken, bindings)
            return
        if at == self.reached and len(self.ways) < MAX_WAYS:
            self.ways.append((bindings, self._free(taken)))
        for index, molecule in enumerate(self.molecules):
            if index not in taken:
                self.tries.spend()
                # Of an endless molecule there are more.
                onward = taken if type(molecule) is Endless else taken | {index}
                for bound in fits(self.patterns[at], plain(molecule), bindings, self.inner_tries):
                    self._search(at + 1, onward, bound)
                    if self.is_decided:
                        return

    def _free(self, taken: frozenset[int]) -> list[Molecule]:
        return [one for index, one in enumerate(self.molecules) if index not in taken]

    def _combine(self, taken: frozenset[int], bindings: Bindings) -> None:
        """Bind the rests to what is left, and look at the condition."""
        if self.rests:
            left = self._free(taken)
            if self.rests[0].at_least_one and not left:
                return
            bindings = {**bindings, **{rest.name: Spread([]) for rest in self.rests}}
            bindings[self.rests[0].name] = Spread(left)
        self.reached = len(self.patterns) + 1
        self.combinations += 1
        self._check(bindings)

    def _check(self, bindings: Bindings) -> None:
        """Note the first part of the condition that is false; if there is none, the rule can react."""
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
        self.can_react = self.is_decided = True


def _without(rule: Rule, solution: Solution) -> list[Molecule]:
    """Return the molecules that a rule may take: of several equal rules one is itself, and never its own reactant."""
    molecules = list(solution)
    own = next((at for at, one in enumerate(molecules) if one is rule), None)
    return molecules if own is None else molecules[:own] + molecules[own + 1 :]


def _show(value: Any) -> str:
    return ", ".join(map(print_molecule, value)) if type(value) is Spread else print_molecule(value)
