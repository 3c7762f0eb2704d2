"""What a rule asks for, laid out for the compiler.

A rule's left side is a set of `Element`s (patterns that each take one molecule) in `Site`s (the rule's own solution,
and every sub-solution pattern). The plan says which elements a reaction leaves as they are, which variables can only
hold certain types, and by which keys the store finds the rule.

An element is *kept* when the product puts back exactly what it took: `replace x, y by x` takes only `y`. At least
one element of an n-shot rule is not kept, or else a reaction would change nothing that the next search could notice.
"""

from __future__ import annotations

from typing import Any

from solvent.lang.molecule import ATOMS, List, Symbol
from solvent.lang.operators import NUMBERS, OPERATORS, ORDERED
from solvent.lang.rule import KINDS, Rule
from solvent.lang.solution import Solution
from solvent.lang.syntax import (
    Binary,
    Expression,
    ListNode,
    ListPattern,
    Literal,
    LiteralPattern,
    Name,
    Pattern,
    RestPattern,
    RuleNode,
    RulePattern,
    SolutionNode,
    SolutionPattern,
    TupleNode,
    TuplePattern,
    VariablePattern,
    conjuncts,
    names_in,
    uses,
)

_HEADS = (Symbol, str, int)


class Element:
    """A pattern that takes one molecule of a site."""

    __slots__ = ("kept", "number", "pattern", "site")

    def __init__(self, number: int, pattern: Pattern, site: Site) -> None:
        self.number = number
        self.pattern = pattern
        self.site = site
        self.kept = False

    @property
    def cell(self) -> str:
        """The name of its cell in the compiled text."""
        return f"c{self.number}"


class Site:
    """A solution that a rule looks into: its own (number 0) or a sub-solution it matches."""

    __slots__ = ("elements", "holder", "number", "rests")

    def __init__(self, number: int, *, holder: Element | None = None) -> None:
        self.number = number
        self.elements: list[Element] = []
        self.rests: list[RestPattern] = []
        self.holder = holder

    @property
    def solution(self) -> str:
        """The name of the solution in the compiled text."""
        return f"q{self.number}"

    @property
    def store(self) -> str:
        """The name of its store in the compiled text."""
        return f"s{self.number}"


