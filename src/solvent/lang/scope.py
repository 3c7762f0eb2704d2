"""Name resolution: each name is bound once, and none is free.

Walks a tree, checks every name, kind of use and number of arguments, and writes into each rule what it takes
from around it: `captures` (variables of enclosing rules, copied into the rule when it is made) and `rules`
(rules named by lets that capture nothing, which are the same everywhere). A pattern always binds its variables
anew, so an inner `?w` hides an outer `w`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from solvent.errors import NameProblem, nearest
from solvent.lang import syntax
from solvent.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from solvent.lang.functions import Functions


class _Frame:
    """The names visible at one level: of the program, or of a rule."""

    __slots__ = ("names", "outer", "rule")

    def __init__(self, outer: _Frame | None, rule: syntax.RuleNode | None) -> None:
        self.outer = outer
        self.rule = rule
        # "variable", "rest", "self", "local" (a let whose rule captures), or the rule itself (it captures nothing).
        self.names: dict[str, str | syntax.RuleNode] = {}

    def visible(self) -> Iterable[str]:
        frame: _Frame | None = self
        while frame is not None:
            yield from frame.names
            frame = frame.outer


def resolve(program: syntax.ProgramNode, source: Source, functions: Functions) -> None:
    """Check a program's names and fill in what its rules capture."""
    resolve_molecules(program.body, source, functions)


def resolve_molecules(
    body: list[syntax.Expression],
    source: Source,
    functions: Functions,
    rules: Mapping[str, syntax.RuleNode] | None = None,
) -> None:
    """Check molecules that stand in no rule; they may name the given rules, which capture nothing."""
    frame = _Frame(None, None)
    frame.names.update(rules or {})
    _Resolver(source, functions).molecules(body, frame)


def name_problems(program: syntax.ProgramNode, source: Source, functions: Functions) -> list[NameProblem]:
    """Return all errors about a program's names, in the order of its text."""
    found = _Collector(source, functions)
    found.molecules(program.body, _Frame(None, None))
    return sorted(found.problems, key=lambda one: one.span.start if one.span is not None else 0)


