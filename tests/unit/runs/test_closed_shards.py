"""Reports of a run and of its replay are compared by what they say."""

from __future__ import annotations

from typing import Any

import pytest

from solvent.runs.closed_shards import difference
from solvent.runs.report import Report

PARTS = ("results", "states")


@pytest.mark.parametrize(
    "now, before",
    [
        ({"a": 1, "b": [{"c": 2, "d": 3}]}, {"b": [{"d": 3, "c": 2}], "a": 1}),
        (({"c": 2, "d": 3},), ({"d": 3, "c": 2},)),
        (float("nan"), float("nan")),
        (len, repr(len)),
    ],
)
def test_values_that_are_the_same_do_not_differ(now: Any, before: Any) -> None:
    """Keys have no order, at any depth; NaN is NaN; of what is no data the record has the Python form."""
    assert difference(Report("w", results={"t": now}), Report("w", results={"t": before}), PARTS) == ""


def test_what_differs_is_named() -> None:
    """Another value, another state, and what only one of them has."""
    had = Report("w", results={"t": 1}, states={"t": "done", "u": "failed"})
    assert difference(Report("w", results={"t": 2}, states=had.states), had, PARTS) == "results of `t`"
    assert difference(Report("w", states=had.states), had, PARTS) == "results of `t`"
    said = difference(Report("w", results={"t": 1}, states={"t": "done"}), had, PARTS)
    assert said == "states of `u` is not there, and was failed"
    assert difference(Report("w", results={"t": None}), Report("w"), PARTS) == "results of `t`"
