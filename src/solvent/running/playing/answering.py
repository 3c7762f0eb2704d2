"""Questions of the playground, answered: in a process of their own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, assert_never

from solvent.chemistry.printer import print_molecule
from solvent.errors import SolventError
from solvent.running.checking import check_text
from solvent.running.embedded import Run
from solvent.running.interpreter import deep_stack
from solvent.running.playing.problems import NAME, error_of, warning_of
from solvent.running.playing.question import LISTED_MAX, TEXT_MAX
from solvent.running.program import parse

if TYPE_CHECKING:
    from solvent.running.playing.question import Question
    from solvent.running.program import Program


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
            from solvent.running.formatting import format_text

            return {"program": format_text(question.program, NAME)}
        case "run":
            return _run(program, question)
        case "explore":
            from solvent.running.playing.orders import orders_of

            solution = program.solution()
            return {"orders": orders_of(solution, states_max=question.states_max, seconds_max=question.seconds_max)}
        case "why":
            from solvent.running.playing.origins import why

            return {"why": why(program, question)}
        case "why-not":
            from solvent.running.playing.origins import why_not

            return {"why_not": why_not(program, question)}
        case "check":
            return {}
        case _:
            assert_never(question.ask)


def _problems(text: str) -> list[dict[str, Any]]:
    """Give all that is wrong with a program, or, where nothing is, what is probably not meant."""
    found = check_text(text, name=NAME)
    return [*map(error_of, found.errors[:LISTED_MAX]), *map(warning_of, found.doubts[:LISTED_MAX])]


def _run(program: Program, question: Question) -> dict[str, Any]:
    """Run a program; the moments are those of this very run."""
    from solvent.running.playing.moments import Moments

    solution = program.solution()
    moments = Moments(solution)
    started = time.perf_counter()
    run = Run(
        solution,
        seed=question.seed,
        reactions_max=question.reactions_max,
        seconds_max=question.seconds_max,
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
        "solution": text[:TEXT_MAX],
        "left_out": max(0, len(text) - TEXT_MAX),
    }
    return {"problems": problems, "outcome": outcome, "moments": moments.as_json()}


__all__ = ["answer"]
