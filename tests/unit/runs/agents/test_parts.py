"""How the tasks of a place are, as data; and the report of all of them."""

from __future__ import annotations

from solvent.runs.agents.parts import Part, merged
from tests.unit.runs.agents.flows import adaptive


def test_a_whole_part_is_the_report() -> None:
    """A workflow of patterns is one place, whose part says everything."""
    part = Part(states={"a": "done"}, values={"a": 1}, is_whole=True, stuck=["b waits for ever"])
    report = merged(adaptive(), [part])
    assert (report.results, report.stuck, report.trace, report.succeeded) == ({"a": 1}, ["b waits for ever"], [], False)
