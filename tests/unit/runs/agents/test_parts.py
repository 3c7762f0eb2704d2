"""How the tasks of a place are, as data; and the report of all of them."""

from __future__ import annotations

from solvent.runs.agents.parts import Part, merged, part_from, plain_part
from solvent.runs.report import Failed, Timing
from solvent.values import codec
from tests.unit.runs.agents.flows import adaptive

ONE = Part(
    states={"one": "done", "sum": "done"},
    values={"sum": 16},
    calls={"one": 1, "sum": 1},
    timings={"one": Timing(0.0, 0.5), "sum": Timing(1.0, 1.5, 2)},
    reactions=7,
)
OTHER = Part(
    states={"two": "failed", "spare": "done"},
    values={"spare": 13},
    calls={"two": 1, "spare": 1},
    adaptations=[{"alternative": "instead", "because": "two", "cause": "FAILED: no"}],
    replaced=["two"],
    faults=[Failed("two", "FAILED", "no", 2, "out", "<>")],
    reactions=5,
)


def test_a_part_comes_back_as_it_was() -> None:
    """A part that was written and read is the same."""
    for part in (ONE, OTHER, Part(is_whole=True, stuck=["x waits"], ended_by="y", is_cancelled=True)):
        assert part_from(codec.decode(codec.encode(plain_part(part)))) == part


def test_parts_make_one_report() -> None:
    """The report of a run is that of all places together, in whatever order they come."""
    for parts in ([ONE, OTHER], [OTHER, ONE]):
        report = merged(adaptive(), parts)
        assert report.results == {"sum": 16}
        assert report.states == {"one": "done", "sum": "done", "two": "replaced", "spare": "done"}
        assert report.calls == {"one": 1, "two": 1, "spare": 1, "sum": 1}
        assert report.reactions == 12
        assert report.succeeded
        assert not report.failures


def test_a_task_that_nobody_replaced_has_failed() -> None:
    """Without the alternative the failure is the workflow's."""
    bad = Part(states={"two": "failed", "spare": "waiting"}, faults=[Failed("two", "FAILED", "no")])
    report = merged(adaptive(), [Part(states={"one": "done", "sum": "waiting"}), bad])
    assert not report.succeeded
    assert [failed.task for failed in report.failures] == ["two"]
    assert report.states["spare"] == "unused"


def test_a_whole_part_is_the_report() -> None:
    """A workflow of patterns is one place, whose part says everything."""
    part = Part(states={"a": "done"}, values={"a": 1}, is_whole=True, stuck=["b waits for ever"])
    report = merged(adaptive(), [part])
    assert (report.results, report.stuck, report.trace, report.succeeded) == ({"a": 1}, ["b waits for ever"], [], False)
