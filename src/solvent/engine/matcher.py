"""Writes the searches of a rule.

For each element of the rule's own solution there is a search that starts with a molecule already in hand, which is how new molecules are tried, and one that starts with none (`find_all`), for new
rules and for the strategies that look at all enabled reactions. A search is nested loops, one for each element still
to be found. The next element is always the one about which most is known: constants and bound variables become
the key of an index, an equation in the condition gives a key too, and every part of the condition is tested in the
outermost loop where its variables are bound.

A search whose reaction takes the molecule in hand ends with its first match, so it is a plain function. Others are
generators, and the reaction happens before the search goes on, so loops look whether the cells they hold are still
alive. Python allows twenty nested blocks; deeper searches go on in an inner function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.chemistry.molecule import ATOMS, Symbol
from solvent.chemistry.syntax import (
    Binary,
    Expression,
    ListPattern,
    LiteralPattern,
    Name,
    Pattern,
    RestPattern,
    RulePattern,
    SolutionPattern,
    TuplePattern,
    VariablePattern,
)
from solvent.engine.builder import Builder
from solvent.engine.expressions import ExpressionWriter, Text, names_in
from solvent.engine.names import outer_text, rest_text

if TYPE_CHECKING:
    from solvent.chemistry.functions import Functions
    from solvent.engine.code import Code
    from solvent.engine.plan import Element, Plan, Site

_BLOCKS_MAX = 15


class Matcher:
    """Writes one search."""

    def __init__(self, code: Code, plan: Plan, functions: Functions, fields: list[str]) -> None:
        self.code = code
        self.plan = plan
        self.functions = functions
        self.fields = fields
        self.reacts = False
        # What the text looks up once for all searches: indexes, and the queues that products go to.
        self.indexes: dict[Any, str] = {}
        self.writer = ExpressionWriter(code, plan.rule, functions, self._variable, self._spread)
        self._reset()

    def _reset(self) -> None:
        self.bound: set[str] = set()
        self.goals: list[Element] = list(self.plan.top.elements)
        self.tests = list(self.plan.conjuncts)
        self.held: list[Element] = []
        self.fail = "return"
        self.blocks = 0
        self.temporaries = 0
        self.inner = 0
        self.goes_on = True
        self.by_key: dict[int, Text] = {}
        # Calls of inner generators, to be written after their definitions, with the depth at which they stand.
        self.afterwards: list[tuple[int, str]] = []

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
        self._reset()
        self.reacts = reacts
        self.fail = fail
        self.blocks = int(fail == "break")
        self.goes_on = active is None or active.kept
        code, plan = self.code, self.plan
        if active is not None:
            self.goals.remove(active)
            if not reacts:
                code.line(f"{active.cell} = None")
            self._take("m", active.pattern, known=frozenset(), shape_known=True)
        else:
            self._check_own_rest()
            self._test_ready()
        while self.goals:
            self._next_goal()
        for test in self.tests:
            self._test(test)
        if reacts:
            self._write_reaction(active)
        else:
            code.line(f"{'yield' if self.goes_on else 'return'} ({''.join(field + ', ' for field in self.fields)})")
        for depth, call in reversed(self.afterwards):
            code.close(depth)
            code.line(call)

    def _write_reaction(self, active: Element | None) -> None:
        code = self.code
        others = []
        for text, key in Builder(code, self.plan, self.functions).write_inline(active):
            if key is None:
                others.append(text)
            else:
                queue = self.indexes.get(key)
                if queue is None:
                    queue = self.indexes[key] = f"p{len(self.indexes)}"
                    code.insert(self.top_line, f"{queue} = s0.queue(({key[0]}, {code.constant(key[1])}))")
                code.line(f"{queue}.append({text})")
        if len(others) == 1 and not others[0].startswith("*"):
            code.line(f"solution.fresh.append({others[0]})")
        elif others:
            code.line(f"solution.fresh += [{', '.join(others)}]")
        code.line("s0.reactions += 1")
        if not self.goes_on:
            code.line("return True")

    def _check_own_rest(self) -> None:
        top = self.plan.top
        if any(rest.at_least_one for rest in top.rests):
            # The rule's own cell is in the store too.
            self.code.line(f"if s0.size < {len(top.elements) + 2}: return")

    # --- Which element next.

    def _next_goal(self) -> None:
        goal = min(self.goals, key=self._cost)
        self.goals.remove(goal)
        self._loop(goal)

    def _cost(self, goal: Element) -> float:
        pattern = goal.pattern
        inside = -0.5 if goal.site.number else 0.0
        match pattern:
            case LiteralPattern():
                return 0 + inside
            case VariablePattern():
                if pattern.name in self.bound or self._equation(pattern.name) is not None:
                    return 0.1 + inside
                return (8 if self.plan.kinds.get(pattern.name) is None else 5) + inside
            case TuplePattern():
                known = len(self._known(pattern))
                headed = self.plan.head(pattern) is not None
                return (2 - known / (len(pattern.parts) + 1) if known else 3 if headed else 5) + inside
            case RulePattern():
                return 2 + inside
        return 4 + inside

    def _known(self, pattern: TuplePattern) -> dict[int, Text]:
        """Give the parts of a tuple pattern whose values are known before looking."""
        found: dict[int, Text] = {}
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
        return found

    def _equation(self, name: str) -> Text | None:
        """Give the value that the condition demands of a variable, where it can be computed already."""
        for test in self.tests:
            if isinstance(test, Binary) and test.operator == "==":
                for side, other in ((test.left, test.right), (test.right, test.left)):
                    if isinstance(side, Name) and side.text == name and self._ready(other):
                        text = self.writer.write(other)
                        if not text.may_raise:
                            return text
        return None

    # --- Loops.

    def _loop(self, goal: Element) -> None:
        code, pattern, store = self.code, goal.pattern, goal.site.store
        if self.blocks >= _BLOCKS_MAX:
            self._go_on_in_inner()
        known: frozenset[int] = frozenset()
        # A molecule found by its value has only Python's word for it, and that does not tell `1` from `True`.
        by_value = isinstance(pattern, VariablePattern) and (
            pattern.name in self.bound or self._equation(pattern.name) is not None
        )
        if isinstance(pattern, TuplePattern):
            parts = self._known(pattern)
            cells = self._tuple_cells(pattern, goal.site, parts)
            known = frozenset(parts)
            self.by_key = parts
        else:
            cells = self._cells(pattern, store)
        code.open(f"for {goal.cell} in {cells}:")
        self.blocks += 1
        self.fail = "continue"
        self._skip(goal)
        molecule = f"m{goal.number}"
        code.line(f"{molecule} = {goal.cell}.molecule")
        self._take(molecule, pattern, known=known, shape_known=not by_value)

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
        for other in self.held:
            if other.site is goal.site and _may_meet(other.pattern, goal.pattern):
                tests.append(f"({goal.cell} is {other.cell} and not {goal.cell}.endless)")
        if goal.site.number == 0 and isinstance(goal.pattern, VariablePattern | RulePattern):
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
                return f"_each_row({site.store}.tuple_rows({size}), {self._order()})"
            return self._scan(f"{site.store}.row({shape})")
        positions = tuple(known)
        texts = [text.text for text in known.values()]
        key = texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
        row = self._temporary("r")
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
        """Give the text that goes through a row; only the outermost loop may drop cells from it."""
        if not self.reacts:
            return f"scan({row})"
        if not self.held and not self.goes_on:
            if not row.isidentifier():
                name = self._temporary("r")
                self.code.line(f"{name} = {row}")
                row = name
            self.code.line(f"if len({row}) > 1 and not {row}[0].alive: _trim({row})")
        return row

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
                    return f"_each_row({store}.all_rows(), {self._order()})"
                if kinds == {tuple}:
                    return f"_each_row({store}.tuple_rows(None), {self._order()})"
                types = [self.code.constant(kind, "T") for kind in sorted(kinds, key=repr)]
                if len(types) == 1:
                    return self._scan(f"{store}.row({types[0]})")
                return f"_each_row([{', '.join(f'{store}.row({kind})' for kind in types)}], {self._order()})"
            case RulePattern():
                return self._scan(f"{store}.row(_Rule)")
            case ListPattern():
                return self._scan(f"{store}.row(_List)")
            case SolutionPattern():
                return self._scan(f"{store}.row(_Solution)")
        raise AssertionError(pattern)

    def _same(self, store: str, value: str) -> str:
        row = self._temporary("r")
        self.code.line(f"{row} = {store}.same({value})")
        self.code.line(f"if not {row}: {self.fail}")
        return self._scan(row)

    def _temporary(self, prefix: str) -> str:
        self.temporaries += 1
        return f"{prefix}_{self.temporaries}"

    # --- Testing one molecule.

    def _take(self, text: str, pattern: Pattern, *, known: frozenset[int], shape_known: bool = False) -> None:
        code = self.code
        match pattern:
            case LiteralPattern():
                self._require(_is_literal(text, code.constant(pattern.value), pattern.value))
            case VariablePattern():
                self._bind(pattern, text, type_known=shape_known)
            case RulePattern():
                check = "" if shape_known else f"type({text}) is _Rule and "
                self._require(f"{check}{text}.name == {pattern.rule!r}")
                self._bind(VariablePattern(pattern.name), text, type_known=True)
            case TuplePattern():
                if not shape_known:
                    self._require(f"type({text}) is tuple and len({text}) == {len(pattern.parts)}")
                head = self.plan.head(pattern) if shape_known else None
                for at, part in enumerate(pattern.parts):
                    if at == 0 and head is not None and type(head) is not int:
                        continue
                    if at in known:
                        self._check_key(f"{text}[{at}]", part, self.by_key[at])
                    else:
                        self._part(f"{text}[{at}]", part)
            case ListPattern():
                self._take_list(text, pattern)
            case SolutionPattern():
                self._take_solution(text, pattern)
            case RestPattern():
                raise AssertionError(pattern)

    def _check_key(self, text: str, pattern: Pattern, value: Text) -> None:
        """Check a part that an index found: it equals the value for Python, perhaps as `1` equals `True`."""
        if isinstance(pattern, VariablePattern) and pattern.name not in self.bound:
            self._part(text, pattern)
        elif value.kind in (Symbol, str):
            pass
        elif value.kind in ATOMS:
            self._require(f"type({text}) is {self.code.constant(value.kind, 'T')}")
        else:
            other = value.text
            same = f"(type({text}) is type({other}) and type({other}) in _ATOMS)"
            self._require(f"{text} is {other} or {same} or _equal({text}, {other})")

    def _part(self, text: str, pattern: Pattern) -> None:
        if not isinstance(pattern, LiteralPattern | VariablePattern):
            name = self._temporary("p")
            self.code.line(f"{name} = {text}")
            text = name
        self._take(text, pattern, known=frozenset())

    def _bind(self, pattern: VariablePattern, text: str, *, type_known: bool) -> None:
        name = self.plan.variables[pattern.name]
        if pattern.name in self.bound:
            kind = self.plan.kind(pattern.name)
            if kind in (Symbol, str):
                self._require(f"{text} == {name}")
            else:
                self._require(f"({text} is {name} or _equal({text}, {name}))")
            return
        self.code.line(f"{name} = {text}")
        kinds = self.plan.kinds.get(pattern.name)
        if kinds is not None and not type_known:
            types = [self.code.constant(kind, "T") for kind in sorted(kinds, key=repr)]
            check = f"type({name}) is {types[0]}" if len(types) == 1 else f"type({name}) in [{', '.join(types)}]"
            self._require(check)
        self.bound.add(pattern.name)
        self._test_ready()

    def _take_list(self, text: str, pattern: ListPattern) -> None:
        at = next((at for at, item in enumerate(pattern.items) if isinstance(item, RestPattern)), None)
        count = len(pattern.items)
        if at is None:
            self._require(f"type({text}) is _List and len({text}) == {count}")
            after = 0
        else:
            rest = pattern.items[at]
            assert isinstance(rest, RestPattern)
            least = count - 1 + rest.at_least_one
            self._require(f"type({text}) is _List and len({text}) >= {least}")
            after = count - at - 1
            name = self.plan.variables[rest.name]
            self.code.line(f"{name} = {text}[{at}:len({text}) - {after}]")
            self.bound.add(rest.name)
        for position, item in enumerate(pattern.items):
            if position != at:
                place = position if at is None or position < at else position - count
                self._part(f"{text}[{place}]", item)

    def _take_solution(self, text: str, pattern: SolutionPattern) -> None:
        site = self.plan.site_of_pattern[id(pattern)]
        self._require(f"type({text}) is _Solution and {text}.inert")
        self.code.line(f"{site.solution} = {text}")
        self.code.line(f"{site.store} = _store({text})")
        least = len(site.elements) + any(rest.at_least_one for rest in site.rests)
        self._require(f"{site.store}.size {'>=' if site.rests else '=='} {least}")
        self.goals += site.elements

    def _require(self, test: str) -> None:
        self.code.line(f"if not ({test}): {self.fail}")

    # --- Conditions.

    def _ready(self, node: Expression) -> bool:
        return all(name in self.bound or self._is_outer(name) for name in names_in(node))

    def _is_outer(self, name: str) -> bool:
        return name not in self.plan.variables and name not in self.plan.rest_sites

    def _test_ready(self) -> None:
        for test in [test for test in self.tests if self._ready(test)]:
            self.tests.remove(test)
            self._test(test)

    def _test(self, test: Expression) -> None:
        text = self.writer.write(test)
        truth = text.text if text.kind is bool else f"_truth({text.text})"
        if text.may_raise or text.kind is not bool:
            self.code.open("try:")
            self.code.line(f"if not {truth}: {self.fail}", test)
            self.code.close()
            self.code.line(f"except _ERRORS: {self.fail}")
        else:
            self.code.line(f"if not {truth}: {self.fail}")

    def _variable(self, node: Name) -> Text:
        name = node.text
        if name in self.plan.variables:
            return Text(self.plan.variables[name], self.plan.kind(name))
        return outer_text(self.plan, self.code, name)

    def _spread(self, node: Name) -> str | None:
        return rest_text(self.plan, node.text)


def _is_literal(text: str, constant: str, value: object) -> str:
    if type(value) is Symbol:
        return f"{text} is {constant}"
    if type(value) is str:
        return f"{text} == {constant}"
    return f"type({text}) is {type(value).__name__} and {text} == {constant}"


def _may_meet(one: Pattern, other: Pattern) -> bool:
    """Say whether two patterns could take the same molecule."""
    if isinstance(one, VariablePattern) or isinstance(other, VariablePattern):
        return True
    if isinstance(one, TuplePattern) and isinstance(other, TuplePattern):
        return len(one.parts) == len(other.parts) and all(map(_may_meet, one.parts, other.parts))
    if isinstance(one, LiteralPattern) and isinstance(other, LiteralPattern):
        return one == other
    return type(one) is type(other)
