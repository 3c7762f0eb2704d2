"""Answers to the questions of the playground: checks, runs, every order, why and why not."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, assert_never

import msgspec

from solvent.engine.explore import Exploration, describe_state, explore
from solvent.engine.trace import Recorder
from solvent.errors import LimitReached, SolventError
from solvent.hocl.diagnostics import check_text
from solvent.hocl.embedded import Run
from solvent.hocl.explanation import children_of, fate_of, find, names_in, near_texts, read_molecule, rule_names
from solvent.hocl.process_settings import deep_stack
from solvent.hocl.program import parse
from solvent.hocl.program_file import format_text
from solvent.lang.printer import print_molecule, short_rule
from solvent.pictures import Edge, Graph, Node, place
from solvent.pictures.text_width import cut
from solvent.web.playground.question import (
    MAX_DRAWN,
    MAX_LISTED,
    MAX_MOLECULE,
    MAX_RECORDED,
    MAX_TEXT,
    NAME,
    error_of,
    warning_of,
)  # fmt: skip
from solvent.web.playground.steps import Steps

if TYPE_CHECKING:
    from solvent.engine.successors import Opened
    from solvent.engine.trace import Made, Record
    from solvent.hocl.program import Program
    from solvent.lang.rule import Rule
    from solvent.lang.solution import Solution
    from solvent.web.playground.question import Question

_MAX_LETTERS = 28
_MAX_WRITTEN = 16
"""With more states than this, their boxes have numbers, so that the picture can be seen as a whole."""
_MAX_LABELS = 60
_MAX_TREE = 300
"""The number of molecules in a tree, the nearest ones."""
_MAX_REPORTS = 10
_MAX_NAMES = 20


def answer(question: Question) -> dict[str, Any]:
    """Answer a question; errors of the program are a part of the answer."""
    if question.ask == "check":
        found = check_text(question.program, name=NAME)
        return {"problems": [*map(error_of, found.errors[:MAX_LISTED]), *map(warning_of, found.doubts[:MAX_LISTED])]}
    try:
        program = parse(question.program, name=NAME)
        with deep_stack():
            return {"problems": [], **_answer(program, question)}
    except SolventError as error:
        return {"problems": [error_of(error)]}


def _answer(program: Program, question: Question) -> dict[str, Any]:
    match question.ask:
        case "format":
            return {"program": format_text(question.program, NAME)}
        case "run":
            return _run(program, question)
        case "explore":
            return {"orders": _orders(program.solution(), question)}
        case "why":
            return {"why": _why(program, question)}
        case "why-not":
            return {"why_not": _why_not(program, question)}
        case "check":
            return {}
        case _:
            assert_never(question.ask)


def _run(program: Program, question: Question) -> dict[str, Any]:
    """Run a program, and record its steps."""
    solution = program.solution()
    steps = Steps(solution)
    run = Run(
        solution,
        seed=question.seed,
        max_reactions=question.max_reactions,
        max_seconds=question.max_seconds,
        observe=steps,
    )
    problems = []
    try:
        run.to_inertia()
    except SolventError as error:
        problems.append(error_of(error))
    outcome, text = run.outcome(), print_molecule(solution)
    told = {
        "inert": outcome.inert,
        "reactions": outcome.reactions,
        "seconds": round(outcome.seconds, 4),
        "solution": text[:MAX_TEXT],
        "left_out": max(0, len(text) - MAX_TEXT),
    }
    return {"problems": problems, "outcome": told, "steps": steps.as_json()}


class _Passages:
    """Records the rules that lead from one state to another, as a property that always holds."""

    name = "passages"

    def __init__(self) -> None:
        self.rules: dict[tuple[int, int], dict[str, None]] = {}

    def check_state(self, _number: int, _opened: Opened) -> str | None:
        """Accept any state."""
        return None

    def check_reaction(self, before: int, rule: Rule, after: int, _state: Solution) -> str | None:
        """Record a reaction between states that are drawn."""
        if before < MAX_DRAWN and after < MAX_DRAWN:
            self.rules.setdefault((before, after), {})[rule.name or "·"] = None
        return None


def _orders(solution: Solution, question: Question) -> dict[str, Any]:
    """Explore every order of a program's reactions within limits: what can come out, and the states as a picture."""
    passages, end = _Passages(), time.perf_counter() + question.max_seconds

    def should_stop() -> bool:
        return time.perf_counter() > end

    found = explore(solution, max_states=question.max_states, should_stop=should_stop, properties=[passages])
    finals = found.finals
    cycle = found.cycle()
    return {
        "states": len(found.states),
        "is_complete": found.is_complete,
        "finals": [{"state": one, "text": _text(found, one)} for one in finals[:MAX_LISTED]],
        "finals_count": len(finals),
        "confluent": found.confluent,
        "terminates": found.terminates,
        "start": _text(found, 0),
        "divergence": _divergence(found) if found.confluent is False else None,
        "cycle": None if cycle is None else {"before": _path_to(found, cycle[0]), "round": _round(found, cycle)},
        "picture": _picture(found, passages),
    }


