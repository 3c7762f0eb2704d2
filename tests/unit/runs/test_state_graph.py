"""States that an exploration has found, as graphs to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.engine.explore import explore
from solvent.engine.state_graph import graph_of_states
from solvent.hocl.program import parse
from solvent.pictures import text

if TYPE_CHECKING:
    from solvent.pictures.graph import Graph

TWO_ENDS = "let max = replace x, y by x if x >= y in let min = replace x, y by y if x >= y in <2, 3, max, min>"
FOR_EVER = "let on = replace A by B in let off = replace B by A in <A, on, off>"


def _states(program: str, **options: int) -> Graph:
    return graph_of_states(explore(parse(program).solution(), **options), "program")  # type: ignore[arg-type]


def test_a_run_that_never_ends_can_be_seen() -> None:
    """The legend goes round once."""
    graph = _states(FOR_EVER)
    assert graph.legend == ("a run that never ends: #0 → #1 → #0 ...",)
    assert "↺ back to #0 by off" in text(graph)


def test_a_rule_that_changes_nothing() -> None:
    """A state that leads to itself says by which rule."""
    graph = _states("let same = replace x by x in <1, same>")
    assert graph.nodes[0].lines[0][1] == "#0 · start · ↺ by same"


def test_long_states_are_cut() -> None:
    """A box has a few lines; the whole is said when it is pointed at."""
    graph = _states(f"<{', '.join(map(str, range(1000, 1100)))}>")
    assert len(graph.nodes[0].lines) == 5
    assert "1099" in graph.nodes[0].tip
