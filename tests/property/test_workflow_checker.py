"""The check of random workflows is worth something: it finds out rules that are broken on purpose."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.property.changed_rules import changed_rules
from tests.property.test_workflows import complaints
from tests.property.workflows import Scenario, scenarios

BROKEN = {
    "results arrive under the wrong name": (
        "adaptation",
        "IN : <ti : n : r, i>, w> in\n\n",
        "IN : <tj : n : r, i>, w> in\n",
    ),
    "results are not passed on": ("adaptation", "DST' : <tj, e>, w>, PASS : tj : ti : n : r", "DST' : <tj, e>, w>"),
    "nobody hears that a source was replaced": ("adaptation", ", w>, OFFS : ti : n : <e> in", ", w> in"),
    "only direct receivers hear of it": ("adaptation", ", w>, OFFS : tj : k : <e> in", ", w> in"),
    "arguments keep the old name": ("adaptation", "ARG : t : renamed(a, ti, tj)", "ARG : t : a"),
    "filters keep the old name": ("adaptation", "if y == ti", "if y == tj"),
    "sleeping tasks stay asleep": ("adaptation", "by tj : <SRC : <s>, w> in\n\n", "by tj : <SRC : <WAKE, s>, w> in\n"),
    "sources do not serve the alternative": ("adaptation", "DST : <tj, d>, w>", "DST : <d>, w>"),
    "every fault is for every alternative": ("adaptation", "if concerns(n, k, l)", "if true"),
    "a replaced task goes on": (
        "adaptation",
        "by ti : <ERR : x : y, GONE, MOVE : tj : <d, e>, w> in",
        "by ti : <ERR : x : y, RUN : n, DST : <>, DST' : <>, MOVE : tj : <d, e>, w> in",
    ),
    "a filter takes the neighbour": ("data", "item(j, l)", "item(min(j + 1, 3), l)"),
    "results of several calls have any order": ("data", "by RES : ordered(o)", "by RES : list(o)"),
    "a dot product goes crosswise": (
        "data",
        "ITEM : a : k : x, ITEM : b : k : y\n",
        "ITEM : a : k : x, ITEM : b : j : y\n",
    ),
    "a call for each combination is made once": ("data", "replace CALL : k : p", "replace-one CALL : k : p"),
}
"""What a change of the rules does: file, text, and the text in its place."""


@pytest.mark.parametrize("name", BROKEN)
def test_broken_rules_are_found_out(name: str) -> None:
    """Some random workflow disagrees with its plain evaluation when a rule is broken."""

    @settings(max_examples=300, phases=(Phase.generate,), database=None, suppress_health_check=list(HealthCheck))
    @given(scenarios(with_late=True))
    def search(scenario: Scenario) -> None:
        if complaints(scenario):
            pytest.fail("found out")

    with changed_rules(*BROKEN[name]), pytest.raises(pytest.fail.Exception, match="found out"):
        search()
