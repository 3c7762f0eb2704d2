"""Trees to values: expressions computed without compiling them, and the solution a program describes.

The engine compiles what stands in rules. `evaluate` is for everything else: molecules outside rules, conditions of
workflows, and explanations. `lower_program` and `lower_molecules` build the molecules of a program from its tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from solvent.errors import ProgramError, TooLarge, exception_text
from solvent.lang.molecule import Endless, List, Molecule, copied
from solvent.lang.operators import OPERATORS, PREFIXES, Incomputable, truth
from solvent.lang.rule import Rule, closed_rule
from solvent.lang.solution import Solution
from solvent.lang.syntax import (
    Binary,
    Call,
    Expression,
    LetNode,
    ListNode,
    Literal,
    Multiplet,
    Name,
    ProgramNode,
    RuleNode,
    SolutionNode,
    TupleNode,
    Unary,
)
from solvent.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from solvent.lang.functions import Functions


class Spread(list[Any]):
    """The molecules of a rest, as the value of its name."""


def evaluate(
    node: Expression,
    names: Mapping[str, Molecule],
    functions: Functions,
    build: Callable[[Expression], Molecule] | None = None,
) -> Molecule:
    """Return the value of an expression; raise `Incomputable` if it has none.

    `build` builds what is not computed: solutions, rules and `let` expressions.
    """

    def value_of(inner: Expression) -> Molecule:
        return evaluate(inner, names, functions, build)

    match node:
        case Literal():
            return node.value
        case Name():
            return names[node.text]
        case TupleNode():
            return tuple(map(value_of, node.parts))
        case ListNode():
            return List(_arguments(map(value_of, node.items)))
        case Unary():
            return PREFIXES[node.operator].compute(value_of(node.operand))
        case Binary():
            operator, left = OPERATORS[node.operator], value_of(node.left)
            if operator.decided_by is not None and truth(left) is operator.decided_by:
                return left
            return operator.compute(left, value_of(node.right))
        case Call():
            function = functions.find(node.function)
            assert function is not None, f"{node.function} passed the check of names"
            if function.is_async:
                raise Incomputable(f"`{node.function}` is asynchronous and can be called only in a rule's product")
            values = list(map(value_of, node.arguments))
            if function.max_arity is not None:
                values = [List(value) if type(value) is Spread else value for value in values]
            arguments = _arguments(values)
            return function.call(*arguments) if function.is_raw else function(*arguments)
    if build is not None:
        return build(node)
    raise Incomputable("a solution or a rule cannot be computed with")


def _arguments(values: Iterable[Molecule]) -> list[Molecule]:
    found: list[Molecule] = []
    for value in values:
        if type(value) is Spread:
            found += value
        else:
            found.append(value)
    return found


MAX_MULTIPLET = 10_000_000


def lower_program(program: ProgramNode, source: Source, functions: Functions) -> Solution:
    """Return the solution a program describes; several molecules at its end are a solution too."""
    molecules = lower_molecules(program.body, source, functions)
    if len(molecules) == 1 and type(molecules[0]) is Solution:
        return molecules[0]
    return Solution(molecules)


def lower_molecules(
    nodes: list[Expression], source: Source, functions: Functions, rules: Mapping[str, Rule] | None = None
) -> list[Molecule]:
    """Return the molecules of expressions outside rules; they may name the given rules."""
    return _Lowering(source, functions).items(nodes, dict(rules or {}))


class _Lowering:
    def __init__(self, source: Source, functions: Functions) -> None:
        self.source = source
        self.functions = functions

    def items(self, nodes: list[Expression], names: dict[str, Rule]) -> list[Molecule]:
        found: list[Molecule] = []
        for node in nodes:
            if type(node) is Literal:
                found.append(node.value)
            elif isinstance(node, LetNode):
                found += self._let(node, names)
            elif isinstance(node, Multiplet):
                found += self._multiplet(node, names)
            else:
                found.append(self._molecule(node, names))
        return found

    def _let(self, node: LetNode, names: dict[str, Rule]) -> list[Molecule]:
        inner = dict(names)
        for binding in node.bindings:
            inner[binding.name] = closed_rule(binding.rule)
        return self.items(node.body, inner)

    def _multiplet(self, node: Multiplet, names: dict[str, Rule]) -> list[Molecule]:
        molecule = self._molecule(node.item, names)
        if node.count is None:
            return [Endless(molecule)]
        count = self._molecule(node.count, names)
        if type(count) is not int or not 0 <= count <= MAX_MULTIPLET:
            self._fail(node, f"a multiplet's count is an int from 0 to {MAX_MULTIPLET}")
        return [molecule, *(copied(molecule) for _ in range(count - 1))] if count else []

    def _molecule(self, node: Expression, names: dict[str, Rule]) -> Molecule:
        match node:
            case Literal():
                return node.value
            case TupleNode():
                return tuple(self._molecule(part, names) for part in node.parts)
            case SolutionNode():
                return Solution(self.items(node.items, names))
            case ListNode():
                return List(self.items(node.items, names))
            case Name():
                return names[node.text]
            case RuleNode():
                return closed_rule(node)
            case LetNode():
                return self._let(node, names)[0]
        try:
            return evaluate(node, names, self.functions, lambda inner: self._molecule(inner, names))
        except (Incomputable, ArithmeticError) as error:
            self._fail(node, str(error))
        except TooLarge as error:
            error.span = Span(self.source, node.start, node.end)
            raise
        except Exception as error:  # noqa: BLE001 - a registered function may raise anything
            self._fail(node, f"a function raised {exception_text(error)}")

    def _fail(self, node: Expression, message: str) -> NoReturn:
        raise ProgramError("H210", message, span=Span(self.source, node.start, node.end))
