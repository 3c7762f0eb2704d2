"""Errors and warnings of a program's text, without running it: for `solvent check` and editors."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from solvent.errors import SolventError, SyntaxProblem
from solvent.hocl.process_settings import deep_stack
from solvent.hocl.program import check_length
from solvent.lang.doubts import Doubt, doubts
from solvent.lang.evaluate import lower_program
from solvent.lang.functions import Functions
from solvent.lang.parser import parse_program
from solvent.lang.scope import name_problems, resolve
from solvent.source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence


class Findings(NamedTuple):
    """Errors, or warnings if there are no errors."""

    errors: Sequence[SolventError]
    doubts: Sequence[Doubt] = ()


def check_text(text: str, *, name: str = "<text>", functions: Functions | None = None) -> Findings:
    """Check a program: its syntax, then its names, then doubtful parts; stop at the first kind found."""
    source = Source(text, name)
    functions = functions if functions is not None else Functions()
    with deep_stack():
        try:
            check_length(text, name)
            tree = parse_program(source)
        except SyntaxProblem as error:
            if error.span is None:
                return Findings([error])
            from solvent.lang.lenient_parser import read_leniently

            return Findings(read_leniently(source).problems)
        problems = name_problems(tree, source, functions)
        if problems:
            return Findings(problems)
        try:
            resolve(tree, source, functions)
            lower_program(tree, source, functions)
        except SolventError as error:
            return Findings([error])
        return Findings([], doubts(tree, source))


__all__ = ["Findings", "check_text"]