class _Resolver:
    def __init__(self, source: Source, functions: Functions) -> None:
        self.source = source
        self.functions = functions

    def molecules(self, items: list[syntax.Expression], frame: _Frame) -> None:
        """Check the molecules of a solution or a product, where a rest is spread."""
        for item in items:
            self._expression(item, frame, spread=True)

    def _expression(self, node: syntax.Expression, frame: _Frame, *, spread: bool = False) -> None:
        match node:
            case syntax.Literal():
                pass
            case syntax.Name():
                self._name(node, frame, spread=spread)
            case syntax.SolutionNode() | syntax.ListNode():
                self.molecules(node.items, frame)
            case syntax.TupleNode():
                for part in node.parts:
                    self._expression(part, frame)
            case syntax.Binary():
                self._expression(node.left, frame)
                self._expression(node.right, frame)
            case syntax.Unary():
                self._expression(node.operand, frame)
            case syntax.Multiplet():
                self._multiplet(node, frame, spread=spread)
            case syntax.Call():
                self._call(node, frame)
            case syntax.RuleNode():
                self._rule(node, frame)
            case syntax.LetNode():
                self._let(node, frame, spread=spread)

    def _multiplet(self, node: syntax.Multiplet, frame: _Frame, *, spread: bool) -> None:
        if not spread:
            self._fail("H207", "a multiplet stands directly in a solution or a product", node)
        self._expression(node.item, frame)
        if node.count is not None:
            self._expression(node.count, frame)

    def _name(self, node: syntax.Name, frame: _Frame, *, spread: bool) -> None:
        meaning = self._meaning(node.text, frame)
        if meaning is None:
            self._fail_unknown(node, frame)
        if meaning == "rest" and not spread:
            hint = f"put it into a solution or a list: `<{node.text}>`, `list({node.text})`"
            self._fail("H202", f"`{node.text}` stands for several molecules, not for one", node, hint=hint)

    def _meaning(self, name: str, frame: _Frame) -> str | syntax.RuleNode | None:
        """Find the meaning of a name, and record it in every rule between use and binding as taken from outside."""
        crossed: list[syntax.RuleNode] = []
        at: _Frame | None = frame
        while at is not None:
            meaning = at.names.get(name)
            if meaning is not None:
                for rule in crossed:
                    if isinstance(meaning, syntax.RuleNode):
                        rule.rules[name] = meaning
                    else:
                        rule.captures.setdefault(name, meaning)
                return meaning
            if at.rule is not None and (at.outer is None or at.outer.rule is not at.rule):
                crossed.append(at.rule)
            at = at.outer
        return None

    def _call(self, node: syntax.Call, frame: _Frame) -> None:
        function = self.functions.find(node.function)
        if function is None:
            meaning = self._meaning(node.function, frame)
            if meaning is not None:
                hint = f"separate molecules by commas: `{node.function}, (...)`"
                self._fail("H205", f"`{node.function}` is no function, so it cannot be called", node, hint=hint)
            hint = nearest(node.function, self.functions.names())
            if node.function.startswith("new "):
                known = ", ".join(name for name in self.functions.names() if name.startswith("new "))
                hint = f"known: {known}; other values come from functions of your own"
            hint = hint or "functions of your own come from Python: `--functions MODULE.py`"
            self._fail("H204", f"there is no function `{node.function}`", node, hint=hint)
        # A rest among the arguments is as many arguments as it holds, so only the run can count them.
        spreads = function.max_arity is None and any(
            isinstance(one, syntax.Name) and self._meaning(one.text, frame) == "rest" for one in node.arguments
        )
        if not spreads and not function.takes(len(node.arguments)):
            message = f"`{node.function}` takes {function.arity_text}, not {len(node.arguments)}"
            if node.method:
                message += " (the value before the dot counts)"
            self._fail("H206", message, node)
        for argument in node.arguments:
            self._expression(argument, frame, spread=True)

    def _let(self, node: syntax.LetNode, frame: _Frame, *, spread: bool) -> None:
        inner = _Frame(frame, frame.rule)
        for binding in node.bindings:
            binding.rule.is_recursive = binding.recursive
            self._rule(binding.rule, inner)
            closed = not binding.rule.captures
            inner.names[binding.name] = binding.rule if closed else "local"
        if not spread and len(node.body) != 1:
            self._fail("H208", "only one molecule can stand here", node)
        for item in node.body:
            self._expression(item, inner, spread=spread)

    def _rule(self, rule: syntax.RuleNode, frame: _Frame) -> None:
        rule.source = self.source
        rule.functions = self.functions
        rule.captures.clear()
        rule.rules.clear()
        own = _Frame(frame, rule)
        if rule.is_recursive and rule.name:
            own.names[rule.name] = "self"
        for pattern in rule.patterns:
            self._pattern(pattern, own)
        if rule.condition is not None:
            self._expression(rule.condition, own)
        self.molecules(rule.product, own)

    def _pattern(self, pattern: syntax.Pattern, frame: _Frame) -> None:
        match pattern:
            case syntax.LiteralPattern():
                pass
            case syntax.VariablePattern() | syntax.RulePattern():
                if frame.names.get(pattern.name) == "rest":
                    self._fail_mixed(pattern)
                frame.names[pattern.name] = "variable"
            case syntax.RestPattern():
                if pattern.name in frame.names and frame.names[pattern.name] != "self":
                    self._fail_mixed(pattern)
                frame.names[pattern.name] = "rest"
            case syntax.TuplePattern():
                for part in pattern.parts:
                    self._pattern(part, frame)
            case syntax.ListPattern() | syntax.SolutionPattern():
                for item in pattern.items:
                    self._pattern(item, frame)

    def _fail_mixed(self, pattern: syntax.VariablePattern | syntax.RulePattern | syntax.RestPattern) -> NoReturn:
        message = f"`{pattern.name}` is bound twice, and once as a rest"
        self._fail("H209", message, pattern, hint="give the rest a name of its own")

    def _fail_unknown(self, node: syntax.Name, frame: _Frame) -> NoReturn:
        own = [name for name, meaning in frame.names.items() if meaning in ("variable", "rest")]
        hint = nearest(node.text, frame.visible())
        if self.functions.find(node.text) is not None:
            hint = hint or f"`{node.text}` is a function: call it, `{node.text}(...)`"
        if frame.rule is None:
            hint = hint or "a constant starts with an upper-case letter; a text stands in double quotes"
            self._fail("H201", f"no rule is named `{node.text}`", node, hint=hint)
        note = f"bound here: {', '.join(own)}" if own else "no pattern binds anything here"
        self._fail("H203", f"`{node.text}` is used but no pattern binds it", node, note=note, hint=hint)

    def _fail(self, code: str, message: str, node: syntax.Node, *, note: str = "", hint: str = "") -> NoReturn:
        raise NameProblem(code, message, span=Span(self.source, node.start, node.end), note=note, hint=hint)


class _Collector(_Resolver):
    """Collects errors instead of stopping at the first."""

    def __init__(self, source: Source, functions: Functions) -> None:
        super().__init__(source, functions)
        self.problems: list[NameProblem] = []

    def _expression(self, node: syntax.Expression, frame: _Frame, *, spread: bool = False) -> None:
        try:
            super()._expression(node, frame, spread=spread)
        except NameProblem as problem:
            self.problems.append(problem)

    def _pattern(self, pattern: syntax.Pattern, frame: _Frame) -> None:
        try:
            super()._pattern(pattern, frame)
        except NameProblem as problem:
            self.problems.append(problem)
