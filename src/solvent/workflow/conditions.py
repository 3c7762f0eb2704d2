"""Conditions on results, looked at before anything runs: do they read, and does everything they name exist?

A condition is HOCL about `result`, in parentheses whatever it holds, with the functions that every program has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.chemistry.functions import Functions
from solvent.chemistry.syntax import ListNode, Literal, SolutionNode, TupleNode
from solvent.errors import ProgramError
from solvent.hocl import parse_molecules, parse_program, resolve
from solvent.source import Source

if TYPE_CHECKING:
    from solvent.workflow.checks import Report

_FUNCTIONS = Functions()


def check_condition(name: str, when: str, report: Report) -> None:
    """Report what is wrong with the condition of an alternative."""
    try:
        (found,) = parse_molecules(Source(f"({when}\n)", "when"))
        source = Source(f"<replace result by 1 if ({when}\n)>", "when")
        resolve(parse_program(source), source, _FUNCTIONS)
    except ProgramError as error:
        does = "does not read as HOCL" if error.code.startswith("H1") else "is wrong"
        report.add("W130", f"the condition of `{name}` {does}: {error.message}", ("condition", name), hint=error.hint)
        return
    if isinstance(found, ListNode | TupleNode | SolutionNode) or (
        isinstance(found, Literal) and not isinstance(found.value, bool)
    ):
        message = f"the condition of `{name}` is never true or false: `{when}`"
        report.add("W130", message, ("condition", name), hint='compare the result: `when: "result < 0.9"`')


__all__ = ["check_condition"]
