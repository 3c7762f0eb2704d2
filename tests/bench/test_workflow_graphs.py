"""The graphs of the workflow benchmark."""

from __future__ import annotations

import functools

import pytest

from bench.workflow.functions import combine
from bench.workflow.graphs import SHAPES, Graph, evaluate, make_layers


def _recursively(graph: Graph) -> list[int]:
    """Evaluate the way a textbook would."""

    @functools.cache
    def value(task: int) -> int:
        return combine(task, *map(value, graph.sources[task]))

    return [value(sink) for sink in graph.sinks]


def test_layered_tasks_take_two_or_three_results_of_the_layer_before() -> None:
    """In a graph of 100 tasks every task behind the first ten takes two or three different ones of the ten before."""
    sources = make_layers(100).sources
    layers = [
        (len(set(found)), {source // 10 for source in found}, task // 10 - 1)
        for task, found in enumerate(sources)
        if task >= 10
    ]
    assert sources[:10] == ((),) * 10
    assert all(count in {2, 3} and found == {before} for count, found, before in layers)


@pytest.mark.parametrize("shape", SHAPES)
def test_results_are_those_of_a_recursive_evaluation(shape: str) -> None:
    """The results that the systems are held to are those of a plain recursive evaluation."""
    graph = SHAPES[shape].make(100)
    assert evaluate(graph) == _recursively(graph)


def test_the_order_of_arguments_shows_in_the_result() -> None:
    """A system that mixes up arguments is found out."""
    assert combine(1, 2, 3) != combine(1, 3, 2)
