"""Every order of a program's reactions, as a page shows it: what can come out, and the states as a picture."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.engine.explore import Exploration, describe_state, explore
from solvent.lang.printer import short_rule
from solvent.pictures import Edge, Graph, Node, place
from solvent.pictures.text_width import cut
from solvent.web.playground.question import MAX_DRAWN, MAX_LISTED, MAX_MOLECULE

if TYPE_CHECKING:
    from solvent.engine.successors import Opened
    from solvent.engine.trace import Record
    from solvent.lang.rule import Rule
    from solvent.lang.solution import Solution

_MAX_LETTERS = 28
_MAX_WRITTEN = 16
"""With more states than this, their boxes have numbers, so that the picture can be seen as a whole."""
_MAX_LABELS = 60


class _Passages:
    """Notes by which rules one gets from a state to another: a property that always holds."""

    name = "passages"

    def __init__(self) -> None:
        self.rules: dict[tuple[int, int], dict[str, None]] = {}

    def check_state(self, _number: int, _opened: Opened) -> str | None:
        """Look at nothing."""
        return None

    def check_reaction(self, before: int, rule: Rule, after: int, _state: Solution) -> str | None:
        """Note a reaction between states that are drawn."""
        if before < MAX_DRAWN and after < MAX_DRAWN:
            self.rules.setdefault((before, after), {})[rule.name or "·"] = None
        return None


def orders_of(solution: Solution, *, max_states: int, max_seconds: float) -> dict[str, Any]:
    """Explore a solution within limits, and say what was found."""
    passages = _Passages()
    end = time.perf_counter() + max_seconds
    found = explore(
        solution, max_states=max_states, should_stop=lambda: time.perf_counter() > end, properties=[passages]
    )
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
        "cycle": None if cycle is None else {"before": _run(found, cycle[0]), "round": _round(found, cycle)},
        "picture": _picture(found, passages),
    }


def _text(found: Exploration, state: int) -> str:
    text = describe_state(found.states[state])
    return text if len(text) <= MAX_MOLECULE else f"{text[:MAX_MOLECULE]}…"


def _divergence(found: Exploration) -> list[dict[str, Any]]:
    """Give two runs that can never meet again."""
    return [{"state": end, "text": _text(found, end), "run": _run(found, end)} for end in found.divergence()]


def _run(found: Exploration, state: int) -> list[dict[str, Any]]:
    return [_told(one) for one in found.run_to(state)[:MAX_LISTED]]


def _round(found: Exploration, cycle: list[int]) -> list[dict[str, Any]]:
    return [_told(one) for one in found.run_round(cycle[:MAX_LISTED])] if len(cycle) <= MAX_LISTED else []


def _told(record: Record) -> dict[str, Any]:
    return {
        "rule": record.rule[:MAX_MOLECULE],
        "before": [one[:MAX_MOLECULE] for one in record.before],
        "after": [one[:MAX_MOLECULE] for one in record.after],
    }


# ------------------------------------------------------------------------------------------------- the picture


def _picture(found: Exploration, passages: _Passages) -> dict[str, Any]:
    """Draw the states that are nearest to the first."""
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
    """Give the first states as a graph: `rules` are those by which one gets from one to another."""
    finals = set(found.finals)
    # With several rules, which one reacted is worth saying; with one, it is the same everywhere.
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


__all__ = ["orders_of"]
