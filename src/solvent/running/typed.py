"""What a person types at a prompt: molecules, or lets that only name rules for later lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.chemistry.rule import Rule, closed_rule
from solvent.chemistry.syntax import LetNode
from solvent.errors import SyntaxProblem
from solvent.hocl import lower_molecules, parse_molecules, resolve_molecules
from solvent.running.interpreter import deep_stack
from solvent.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.chemistry.functions import Functions
    from solvent.chemistry.molecule import Molecule
    from solvent.chemistry.syntax import Expression

# What may be missing after lets that name rules and go nowhere: `let max = ...`, `let max = ... in`.
_ENDINGS = (" in 0", " 0")
_OPEN = ("H121", "H103")


def read_typed(text: str, *, functions: Functions, rules: Mapping[str, Rule]) -> tuple[dict[str, Rule], list[Molecule]]:
    """Read lets and molecules; give the rules newly named, and the molecules."""
    with deep_stack():
        tree, only_lets = _parse(text)
        source = Source(text, "<typed>")
        resolve_molecules(tree, source, functions, {name: rule.node for name, rule in rules.items()})
        found = lower_molecules(tree, source, functions, rules)
    lets = [node for node in tree if isinstance(node, LetNode)]
    named = {binding.name: closed_rule(binding.rule) for let in lets for binding in let.bindings}
    return named, [] if only_lets else found


def is_incomplete(text: str) -> bool:
    """Say whether a text could become right by going on: a bracket is open, or it ends too early."""
    try:
        with deep_stack():
            _parse(text)
    except SyntaxProblem as error:
        return error.code in _OPEN or (error.span is not None and error.span.start >= len(text.rstrip()))
    return False


def _parse(text: str) -> tuple[list[Expression], bool]:
    """Parse what was typed; say whether it is nothing but lets."""
    try:
        return parse_molecules(Source(text, "<typed>")), False
    except SyntaxProblem:
        if not text.lstrip().startswith("let"):
            raise
        for ending in _ENDINGS:
            try:
                tree = parse_molecules(Source(text + ending, "<typed>"))
            except SyntaxProblem:
                continue
            if len(tree) == 1 and isinstance(tree[0], LetNode):
                return tree, True
        raise
