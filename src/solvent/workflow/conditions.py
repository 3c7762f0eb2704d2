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
    from solvent.workflow.places import Key

_FUNCTIONS = Functions()


def check_condition(what: str, when: str, key: Key, report: Report) -> None:
    """Report what is wrong with the condition of `what`, an alternative or a route, which stands at `key`."""
    try:
        (found,) = parse_molecules(Source(f"({when}\n)", "when"))
        source = Source(f"<replace result by 1 if ({when}\n)>", "when")
        resolve(parse_program(source), source, _FUNCTIONS)
    except ProgramError as error:
        does = "does not read as HOCL" if error.code.startswith("H1") else "is wrong"
        report.add("W130", f"the condition of {what} {does}: {error.message}", key, hint=error.hint)
        return
    if isinstance(found, ListNode | TupleNode | SolutionNode) or (
        isinstance(found, Literal) and not isinstance(found.value, bool)
    ):
        message = f"the condition of {what} is never true or false: `{when}`"
        report.add("W130", message, key, hint='compare the result: `when: "result < 0.9"`')


__all__ = ["check_condition"]
