"""Questions of the playground, answered: in a process of their own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, assert_never

from solvent.errors import SolventError
from solvent.hocl.diagnostics import check_text
from solvent.hocl.embedded import Run
from solvent.hocl.process_settings import deep_stack
from solvent.hocl.program import parse
from solvent.lang.printer import print_molecule
from solvent.web.playground.problems import NAME, error_of, warning_of
from solvent.web.playground.question import MAX_LISTED, MAX_TEXT

if TYPE_CHECKING:
    from solvent.hocl.program import Program
    from solvent.web.playground.question import Question


def answer(question: Question) -> dict[str, Any]:
    """Answer a question; what is wrong with the program, or stopped it, is part of the answer."""
    if question.ask == "check":
        return {"problems": _problems(question.program)}
    try:
        program = parse(question.program, name=NAME)
        with deep_stack():
            return {"problems": [], **_answer(program, question)}
    except SolventError as error:
        return {"problems": [error_of(error)]}


def _answer(program: Program, question: Question) -> dict[str, Any]:
    match question.ask:
        case "format":
            from solvent.hocl.program_file import format_text

            return {"program": format_text(question.program, NAME)}
        case "run":
            return _run(program, question)
        case "explore":
            from solvent.web.playground.orders import orders_of

            solution = program.solution()
            return {"orders": orders_of(solution, max_states=question.max_states, max_seconds=question.max_seconds)}
        case "why":
            from solvent.web.playground.origins import why

            return {"why": why(program, question)}
        case "why-not":
            from solvent.web.playground.origins import why_not

            return {"why_not": why_not(program, question)}
        case "check":
            return {}
        case _:
            assert_never(question.ask)


def _problems(text: str) -> list[dict[str, Any]]:
    """Give all that is wrong with a program, or, where nothing is, what is probably not meant."""
    found = check_text(text, name=NAME)
    return [*map(error_of, found.errors[:MAX_LISTED]), *map(warning_of, found.doubts[:MAX_LISTED])]


def _run(program: Program, question: Question) -> dict[str, Any]:
    """Run a program; the moments are those of this very run."""
    from solvent.web.playground.moments import Moments

    solution = program.solution()
    moments = Moments(solution)
    started = time.perf_counter()
    run = Run(
        solution,
        seed=question.seed,
        max_reactions=question.max_reactions,
        max_seconds=question.max_seconds,
        observe=moments,
    )
    problems = []
    try:
        run.to_inertia()
    except SolventError as error:
        problems.append(error_of(error))
    text = print_molecule(solution)
    outcome = {
        "inert": solution.inert,
        "reactions": run.reactor.reactions,
        "seconds": round(time.perf_counter() - started, 4),
        "solution": text[:MAX_TEXT],
        "left_out": max(0, len(text) - MAX_TEXT),
    }
    return {"problems": problems, "outcome": outcome, "moments": moments.as_json()}


__all__ = ["answer"]
