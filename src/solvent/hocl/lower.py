"""A program's tree to the solution it describes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from solvent.chemistry.evaluate import evaluate
from solvent.chemistry.molecule import Endless, List, Molecule, copied
from solvent.chemistry.operators import Incomputable
from solvent.chemistry.rule import Rule, closed_rule
from solvent.chemistry.solution import Solution
from solvent.chemistry.syntax import (
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
)
from solvent.errors import ProgramError
from solvent.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.chemistry.functions import Functions

MULTIPLET_MAX = 10_000_000


def lower_program(program: ProgramNode, source: Source, functions: Functions) -> Solution:
    """Give the solution a program describes; several molecules at its end are a solution too."""
    molecules = lower_molecules(program.body, source, functions)
    if len(molecules) == 1 and type(molecules[0]) is Solution:
        return molecules[0]
    return Solution(molecules)


def lower_molecules(
    nodes: list[Expression], source: Source, functions: Functions, rules: Mapping[str, Rule] | None = None
) -> list[Molecule]:
    """Give the molecules that expressions outside all rules stand for; they may name the given rules."""
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
        if type(count) is not int or not 0 <= count <= MULTIPLET_MAX:
            self._fail(node, f"a multiplet's count is an int from 0 to {MULTIPLET_MAX}")
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
        except Exception as error:  # noqa: BLE001 - a registered function may raise anything
            self._fail(node, f"a function raised {type(error).__name__}: {error}")

    def _fail(self, node: Expression, message: str) -> NoReturn:
        raise ProgramError("H210", message, span=Span(self.source, node.start, node.end))
