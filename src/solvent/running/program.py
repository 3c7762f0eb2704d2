"""Programs: a text read, checked and ready to become a solution as often as needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.chemistry.functions import Functions
from solvent.chemistry.rule import Rule, closed_rule
from solvent.chemistry.syntax import LetNode
from solvent.errors import Misuse, ProgramError, SyntaxProblem
from solvent.hocl import (
    lower_molecules,
    lower_program,
    parse_molecules,
    parse_program,
    resolve,
    resolve_molecules,
)
from solvent.running.interpreter import deep_stack
from solvent.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from solvent.chemistry.molecule import Molecule
    from solvent.chemistry.solution import Solution
    from solvent.chemistry.syntax import ProgramNode

CHARACTERS_MAX = 32_000_000
"""How long a program's text may be. Larger data comes from Python: `solution.extend(values)`."""


class Program:
    """A program that has been read and checked."""

    def __init__(self, tree: ProgramNode, source: Source, functions: Functions) -> None:
        self.tree = tree
        self.source = source
        self.functions = functions

    def solution(self) -> Solution:
        """Give a new solution as the program describes it."""
        with deep_stack():
            return lower_program(self.tree, self.source, self.functions)

    def rules(self) -> dict[str, Rule]:
        """Give the rules that its outermost lets name."""
        lets = [node for node in self.tree.body if isinstance(node, LetNode)]
        return {binding.name: closed_rule(binding.rule) for let in lets for binding in let.bindings}


def check_length(text: str, name: str) -> None:
    """Refuse a text that is too long."""
    if len(text) > CHARACTERS_MAX:
        message = f"{name} has {len(text):,} characters; a program may have {CHARACTERS_MAX:,}"
        raise SyntaxProblem("H100", message, hint="put large data in from Python: solution.extend(values)")


def parse(text: str, *, name: str = "<text>", functions: Functions | None = None) -> Program:
    """Read and check a program."""
    check_length(text, name)
    functions = functions if functions is not None else Functions()
    source = Source(text, name)
    with deep_stack():
        tree = parse_program(source)
        resolve(tree, source, functions)
    return Program(tree, source, functions)


def load(path: str | Path, *, functions: Functions | None = None) -> Program:
    """Read and check the program in a file."""
    return parse(read_text(path), name=str(path), functions=functions)


def read_text(path: str | Path) -> str:
    """Give the text of a file, or a clear error."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - spares the import of pathlib at every start
            data = file.read(CHARACTERS_MAX * 4 + 1)
    except OSError as error:
        raise Misuse("H304", f"cannot read {path}: {error.strerror or error}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{path} is not text: byte {error.start} is not UTF-8"
        raise ProgramError("H100", message, hint="programs are UTF-8 text files") from None


def molecules(
    text: str, *, functions: Functions | None = None, rules: Mapping[str, Rule] | None = None
) -> list[Molecule]:
    """Read molecules with commas between them, such as `1, "a":2, <3>`; they may name the given rules."""
    functions = functions if functions is not None else Functions()
    source = Source(text, "<text>")
    rules = {name: rule for name, rule in (rules or {}).items() if not rule.captured}
    with deep_stack():
        tree = parse_molecules(source)
        resolve_molecules(tree, source, functions, {name: rule.node for name, rule in rules.items()})
        return lower_molecules(tree, source, functions, rules)


def rule(text: str, *, name: str | None = None, functions: Functions | None = None) -> Rule:
    """Read one rule, such as `replace x, y by x if x >= y`, and give it a name."""
    found = molecules(f"({name} = {text})" if name else text, functions=functions)
    if len(found) != 1 or not isinstance(found[0], Rule):
        raise Misuse("H305", "this text is not one rule", hint='for example rule("replace x, y by x if x >= y")')
    return found[0]
