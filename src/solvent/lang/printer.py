"""Trees and molecules to HOCL text.

Everything printed reads back as the same. A rule stands in parentheses wherever a comma could follow it; a comparison
where `<` and `>` would be taken for brackets. Text is written on one line, either as molecules are printed or as people
write programs; `layout` breaks what is too long. Rules as molecules are printed by name; `hocl.program_file` writes the
lets that the names need.

A rule is known here by its attribute `is_rule`, not by its class: rules compare by their text, so `rule` imports this
module.
"""

from __future__ import annotations

import math
import re
from operator import countOf, itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from solvent.lang import syntax
from solvent.lang.builtin import BUILTIN
from solvent.lang.molecule import (
    ATOMS,
    Endless,
    List,
    Molecule,
    Opaque,
    Symbol,
    check_printable,
    has_solution,
    order_key,
)
from solvent.lang.operators import OPERATORS, PREFIX, SUM, bounded, print_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0xD800, 0xE000))
_ESCAPES = str.maketrans({**{chr(one): f"\\u{one:04x}" for one in _CONTROLS}, **_ESCAPED})
_SHORT_INTEGER = 1 << 64
_FLAT = ATOMS | {Opaque}
"""Types of molecules in which no solution can stand."""
_Keyed: TypeAlias = tuple[tuple[Any, ...], str]
_key, _text = itemgetter(0), itemgetter(1)
_STRING_OR_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[^\W\d]\w*')


def print_string(text: str) -> str:
    """Write a string with its quotes."""
    return f'"{text.translate(_ESCAPES)}"'


