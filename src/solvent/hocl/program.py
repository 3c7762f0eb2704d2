"""Programs: a text that has been parsed and checked, ready to become a solution as often as needed.

The last part reads what is typed at a prompt: molecules, or lets that only name rules for later lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import Misuse, ProgramError, SyntaxProblem, unread_file
from solvent.hocl.process_settings import deep_stack
from solvent.lang.evaluate import lower_molecules, lower_program
from solvent.lang.functions import Functions
from solvent.lang.parser import parse_molecules, parse_program
from solvent.lang.rule import Rule, closed_rule
from solvent.lang.scope import resolve, resolve_molecules
from solvent.lang.syntax import LetNode
from solvent.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from solvent.lang.molecule import Molecule
    from solvent.lang.solution import Solution
    from solvent.lang.syntax import Expression, ProgramNode


MAX_CHARACTERS = 32_000_000
"""The longest text of a program. Add larger data from Python: `solution.extend(values)`."""
# What may be missing at a prompt after lets that only name rules: `let max = ...`, `let max = ... in`.
_ENDINGS = (" in 0", " 0")
_OPEN = ("H121", "H103")


class Program:
    """A program that has been parsed and checked: what `parse` and `load` return.

    >>> from solvent import hocl
    >>> program = hocl.parse("let max = replace x, y by x if x >= y in <2, 9, max>")
    >>> hocl.show(program.solution()), list(program.rules())
    ('<2, 9, max>', ['max'])
    """

    def __init__(self, tree: ProgramNode, source: Source, functions: Functions) -> None:
        self.tree = tree
        self.source = source
        self.functions = functions

    def solution(self) -> Solution:
        """Return a new solution with the molecules of the program."""
        with deep_stack():
            return lower_program(self.tree, self.source, self.functions)

    def rules(self) -> dict[str, Rule]:
        """Return the rules that the outermost `let` expressions name."""
        lets = [node for node in self.tree.body if isinstance(node, LetNode)]
        return {binding.name: closed_rule(binding.rule) for let in lets for binding in let.bindings}


def check_length(text: str, name: str) -> None:
    """Raise an error if a text is too long."""
    if len(text) > MAX_CHARACTERS:
        message = f"{name} has {len(text):,} characters; a program may have {MAX_CHARACTERS:,}"
        raise SyntaxProblem("H100", message, hint="put large data in from Python: solution.extend(values)")


def parse(text: str, *, name: str = "<text>", functions: Functions | None = None) -> Program:
    """Parse and check a program.

    - `text`: the program, such as `"<1, 2, replace x, y by x + y>"`.
    - `name`: what errors call the text, such as the name of its file.
    - `functions`: the Python functions that it may call.

    Raises `SyntaxProblem` and `NameProblem` if the text is wrong.

    >>> from solvent import hocl
    >>> solution = hocl.parse("<2, 3, 5, replace x, y by x + y>").solution()
    >>> hocl.react(solution).reactions
    2
    >>> 10 in solution
    True
    """
    check_length(text, name)
    functions = functions if functions is not None else Functions()
    source = Source(text, name)
    with deep_stack():
        tree = parse_program(source)
        resolve(tree, source, functions)
    return Program(tree, source, functions)


def load(path: str | Path, *, functions: Functions | None = None) -> Program:
    """Parse and check the program in a file; see `parse`.

    Raises `Misuse` (H304) if the file cannot be read, `SyntaxProblem` and `NameProblem` if its text is wrong.

    >>> from pathlib import Path
    >>> from solvent import hocl
    >>> _ = Path("three.hocl").write_text("<1, 2, 3>")
    >>> len(hocl.load("three.hocl").solution())
    3
    """
    return parse(read_text(path), name=str(path), functions=functions)


def read_text(path: str | Path) -> str:
    """Return the text of a file; raise `Misuse` if it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - spares the import of pathlib at every start
            data = file.read(MAX_CHARACTERS * 4 + 1)
    except (OSError, ValueError) as error:
        # The latter for a path with a null character, or with half of a surrogate pair.
        message, hint = unread_file(path, error)
        raise Misuse("H304", message, hint=hint) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{path} is not text: byte {error.start} is not UTF-8"
        raise ProgramError("H100", message, hint="programs are UTF-8 text files") from None


def molecules(
    text: str, *, functions: Functions | None = None, rules: Mapping[str, Rule] | None = None
) -> list[Molecule]:
    """Parse molecules with commas between them, such as `1, "a":2, <3>`.

    - `functions`: the Python functions that they may call.
    - `rules`: rules that the text may use by name.

    Raises `SyntaxProblem` and `NameProblem` if the text is wrong.

    >>> from solvent import hocl
    >>> hocl.molecules('1, "a":2, T')
    [1, ('a', 2), Symbol('T')]
    """
    functions = functions if functions is not None else Functions()
    source = Source(text, "<text>")
    rules = {name: rule for name, rule in (rules or {}).items() if not rule.captured}
    with deep_stack():
        tree = parse_molecules(source)
        resolve_molecules(tree, source, functions, {name: rule.node for name, rule in rules.items()})
        return lower_molecules(tree, source, functions, rules)


def rule(text: str, *, name: str | None = None, functions: Functions | None = None) -> Rule:
    """Parse one rule, such as `replace x, y by x if x >= y`.

    - `name`: the name of the rule, for reports and for other rules.
    - `functions`: the Python functions that it may call.

    Raises `Misuse` (H305) if the text is something else, `SyntaxProblem` and `NameProblem` if it is wrong.

    >>> from solvent import hocl
    >>> add = hocl.rule("replace x::int, y::int by x + y", name="add")
    >>> solution = hocl.Solution([1, 2, 3, add])
    >>> hocl.react(solution).reactions, hocl.show(solution)
    (2, '<6, add>')
    """
    found = molecules(f"({name} = {text})" if name else text, functions=functions)
    if len(found) != 1 or not isinstance(found[0], Rule):
        raise Misuse("H305", "this text is not one rule", hint='for example rule("replace x, y by x if x >= y")')
    return found[0]


def read_typed(text: str, *, functions: Functions, rules: Mapping[str, Rule]) -> tuple[dict[str, Rule], list[Molecule]]:
    """Read lets and molecules; return the newly named rules and the molecules."""
    with deep_stack():
        tree, only_lets = _parse(text)
        source = Source(text, "<typed>")
        resolve_molecules(tree, source, functions, {name: rule.node for name, rule in rules.items()})
        found = lower_molecules(tree, source, functions, rules)
    lets = [node for node in tree if isinstance(node, LetNode)]
    named = {binding.name: closed_rule(binding.rule) for let in lets for binding in let.bindings}
    return named, [] if only_lets else found


def is_incomplete(text: str) -> bool:
    """Return whether a text may be continued: a bracket is open, or it ends too early."""
    try:
        with deep_stack():
            _parse(text)
    except SyntaxProblem as error:
        return error.code in _OPEN or (error.span is not None and error.span.start >= len(text.rstrip()))
    return False


def _parse(text: str) -> tuple[list[Expression], bool]:
    """Parse a typed text; return the tree, and whether it is nothing but lets."""
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
