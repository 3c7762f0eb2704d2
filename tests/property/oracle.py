"""A naive interpreter that tries everything: the oracle the engine is compared with.

It walks the trees of rules (`lang.syntax`, after names are resolved), shares nothing with the engine,
and is as slow as it is simple. A solution is never changed here: each reaction builds a new one, so equal
states are merged by `order_key` and the search visits each once.

    search(solution)     every state that can be reached, which of them are final, which can fail
    can_fail(solution)   whether a reaction that is possible now fails

Inner and outer reactions interleave in all orders; a rule may take a molecule only if every solution inside
it is inert. A rest takes all that is left (the first one, if there are two); the rest of the rule's own
solution may hold solutions that still react, since `?w ... w` leaves them where they are. A solution has no order:
where a product or a condition puts a rest of one into a list, it may be in any order there. Only values are borrowed
from the chemistry: operators, functions and molecules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

from solvent.lang import operators
from solvent.lang import syntax as tree
from solvent.lang.builtin import BUILTIN
from solvent.lang.molecule import Endless, List, Molecule, equal, order_key
from solvent.lang.rule import KINDS, Rule
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Bindings: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[Any, ...]
FAILURES = (operators.Incomputable, ZeroDivisionError)
OPERATORS = {
    "+": operators.add,
    "-": operators.subtract,
    "*": operators.multiply,
    "/": operators.divide,
    "%": operators.remainder,
    "in": operators.member,
    "==": equal,
    "!=": lambda one, other: not equal(one, other),
    "<": operators.less,
    "<=": operators.less_equal,
    ">": lambda one, other: operators.less(other, one),
    ">=": lambda one, other: operators.less_equal(other, one),
}


MAX_MOLECULES = 14
"""How many molecules one solution may hold; permutations of more take too long."""
MAX_PARTS = 3_000
"""How many parts the molecules of a solution may have: where these double in each reaction they are few, but large."""
MAX_ORDERS = 120
"""In how many orders one rest may enter a list."""


class TooMany(Exception):
    """The search has met more states or molecules than it may."""


class Rest(tuple[Any, ...]):
    """What a rest is bound to."""

    __slots__ = ()


@dataclass
class Outcomes:
    """What a program can do: its states by key, those without a reaction, those where a product fails."""

    states: dict[Key, Solution] = field(default_factory=dict)
    finals: dict[Key, Solution] = field(default_factory=dict)
    failures: set[Key] = field(default_factory=set)
    followers: dict[Key, set[Key]] = field(default_factory=dict)
    has_orders: bool = False
    """Whether a rest entered a list in several orders."""

    def always_ends(self) -> bool:
        """Say whether no state can be met twice in one run."""
        left = {key: set(after) for key, after in self.followers.items()}
        while left:
            done = {key for key, after in left.items() if not after & left.keys()}
            if not done:
                return False
            left = {key: after for key, after in left.items() if key not in done}
        return True


def state_key(solution: Solution) -> Key:
    """Give the key of a state; beside an endless molecule, further copies of it make no difference."""
    return order_key(_absorbed(solution))


def _absorbed(molecule: Molecule) -> Molecule:
    if isinstance(molecule, Solution):
        held = [_absorbed(one) for one in molecule]
        endless = [one.molecule for one in held if type(one) is Endless]
        return Solution(one for one in held if not any(equal(one, other) for other in endless))
    if isinstance(molecule, tuple):
        return type(molecule)(map(_absorbed, molecule))
    return molecule


def search(solution: Solution, *, max_states: int = 300) -> Outcomes:
    """Find everything that a solution can become."""
    found = Outcomes()
    oracle = _Oracle()
    left = [solution.copied()]
    while left:
        state = left.pop()
        key = state_key(state)
        if key in found.states:
            continue
        if len(found.states) >= max_states or oracle.work > 40 * max_states:
            raise TooMany
        found.states[key] = state
        after, fails = oracle.reactions(state)
        if any(_has_too_many_parts(one) for one in after):
            raise TooMany
        found.followers[key] = {state_key(one) for one in after}
        left += after
        if fails:
            found.failures.add(key)
        elif not after:
            found.finals[key] = state
    found.has_orders = oracle.has_orders
    return found


def _has_too_many_parts(solution: Solution) -> bool:
    left: list[Molecule] = [solution]
    count = 0
    while left:
        molecule = left.pop()
        count += 1
        if count > MAX_PARTS:
            return True
        if isinstance(molecule, Solution | tuple):
            left += molecule
        elif type(molecule) is Endless:
            left.append(molecule.molecule)
    return False


def can_fail(solution: Solution) -> bool:
    """Say whether the product of a reaction that is possible now cannot be computed."""
    _, fails = _Oracle().reactions(solution)
    return fails


class _Oracle:
    def __init__(self) -> None:
        self.work = 0
        self.has_orders = False
        self._known: dict[Key, tuple[list[Solution], bool]] = {}

    def reactions(self, solution: Solution) -> tuple[list[Solution], bool]:
        """Give what one reaction anywhere in a solution can make of it, and whether one can fail."""
        key = order_key(solution)
        if key not in self._known:
            after: dict[Key, Solution] = {}
            fails = False
            if len(solution) > MAX_MOLECULES:
                raise TooMany
            for made in self._all_reactions(list(solution)):
                self.work += 1
                if made is None:
                    fails = True
                else:
                    after[order_key(made)] = made
            self._known[key] = list(after.values()), fails
        return self._known[key]

    def _all_reactions(self, held: list[Molecule]) -> Iterator[Solution | None]:
        for at, molecule in enumerate(held):
            others = held[:at] + held[at + 1 :]
            for made in self._inside(molecule):
                yield None if made is None else Solution([*others, made])
            endless = type(molecule) is Endless
            rule = molecule.molecule if endless else molecule
            if type(rule) is Rule:
                for made in self._by_rule(rule, others):
                    back = [molecule] if endless or not rule.one_shot else []
                    yield None if made is None else Solution([*back, *made])

    def _inside(self, molecule: Molecule) -> Iterator[Molecule | None]:
        """Give what one reaction inside a molecule can make of it; None where one fails."""
        if isinstance(molecule, Solution):
            after, fails = self.reactions(molecule)
            yield from after
            if fails:
                yield None
        elif isinstance(molecule, tuple):
            for at, part in enumerate(molecule):
                for made in self._inside(part):
                    yield (None if made is None else type(molecule)([*molecule[:at], made, *molecule[at + 1 :]]))

    def _is_inert(self, molecule: Molecule) -> bool:
        return not any(True for _ in self._inside(molecule))

    def _by_rule(self, rule: Rule, others: list[Molecule]) -> Iterator[list[Molecule] | None]:
        """Give what a rule can make of the other molecules of its solution."""
        node = rule.node
        outer: Bindings = {name: Rule(one) for name, one in node.rules.items()}
        for (name, meaning), value in zip(node.captures.items(), rule.captured, strict=True):
            outer[name] = Rest(value) if meaning == "rest" else value
        if node.is_recursive and node.name:
            outer[node.name] = rule
        listed = _rests_in_solutions(node.patterns) & _names_in_order(node)
        for found, left in self._fill(node.patterns, others, {}):
            for ordered in self._in_all_orders(found, listed):
                names = {**outer, **ordered}
                if node.condition is not None and not _holds(node.condition, names):
                    continue
                try:
                    yield [*(others if node.is_inject else left), *_items(node.product, names)]
                except FAILURES:
                    yield None

    def _in_all_orders(self, found: Bindings, names: set[str]) -> Iterator[Bindings]:
        """Give bindings with the rests of these names in every order that makes a difference."""
        orders = [[(name, Rest(one)) for one in _permutations(found[name])] for name in sorted(names)]
        self.has_orders = self.has_orders or any(len(one) > 1 for one in orders)
        for chosen in product(*orders):
            self.work += 1
            yield {**found, **dict(chosen)}

    def _fill(
        self, patterns: Sequence[tree.Pattern], held: list[Molecule], found: Bindings
    ) -> Iterator[tuple[Bindings, list[Molecule]]]:
        """Give every way to fill patterns from a solution, with what is left of it."""
        rests = [one for one in patterns if isinstance(one, tree.RestPattern)]
        singles = [one for one in patterns if not isinstance(one, tree.RestPattern)]
        if singles:
            later = [*singles[1:], *rests]
            for at, molecule in enumerate(held):
                endless = type(molecule) is Endless
                left = held if endless else held[:at] + held[at + 1 :]
                one = molecule.molecule if endless else molecule
                if self._is_inert(one):
                    for more in self._fit(singles[0], one, found):
                        yield from self._fill(later, left, more)
        elif rests:
            if held or not rests[0].at_least_one:
                yield (
                    {
                        **found,
                        **dict.fromkeys((one.name for one in rests), Rest()),
                        rests[0].name: Rest(held),
                    },
                    [],
                )
        else:
            yield found, held

    def _fit(self, pattern: tree.Pattern, molecule: Molecule, found: Bindings) -> Iterator[Bindings]:
        """Give the bindings under which one molecule fits a pattern."""
        match pattern:
            case tree.LiteralPattern():
                if equal(pattern.value, molecule):
                    yield found
            case tree.VariablePattern():
                if pattern.kind is None or type(molecule) in KINDS[pattern.kind]:
                    yield from _bound(pattern.name, molecule, found)
            case tree.RulePattern():
                if type(molecule) is Rule and molecule.name == pattern.rule:
                    yield from _bound(pattern.name, molecule, found)
            case tree.TuplePattern():
                if type(molecule) is tuple:
                    yield from self._fit_each(pattern.parts, molecule, found)
            case tree.ListPattern():
                if type(molecule) is List:
                    yield from self._fit_list(pattern.items, molecule, found)
            case tree.SolutionPattern():
                if type(molecule) is Solution:
                    yield from (more for more, left in self._fill(pattern.items, list(molecule), found) if not left)

    def _fit_each(
        self, patterns: Sequence[tree.Pattern], parts: Sequence[Molecule], found: Bindings
    ) -> Iterator[Bindings]:
        if len(patterns) == len(parts):
            if not patterns:
                yield found
            else:
                for more in self._fit(patterns[0], parts[0], found):
                    yield from self._fit_each(patterns[1:], parts[1:], more)

    def _fit_list(self, patterns: Sequence[tree.Pattern], held: List, found: Bindings) -> Iterator[Bindings]:
        at = next((at for at, one in enumerate(patterns) if isinstance(one, tree.RestPattern)), None)
        if at is None:
            yield from self._fit_each(patterns, held, found)
            return
        rest, size = patterns[at], len(held) - len(patterns) + 1
        assert isinstance(rest, tree.RestPattern)
        if size >= rest.at_least_one:
            others = [*patterns[:at], *patterns[at + 1 :]]
            more = {**found, rest.name: Rest(held[at : at + size])}
            yield from self._fit_each(others, [*held[:at], *held[at + size :]], more)


def _permutations(held: Sequence[Molecule]) -> list[list[Molecule]]:
    """Give the different orders of some molecules."""
    made: list[list[Molecule]] = [[]]
    for at, molecule in enumerate(held):
        more = ([*order[:to], molecule, *order[to:]] for order in made for to in range(at + 1))
        made = list({order_key(List(order)): order for order in more}.values())
        if len(made) > MAX_ORDERS:
            raise TooMany
    return made


def _rests_in_solutions(patterns: Sequence[tree.Pattern]) -> set[str]:
    """Give the names of the rests that take what a solution holds; those of lists have an order already."""
    found: set[str] = set()
    for pattern in patterns:
        match pattern:
            case tree.RestPattern():
                found.add(pattern.name)
            case tree.SolutionPattern():
                found |= _rests_in_solutions(pattern.items)
            case tree.TuplePattern():
                found |= _rests_in_solutions(pattern.parts)
            case tree.ListPattern():
                inside = [one for one in pattern.items if not isinstance(one, tree.RestPattern)]
                found |= _rests_in_solutions(inside)
    return found


def _names_in_order(node: tree.RuleNode) -> set[str]:
    """Give the names that a rule uses where the order of a rest makes a difference: not right in a solution."""
    ways: list[tuple[Any, bool]] = [(one, False) for one in node.product]
    ways += [(node.condition, True)] if node.condition is not None else []
    found: set[str] = set()
    while ways:
        one, is_ordered = ways.pop()
        match one:
            case tree.Name() if is_ordered:
                found.add(one.text)
            case tree.RuleNode():
                found |= one.captures.keys()
            case tree.SolutionNode():
                ways += [(item, False) for item in one.items]
            case tree.LetNode():
                ways += [(item, is_ordered) for item in one.body]
                ways += [(binding.rule, True) for binding in one.bindings]
            case tree.Node():
                parts = [getattr(one, name) for name in one.fields]
                flat = [item for part in parts for item in (part if isinstance(part, list) else [part])]
                ways += [(item, True) for item in flat if isinstance(item, tree.Node)]
    return found


def _bound(name: str, molecule: Molecule, found: Bindings) -> Iterator[Bindings]:
    if name not in found:
        yield {**found, name: molecule}
    elif equal(found[name], molecule):
        yield found


def _holds(condition: tree.Expression, names: Bindings) -> bool:
    try:
        return operators.truth(_value(condition, names))
    except FAILURES:
        return False


def _items(nodes: Sequence[tree.Expression], names: Bindings) -> list[Molecule]:
    """Give the molecules that stand for expressions in a solution or a product."""
    made: list[Molecule] = []
    for node in nodes:
        match node:
            case tree.Name() if type(names[node.text]) is Rest:
                made += names[node.text]
            case tree.Multiplet():
                item = _value(node.item, names)
                made += [Endless(item)] if node.count is None else [item] * _count(_value(node.count, names))
            case tree.LetNode():
                made += _items(node.body, _with_lets(node, names))
            case _:
                made.append(_value(node, names))
    return made


def _count(value: Molecule) -> int:
    if type(value) is not int or value < 0:
        raise operators.Incomputable("not a count")
    return value


def _with_lets(node: tree.LetNode, names: Bindings) -> Bindings:
    inner = dict(names)
    for binding in node.bindings:
        inner[binding.name] = _value(binding.rule, inner)
    return inner


def _value(node: tree.Expression, names: Bindings) -> Molecule:
    """Give the one molecule that an expression stands for."""
    match node:
        case tree.Literal():
            return node.value
        case tree.Name():
            return names[node.text]
        case tree.TupleNode():
            return tuple(_value(part, names) for part in node.parts)
        case tree.ListNode():
            return List(_items(node.items, names))
        case tree.SolutionNode():
            return Solution(_items(node.items, names))
        case tree.RuleNode():
            captured = (names[name] for name in node.captures)
            return Rule(node, tuple(List(one) if type(one) is Rest else one for one in captured))
        case tree.LetNode():
            return _items(node.body, _with_lets(node, names))[0]
        case tree.Unary():
            value = _value(node.operand, names)
            return operators.negate(value) if node.operator == "-" else not operators.truth(value)
        case tree.Binary() if node.operator in ("&&", "||"):
            left = operators.truth(_value(node.left, names))
            return left if left is (node.operator == "||") else operators.truth(_value(node.right, names))
        case tree.Binary():
            return OPERATORS[node.operator](_value(node.left, names), _value(node.right, names))
        case tree.Call():
            return BUILTIN[node.function](*_items(node.arguments, names))
        case tree.Multiplet():
            raise AssertionError(node)
