"""Layers, orders and positions of the tasks in a picture."""

from __future__ import annotations

from itertools import chain, pairwise

from hypothesis import given
from hypothesis import strategies as st

from solvent.workflow.drawing.graph import explained, graph_of
from solvent.workflow.drawing.layout import Layout, arrange, positions
from solvent.workflow.model import Alternative, Result, Task, Workflow


def _workflow(sources: dict[str, str], *alternatives: Alternative) -> Workflow:
    """Make a workflow in which each task takes the results of the tasks named in a text."""
    tasks = tuple(Task(name, "s", tuple(Result(one) for one in taken.split())) for name, taken in sources.items())
    return Workflow("flow", tasks, alternatives=alternatives)


def _layers(workflow: Workflow) -> list[list[str]]:
    graph = graph_of(workflow)
    found = [[graph.names[item] for item in layer if item < len(graph.names)] for layer in arrange(graph).layers]
    return [layer for layer in found if layer]


DIAMOND = _workflow(
    {"T1": "", "T2": "T1", "T3": "T1", "T4": "T2 T3", "T5": "T1"}, Alternative("fallback", {"T2": "T5"})
)


def test_a_layer_is_the_longest_way() -> None:
    """A task lies below all it takes from, and an alternative beside what it replaces."""
    assert [sorted(layer) for layer in _layers(DIAMOND)] == [["T1"], ["T2", "T3", "T5"], ["T4"]]


def test_links_of_alternatives_are_dashed() -> None:
    """What a sleeping task takes and where its result would go is dashed."""
    graph = graph_of(DIAMOND)
    assert {(graph.names[a], graph.names[b]) for a, b in graph.dashed} == {("T1", "T5"), ("T5", "T4")}
    assert {(graph.names[a], graph.names[b]) for a, b in graph.solid} == {
        ("T1", "T2"),
        ("T1", "T3"),
        ("T2", "T4"),
        ("T3", "T4"),
    }


def test_a_task_without_sources_lies_above_its_first_use() -> None:
    """A task that takes nothing is drawn where it is needed, not at the top."""
    assert _layers(_workflow({"a": "", "b": "a", "c": "b x", "x": ""})) == [["a"], ["b", "x"], ["c"]]


def test_links_over_layers_share_waypoints() -> None:
    """A link that passes layers gets a waypoint in each, shared by the links of one task."""
    layout = arrange(graph_of(_workflow({"a": "", "b": "a", "c": "b a", "d": "c a"})))
    assert [len(layer) for layer in layout.layers] == [1, 2, 2, 1]


def test_crossings_are_avoided() -> None:
    """Tasks are ordered so that links cross as little as possible."""
    first, second = _layers(_workflow({"a": "", "b": "", "x": "b", "y": "a"}))
    assert second == [{"a": "y", "b": "x"}[name] for name in first]


def test_a_cycle_is_drawn_all_the_same() -> None:
    """A workflow that is wrong can still be looked at."""
    assert sorted(chain(*_layers(_workflow({"a": "c", "b": "a", "c": "b", "d": "d nobody"})))) == ["a", "b", "c", "d"]


def test_a_stand_in_that_takes_a_later_result() -> None:
    """An alternative may use what comes after the task it replaces; the others stay in their layers."""
    late = Alternative("late", {"a": "z"}, watch=("b",), on=("condition",), when="result < 1")
    assert _layers(_workflow({"a": "", "b": "a", "z": "b"}, late)) == [["a"], ["b"], ["z"]]


def test_alternatives_are_explained() -> None:
    """A line says what stands in for what, and when."""
    assert explained(DIAMOND.alternatives[0]) == "T5 instead of T2, on failure"
    late = Alternative("late", {"a": "z"}, watch=("b",), on=("timeout", "condition"), when="result < 1")
    assert explained(late) == "z instead of a, on timeout or if result < 1, watching b"
    assert explained(Alternative("c", {"a": "z"}, on=("condition",), predicate=lambda _: True)) == (
        "z instead of a, if its result is rejected"
    )


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=60))
def test_every_link_leads_down_and_every_task_is_drawn_once(pairs: list[tuple[int, int]]) -> None:
    """In any graph without cycles all tasks have one place, links go to the next layer, and neighbours keep apart."""
    sources = {number: {a for a, b in pairs if b == number and a < b} for number in range(31)}
    graph = graph_of(_workflow({f"t{n}": " ".join(f"t{one}" for one in taken) for n, taken in sources.items()}))
    layout: Layout = arrange(graph)
    layer_of = layout.layer_of
    assert sorted(layer_of) == list(range(sum(map(len, layout.layers))))
    assert all(layer_of[target] == layer_of[source] + 1 for source, target, _ in layout.edges)
    centre = positions(layout, lambda _left, _right: 10)
    for layer in layout.layers:
        assert all(centre[b] - centre[a] > 9.99 for a, b in pairwise(layer))
