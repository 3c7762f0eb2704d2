"""Writes what a reaction does: `react(match, rule, solution, s0, own)` gives the molecules it adds.

First everything that can fail is computed, then the reactants go, then the products are put together, so a failing
product leaves the solution as it was. A sub-solution that the pattern took apart and the product puts together again
around its rest (`T : <x, ?w>` by `T : <y, w>`) is changed in place: the rest is not touched, let alone copied.

A molecule that holds a solution can be in one place only. A variable's first use takes the molecule itself, every
further use a copy; what a kept reactant or a closure still needs is always copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.engine.expressions import ExpressionWriter, Text
from solvent.engine.names import outer_text, rest_text
from solvent.engine.onward import Product
from solvent.engine.reuse import Reuse
from solvent.lang.molecule import ATOMS, Symbol
from solvent.lang.rule import Rule, closed_rule
from solvent.lang.syntax import (
    Binary,
    Call,
    Expression,
    LetNode,
    ListNode,
    Literal,
    Multiplet,
    Name,
    Node,
    RuleNode,
    RulePattern,
    SolutionNode,
    TupleNode,
    TuplePattern,
    Unary,
    VariablePattern,
    children,
)

if TYPE_CHECKING:
    from solvent.engine.code import Code
    from solvent.engine.plan import Element, Plan, Site
    from solvent.lang.functions import Functions


class Builder:
    """Writes the reaction of one rule."""

    def __init__(self, code: Code, plan: Plan, functions: Functions, *, is_pure: bool = False) -> None:
        # A pure reaction leaves what it takes as it is, and makes new solutions around it.
        self.is_pure = is_pure
        self.code = code
        self.plan = plan
        self.functions = functions
        self.writer = ExpressionWriter(code, plan.rule, functions, self._value, self._argument_spread)
        self.writer.may_await = True
        self.is_async = any(self._awaits(item) for item in plan.product)
        # The lines of the three stages.
        self.computed: list[tuple[str, Node | None]] = []
        self.copies: list[str] = []
        self.changes: list[str] = []
        self.reuse = Reuse(plan)
        self.taken = self.reuse.taken
        self.locals: dict[str, str] = {}
        self.used: set[str] = set()
        self.count = 0
        self.rest_is_left = False

    def _awaits(self, node: Expression) -> bool:
        if isinstance(node, Call):
            function = self.functions.find(node.function)
            if function is not None and function.is_async:
                return True
        return any(map(self._awaits, children(node)))

    def write(self) -> list[str]:
        """Write the functions and give the fields a match must carry."""
        plan, code = self.plan, self.code
        if not self.is_pure:
            self.reuse.decide(plan.product)
        items = self._items(plan.product, top=True)
        out = f"[{', '.join(items)}]"
        cells = [element.cell for element in plan.top.elements]
        body = [text for text, _ in self.computed] + self.copies + self.changes + [out]
        fields = cells + sorted(field for field in self._all_fields() if field in _words(body) and field not in cells)
        unpack = f"{''.join(field + ', ' for field in fields)} = match" if fields else ""
        if self.is_async:
            code.open("def consume(match, s0):")
            if unpack:
                code.line(unpack)
            self._consume()
            code.line("return None")
            code.close()
        code.open(f"{'async ' if self.is_async else ''}def react(match, rule, solution, s0, own):")
        if unpack:
            code.line(unpack)
        captures = plan.rule.captures
        if captures:
            code.line(f"{''.join(f'k{at}, ' for at in range(len(captures)))} = rule.captured")
        for text, node in self.computed:
            code.line(text, node)
        for text in self.copies:
            code.line(text)
        if plan.is_late and not self.rest_is_left:
            own_cells = "".join(f"{cell}, " for cell in cells)
            rest = "_rest(s0" if self.is_pure else "_drain(solution, s0"
            self.code.line(f"w0 = {rest}, ({own_cells}own, ))")
        if not self.is_async and not self.is_pure:
            self._consume()
        for text in self.changes:
            code.line(text)
        code.line(f"return {out}")
        code.close()
        return fields

    def write_inline(self, active: Element | None) -> tuple[list[str], list[Product]]:
        """Write the reaction where its match was found, up to what becomes of its products; give the flat ones apart.

        Reactants that cannot be rules are left for the caller to take out.
        """
        code, plan = self.code, self.plan
        self.reuse.decide(plan.product)
        items: list[str] = []
        products: list[Product] = []
        for node in plan.product:
            key = self._flat_key(node)
            if key is None:
                items += self._item(node, top=True)
            else:
                assert isinstance(node, TupleNode)
                products.append(Product(key, [Text(self._molecule(part), self._kind(part)) for part in node.parts]))
        for text, place in self.computed:
            code.line(text, place)
        for text in self.copies:
            code.line(text)
        for element in plan.top.elements:
            if not element.kept and element is not active and may_be_rule(plan, element):
                code.line(f"s0.remove({element.cell})")
        for text in self.changes:
            code.line(text)
        return items, products

    def handed_back(self, active: Element, items: list[str]) -> tuple[str, str] | None:
        """Return the product that is the molecule in hand with less in it, if there is one, and its solution."""
        for node in self.plan.product:
            site = self.reuse.only_loses(active, node)
            if site is not None:
                assert isinstance(node, TupleNode)
                text = ", ".join(
                    site.solution if isinstance(part, SolutionNode) else self.writer.write(part).text
                    for part in node.parts
                )
                # What is needed in another product, too, may be a copy in this one.
                if f"({text})" in items:
                    return f"({text})", site.solution
        return None

    def _kind(self, node: Expression) -> type | None:
        return self.writer.write(node).kind

    def _flat_key(self, node: Expression) -> Any:
        """Return the length and first part of a product that is a tuple of atoms and begins with a symbol."""
        if not isinstance(node, TupleNode) or not isinstance(node.parts[0], Literal):
            return None
        if type(node.parts[0].value) is not Symbol or not all(map(self._is_atom, node.parts)):
            return None
        return (len(node.parts), node.parts[0].value)

    def _is_atom(self, node: Expression) -> bool:
        if isinstance(node, Name):
            if node.text in self.locals or node.text not in self.plan.variables:
                return False
            return not self.plan.may_hold_solution(node.text)
        if isinstance(node, Literal | Unary | Binary):
            return self.writer.write(node).kind in ATOMS
        return False

    def _all_fields(self) -> set[str]:
        names = {element.cell for element in self.plan.elements} | set(self.plan.variables.values())
        for site in self.plan.sites[1:]:
            names |= {site.solution, site.store}
        return names

    def _consume(self) -> None:
        for element in self.plan.top.elements:
            if not element.kept:
                cell = element.cell
                self.code.line(f"if {cell} is not None: s0.remove({cell})")

    # --- Products.

    def _items(self, nodes: list[Expression], *, top: bool = False) -> list[str]:
        found: list[str] = []
        for node in nodes:
            found += self._item(node, top=top)
        return found

    def _item(self, node: Expression, *, top: bool) -> list[str]:
        """Return the texts of the molecules an item stands for, spread or single."""
        if isinstance(node, Name) and node.text not in self.locals:
            rest = self._rest(node, top=top)
            if rest is not None:
                return rest
        if isinstance(node, Multiplet):
            return [self._multiplet(node)]
        if isinstance(node, LetNode):
            return self._let(node, top=top)
        return [self._molecule(node)]

    def _molecule(self, node: Expression) -> str:
        match node:
            case Literal():
                return self.code.constant(node.value)
            case Name():
                return self._owned(node)
            case TupleNode():
                return f"({', '.join(self._molecule(part) for part in node.parts)})"
            case ListNode():
                items = self._items(node.items)
                return f"_List(({''.join(item + ', ' for item in items)}))"
            case SolutionNode():
                return self._solution(node)
            case RuleNode():
                return self._rule(node)
            case LetNode():
                return self._let(node, top=False)[0]
            case Unary() | Binary() | Call():
                return self._compute(self.writer.write(node).text, node)
            case Multiplet():
                raise AssertionError(node)

    def _compute(self, text: str, node: Node) -> str:
        self.count += 1
        name = f"t{self.count}"
        self.computed.append((f"{name} = {text}", node))
        return name

    def _multiplet(self, node: Multiplet) -> str:
        item = self._molecule(node.item)
        if node.count is None:
            return f"_Endless({item})"
        number = self._compute(f"_count({self.writer.write(node.count).text})", node)
        return f"*_times({item}, {number})"

    def _let(self, node: LetNode, *, top: bool) -> list[str]:
        before = dict(self.locals)
        for binding in node.bindings:
            self.count += 1
            name = f"l{self.count}"
            self.changes.append(f"{name} = {self._rule(binding.rule)}")
            self.locals[binding.name] = name
        found = self._items(node.body, top=top)
        self.locals = before
        return found

    def _rule(self, node: RuleNode) -> str:
        if not node.captures:
            return self.code.constant(closed_rule(node), "R")
        values = [self._captured(name) for name in node.captures]
        return f"_Rule({self.code.constant(node, 'N')}, ({''.join(value + ', ' for value in values)}))"

    def _captured(self, name: str) -> str:
        if name in self.locals:
            return self.locals[name]
        rest = rest_text(self.plan, name)
        if rest is not None:
            return self._copy_early(f"_List(_copies({rest}))")
        value = self._value(Name(name)).text
        if name in self.plan.variables and not self.plan.may_hold_solution(name):
            return value
        return self._copy_early(f"_copied({value})")

    def _copy_early(self, text: str) -> str:
        self.count += 1
        self.copies.append(f"t{self.count} = {text}")
        return f"t{self.count}"

    # --- Variables.

    def _value(self, node: Name) -> Text:
        """Return a name's value to compute with."""
        if node.text in self.locals:
            return Text(self.locals[node.text])
        if node.text in self.plan.variables:
            return Text(self.plan.variables[node.text], self.plan.kind(node.text))
        return outer_text(self.plan, self.code, node.text)

    def _argument_spread(self, node: Name) -> str | None:
        return None if node.text in self.locals else rest_text(self.plan, node.text)

    def _owned(self, node: Name) -> str:
        """Return a name's molecule to put into the product: itself the first time, copies later."""
        name = node.text
        value = self._value(node).text
        if name in self.locals or name not in self.plan.variables:
            # A rule, or a captured value, of which the closure keeps its own.
            captured = self.plan.rule.captures.get(name) == "variable" and name not in self.locals
            return self._copy_early(f"_copied({value})") if captured else value
        if not self.plan.may_hold_solution(name):
            return value
        element = self.plan.element_of[name]
        if self.reuse.keeps(element) or self.reuse.is_held(element.site) or name in self.taken:
            return self._copy_early(f"({value} if type({value}) in _ATOMS else _copied({value}))")
        self.taken.add(name)
        return value

    # --- Rests.

    def _rest(self, node: Name, *, top: bool) -> list[str] | None:
        name = node.text
        text = rest_text(self.plan, name)
        if text is None:
            return None
        site = self.plan.rest_sites.get(name)
        if site is None:
            is_kept = name not in self.plan.rest_sites or self.reuse.keeps(self.plan.element_of[name])
            fixed = is_kept or name in self.taken
            self.taken.add(name)
            return [f"*{self._copy_early(f'_copies({text})') if fixed else text}"]
        if site.number == 0:
            return self._own_rest(name, text, top=top)
        if self.reuse.is_held(site) or name in self.taken:
            return [f"*{self._copy_early(f'_copies({text})')}"]
        self.taken.add(name)
        return [f"*{text}"]

    def _own_rest(self, name: str, text: str, *, top: bool) -> list[str]:
        if self.plan.top.rests[0].name != name:
            return []
        if name in self.taken:
            return [f"*{self._copy_early(f'_copies({text})')}"]
        self.taken.add(name)
        if top and not self.is_pure:
            self.rest_is_left = True
            return []
        return ["*w0"]

    # --- Solutions.

    def _solution(self, node: SolutionNode) -> str:
        if id(node) not in self.reuse.reused:
            return f"_Solution([{', '.join(self._items(node.items))}])"
        site, new = self.reuse.reused[id(node)]
        items: list[str] = []
        staying: dict[Element, Site] = {}
        for item in new:
            texts = self._item(item, top=False)
            if id(item) in self.reuse.staying:
                element, inner = self.reuse.staying[id(item)]
                staying[element] = inner
            else:
                items += texts
        for element in site.elements:
            if element in staying:
                self._stay(element, site, staying[element])
            elif not self.reuse.keeps(element):
                self.changes.append(f"{site.store}.remove({element.cell})")
        if items:
            self.changes.append(f"{site.solution}.extend(({''.join(item + ', ' for item in items)}))")
        elif not all(map(self.reuse.keeps, site.elements)):
            # A rule that asks something of the rest may want what it has become.
            self.changes.append(f"if {site.store}.late: {site.solution}.inert = False")
        return site.solution

    def _stay(self, element: Element, site: Site, inner: Site) -> None:
        """Leave a tuple where it is unless a rule there could want what it has become."""
        pattern = element.pattern
        assert isinstance(pattern, TuplePattern)
        shape = f"({len(pattern.parts)}, {self.code.constant(self.plan.head(pattern))})"
        self.changes.append(
            f"if {inner.store}.rules or {site.store}.wants({shape}): "
            f"{site.store}.remove({element.cell}); {site.solution}.add({element.cell}.molecule)"
        )


def may_be_rule(plan: Plan, element: Element) -> bool:
    """Return whether an element could take a rule, which must be unregistered."""
    pattern = element.pattern
    if isinstance(pattern, VariablePattern):
        kinds = plan.kinds.get(pattern.name)
        return kinds is None or Rule in kinds
    return isinstance(pattern, RulePattern)


def _words(lines: list[str]) -> set[str]:
    import re

    return set(re.findall(r"\w+", " ".join(lines)))