class Plan:
    """Everything the compiler knows about a rule before it writes a line; it does not change afterwards."""

    def __init__(self, rule: RuleNode) -> None:
        self.rule = rule
        self.elements: list[Element] = []
        self.sites: list[Site] = []
        self.site_of_pattern: dict[int, Site] = {}
        self.variables: dict[str, str] = {}
        self.kinds: dict[str, frozenset[type]] = {}
        # Which element or which site binds a name: a variable's element, a rest's site (None: a list's rest).
        self.element_of: dict[str, Element] = {}
        self.rest_sites: dict[str, Site | None] = {}
        self.conjuncts = list(conjuncts(rule.condition))
        self.product = list(rule.product)
        self.top = self._site(rule.patterns, None)
        self._infer_kinds()
        self.one_shot = rule.one_shot and not self._recreates_itself()
        self.is_late = self._needs_rest_of_own_solution()
        self._keep()

    # --- Layout.

    def _site(self, patterns: list[Pattern], holder: Element | None) -> Site:
        site = Site(len(self.sites), holder=holder)
        self.sites.append(site)
        for pattern in patterns:
            if isinstance(pattern, RestPattern):
                site.rests.append(pattern)
                self.rest_sites[pattern.name] = site
            else:
                element = Element(len(self.elements), pattern, site)
                self.elements.append(element)
                site.elements.append(element)
                self._enter(pattern, element)
        # The first rest takes everything, so one that must not be empty comes first.
        site.rests.sort(key=lambda rest: not rest.at_least_one)
        return site

    def _enter(self, pattern: Pattern, element: Element) -> None:
        match pattern:
            case VariablePattern() | RulePattern():
                kinds = frozenset({Rule}) if isinstance(pattern, RulePattern) else _kinds(pattern)
                self._bind(pattern.name, kinds, element)
            case TuplePattern():
                for part in pattern.parts:
                    self._enter(part, element)
            case ListPattern():
                for item in pattern.items:
                    if isinstance(item, RestPattern):
                        self.variables.setdefault(item.name, f"v{len(self.variables)}")
                        self.rest_sites[item.name] = None
                        self.element_of[item.name] = element
                    else:
                        self._enter(item, element)
            case SolutionPattern():
                self.site_of_pattern[id(pattern)] = self._site(pattern.items, element)

    def _bind(self, name: str, kinds: frozenset[type] | None, element: Element) -> None:
        self.variables.setdefault(name, f"v{len(self.variables)}")
        self.element_of.setdefault(name, element)
        if kinds is not None:
            self._restrict(name, kinds)

    def _restrict(self, name: str, kinds: frozenset[type]) -> None:
        """Note that a variable has one of these types; none left means that the rule never reacts."""
        known = self.kinds.get(name)
        self.kinds[name] = kinds if known is None else known & kinds

    @property
    def title(self) -> str:
        """What messages call the rule."""
        return self.rule.name or "anonymous"

    # --- Types.

    def kind(self, name: str) -> type | None:
        """Return the only type a variable can have, if there is one."""
        kinds = self.kinds.get(name)
        return next(iter(kinds)) if kinds is not None and len(kinds) == 1 else None

    def may_hold_solution(self, name: str) -> bool:
        """Return whether a variable could hold a solution or a rule that captured one."""
        kinds = self.kinds.get(name)
        return kinds is None or not kinds <= ATOMS

    def _infer_kinds(self) -> None:
        """Narrow variables by what the condition needs of them: it is false for all other types."""
        for part in self.conjuncts:
            if isinstance(part, Binary) and OPERATORS[part.operator].needs is ORDERED:
                numbers = any(self._is_number(side) for side in (part.left, part.right))
                for side in (part.left, part.right):
                    self._narrow(side, NUMBERS if numbers else ORDERED)
            elif isinstance(part, Binary) and part.operator in ("==", "!="):
                self._narrow(part.left, None)
                self._narrow(part.right, None)

    def _is_number(self, node: Expression) -> bool:
        if isinstance(node, Name):
            kinds = self.kinds.get(node.text)
            return kinds is not None and kinds <= NUMBERS
        if isinstance(node, Literal):
            return type(node.value) in NUMBERS
        return isinstance(node, Binary) and OPERATORS[node.operator].needs is NUMBERS

    def _narrow(self, node: Expression, kinds: frozenset[type] | None) -> None:
        if isinstance(node, Name):
            if kinds is not None and node.text in self.element_of and node.text not in self.rest_sites:
                self._restrict(node.text, kinds)
        elif isinstance(node, Binary) and OPERATORS[node.operator].needs is NUMBERS:
            self._narrow(node.left, NUMBERS)
            self._narrow(node.right, NUMBERS)

    # --- What a reaction leaves.

    def _recreates_itself(self) -> bool:
        """A one-shot `let rec` rule that puts itself back is an n-shot rule."""
        name = self.rule.name
        if not self.rule.is_recursive or name in self.variables or name in self.rest_sites:
            return False
        for at, item in enumerate(self.product):
            if isinstance(item, Name) and item.text == name:
                del self.product[at]
                return True
        return False

    def _needs_rest_of_own_solution(self) -> bool:
        rests = self.top.rests
        if not rests:
            return False
        only = rests[0]
        if len(rests) == 1 and not only.at_least_one:
            at_top = [item for item in self.product if isinstance(item, Name) and item.text == only.name]
            used = sum(uses(item, only.name) for item in self.product)
            in_condition = any(only.name in names_in(part) for part in self.conjuncts)
            if len(at_top) == 1 and used == 1 and not in_condition:
                # `replace x, ?w by y, w` leaves the rest alone: the same as without it.
                self.product.remove(at_top[0])
                self.top.rests = []
                del self.rest_sites[only.name]
                return False
        return True

    def _keep(self) -> None:
        if self.rule.is_inject:
            for element in self.elements:
                element.kept = True
            return
        if self.is_late:
            # It takes all that is left, also what is left of an endless molecule of which it has taken one.
            return
        put_back: list[Expression] = []
        for element in self.top.elements:
            at = next((at for at, item in enumerate(self.product) if says(element.pattern, item)), None)
            if at is not None:
                element.kept = True
                put_back.append(self.product.pop(at))
        if not self.one_shot and put_back and all(element.kept for element in self.top.elements):
            self.top.elements[0].kept = False
            self.product.insert(0, put_back[0])

    # --- Dispatch.

    @staticmethod
    def head(pattern: TuplePattern) -> Any:
        """Return the constant that the tuples for a pattern begin with, if it is one to find them by."""
        first = pattern.parts[0]
        if isinstance(first, LiteralPattern) and type(first.value) in _HEADS:
            return first.value
        return None

    def shape(self, element: Element) -> Any:
        """Return the length and first part that every molecule for an element has, if that is known."""
        pattern = element.pattern
        if isinstance(pattern, TuplePattern):
            head = self.head(pattern)
            return None if head is None else (len(pattern.parts), head)
        return None

    def keys(self, element: Element) -> list[Any]:
        """Return the keys under which the store finds molecules for an element of the rule's own solution."""
        pattern = element.pattern
        match pattern:
            case VariablePattern():
                kinds = self.kinds.get(pattern.name)
                return [object] if kinds is None else sorted(kinds, key=repr)
            case LiteralPattern():
                return [(type(pattern.value), pattern.value)]
            case RulePattern():
                return [Rule]
            case TuplePattern():
                head = self.head(pattern)
                return [len(pattern.parts) if head is None else (len(pattern.parts), head)]
            case ListPattern():
                return [List]
            case SolutionPattern():
                return [Solution]
        raise AssertionError(pattern)


def _kinds(pattern: VariablePattern) -> frozenset[type] | None:
    return frozenset(KINDS[pattern.kind]) if pattern.kind else None


def says(pattern: Pattern, item: Expression) -> bool:
    """Return whether a product item is exactly what a pattern took."""
    match pattern, item:
        case (VariablePattern() | RulePattern(), Name()):
            return pattern.name == item.text
        case (LiteralPattern(), Literal()):
            return type(pattern.value) is type(item.value) and bool(pattern.value == item.value)
        case (TuplePattern(), TupleNode()):
            return len(pattern.parts) == len(item.parts) and all(map(says, pattern.parts, item.parts))
        case (ListPattern(), ListNode()):
            return len(pattern.items) == len(item.items) and all(map(says, pattern.items, item.items))
        case (SolutionPattern(), SolutionNode()):
            return _says_all(pattern.items, item.items)
    return False


def _says_all(patterns: list[Pattern], items: list[Expression]) -> bool:
    """Return whether a solution's items are, in whatever order, exactly what its patterns took."""
    left = list(items)
    for pattern in patterns:
        for at, item in enumerate(left):
            if says(pattern, item) or (
                isinstance(pattern, RestPattern) and isinstance(item, Name) and item.text == pattern.name
            ):
                del left[at]
                break
        else:
            return False
    return not left