def _text(found: Exploration, state: int) -> str:
    text = describe_state(found.states[state])
    return text if len(text) <= MAX_MOLECULE else f"{text[:MAX_MOLECULE]}…"


def _divergence(found: Exploration) -> list[dict[str, Any]]:
    """Return two runs that can never meet again."""
    return [{"state": end, "text": _text(found, end), "run": _path_to(found, end)} for end in found.divergence()]


def _path_to(found: Exploration, state: int) -> list[dict[str, Any]]:
    return [_reaction(one) for one in found.run_to(state)[:MAX_LISTED]]


def _round(found: Exploration, cycle: list[int]) -> list[dict[str, Any]]:
    return [_reaction(one) for one in found.run_round(cycle[:MAX_LISTED])] if len(cycle) <= MAX_LISTED else []


def _reaction(record: Record) -> dict[str, Any]:
    return {
        "rule": record.rule[:MAX_MOLECULE],
        "before": [one[:MAX_MOLECULE] for one in record.before],
        "after": [one[:MAX_MOLECULE] for one in record.after],
    }


def _picture(found: Exploration, passages: _Passages) -> dict[str, Any]:
    """Draw the states that are nearest to the first one."""
    count = min(len(found.states), MAX_DRAWN)
    graph = _graph(found, passages.rules, count)
    places = place(graph)
    came = [None if one is None else [one[0], short_rule(one[1])[:MAX_MOLECULE]] for one in found.came_from[:count]]
    nodes = [
        {"lines": node.written, "state": node.state, "text": _text(found, number), "came": came[number]}
        for number, node in enumerate(graph.nodes)
    ]
    drawn: dict[str, Any] = msgspec.to_builtins(places)
    return drawn | {"nodes": nodes, "edges": [edge.link for edge in graph.edges], "left_out": len(found.states) - count}


def _graph(found: Exploration, rules: dict[tuple[int, int], dict[str, None]], count: int) -> Graph:
    """Return the first states as a graph; `rules` are those that lead from one to another."""
    finals = set(found.finals)
    # With one rule only, its name would be the same everywhere.
    is_named = len({name for names in rules.values() for name in names}) > 1 and len(rules) <= _MAX_LABELS
    nodes = []
    for number in range(count):
        text = cut(describe_state(found.states[number]), _MAX_LETTERS) if count <= _MAX_WRITTEN else str(number)
        state = "final" if number in finals else "start" if number == 0 else ""
        is_open = not all(after < count for after in found.edges[number]) or (
            not found.is_complete and not found.edges[number] and number not in finals
        )
        more = (("mark", "…"),) if is_open else ()
        nodes.append(Node(str(number), lines=(("", text), *more), state=state))
    edges = [
        Edge(before, after, label=cut(" | ".join(names), _MAX_LETTERS) if is_named else "")
        for (before, after), names in rules.items()
    ]
    return Graph(tuple(nodes), tuple(edges))


def _why(program: Program, question: Question) -> dict[str, Any]:
    """Return where a molecule came from."""
    molecule = read_molecule(question.about, program.functions, program.rules())
    solution = program.solution()
    recorder, stopped = _recorded(solution, question)
    made = find(recorder, molecule, question.about)
    if made is None:
        near = [one[:MAX_MOLECULE] for one in near_texts(recorder, question.about)]
        return {"found": False, "near": near, "stopped": stopped}
    return {"found": True, "stopped": stopped, **_tree(recorder, made)}


def _tree(recorder: Recorder, made: Made) -> dict[str, Any]:
    """Return the molecules that a molecule comes from, each with those it comes from itself; the nearest first."""
    told: dict[int, dict[str, Any]] = {}
    queue = deque([made])
    while queue and len(told) < _MAX_TREE:
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


def _why_not(program: Program, question: Question) -> dict[str, Any]:
    """Return what stops a rule."""
    solution = program.solution()
    recorder, stopped = _recorded(solution, question)
    fate = fate_of(solution, recorder, question.about).as_json()
    fate["reports"] = fate["reports"][:_MAX_REPORTS]
    known = sorted({*names_in(recorder), *rule_names(solution)})[:_MAX_NAMES]
    return {**fate, "known": known, "stopped": stopped}


def _recorded(solution: Solution, question: Question) -> tuple[Recorder, dict[str, Any] | None]:
    """Run a solution with every reaction recorded; return the record, and the error if there was one."""
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


__all__ = ["answer"]
