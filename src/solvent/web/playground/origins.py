"""Why a molecule is there, and why a rule does not react, as a page shows it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from solvent.engine.trace import Recorder
from solvent.errors import LimitReached, SolventError
from solvent.hocl.embedded import Run
from solvent.hocl.explanation import children_of, fate_of, find, names_in, near_texts, read_molecule, rule_names
from solvent.web.playground.problems import error_of
from solvent.web.playground.question import MAX_MOLECULE, MAX_RECORDED

if TYPE_CHECKING:
    from solvent.engine.trace import Made
    from solvent.hocl.program import Program
    from solvent.lang.solution import Solution
    from solvent.web.playground.question import Question

_MAX_TOLD = 300
"""How many molecules of a tree are told, the nearest first."""
_MAX_REPORTS = 10
_MAX_NAMES = 20


def why(program: Program, question: Question) -> dict[str, Any]:
    """Say how a molecule came about."""
    molecule = read_molecule(question.about, program.functions, program.rules())
    solution = program.solution()
    recorder, stopped = _recorded(solution, question)
    made = find(recorder, molecule, question.about)
    if made is None:
        near = [one[:MAX_MOLECULE] for one in near_texts(recorder, question.about)]
        return {"found": False, "near": near, "stopped": stopped}
    return {"found": True, "stopped": stopped, **_tree(recorder, made)}


def _tree(recorder: Recorder, made: Made) -> dict[str, Any]:
    """Give what a molecule comes from, each with the numbers of what it comes from itself; the nearest first."""
    told: dict[int, dict[str, Any]] = {}
    queue = deque([made])
    while queue and len(told) < _MAX_TOLD:
        one = queue.popleft()
        if one.number in told:
            continue
        fields: dict[str, Any] = {"id": one.number, "text": one.text[:MAX_MOLECULE]}
        if one.reaction is not None:
            record = recorder.records[one.reaction - 1]
            children = children_of(one, record)
            fields |= {"reaction": record.number, "rule": record.rule[:MAX_MOLECULE], "is_freed": one.moved is not None}
            fields["from"] = [child.number for child in children]
            queue += children
        told[one.number] = fields
    return {"id": made.number, "molecules": list(told.values()), "is_cut": bool(queue)}


def why_not(program: Program, question: Question) -> dict[str, Any]:
    """Say what stops a rule."""
    solution = program.solution()
    recorder, stopped = _recorded(solution, question)
    fate = fate_of(solution, recorder, question.about).as_json()
    fate["reports"] = fate["reports"][:_MAX_REPORTS]
    known = sorted({*names_in(recorder), *rule_names(solution)})[:_MAX_NAMES]
    return {**fate, "known": known, "stopped": stopped}


def _recorded(solution: Solution, question: Question) -> tuple[Recorder, dict[str, Any] | None]:
    """Run a solution with every reaction recorded; give what stopped it, if anything did."""
    recorder = Recorder(solution)
    max_reactions = min(question.max_reactions, MAX_RECORDED)
    run = Run(
        solution,
        seed=question.seed,
        max_reactions=max_reactions,
        max_seconds=question.max_seconds,
        observe=recorder,
    )
    try:
        run.to_inertia()
    except SolventError as error:
        found = error_of(error)
        if isinstance(error, LimitReached) and max_reactions == MAX_RECORDED:
            found["hint"] = f"at most {MAX_RECORDED:,} reactions are recorded here; `solvent why` has no such limit"
        return recorder, found
    return recorder, None


__all__ = ["why", "why_not"]
