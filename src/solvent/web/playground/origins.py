"""Why a molecule is there, and why a rule does not react, as a page shows it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from solvent.engine.trace import Recorder
from solvent.errors import LimitReached, SolventError
from solvent.hocl.embedded import Run
from solvent.hocl.explanation import children_of, fate_of, find, names_in, near_texts, read_molecule, rule_names
from solvent.web.playground.problems import error_of
from solvent.web.playground.question import MOLECULE_MAX, RECORDED_MAX

if TYPE_CHECKING:
    from solvent.engine.trace import Made
    from solvent.hocl.program import Program
    from solvent.lang.solution import Solution
    from solvent.web.playground.question import Question

_TOLD_MAX = 300
"""How many molecules of a tree are told, the nearest first."""
_REPORTS_MAX = 10
_NAMES_MAX = 20


def why(program: Program, question: Question) -> dict[str, Any]:
    """Say how a molecule came about."""
    molecule = read_molecule(question.about, program.functions, program.rules())
    solution = program.solution()
    recorder, stopped = _recorded(solution, question)
    made = find(recorder, molecule, question.about)
    if made is None:
        near = [one[:MOLECULE_MAX] for one in near_texts(recorder, question.about)]
        return {"found": False, "near": near, "stopped": stopped}
    return {"found": True, "stopped": stopped, **_tree(recorder, made)}


def _tree(recorder: Recorder, made: Made) -> dict[str, Any]:
    """Give what a molecule comes from, each with the numbers of what it comes from itself; the nearest first."""
    told: dict[int, dict[str, Any]] = {}
    queue = deque([made])
    while queue and len(told) < _TOLD_MAX:
        one = queue.popleft()
        if one.number in told:
            continue
        fields: dict[str, Any] = {"id": one.number, "text": one.text[:MOLECULE_MAX]}
        if one.reaction is not None:
            record = recorder.records[one.reaction - 1]
            children = children_of(one, record)
            fields |= {"reaction": record.number, "rule": record.rule[:MOLECULE_MAX], "is_freed": one.moved is not None}
            fields["from"] = [child.number for child in children]
            queue += children
        told[one.number] = fields
    return {"id": made.number, "molecules": list(told.values()), "is_cut": bool(queue)}


def why_not(program: Program, question: Question) -> dict[str, Any]:
    """Say what stops a rule."""
    solution = program.solution()
    recorder, stopped = _recorded(solution, question)
    fate = fate_of(solution, recorder, question.about).as_json()
    fate["reports"] = fate["reports"][:_REPORTS_MAX]
    known = sorted({*names_in(recorder), *rule_names(solution)})[:_NAMES_MAX]
    return {**fate, "known": known, "stopped": stopped}


def _recorded(solution: Solution, question: Question) -> tuple[Recorder, dict[str, Any] | None]:
    """Run a solution with every reaction recorded; give what stopped it, if anything did."""
    recorder = Recorder(solution)
    max_reactions = min(question.max_reactions, RECORDED_MAX)
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
        if isinstance(error, LimitReached) and max_reactions == RECORDED_MAX:
            found["hint"] = f"at most {RECORDED_MAX:,} reactions are recorded here; `solvent why` has no such limit"
        return recorder, found
    return recorder, None


__all__ = ["why", "why_not"]
