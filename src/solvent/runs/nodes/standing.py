"""Which rules of a program stand: they are in force from its beginning to its end, so every node can have them.

A rule stands if its reactions do not consume it and no rule that could ever come to lie beside it could take it. All
others are *loose*: molecules like the rest, which one node has and which a reaction by them needs. So a program whose
rules change as it runs is right over nodes too, and what does not change costs nobody a message.

A rule that takes the rest of the whole solution can only react where the whole solution is: such a program stays at
one node. So does one without any rule that stands, for whatever happens in it needs a rule that only one node has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.engine.compile import code_of
from solvent.lang.molecule import ATOMS, Endless, List, Molecule
from solvent.lang.rule import Rule
from solvent.lang.syntax import (
    Call,
    Expression,
    LetNode,
    ListNode,
    Multiplet,
    Name,
    RuleNode,
    RulePattern,
    SolutionNode,
    TupleNode,
    VariablePattern,
    children,
)
from solvent.runs.nodes.homes import homes_of
from solvent.runs.nodes.shapes import Home, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.engine.compile import RuleCode


class Rules:
    """The rules of a solution, told apart."""

    def __init__(self, solution: Iterable[Molecule]) -> None:
        molecules = list(solution)
        self._top = [_inner(one) for one in molecules if type(_inner(one)) is Rule]
        # Every tree of a rule that is somewhere in the program, and those that may come to lie in its solution.
        self._everywhere: dict[int, RuleNode] = {}
        self._molecules = 0
        for molecule in molecules:
            self._look_into(molecule)
        # Whether a rule may be part of another molecule, and so come out of it.
        self._has_inside = self._molecules > len(self._top) or any(map(_puts_inside, self._everywhere.values()))
        self._near: dict[int, RuleNode] = {}
        # Those that a product may put there once more.
        self._made: set[int] = set()
        self._reach()
        self.standing = self._standing(molecules)
        self.why_together = self._why_together()

    def words(self) -> list[str]:
        """Give what nodes must listen to (see `shapes`)."""
        return words_of(*self._apart())

    def homes(self) -> dict[str, Home]:
        """Give what some node has in its charge, for each value of a part (see `homes`)."""
        return homes_of(*self._apart(), self.words())

    def _apart(self) -> tuple[list[RuleNode], list[RuleNode]]:
        """Give the trees of the rules that stand, and of those that may be molecules."""
        standing = {id(_inner(one).node): _inner(one).node for one in self.standing}
        loose = [node for key, node in self._near.items() if key not in standing or key in self._made]
        return list(standing.values()), loose

    # --- All trees.

    def _look_into(self, molecule: Molecule) -> None:
        molecule = _inner(molecule)
        kind = type(molecule)
        if kind is Rule:
            self._molecules += 1
            self._look_at(molecule.node)
            for value in molecule.captured:
                self._look_into(value)
        elif kind is tuple or kind is List or getattr(molecule, "is_solution", False):
            for one in molecule:
                if type(one) not in ATOMS:
                    self._look_into(one)

    def _look_at(self, node: RuleNode) -> None:
        if id(node) in self._everywhere:
            return
        self._everywhere[id(node)] = node
        for named in node.rules.values():
            self._look_at(named)
        work: list[Any] = [*node.product, *([] if node.condition is None else [node.condition])]
        while work:
            one = work.pop()
            if isinstance(one, RuleNode):
                self._look_at(one)
            else:
                work += children(one)

    # --- What may come to lie beside a rule.

    def _reach(self) -> None:
        work = [rule.node for rule in self._top]
        is_open = False
        while work:
            node = work.pop()
            if id(node) in self._near:
                continue
            self._near[id(node)] = node
            made: list[RuleNode] = []
            gives = [self._gives(item, node, made) for item in node.product]
            is_open = is_open or any(gives)
            self._made |= set(map(id, made))
            work += made
            if is_open and (self._molecules > 1 or len(self._everywhere) > 1):
                # Something may come out of where it was, or be doubled; it may be any rule there is.
                self._made |= self._everywhere.keys()
                work += self._everywhere.values()

    def _gives(self, item: Expression, node: RuleNode, made: list[RuleNode]) -> bool:
        """Note the rules that an item of a product makes; say whether it may give any other."""
        match item:
            case RuleNode():
                made.append(item)
            case Multiplet():
                return self._gives(item.item, node, made)
            case LetNode():
                made += [binding.rule for binding in item.bindings]
                gives = [self._gives(one, node, made) for one in item.body]
                return any(gives)
            case Call():
                gives = [self._gives(one, node, made) for one in item.arguments]
                return self._has_inside or any(gives)
            case Name():
                if item.text in node.rules:
                    made.append(node.rules[item.text])
                elif item.text == node.name and item.text not in code_of(node).plan.variables:
                    made.append(node)
                else:
                    return _may_be_rule(node, item.text) or (self._has_inside and _is_bound(node, item.text))
        return False

    # --- What stands.

    def _standing(self, molecules: list[Molecule]) -> list[Rule | Endless]:
        found: list[Rule | Endless] = []
        for molecule in molecules:
            rule = _inner(molecule)
            if type(rule) is not Rule:
                continue
            is_endless = type(molecule) is Endless
            if (is_endless or not code_of(rule.node).one_shot) and not self._may_be_taken(rule, is_endless=is_endless):
                found.append(molecule)
        return found

    def _may_be_taken(self, rule: Rule, *, is_endless: bool) -> bool:
        node = rule.node
        is_alone = not is_endless and id(node) not in self._made
        is_alone = is_alone and sum(other.node is node for other in self._top) == 1
        for other in self._near.values():
            if other is node and is_alone:
                # A rule never takes itself.
                continue
            if not is_endless and may_take(code_of(other), rule):
                return True
        return False

    def _why_together(self) -> str:
        late = next((node for node in self._near.values() if code_of(node).is_late), None)
        if late is not None:
            return f"`{late.name or 'a rule'}` takes the rest of the whole solution"
        if not self.standing:
            return "no rule of its outermost solution stays as it is"
        return ""


def _puts_inside(node: RuleNode) -> bool:
    """Say whether a rule's product may put a rule into a tuple, a list, a solution or another rule."""
    work: list[tuple[Expression, bool]] = [(item, False) for item in node.product]
    while work:
        one, is_inside = work.pop()
        match one:
            case RuleNode():
                if is_inside or any(_may_be_rule(node, name) for name in one.captures):
                    return True
            case Name():
                if is_inside and (one.text in node.rules or one.text == node.name or _may_be_rule(node, one.text)):
                    return True
            case _:
                deeper = is_inside or isinstance(one, TupleNode | ListNode | SolutionNode | Call)
                work += [(child, deeper) for child in children(one)]
    return False


