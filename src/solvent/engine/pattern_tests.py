"""Writes the tests of one molecule against a pattern, and the parts of a condition as soon as they can be tested."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.engine.expressions import ExpressionWriter, Text, truth_of
from solvent.engine.names import outer_text, rest_text
from solvent.lang.molecule import ATOMS, Symbol
from solvent.lang.syntax import (
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
    names_in,
)

if TYPE_CHECKING:
    from solvent.engine.code import Code
    from solvent.engine.index import Store
    from solvent.engine.plan import Element, Plan
    from solvent.lang.functions import Functions


class Taker:
    """Writes tests; knows which variables are bound and what is still to be found."""

    def __init__(self, code: Code, plan: Plan, functions: Functions, fields: list[str]) -> None:
        self.code = code
        self.plan = plan
        self.functions = functions
        self.fields = fields
        self.reacts = False
        # What the text looks up once for all searches: indexes, and the queues that products go to.
        self.indexes: dict[Any, str] = {}
        # The store whose other rules the text may count on, and the keys it asked them about.
        self.visited: Store | None = None
        self.consulted: set[Any] = set()
        self.writer = ExpressionWriter(code, plan.rule, functions, self._variable, self._spread)
        self.reset()

    def reset(self) -> None:
        """Forget the search written before."""
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

    def temporary(self, prefix: str) -> str:
        """Return a new name."""
        self.temporaries += 1
        return f"{prefix}_{self.temporaries}"

    # --- Testing one molecule.

    def take(self, text: str, pattern: Pattern, *, known: frozenset[int], shape_known: bool = False) -> None:
        """Write the tests of a molecule, and bind what the pattern binds."""
        code = self.code
        match pattern:
            case LiteralPattern():
                self.require(_is_literal(text, code.constant(pattern.value), pattern.value))
            case VariablePattern():
                self._bind(pattern, text, type_known=shape_known)
            case RulePattern():
                check = "" if shape_known else f"type({text}) is _Rule and "
                self.require(f"{check}{text}.name == {pattern.rule!r}")
                self._bind(VariablePattern(pattern.name), text, type_known=True)
            case TuplePattern():
                if not shape_known:
                    self.require(f"type({text}) is tuple and len({text}) == {len(pattern.parts)}")
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
            self.require(f"type({text}) is {self.code.constant(value.kind, 'T')}")
        else:
            other = value.text
            same = f"(type({text}) is type({other}) and type({other}) in _ATOMS)"
            self.require(f"{text} is {other} or {same} or _equal({text}, {other})")

    def _part(self, text: str, pattern: Pattern) -> None:
        if not isinstance(pattern, LiteralPattern | VariablePattern):
            name = self.temporary("p")
            self.code.line(f"{name} = {text}")
            text = name
        self.take(text, pattern, known=frozenset())

    def _bind(self, pattern: VariablePattern, text: str, *, type_known: bool) -> None:
        name = self.plan.variables[pattern.name]
        if pattern.name in self.bound:
            kind = self.plan.kind(pattern.name)
            if kind in (Symbol, str):
                self.require(f"{text} == {name}")
            else:
                self.require(f"({text} is {name} or _equal({text}, {name}))")
            return
        self.code.line(f"{name} = {text}")
        kinds = self.plan.kinds.get(pattern.name)
        if kinds is not None and not type_known:
            types = [self.code.constant(kind, "T") for kind in sorted(kinds, key=repr)]
            check = f"type({name}) is {types[0]}" if len(types) == 1 else f"type({name}) in [{', '.join(types)}]"
            self.require(check)
        self.bound.add(pattern.name)
        self.test_ready()

    def _take_list(self, text: str, pattern: ListPattern) -> None:
        at = next((at for at, item in enumerate(pattern.items) if isinstance(item, RestPattern)), None)
        count = len(pattern.items)
        if at is None:
            self.require(f"type({text}) is _List and len({text}) == {count}")
            after = 0
        else:
            rest = pattern.items[at]
            assert isinstance(rest, RestPattern)
            least = count - 1 + rest.at_least_one
            self.require(f"type({text}) is _List and len({text}) >= {least}")
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
        self.require(f"type({text}) is _Solution and {text}.inert")
        self.code.line(f"{site.solution} = {text}")
        # As `_store` and `Store.size` do, which are asked for each molecule that is tried.
        self.code.line(f"{site.store} = {text}.settled")
        self.code.line(f"if {site.store} is None: {site.store} = _store({text})")
        size = f"{site.store}.births - {site.store}.deaths"
        least = len(site.elements) + any(rest.at_least_one for rest in site.rests)
        if site.rests:
            # Of an endless molecule there are always as many as patterns, and more.
            self.require(f"{size} >= {least} or {site.store}.has_endless") if least else None
        else:
            # And never exactly as many.
            self.require(f"{size} == {least} and not {site.store}.has_endless")
        self.goals += site.elements

    def require(self, test: str) -> None:
        """Write a test without which the search goes on elsewhere."""
        self.code.line(f"if not ({test}): {self.fail}")

    # --- Conditions.

    def ready(self, node: Expression) -> bool:
        """Return whether all names of an expression are bound."""
        return all(name in self.bound or self._is_outer(name) for name in names_in(node))

    def _is_outer(self, name: str) -> bool:
        return name not in self.plan.variables and name not in self.plan.rest_sites

    def test_ready(self) -> None:
        """Write the parts of the condition that can be tested now."""
        for test in [test for test in self.tests if self.ready(test)]:
            self.tests.remove(test)
            self.test(test)

    def test(self, test: Expression) -> None:
        """Write one part of the condition."""
        text = truth_of(self.writer.write(test))
        if text.may_raise:
            self.code.open("try:")
            self.code.line(f"if not {text.text}: {self.fail}", test)
            self.code.close()
            self.code.line(f"except _ERRORS: {self.fail}")
        else:
            self.code.line(f"if not {text.text}: {self.fail}")

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