def print_atom(value: Any) -> str:
    """Write an integer, float, string, boolean or symbol."""
    kind = type(value)
    if kind is int:
        return print_integer(value)
    if kind is str:
        return print_string(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is Symbol:
        return str(value.name)
    if math.isnan(value):
        return 'float("nan")'
    if math.isinf(value):
        return "1e999" if value > 0 else "-1e999"
    return repr(value)


# --- Molecules.


def print_molecule(molecule: Molecule, rule: Callable[[Molecule], str] | None = None) -> str:
    """Write a molecule in canonical order; rules by name unless `rule` writes them otherwise."""
    kind = type(molecule)
    if kind in ATOMS:
        return print_atom(molecule)
    if kind is tuple:
        return ":".join(_part(part, rule) for part in molecule)
    if kind is List:
        return _list_text([print_molecule(item, rule) for item in molecule])
    if getattr(molecule, "is_rule", False):
        return rule(molecule) if rule is not None else short_rule(molecule)
    if kind is Endless:
        return f"{_part(molecule.molecule, rule)}^inf"
    if kind is Opaque:
        return f"opaque({print_string(repr(molecule.value))})"
    if getattr(molecule, "is_solution", False):
        return print_solution(molecule, rule)
    return print_atom(molecule)


def _part(molecule: Molecule, rule: Callable[[Molecule], str] | None) -> str:
    text = print_molecule(molecule, rule)
    return f"({text})" if type(molecule) is tuple else text


def print_whole(solution: Iterable[Molecule]) -> str:
    """Write a solution for a person; raise `TooLarge` if that would take long."""
    check_printable(solution)
    return print_solution(solution)


def print_solution(molecules: Iterable[Molecule], rule: Callable[[Molecule], str] | None = None) -> str:
    """Write a solution in canonical order."""
    members = list(molecules)
    kinds = set(map(type, members))
    if not kinds <= _FLAT and any(map(has_solution, members)):
        return _keyed_solution(members, rule)[1]
    numbers: list[int] = []
    if int in kinds and kinds.isdisjoint((float, Endless)):
        # There may be millions of integers: these need no keys, and stand between the booleans and all others.
        numbers = sorted([one for one in members if type(one) is int])
        members = [one for one in members if type(one) is not int]
    texts = [print_molecule(one, rule) for one in sorted(members, key=order_key)]
    if numbers:
        booleans = countOf(map(type, members), bool)
        texts[booleans:booleans] = _integer_texts(numbers)
    return f"<{', '.join(texts)}>"


def _integer_texts(numbers: list[int]) -> list[str]:
    """Write integers, which are sorted; short ones as one text."""
    is_long = numbers and (numbers[0] < -_SHORT_INTEGER or numbers[-1] > _SHORT_INTEGER)
    return list(map(print_integer, numbers)) if is_long else [repr(numbers)[1:-1]]


def _keyed_solution(members: Iterable[Molecule], rule: Callable[[Molecule], str] | None) -> _Keyed:
    if {int}.issuperset(map(type, members)):
        numbers = sorted(members)
        return (6, tuple(map(order_key, numbers))), f"<{', '.join(_integer_texts(numbers))}>"
    parts = sorted([_keyed(one, rule) for one in members], key=_key)
    return (6, tuple(map(_key, parts))), f"<{', '.join(map(_text, parts))}>"


def _keyed(molecule: Molecule, rule: Callable[[Molecule], str] | None) -> _Keyed:
    """Write a molecule, and return its `order_key` with the text."""
    # Apart, the keys of what stands inside many solutions would be made once for each of these.
    if not has_solution(molecule):
        return order_key(molecule), print_molecule(molecule, rule)
    kind = type(molecule)
    if kind is not tuple and kind is not List:
        return _keyed_solution(molecule, rule)
    parts = [_keyed(one, rule) for one in molecule]
    keys, texts = tuple(map(_key, parts)), list(map(_text, parts))
    if kind is List:
        return (5, keys), _list_text(texts)
    texts = [f"({text})" if type(part) is tuple else text for part, text in zip(molecule, texts, strict=True)]
    return (4, keys), ":".join(texts)


def _list_text(items: list[str]) -> str:
    return f"list({items[0]})" if len(items) == 1 else f"({', '.join(items)})"


def short_rule(rule: Molecule) -> str:
    """Write a rule as it stands in a solution: by name, or in full if it has none."""
    return rule.name or f"({TreePrinter(rule).rule(rule.node)})"


def print_rule(rule: Molecule) -> str:
    """Write a rule in full, with the values it captured in place of their names."""
    return TreePrinter(rule).rule(rule.node)


# --- Trees.


class _Named(NamedTuple):
    """A rule that a `let` names and that captures nothing, to be written like a molecule."""

    node: syntax.RuleNode
    captured: tuple[Molecule, ...] = ()


class TreePrinter:
    """Writes trees on one line; the names that a rule captured are replaced by their values.

    `as_written`: with spaces around the colons of a tuple, and no parentheses around the last rule of a solution that
    needs none.
    """

    def __init__(
        self,
        rule: Molecule | None = None,
        known: dict[str, syntax.RuleNode] | None = None,
        *,
        as_written: bool = False,
    ) -> None:
        self._as_written = as_written
        self._colon = " : " if as_written else ":"
        self.values: dict[str, str] = {}
        # The names that stand for tuples: as a part of something else these need parentheses.
        self._tuples: set[str] = set()
        # The rules that lets around the text name; None: all names are known. What a pattern or a let inside the rule
        # calls the same is left out, because there the name would mean that.
        if rule is not None and known:
            hidden = _names_inside(rule.node)
            known = {name: node for name, node in known.items() if name not in hidden}
        self.known = known
        self.rules: dict[str, syntax.RuleNode] = {}
        if rule is not None and rule.captured:
            variables = {name for name in _names_inside(rule.node) if name[0].isupper()}
            for (name, meaning), value in zip(rule.node.captures.items(), rule.captured, strict=True):
                write = self.rule_molecule
                if meaning == "rest":
                    self.values[name] = ", ".join(print_molecule(one, write) for one in value)
                else:
                    self.values[name] = print_molecule(value, write)
                    if type(value) is tuple:
                        self._tuples.add(name)
                if variables:
                    self.values[name] = _without_names(self.values[name], variables)

    def rule_molecule(self, rule: Molecule) -> str:
        """Write a rule molecule so that it can be read back where no let names it."""
        node: syntax.RuleNode = rule.node
        if node.name and self.known is not None and not node.captures and self.known.get(node.name) is node:
            return node.name
        text = TreePrinter(rule, self.known).rule(node)
        if node.name and node.is_recursive:
            return f"(let rec {node.name} = {text} in {node.name})"
        return f"({node.name} = {text})" if node.name else f"({text})"

    def rule(self, node: syntax.RuleNode) -> str:
        """Write a rule without parentheses; raise `TooLarge` if the rules it names make it too long."""
        return bounded(" ".join(self.rule_parts(node)))

    def rule_parts(self, node: syntax.RuleNode) -> list[str]:
        """Write a rule's clauses."""
        outer, values = self.rules, self.values
        hidden = _bound_names(node.patterns)
        self.rules = {name: rule for name, rule in {**outer, **node.rules}.items() if name not in hidden}
        self.values = {name: text for name, text in values.items() if name not in hidden}
        patterns = ", ".join([print_pattern(one, self._colon) for one in node.patterns])
        product = self.items(node.product)
        if node.is_inject:
            parts = [f"inject {product}".rstrip()]
            if patterns:
                parts.append(f"with {patterns}")
        else:
            parts = [f"{'replace-one' if node.one_shot else 'replace'} {patterns}", f"by {product}".rstrip()]
        if node.condition is not None:
            parts.append(f"if {self.expression(node.condition, 1)}")
        self.rules, self.values = outer, values
        return parts

    def items(self, nodes: list[syntax.Expression]) -> str:
        """Write molecules with commas between them."""
        texts = [self.item(node) for node in nodes]
        return ", ".join(text for text in texts if text)

    def item(self, node: syntax.Expression) -> str:
        """Write one molecule of a solution or a product."""
        if isinstance(node, syntax.RuleNode | syntax.LetNode):
            return self.expression(node, SUM)
        if isinstance(node, syntax.Multiplet):
            count = "inf" if node.count is None else self.expression(node.count, SUM)
            item = self.expression(node.item, SUM)
            return f"{item}^{count}"
        if isinstance(node, syntax.TupleNode):
            return self._tuple(node)
        if isinstance(node, syntax.Name):
            return self._name(node)
        return self.expression(node, SUM)

    def _tuple(self, node: syntax.TupleNode) -> str:
        return self._colon.join([self.expression(part, SUM) for part in node.parts])

    def expression(self, node: syntax.Expression, least: int) -> str:
        """Write an expression that must bind at least as tightly as `least`."""
        match node:
            case syntax.Literal():
                return node.spelling or print_atom(node.value)
            case syntax.Name():
                text = self._name(node)
                return f"({text})" if node.text in self.values and node.text in self._tuples else text
            case syntax.TupleNode():
                return f"({self._tuple(node)})"
            case syntax.ListNode():
                if len(node.items) == 1:
                    return f"list({self.items(node.items)})"
                return f"({self.items(node.items)})"
            case syntax.SolutionNode():
                return self._solution(node)
            case syntax.Unary():
                operand = self.expression(node.operand, PREFIX)
                return f"{node.operator}{operand}"
            case syntax.Binary():
                return self._binary(node, least)
            case syntax.Call():
                return self._call(node)
            case syntax.RuleNode():
                return f"({node.name} = {self.rule(node)})" if node.name else f"({self.rule(node)})"
            case syntax.LetNode():
                return f"({self.let(node)})"
            case syntax.Multiplet():
                return f"({self.item(node)})"

    def _solution(self, node: syntax.SolutionNode) -> str:
        last = node.items[-1] if node.items else None
        if self._as_written and isinstance(last, syntax.RuleNode) and is_bare(last):
            return f"<{', '.join([*map(self.item, node.items[:-1]), self.rule(last)])}>"
        return f"<{self.items(node.items)}>"

    def let(self, node: syntax.LetNode) -> str:
        """Write lets and the molecules after them, without parentheses."""
        outer, values = self.rules, self.values
        text = ""
        for one in node.bindings:
            text += f"{self.binding(one)} "
            # From here on the name means this rule, whatever it meant before.
            self.rules = {name: rule for name, rule in self.rules.items() if name != one.name}
            self.values = {name: value for name, value in self.values.items() if name != one.name}
        text += self.items(node.body)
        self.rules, self.values = outer, values
        return text

    def binding(self, binding: Any) -> str:
        """Write `let name = rule in`."""
        return f"let {'rec ' if binding.recursive else ''}{binding.name} = {self.rule(binding.rule)} in"

    def _name(self, node: syntax.Name) -> str:
        value = self.values.get(node.text)
        if value is not None:
            return value
        rule = self.rules.get(node.text)
        if rule is not None and self.known is not None and self.known.get(node.text) is not rule:
            return self.rule_molecule(_Named(rule))
        return node.text

    def _binary(self, node: syntax.Binary, least: int) -> str:
        symbol, power, *_ = operator = OPERATORS[node.operator]
        text = f"{self.expression(node.left, power)} {symbol} {self.expression(node.right, power + 1)}"
        return f"({text})" if power < least or operator.is_enclosed else text

    def _call(self, node: syntax.Call) -> str:
        if not node.method:
            return f"{node.function}({self.items(node.arguments)})"
        receiver = node.arguments[0]
        text = self.expression(receiver, PREFIX + 1)
        # Bare, `Math.abs(x)` is a function of Java and no method of the symbol.
        is_java = text == "Math" or f"{text}.{node.function}" in BUILTIN
        if (
            is_java
            or isinstance(receiver, syntax.Unary)
            or (isinstance(receiver, syntax.Literal) and text.startswith("-"))
        ):
            text = f"({text})"
        return f"{text}.{node.function}({self.items(node.arguments[1:])})"


def print_pattern(pattern: syntax.Pattern, colon: str = ":") -> str:
    """Write a pattern, with `colon` between the parts of its tuples."""
    match pattern:
        case syntax.VariablePattern():
            return pattern.name if pattern.kind is None else f"{pattern.name}::{pattern.kind}"
        case syntax.LiteralPattern():
            return pattern.spelling or print_atom(pattern.value)
        case syntax.RestPattern():
            return f"{'+' if pattern.at_least_one else '?'}{pattern.name}"
        case syntax.RulePattern():
            return f"{pattern.rule} = {pattern.name}"
        case syntax.TuplePattern():
            parts = [print_pattern(part, colon) for part in pattern.parts]
            return colon.join(
                [
                    f"({text})" if isinstance(part, syntax.TuplePattern) else text
                    for part, text in zip(pattern.parts, parts, strict=True)
                ]
            )
        case syntax.ListPattern():
            items = ", ".join([print_pattern(item, colon) for item in pattern.items])
            alone = len(pattern.items) == 1 and not isinstance(pattern.items[0], syntax.RestPattern)
            return f"list({items})" if alone else f"({items})"
        case syntax.SolutionPattern():
            return f"<{', '.join([print_pattern(item, colon) for item in pattern.items])}>"


def is_bare(rule: syntax.RuleNode) -> bool:
    """Return whether a rule at the end of a solution needs no parentheses: it compares nothing by `<` or `>`."""
    return rule.name is None and not _compares(rule.condition)


def _compares(node: syntax.Expression | None) -> bool:
    match node:
        case syntax.Binary():
            return node.operator in ("<", ">") or _compares(node.left) or _compares(node.right)
        case syntax.Unary():
            return _compares(node.operand)
    return False


def _bound_names(patterns: list[syntax.Pattern]) -> set[str]:
    found: set[str] = set()
    for pattern in patterns:
        match pattern:
            case syntax.VariablePattern() | syntax.RestPattern() | syntax.RulePattern():
                found.add(pattern.name)
            case syntax.TuplePattern():
                found |= _bound_names(pattern.parts)
            case syntax.ListPattern() | syntax.SolutionPattern():
                found |= _bound_names(pattern.items)
    return found


def _without_names(text: str, variables: set[str]) -> str:
    """Write symbols out in a captured value where the rule around it has variables of the same name."""

    def written(match: re.Match[str]) -> str:
        return f'symbol("{match.group()}")' if match.group() in variables else match.group()

    return _STRING_OR_WORD.sub(written, text)


def _names_inside(node: syntax.RuleNode) -> set[str]:
    """Return every name that a pattern or a let binds anywhere in a rule."""
    found: set[str] = set()
    work: list[Any] = [node]
    while work:
        one = work.pop()
        match one:
            case syntax.RuleNode():
                found |= _bound_names(one.patterns)
                work += [*one.product, one.condition]
            case syntax.LetNode():
                found |= {binding.name for binding in one.bindings}
                work += [*(binding.rule for binding in one.bindings), *one.body]
            case syntax.SolutionNode() | syntax.ListNode():
                work += one.items
            case syntax.TupleNode():
                work += one.parts
            case syntax.Multiplet():
                work += [one.item, one.count]
            case syntax.Call():
                work += one.arguments
            case syntax.Binary():
                work += [one.left, one.right]
            case syntax.Unary():
                work.append(one.operand)
    return found
