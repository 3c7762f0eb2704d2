"""Writes the searches of a rule.

For each element of the rule's own solution there is a search that starts with a molecule already in hand, which is how
new molecules are tried, and one that starts with none (`find_all`), for new rules and for the strategies that look at
all enabled reactions. A search is nested loops, one for each element still to be found.
The next element is always the one about which most is known: constants and bound variables become
the key of an index, an equation in the condition gives a key too, and every part of the condition is tested in the
outermost loop where its variables are bound.

A search whose reaction takes the molecule in hand ends with its first match, so it is a plain function. Others are
generators, and the reaction happens before the search goes on, so loops look whether the cells they hold are still
alive. Python allows twenty nested blocks; deeper searches go on in an inner function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.engine.builder import Builder, may_be_rule
from solvent.engine.expressions import Text
from solvent.engine.onward import Onward
from solvent.engine.pattern_tests import Taker
from solvent.lang.operators import OPERATORS
from solvent.lang.syntax import (
    Binary,
    Expression,
    ListPattern,
    LiteralPattern,
    Name,
    Pattern,
    RulePattern,
    SolutionPattern,
    TuplePattern,
    VariablePattern,
    names_in,
)

if TYPE_CHECKING:
    from solvent.engine.plan import Element, Site

_MAX_BLOCKS = 15
AGAIN = 2
"""What an attempt gives if its reaction has put the molecule in hand back with less in it, and nothing in it reacts."""


class Matcher(Taker):
    """Writes one search."""

    def write(self, name: str, active: Element | None, *, reacts: bool = False) -> None:
        """Write the search that starts with `active` in hand, or with nothing; one that `reacts` gives products."""
        code = self.code
        self.indexes = {}
        code.open(f"def {name}(s0, own, scan, rule, solution):")
        self.unpack_captures()
        self.top_line = code.mark()
        code.open("def find(m):")
        self.write_body(active, reacts=reacts, fail="return")
        code.close(1)
        code.line("return find")
        code.close(0)

    def unpack_captures(self) -> None:
        """Name what the rule captured."""
        captures = self.plan.rule.captures
        if captures:
            self.code.line(f"{''.join(f'k{at}, ' for at in range(len(captures)))} = rule.captured")

    def write_body(self, active: Element | None, *, reacts: bool, fail: str) -> None:
        """Write the loops; `fail` ends the search from outside all of them."""
        self.reset()
        self.reacts = reacts
        self.fail = fail
        self.blocks = int(fail == "break")
        self.goes_on = active is None or active.kept
        code = self.code
        if active is not None:
            self.goals.remove(active)
            if not reacts:
                code.line(f"{active.cell} = None")
            self.take("m", active.pattern, known=frozenset(), shape_known=True)
        else:
            self._check_own_rest()
            self.test_ready()
        while self.goals:
            self._next_goal()
        for test in self.tests:
            self.test(test)
        if reacts:
            self._write_reaction(active)
        else:
            code.line(f"{'yield' if self.goes_on else 'return'} ({''.join(field + ', ' for field in self.fields)})")
        for depth, call in reversed(self.afterwards):
            code.close(depth)
            code.line(call)

    def _write_reaction(self, active: Element | None) -> None:
        code = self.code
        builder = Builder(code, self.plan, self.functions)
        others, products = builder.write_inline(active)
        is_visit = self.visited is not None
        back = None if active is None or self.goes_on or is_visit else builder.handed_back(active, others)
        if back is not None:
            left = ", ".join(other for other in others if other != back[0])
            code.line(f"again = {back[1]}.inert")
            code.line(f"solution.fresh += [{left}] if again else [{', '.join(others)}]")
        elif len(others) == 1 and not others[0].startswith("*"):
            code.line(f"solution.fresh.append({others[0]})")
        elif others:
            code.line(f"solution.fresh += [{', '.join(others)}]")
        gone = [element for element in self.plan.top.elements if not element.kept and element is not active]
        gone = [element for element in gone if not may_be_rule(self.plan, element)]
        onward = Onward(code, self.plan, self._queue, self.visited)
        onward.write(products, gone, self._reusable(gone))
        self.consulted |= onward.consulted
        if not self.goes_on:
            code.line("return True" if back is None else f"return {AGAIN} if again else True")

    def _reusable(self, gone: list[Element]) -> list[Element]:
        """Return the reactants whose cells a product may take: no loop may go on with what it found there."""
        if not self.goes_on:
            return gone
        # The search goes on: the innermost loop has another cell next, and no loop around it lasts that took one.
        return [one for one in gone if one is self.held[-1] and len(gone) > 1]

    def _queue(self, key: Any) -> str:
        queue = self.indexes.get(key)
        if queue is None:
            queue = self.indexes[key] = f"p{len(self.indexes)}"
            self.code.insert(self.top_line, f"{queue} = s0.queue(({key[0]}, {self.code.constant(key[1])}))")
        return queue

    def _check_own_rest(self) -> None:
        top = self.plan.top
        if any(rest.at_least_one for rest in top.rests):
            # The rule's own cell is in the store too; of an endless molecule there are always more.
            self.code.line(f"if s0.size < {len(top.elements) + 2} and not s0.has_endless: return")

    # --- Which element next.

    def _next_goal(self) -> None:
        goal = min(self.goals, key=self._cost)
        self.goals.remove(goal)
        self._loop(goal)

    def _cost(self, goal: Element) -> float:
        cost = self._cost_of(goal.pattern)
        # A sub-solution in hand is rather gone through than all tuples of the solution around it.
        return min(cost, 4.5) - 0.5 if goal.site.number else cost

    def _cost_of(self, pattern: Pattern) -> float:
        match pattern:
            case LiteralPattern():
                return 0
            case VariablePattern():
                if pattern.name in self.bound or self._equation(pattern.name) is not None:
                    return 0.1
                return 8 if self.plan.kinds.get(pattern.name) is None else 5
            case TuplePattern():
                known = len(self._known(pattern))
                headed = self.plan.head(pattern) is not None
                return 2 - known / (len(pattern.parts) + 1) if known else 3 if headed else 5
            case RulePattern():
                return 2
        return 4

    def _known(self, pattern: TuplePattern) -> dict[Any, Text]:
        """Return the parts of a tuple pattern whose values are known before looking; those of tuples in it by path."""
        found: dict[Any, Text] = {}
        headed = self.plan.head(pattern) is not None
        for at, part in enumerate(pattern.parts):
            if headed and at == 0:
                # Tuples with a first part that rules name have rows of their own.
                continue
            if isinstance(part, LiteralPattern):
                found[at] = Text(self.code.constant(part.value), type(part.value))
            elif isinstance(part, VariablePattern):
                if part.name in self.bound:
                    found[at] = Text(self.plan.variables[part.name], self.plan.kind(part.name))
                else:
                    equation = self._equation(part.name)
                    if equation is not None:
                        found[at] = equation
            elif isinstance(part, TuplePattern):
                self._known_inside(part, (at,), found)
        return found

    def _known_inside(self, pattern: TuplePattern, path: tuple[int, ...], found: dict[Any, Text]) -> None:
        for at, part in enumerate(pattern.parts):
            if isinstance(part, LiteralPattern):
                found[*path, at] = Text(self.code.constant(part.value), type(part.value))
            elif isinstance(part, VariablePattern) and part.name in self.bound:
                found[*path, at] = Text(self.plan.variables[part.name], self.plan.kind(part.name))
            elif isinstance(part, TuplePattern):
                self._known_inside(part, (*path, at), found)

    def _equation(self, name: str) -> Text | None:
        """Return the value that the condition demands of a variable, where it can be computed already."""
        for test in self.tests:
            if isinstance(test, Binary) and test.operator == "==":
                for side, other in ((test.left, test.right), (test.right, test.left)):
                    value = self._solved(side, other, name)
                    if value is not None:
                        return value
        return None

    def _solved(self, side: Expression, other: Expression, name: str) -> Text | None:
        """Solve `side == other` for a variable: `x`, or with integers `x + a`, `a + x`, `x - a`, `a - x`."""
        if isinstance(side, Name) and side.text == name and self.ready(other):
            text = self.writer.write(other)
            return None if text.may_raise else text
        if not isinstance(side, Binary) or self.plan.kind(name) is not int:
            return None
        turned = _turned(side, other, name)
        if turned is None or name in names_in(turned) or not self.ready(turned):
            return None
        text = self.writer.write(turned)
        return text if text.kind is int and not text.may_raise else None

    # --- Loops.

    def _loop(self, goal: Element) -> None:
        code, pattern, store = self.code, goal.pattern, goal.site.store
        if self.blocks >= _MAX_BLOCKS:
            self._go_on_in_inner()
        known: frozenset[int] = frozenset()
        # A molecule found by its value has only Python's word for it, and that does not tell `1` from `True`.
        by_value = isinstance(pattern, VariablePattern) and (
            pattern.name in self.bound or self._equation(pattern.name) is not None
        )
        if isinstance(pattern, TuplePattern):
            parts = self._known(pattern)
            cells = self._tuple_cells(pattern, goal.site, parts)
            # What an index found by a path is checked part by part.
            known = frozenset(at for at in parts if type(at) is int)
            self.by_key = parts
        else:
            cells = self._cells(pattern, store)
        code.open(f"for {goal.cell} in {cells}:")
        self.blocks += 1
        self.fail = "continue"
        self._skip(goal)
        molecule = f"m{goal.number}"
        code.line(f"{molecule} = {goal.cell}.molecule")
        self.take(molecule, pattern, known=known, shape_known=not by_value)

    def _go_on_in_inner(self) -> None:
        self.inner += 1
        name = f"g{self.inner}"
        call = f"yield from {name}()"
        if self.reacts and self.goes_on:
            call = f"{name}()"
        elif not self.goes_on:
            call = f"found = {name}()\n{'    ' * self.code.depth}if found is not None: return found"
        self.afterwards.append((self.code.depth, call))
        self.code.open(f"def {name}():")
        self.blocks = 0
        self.fail = "return"

    def _skip(self, goal: Element) -> None:
        """Pass over cells that are dead, taken by this match already, or the rule itself."""
        tests = [f"not {goal.cell}.alive"]
        tests += [
            f"({goal.cell} is {other.cell} and not {goal.cell}.endless)"
            for other in self.held
            if other.site is goal.site and _may_meet(other.pattern, goal.pattern)
        ]
        if goal.site.number == 0 and may_be_rule(self.plan, goal):
            tests.append(f"{goal.cell} is own")
        self.code.line(f"if {' or '.join(tests)}: continue")
        if self.goes_on:
            taken = [other.cell for other in self.held if not other.kept and other.site.number == 0]
            if taken:
                self.code.line(f"if not ({' and '.join(f'{cell}.alive' for cell in taken)}): break")
        self.held.append(goal)

    def _tuple_cells(self, pattern: TuplePattern, site: Site, known: dict[int, Text]) -> str:
        head = self.plan.head(pattern)
        size = len(pattern.parts)
        shape = str(size) if head is None else f"({size}, {self.code.constant(head)})"
        if not known:
            if head is None:
                return self._all(f"{site.store}.tuple_rows({size})")
            return self._scan(f"{site.store}.row({shape})")
        positions = tuple(known)
        texts = [text.text for text in known.values()]
        key = texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
        row = self.temporary("r")
        if head is None:
            self.code.line(f"{row} = {site.store}.lookup({size}, {positions!r}, {key})")
        elif site.number == 0:
            index = self.indexes.get((shape, positions))
            if index is None:
                index = self.indexes[shape, positions] = f"i{len(self.indexes)}"
                self.code.insert(self.top_line, f"{index} = s0.index({shape}, {positions!r})")
            self.code.line(f"{row} = {index}.get({key})")
        else:
            self.code.line(f"{row} = {site.store}.index({shape}, {positions!r}).get({key})")
        self.code.line(f"if not {row}: {self.fail}")
        return self._scan(row)

    def _order(self) -> str:
        return "_in_order" if self.reacts else "scan"

    def _scan(self, row: str) -> str:
        """Return the text that goes through a row.

        Dead cells at its beginning are dropped first, unless reactions may happen while loops go on: nothing dies
        during a search that ends with its first match, so what the outermost loop leaves there stays.
        """
        if not self.goes_on:
            if not row.isidentifier():
                name = self.temporary("r")
                self.code.line(f"{name} = {row}")
                row = name
            self.code.line(f"if len({row}) > 1 and not {row}[0].alive: _trim({row})")
        return row if self.reacts else f"scan({row})"

    def _all(self, rows: str) -> str:
        """Return the text that goes through several rows."""
        if self.goes_on:
            return f"_each_row({rows}, {self._order()})"
        return f"_each_row(_trimmed({rows}), {self._order()})"

    def _cells(self, pattern: Pattern, store: str) -> str:
        match pattern:
            case LiteralPattern():
                return self._same(store, self.code.constant(pattern.value))
            case VariablePattern():
                if pattern.name in self.bound:
                    return self._same(store, self.plan.variables[pattern.name])
                equation = self._equation(pattern.name)
                if equation is not None:
                    return self._same(store, equation.text)
                kinds = self.plan.kinds.get(pattern.name)
                if kinds is None:
                    return self._all(f"{store}.all_rows()")
                if kinds == {tuple}:
                    return self._all(f"{store}.tuple_rows(None)")
                types = [self.code.constant(kind, "T") for kind in sorted(kinds, key=repr)]
                if len(types) == 1:
                    return self._scan(f"{store}.row({types[0]})")
                return self._all(f"[{', '.join(f'{store}.row({kind})' for kind in types)}]")
            case RulePattern():
                return self._scan(f"{store}.row(_Rule)")
            case ListPattern():
                return self._scan(f"{store}.row(_List)")
            case SolutionPattern():
                return self._scan(f"{store}.row(_Solution)")
        raise AssertionError(pattern)

    def _same(self, store: str, value: str) -> str:
        row = self.temporary("r")
        self.code.line(f"{row} = {store}.same({value})")
        self.code.line(f"if not {row}: {self.fail}")
        return self._scan(row)


def _turned(side: Binary, other: Expression, name: str) -> Binary | None:
    """Return the value of a variable that is an operand of `side`, which is to equal `other`."""
    solved = OPERATORS[side.operator].solved
    if solved is None:
        return None
    for form, unknown, known in zip(solved, (side.left, side.right), (side.right, side.left), strict=True):
        if isinstance(unknown, Name) and unknown.text == name:
            nodes = {"result": other, "known": known}
            left, operator, right = form.split()
            return Binary(operator, nodes[left], nodes[right])
    return None


def _may_meet(one: Pattern, other: Pattern) -> bool:
    """Return whether two patterns could take the same molecule."""
    if isinstance(one, VariablePattern) or isinstance(other, VariablePattern):
        return True
    if isinstance(one, TuplePattern) and isinstance(other, TuplePattern):
        return len(one.parts) == len(other.parts) and all(map(_may_meet, one.parts, other.parts))
    if isinstance(one, LiteralPattern) and isinstance(other, LiteralPattern):
        return one == other
    return type(one) is type(other)
