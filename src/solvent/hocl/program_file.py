"""Program files: a text in the common layout, and a solution as a program that `solvent run` can continue.

In the program of a solution a named rule that captured nothing becomes a `let`, after the rules it names. A rule that
captured values is written in place, with the values instead of their names; so is a second, different rule of a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import Misuse
from solvent.hocl.process_settings import deep_stack
from solvent.hocl.program import check_length, load
from solvent.lang.layout import format_program
from solvent.lang.molecule import ATOMS, Endless, Molecule, Opaque, check_printable, order_key
from solvent.lang.parser import parse_program
from solvent.lang.printer import TreePrinter, print_molecule
from solvent.lang.rule import Rule, closed_rule
from solvent.lang.solution import Solution
from solvent.source import Source

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.lang.functions import Functions
    from solvent.lang.syntax import RuleNode


_MAX_ROUNDS = 4
_MAX_FORMATTED = 200_000
"""The longest program of a solution that is laid out; a longer one has a line for each molecule."""


def format_text(text: str, name: str = "<text>") -> str:
    """Return a program's text in the common layout."""
    check_length(text, name)
    source = Source(text, name)
    with deep_stack():
        tree = parse_program(source)
        formatted = format_program(tree, source)
        # A comment in an odd place may settle only in the next round.
        for _ in range(_MAX_ROUNDS):
            again = Source(formatted, name)
            parsed = parse_program(again)
            # A bug in the layout must not cost a user a program or a comment.
            assert parsed == tree, "the layout changed the program"
            assert len(parsed.comments) == len(tree.comments), "the layout lost a comment"
            before, formatted = formatted, format_program(parsed, again)
            if formatted == before:
                break
    return formatted


def program_text(solution: Solution) -> str:
    """Return a program whose solution equals this one.

    Raises `Misuse` (H310) for a Python value that HOCL cannot write, `LimitReached` (H323) for a text that is too long.

    >>> from solvent import hocl
    >>> print(hocl.program_text(hocl.Solution([3, (hocl.Symbol("T"), 4)])), end="")
    <3, T : 4>
    """
    with deep_stack():
        check_printable(solution)
        lets = _Lets(solution)
        lines, items = lets.lines(), lets.items(solution)
        if sum(map(len, lines)) + sum(map(len, items)) > _MAX_FORMATTED:
            return "".join(lines) + "<\n" + ",\n".join(f"  {one}" for one in items) + "\n>\n"
        source = Source(f"{''.join(lines)}<{', '.join(items)}>")
        return format_program(parse_program(source), source)


def save(solution: Solution, path: str | Path) -> None:
    """Write a solution into a file, as a program: `solvent run` and `load_solution` continue with it.

    The file is written entirely or not at all.

    Raises `Misuse`: H309 if the file cannot be written, H310 for a Python value that HOCL cannot write.

    >>> from solvent import hocl
    >>> solution = hocl.Solution([1, 2, hocl.rule("replace x, y by x + y")])
    >>> hocl.save(solution, "sum.hocl")
    >>> hocl.load_solution("sum.hocl") == solution
    True
    """
    write_whole(path, program_text(solution))


def load_solution(path: str | Path, *, functions: Functions | None = None) -> Solution:
    """Read a solution from a file: that of the program in it.

    Raises `Misuse` (H304) if the file cannot be read, `SyntaxProblem` and `NameProblem` if its text is wrong.

    >>> from pathlib import Path
    >>> from solvent import hocl
    >>> _ = Path("rest.hocl").write_text("<1, 2, 3>")
    >>> hocl.load_solution("rest.hocl").count(2)
    1
    """
    return load(path, functions=functions).solution()


def write_whole(path: str | Path, text: str) -> None:
    """Write a file entirely or not at all."""
    import os
    import tempfile

    target = os.path.realpath(path)
    try:
        handle, name = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".solvent-")  # noqa: PTH120
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(name, _mode(target))  # noqa: PTH101
            os.replace(name, target)  # noqa: PTH105
        except BaseException:
            os.unlink(name)  # noqa: PTH108
            raise
    except OSError as error:
        raise Misuse("H309", f"cannot write {path}: {error.strerror or error}") from None


def _mode(path: str) -> int:
    """Return the permissions of a file, or those of a new one."""
    import os

    try:
        return os.stat(path).st_mode & 0o777  # noqa: PTH116
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


class _Lets:
    """The lets that a solution's rules need."""

    def __init__(self, solution: Solution) -> None:
        self.known: dict[str, RuleNode] = {}
        self._seen: set[int] = set()
        for molecule in sorted(solution, key=order_key):
            self._look_into(molecule)

    def _look_into(self, molecule: Molecule) -> None:
        kind = type(molecule)
        if kind in ATOMS:
            return
        if kind is Opaque:
            message = f"{print_molecule(molecule)} cannot be saved: HOCL has no form for this Python value"
            raise Misuse("H310", message, hint="take it out of the solution first, or turn it into atoms")
        if kind is Rule:
            for value, meaning in zip(molecule.captured, molecule.node.captures.values(), strict=True):
                for one in value if meaning == "rest" else (value,):
                    self._look_into(one)
            self._add(molecule.node)
        elif kind is Endless:
            self._look_into(molecule.molecule)
        else:
            for one in molecule if kind is not Solution else sorted(molecule, key=order_key):
                self._look_into(one)

    def _add(self, node: RuleNode) -> None:
        if id(node) in self._seen:
            return
        self._seen.add(id(node))
        for named in node.rules.values():
            self._add(named)
        # So the rules that a let names come before it. Of several rules of a name the first has the let.
        if node.name and not node.captures:
            self.known.setdefault(node.name, node)

    def lines(self) -> list[str]:
        """Return a let for each rule, those it names before it."""
        found = []
        before: dict[str, RuleNode] = {}
        for name, node in self.known.items():
            text = TreePrinter(closed_rule(node), before).rule(node)
            found.append(f"let {'rec ' if node.is_recursive else ''}{name} = {text} in\n")
            before[name] = node
        return found

    def items(self, solution: Solution) -> list[str]:
        """Return the text of each molecule."""
        printer = TreePrinter(known=self.known)
        return [print_molecule(one, printer.rule_molecule) for one in sorted(solution, key=order_key)]
