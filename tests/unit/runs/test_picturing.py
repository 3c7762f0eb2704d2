"""States that an exploration has found, as graphs to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.engine.explore import explore
from solvent.engine.picturing import graph_of_states
from solvent.hocl.program import parse
from solvent.pictures import text
from solvent.runs.exploring import explore_workflow
from solvent.runs.picturing import graph_of_orders
from solvent.workflows.model import Result, Service, Task, Workflow

if TYPE_CHECKING:
    from solvent.pictures.graph import Graph

TWO_ENDS = "let max = replace x, y by x if x >= y in let min = replace x, y by y if x >= y in <2, 3, max, min>"
FOR_EVER = "let on = replace A by B in let off = replace B by A in <A, on, off>"


def _states(program: str, **options: int) -> Graph:
    return graph_of_states(explore(parse(program).solution(), **options), "program")  # type: ignore[arg-type]


def test_states_and_the_rules_between_them() -> None:
    """A state has its number and its solution; an arrow is named by the rules that lead there."""
    graph = _states(TWO_ENDS)
    assert [node.lines[0][1] for node in graph.nodes] == [
        "#0 · start",
        "#1 · final · one run",
        "#2 · final · another run",
    ]
    assert [node.lines[1][1] for node in graph.nodes] == ["<2, 3, max, min>", "<3, max, min>", "<2, max, min>"]
    assert [(edge.link, edge.label) for edge in graph.edges] == [((0, 1), "max"), ((0, 2), "min")]


def test_two_runs_that_diverge_can_be_seen() -> None:
    """Their arrows are drawn strong, their ends marked, and the legend tells them."""
    graph = _states(TWO_ENDS)
    assert {edge.kind for edge in graph.edges} == {"run"}
    assert [node.state for node in graph.nodes] == ["start", "diverging", "diverging"]
    assert graph.legend == ("two runs that diverge: #0 → #1, and #0 → #2",)


def test_a_run_that_never_ends_can_be_seen() -> None:
    """The legend goes round once."""
    graph = _states(FOR_EVER)
    assert graph.legend == ("a run that never ends: #0 → #1 → #0 ...",)
    assert "↺ back to #0 by off" in text(graph)


def test_what_was_not_looked_at_is_said() -> None:
    """With a limit, states that lead on to unknown ones are dashed and say to how many."""
    graph = _states("let less = replace x by x - 1 if x > 0 in <9, less>", max_states=3)
    assert [node.is_dashed for node in graph.nodes] == [False, False, True]
    assert graph.nodes[-1].lines[0][1] == "#2 · … 1 more"
    assert graph.legend == ("… there are more states",)


def test_a_rule_that_changes_nothing() -> None:
    """A state that leads to itself says by which rule."""
    graph = _states("let same = replace x by x in <1, same>")
    assert graph.nodes[0].lines[0][1] == "#0 · start · ↺ by same"


def test_long_states_are_cut() -> None:
    """A box has a few lines; the whole is said when it is pointed at."""
    graph = _states(f"<{', '.join(map(str, range(1000, 1100)))}>")
    assert len(graph.nodes[0].lines) == 5
    assert "1099" in graph.nodes[0].tip


def test_orders_of_a_workflow() -> None:
    """A state says what runs and what is done; an arrow what happened."""
    tasks = (Task("A", "one"), Task("B", "one"), Task("C", "add", (Result("A"), Result("B"))))
    flow = Workflow("flow", tasks, services=(Service("one", "python"), Service("add", "python")))
    found = explore_workflow(flow, services={"one": lambda: 1, "add": lambda a, b: a + b})
    graph = graph_of_orders(found, "flow")
    assert graph.nodes[0].lines == (("", "#0 · start"), ("code", "A, B run"))
    assert {"A done", "B done", "C done"} <= {edge.label for edge in graph.edges}
    assert [node.lines[0][1].endswith("ends done") for node in graph.nodes if node.state == "final"] == [True]
