"""Why a molecule does not fit a pattern: the innermost part that stops it, and the way there.

Goes inwards along the pattern. In a tuple or a list the first part that does not fit is to blame; in a sub-solution the
first pattern without a partner, and from there the molecule that comes nearest to being one. Nearest is what the larger
share of a pattern fits. Parts that fit in several ways are followed along some of them only, so the blame is one true
reason of perhaps many. The search is bounded by its tries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from solvent.engine.tree_match import (
    Bindings,
    SearchCut,
    Tries,
    choices,
    elements_and_rests,
    fits,
    has_partner,
    is_fitting,
    paired_items,
    plain,
    rest_position,
)
from solvent.lang.molecule import List, Molecule, equal
from solvent.lang.printer import print_molecule, print_pattern
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
    from collections.abc import Callable, Iterable

MAX_WAYS = 20
MAX_CANDIDATES = 200
INSIDE = "inside"
_NAMES = {types[0]: word for word, types in reversed(KINDS.items()) if len(types) == 1}
Way: TypeAlias = tuple[Bindings, list[Molecule]]
"""Bindings made so far, and the molecules that are still free."""


@dataclass(frozen=True, slots=True)
class Step:
    """One level inwards: `part 2`, `item 1` or `inside`; the pattern there, and what it met or None."""

    place: str
    pattern: str
    found: str | None


@dataclass(frozen=True, slots=True)
class Misfit:
    """A molecule that comes near to a pattern: the way to the innermost pattern that fails, what it met, and why."""

    molecule: str
    path: list[Step]
    pattern: str
    found: str | None
    reason: str

    def sentence(self, shorten: Callable[[str], str] = str) -> str:
        """Return it in words; the molecules on the way are shortened."""
        said, places, whole = [], list[str](), ""
        for step in self.path:
            if step.place == INSIDE:
                said.append(f"{_where(places, whole)}`{step.pattern}` finds no partner")
                places, whole = [], shorten(step.found or "")
            else:
                places.append(step.place)
        if not self.path:
            return self.reason
        if self.found is None:
            return f"{'; '.join(said)}: {self.reason}"
        where = _where(places, whole) if places else ""
        return "; ".join([*said, f"{where}`{shorten(self.found)}` does not fit `{self.pattern}`: {self.reason}"])


def _where(places: list[str], whole: str) -> str:
    words = [*reversed(places), *([f"`{whole}`"] if whole else [])]
    return f"in {' of '.join(words)}, " if words else ""


def nearest_misfits(pattern: Pattern, ways: Iterable[Way], tries: Tries, *, max_shown: int) -> list[Misfit]:
    """Return what stops the molecules that come nearest to a pattern, each along the way where it comes nearest."""
    best: dict[int, tuple[Molecule, _Fault]] = {}
    try:
        for bindings, free in ways:
            for molecule in alike(pattern, free):
                if not is_fitting(pattern, molecule, bindings, tries):
                    fault = _fault(pattern, molecule, bindings, tries)
                    if id(molecule) not in best or best[id(molecule)][1].share < fault.share:
                        best[id(molecule)] = molecule, fault
    except SearchCut:
        # What has been found so far is true all the same.
        pass
    shown: dict[str, Misfit] = {}
    for molecule, fault in sorted(best.values(), key=lambda one: -one[1].share)[:MAX_CANDIDATES]:
        if len(shown) == max_shown:
            break
        text = print_molecule(molecule)
        if text not in shown:
            shown[text] = _shown(text, fault)
    return list(shown.values())


@dataclass(frozen=True, slots=True)
class _Fault:
    """The innermost pattern that fails, the share of the whole that fits, and the steps from outside."""

    pattern: Pattern
    found: Molecule
    # Made for what is shown only: a reason may print a large solution.
    reason: Callable[[], str]
    share: float = 0.0
    path: tuple[tuple[str, Pattern, Molecule], ...] = ()

    def within(self, place: str, pattern: Pattern, found: Molecule) -> _Fault:
        """Put one more step in front."""
        return replace(self, path=((place, pattern, found), *self.path))


_NOTHING: Molecule = object()
"""Stands for the partner that was not found."""


def _shown(molecule: str, fault: _Fault) -> Misfit:
    steps = [Step(place, print_pattern(pattern), _text(found)) for place, pattern, found in fault.path]
    return Misfit(molecule, steps, print_pattern(fault.pattern), _text(fault.found), fault.reason())


def _text(found: Molecule) -> str | None:
    return None if found is _NOTHING else print_molecule(found)


def alike(pattern: Pattern, molecules: list[Molecule]) -> list[Molecule]:
    """Return molecules that a reader would compare with a pattern; not too many."""
    return list(islice((one for one in map(plain, molecules) if _is_alike(pattern, one)), MAX_CANDIDATES))


def _is_alike(pattern: Pattern, molecule: Molecule) -> bool:
    """Return whether a molecule has the outer form of a pattern, whatever is inside."""
    match pattern:
        case TuplePattern():
            head = pattern.parts[0]
            if type(molecule) is not tuple:
                return False
            if isinstance(head, LiteralPattern):
                return equal(head.value, molecule[0])
            return len(molecule) == len(pattern.parts)
        case ListPattern():
            return type(molecule) is List
        case SolutionPattern():
            return type(molecule) is Solution
        case VariablePattern():
            return pattern.kind is None or type(molecule) in KINDS[pattern.kind]
        case RulePattern():
            return type(molecule) is Rule and molecule.name == pattern.rule
        case _:
            return False


# --- Which part is to blame. The molecule is known not to fit.


def _fault(pattern: Pattern, molecule: Molecule, bindings: Bindings, tries: Tries) -> _Fault:
    """Look inside where the outer form fits; otherwise the molecule as a whole is to blame."""
    tries.spend()
    parts: list[tuple[str, Pattern, Molecule]] | None = None
    if isinstance(pattern, TuplePattern) and type(molecule) is tuple and len(molecule) == len(pattern.parts):
        pairs = zip(pattern.parts, molecule, strict=True)
        parts = [(f"part {at}", part, one) for at, (part, one) in enumerate(pairs, 1)]
    elif isinstance(pattern, ListPattern) and type(molecule) is List:
        paired = paired_items(pattern, molecule)
        parts = [(f"item {at + 1}", item, molecule[at]) for item, at in paired] if paired is not None else None
    elif isinstance(pattern, SolutionPattern) and type(molecule) is Solution and molecule.inert:
        return _fault_inside(pattern, molecule, bindings, tries)
    if parts is not None:
        return _fault_in_order(parts, bindings, tries)
    return _Fault(pattern, molecule, lambda: _reason(pattern, molecule, bindings))


def _fault_in_order(parts: list[tuple[str, Pattern, Molecule]], bindings: Bindings, tries: Tries) -> _Fault:
    """Blame the first part of a tuple or a list that does not fit beside those before it."""
    fitting = sum(is_fitting(pattern, molecule, bindings, tries) for _, pattern, molecule in parts)
    ways = [bindings]
    for place, pattern, molecule in parts:
        onward = list(islice((one for way in ways for one in fits(pattern, molecule, way, tries)), MAX_WAYS))
        if not onward:
            fault = max((_fault(pattern, molecule, way, tries) for way in ways), key=_share)
            return replace(fault.within(place, pattern, molecule), share=(fitting + fault.share) / len(parts))
        ways = onward
    raise AssertionError("a molecule whose parts all fit is no misfit")


def _fault_inside(pattern: SolutionPattern, solution: Solution, bindings: Bindings, tries: Tries) -> _Fault:
    """Blame the first pattern of a sub-solution without a partner; if all have one, what is left or missing."""
    elements, rests = elements_and_rests(pattern)
    molecules = list(solution)
    lonely = [one for one in elements if not has_partner(one, molecules, bindings, tries)]
    ways: list[Way] = [(bindings, molecules)]
    # A pattern without any partner says more than one whose partner another pattern has taken.
    for element in lonely[:1] or elements:
        onward = list(islice((one for way in ways for one in choices(element, way[1], way[0], tries)), MAX_WAYS))
        if not onward:
            fault = max((_fault_of_partners(element, molecules, way, tries) for way in ways), key=_share)
            return replace(fault, share=(len(elements) - len(lonely) + fault.share) / (len(elements) + 1))
        ways = onward
    free = ways[0][1]
    share = len(elements) / (len(elements) + 1)
    if not free:
        name = next(print_pattern(rest) for rest in rests if rest.at_least_one)
        return _Fault(pattern, solution, lambda: f"nothing is left for `{name}`", share)
    if not elements:
        return _Fault(pattern, solution, lambda: "it is not empty", share)
    return _Fault(pattern, solution, lambda: f"`{print_molecule(free[0])}` is left over", share)


def _fault_of_partners(element: Pattern, molecules: list[Molecule], way: Way, tries: Tries) -> _Fault:
    """Return what stops the nearest partner of a pattern; or that it is taken, or that there is none."""
    bindings, free = way
    # Nothing free fits; what fits all the same has been taken on the way.
    is_taken = has_partner(element, molecules, bindings, tries)
    near = [] if is_taken else alike(element, free)
    if near:
        faults = [(one, _fault(element, one, bindings, tries)) for one in near]
        found, fault = max(faults, key=lambda one: one[1].share)
        return fault.within(INSIDE, element, found)
    reason = "what fits it is taken by another pattern" if is_taken else _absence(element, free)
    return _Fault(element, _NOTHING, lambda: reason).within(INSIDE, element, _NOTHING)


def _share(fault: _Fault) -> float:
    return fault.share


# --- The words.


def _reason(pattern: Pattern, molecule: Molecule, bindings: Bindings) -> str:
    """Return why a molecule as such does not fit a pattern."""
    expected = _kind_expected(pattern)
    kind = _NAMES[type(molecule)]
    if expected is not None and type(molecule) not in KINDS[expected]:
        return f"kind differs: expected {expected}, found {kind}"
    match pattern:
        case LiteralPattern():
            return "it is another value"
        case RulePattern() if molecule.name != pattern.rule:
            return "the rule has another name"
        case VariablePattern() | RulePattern():
            return f"`{pattern.name}` is bound to {print_molecule(bindings[pattern.name])} by an earlier pattern"
        case TuplePattern():
            return f"it has {len(molecule)} parts, expected {len(pattern.parts)}"
        case ListPattern():
            return f"its length is {len(molecule)}, expected {_length_expected(pattern)}"
        case _:
            return "the sub-solution is not inert"


def _kind_expected(pattern: Pattern) -> str | None:
    match pattern:
        case LiteralPattern():
            return _NAMES[type(pattern.value)]
        case VariablePattern():
            return pattern.kind
        case RulePattern():
            return "rule"
        case TuplePattern():
            return "tuple"
        case ListPattern():
            return "list"
        case _:
            return "solution"


def _length_expected(pattern: ListPattern) -> str:
    at = rest_position(pattern)
    if at is None:
        return str(len(pattern.items))
    rest = pattern.items[at]
    assert isinstance(rest, RestPattern)
    return f"at least {len(pattern.items) - 1 + rest.at_least_one}"


def _absence(pattern: Pattern, free: list[Molecule]) -> str:
    """Return what is not there at all."""
    if not free:
        return "there is no molecule for it"
    match pattern:
        case LiteralPattern():
            return "no molecule equals it"
        case RulePattern():
            return f"no rule there is named `{pattern.rule}`"
        case TuplePattern():
            head = pattern.parts[0]
            is_headed = isinstance(head, LiteralPattern)
            return (
                f"no tuple {f'starts with `{print_pattern(head)}`' if is_headed else f'has {len(pattern.parts)} parts'}"
            )
        case _:
            return f"no molecule is of kind {_kind_expected(pattern)}"
