"""Circles in graphs."""

from __future__ import annotations

import pytest

from solvent.workflows.cycles import cycles_of


@pytest.mark.parametrize(
    "graph, cycles",
    [
        ({}, []),
        ({"a": ["b", "c"], "b": ["c"], "c": []}, []),
        ({"a": ["a"]}, [["a"]]),
        ({"a": ["b"], "b": ["c"], "c": ["a"]}, [["a", "b", "c"]]),
        ({"a": ["b", "unknown"], "b": ["a"], "c": ["d"], "d": ["c", "a"]}, [["a", "b"], ["c", "d"]]),
        ({"a": ["b", "c"], "b": ["c"], "c": ["a"]}, [["a", "c"]]),
    ],
)
def test_cycles(graph: dict[str, list[str]], cycles: list[list[str]]) -> None:
    """One shortest circle is given for each set of nodes that lead to each other."""
    assert cycles_of(graph) == cycles
