"""Looks for all that is wrong or doubtful in a program's text, without running it: for `solvent check` and editors."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from solvent.chemistry.functions import Functions
from solvent.errors import SolventError, SyntaxProblem
from solvent.hocl import lower_program, parse_program, resolve
from solvent.hocl.doubts import Doubt, doubts
from solvent.hocl.scope import name_problems
from solvent.running.interpreter import deep_stack
from solvent.running.program import check_length
from solvent.source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence


class Findings(NamedTuple):
    """What was found: errors, and doubts where there are none."""

    errors: Sequence[SolventError]
    doubts: Sequence[Doubt] = ()


def check_text(text: str, *, name: str = "<text>", functions: Functions | None = None) -> Findings:
    """Check a program: what does not read; else its names; else what is doubtful."""
    source = Source(text, name)
    functions = functions if functions is not None else Functions()
    with deep_stack():
        try:
            check_length(text, name)
            tree = parse_program(source)
        except SyntaxProblem as error:
            if error.span is None:
                return Findings([error])
            from solvent.hocl.recovery import read_leniently

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