def _may_be_rule(node: RuleNode, name: str) -> bool:
    """Say whether a name may stand for a rule that lay beside this one."""
    plan = code_of(node).plan
    site = plan.rest_sites.get(name)
    if site is not None:
        return site.number == 0
    element = plan.element_of.get(name)
    if element is None or element.site.number or getattr(element.pattern, "name", None) != name:
        return False
    kinds = plan.kinds.get(name)
    return kinds is None or Rule in kinds


def _is_bound(node: RuleNode, name: str) -> bool:
    """Say whether a name stands for what a pattern took, and may be anything."""
    plan = code_of(node).plan
    kinds = plan.kinds.get(name)
    is_known = name in plan.variables or name in plan.rest_sites or name in node.captures
    return is_known and (kinds is None or Rule in kinds)


def may_take(code: RuleCode, rule: Rule) -> bool:
    """Say whether a reaction by some rule could consume another one."""
    for element in code.elements:
        pattern = element.pattern
        if element.kept:
            continue
        if isinstance(pattern, RulePattern) and pattern.rule == rule.name:
            return True
        if isinstance(pattern, VariablePattern):
            kinds = code.plan.kinds.get(pattern.name)
            if kinds is None or Rule in kinds:
                return True
    return False


def _inner(molecule: Molecule) -> Molecule:
    return molecule.molecule if type(molecule) is Endless else molecule


__all__ = ["Rules", "may_take"]
