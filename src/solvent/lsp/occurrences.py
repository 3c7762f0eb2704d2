"""The names in a text, and where each is bound: what an editor asks for.

Follows `scope`: a pattern binds its variables for its rule, a `let` names a rule for what comes after its `in`. It
reports no errors, since `scope` does; an unbound name has no definition. A pattern `max = m` refers to a rule by its
name, so the rule is searched for in the whole program. `T1 : <...>`, directly in the
outermost solution, defines the symbol: that is how workflows write tasks.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from solvent.lang import syntax
from solvent.lang.molecule import Symbol

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal as OneOf
    from typing import TypeAlias

    from solvent.lang.lexer import Lexeme

    Kind: TypeAlias = OneOf["rule", "variable", "rest", "task"]


@dataclass(eq=False, slots=True)
class Definition:
    """What binds a name: its place (`start`, `end`), its node, and where the name is visible."""

    kind: Kind
    name: str
    start: int
    node: syntax.Node
    #: The whole of what is defined: a let with its rule, a pattern, a task.
    whole: tuple[int, int]
    #: The name is known from `whole` up to here.
    until: int
    #: The rule whose pattern binds it; of a rule, itself.
    rule: syntax.RuleNode | None = None

    @property
    def end(self) -> int:
        """Where the name ends."""
        return self.start + len(self.name)


@dataclass(eq=False, slots=True)
class Occurrence:
    """A name in the text."""

    name: str
    start: int
    definition: Definition | None
    is_called: bool = False

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + len(self.name)


class Occurrences:
    """All names of a program."""

    def __init__(self, tree: syntax.ProgramNode, text: str, lexemes: list[Lexeme]) -> None:
        finder = _Finder(text, lexemes, tree)
        self.all = sorted(finder.found, key=lambda one: one.start)
        self.definitions = sorted(finder.definitions, key=lambda one: one.start)
        self._starts = [one.start for one in self.all]

    def at(self, offset: int) -> Occurrence | None:
        """Return the name that stands at a place, or ends there."""
        index = bisect_left(self._starts, offset + 1) - 1
        for one in self.all[max(0, index - 1) : index + 1][::-1]:
            if one.start <= offset <= one.end:
                return one
        return None

    def of(self, definition: Definition) -> list[Occurrence]:
        """Return every occurrence of a definition, including the definition itself."""
        return [one for one in self.all if one.definition is definition]

    def known_at(self, offset: int) -> Iterable[Definition]:
        """Return the definitions visible at a place; of several with one name, the innermost."""
        found: dict[str, Definition] = {}
        for one in self.definitions:
            if one.whole[0] <= offset <= one.until and one.kind != "task":
                found[one.name] = one
        return found.values()


class _Finder:
    def __init__(self, text: str, lexemes: list[Lexeme], tree: syntax.ProgramNode) -> None:
        self._text = text
        self._lexemes = lexemes
        self._starts = [one.start for one in lexemes]
        self.found: list[Occurrence] = []
        self.definitions: list[Definition] = []
        self._of_rules: list[Occurrence] = []
        self._tasks: dict[str, Definition] = {}
        self._find_tasks(tree)
        self._molecules(tree.body, {})
        rules = {one.name: one for one in reversed(self.definitions) if one.kind == "rule"}
        for one in self._of_rules:
            one.definition = one.definition or rules.get(one.name)

    def _find_tasks(self, tree: syntax.ProgramNode) -> None:
        body = tree.body
        while len(body) == 1 and isinstance(body[0], syntax.LetNode):
            body = body[0].body
        for node in body[0].items if len(body) == 1 and isinstance(body[0], syntax.SolutionNode) else ():
            match node:
                case syntax.TupleNode(parts=[syntax.Literal(value=Symbol() as symbol) as first, syntax.SolutionNode()]):
                    whole = node.start, node.end
                    task = Definition("task", symbol.name, first.start, node, whole=whole, until=tree.end)
                    self._tasks.setdefault(symbol.name, task)
        self.definitions += self._tasks.values()

    def _define(self, definition: Definition, names: dict[str, Definition]) -> None:
        names[definition.name] = definition
        self.definitions.append(definition)
        self.found.append(Occurrence(definition.name, definition.start, definition))

    def _behind(self, end: int) -> int:
        """Return the start of the next lexeme: text typed before it still belongs to what ended here."""
        return self._lexemes[min(bisect_left(self._starts, end), len(self._starts) - 1)].start

    # --- Expressions.

    def _molecules(self, items: Iterable[syntax.Expression], names: dict[str, Definition]) -> None:
        for item in items:
            self._expression(item, names)

    def _expression(self, node: syntax.Expression, names: dict[str, Definition]) -> None:
        match node:
            case syntax.Literal():
                self._symbol(node)
            case syntax.Name():
                self.found.append(Occurrence(node.text, node.start, names.get(node.text)))
            case syntax.SolutionNode() | syntax.ListNode():
                self._molecules(node.items, names)
            case syntax.TupleNode():
                self._molecules(node.parts, names)
            case syntax.Binary():
                self._molecules((node.left, node.right), names)
            case syntax.Unary():
                self._expression(node.operand, names)
            case syntax.Multiplet():
                self._molecules((node.item,) if node.count is None else (node.item, node.count), names)
            case syntax.Call():
                self.found.append(Occurrence(node.function, self._place_of_function(node), None, is_called=True))
                self._molecules(node.arguments, names)
            case syntax.RuleNode():
                self._rule(node, names)
            case syntax.LetNode():
                self._let(node, dict(names))

    def _symbol(self, node: syntax.Literal | syntax.LiteralPattern) -> None:
        if isinstance(node.value, Symbol) and node.value.name in self._tasks:
            self.found.append(Occurrence(node.value.name, node.start, self._tasks[node.value.name]))

    def _place_of_function(self, node: syntax.Call) -> int:
        if not node.method:
            return node.start
        # Behind the value, and whatever brackets there are around it, comes a dot, and then the name.
        at = bisect_left(self._starts, node.arguments[0].end)
        while self._lexemes[at].kind != "end" and self._lexemes[at].text != ".":
            at += 1
        return self._lexemes[min(at + 1, len(self._lexemes) - 1)].start

    def _let(self, node: syntax.LetNode, names: dict[str, Definition]) -> None:
        for binding in node.bindings:
            definition = self._named(binding, self._behind(node.end))
            if binding.recursive:
                self._rule(binding.rule, {**names, binding.name: definition})
            else:
                self._rule(binding.rule, names)
            self._define(definition, names)
        self._molecules(node.body, names)

    @staticmethod
    def _named(binding: syntax.Binding, until: int) -> Definition:
        whole = binding.start, max(binding.end, binding.rule.end)
        return Definition("rule", binding.name, binding.end - len(binding.name), binding, whole, until, binding.rule)

    def _rule(self, rule: syntax.RuleNode, names: dict[str, Definition]) -> None:
        at = bisect_left(self._starts, rule.start)
        if rule.name is not None and at > 1 and self._lexemes[at - 1].text == "=" and not self._is_let(at):
            # `(name = replace ...)`
            start = self._lexemes[at - 2].start
            self._define(Definition("rule", rule.name, start, rule, (start, rule.end), start, rule), {})
        own = dict(names)
        bound: dict[str, Definition] = {}
        for pattern in rule.patterns:
            self._pattern(pattern, rule, bound)
        own.update(bound)
        if rule.condition is not None:
            self._expression(rule.condition, own)
        self._molecules(rule.product, own)

    def _is_let(self, at: int) -> bool:
        return self._lexemes[at - 3].text in ("let", "rec") if at > 2 else False

    # --- Patterns.

    def _pattern(self, pattern: syntax.Pattern, rule: syntax.RuleNode, bound: dict[str, Definition]) -> None:
        match pattern:
            case syntax.LiteralPattern():
                self._symbol(pattern)
            case syntax.VariablePattern():
                self._bind("variable", pattern.name, pattern.start, pattern, rule, bound)
            case syntax.RestPattern():
                is_marked = self._text[pattern.start] in "?+"
                start = pattern.end - len(pattern.name) if is_marked else pattern.start
                self._bind("rest", pattern.name, start, pattern, rule, bound)
            case syntax.RulePattern():
                one = Occurrence(pattern.rule, pattern.start, None)
                self.found.append(one)
                self._of_rules.append(one)
                self._bind("variable", pattern.name, pattern.end - len(pattern.name), pattern, rule, bound)
            case syntax.TuplePattern():
                for part in pattern.parts:
                    self._pattern(part, rule, bound)
            case syntax.ListPattern() | syntax.SolutionPattern():
                for item in pattern.items:
                    self._pattern(item, rule, bound)

    def _bind(  # noqa: PLR0917 - a step of the walk above
        self,
        kind: Kind,
        name: str,
        start: int,
        pattern: syntax.Pattern,
        rule: syntax.RuleNode,
        bound: dict[str, Definition],
    ) -> None:
        if name in bound:
            # The same variable again asks for an equal molecule.
            self.found.append(Occurrence(name, start, bound[name]))
            return
        until = self._behind(rule.end)
        self._define(Definition(kind, name, start, pattern, (rule.start, rule.end), until, rule), bound)


__all__ = ["Definition", "Occurrence", "Occurrences"]
