"""Agents continue sub-workflows where they were when another agent died, at any depth: only open calls are repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.runs.agents.status import see_run
from solvent.runs.embedded import run_workflow
from solvent.workflows.model import Result, Task, Value, Workflow
from tests.live.agents_services import LONG, SERVICES
from tests.live.agents_world import World

if TYPE_CHECKING:
    from tests.live.fresh_stores import Fresh

FLOW = Workflow("outer", (Task("T", "whole", (Value(3),)), Task("Z", "work", (Result("T"),))), SERVICES)


def test_another_agent_continues_inside(fresh: Fresh) -> None:
    """Each of three agents is killed in a call inside; what had an answer is not called again, however deep it is."""
    run = f"nested-{id(fresh)}"
    with World(fresh.url) as world:
        world.submit(run, FLOW)
        # The calls are T/X, T/Y, T/P/A, T/P/B, T/P/C and Z: the agents die in the third, fourth and fifth of them.
        [member] = world.start(**{LONG: "T/P/A"})
        for count, following in ((3, "T/P/B"), (5, "T/P/C"), (7, "")):
            world.until_calls(count)
            world.kill(member)
            [member] = world.start(**{LONG: following})
        assert world.until_over(run).state == "done"
        made = [(line.key.partition("/")[2], line.is_repeated) for line in world.lines()]
        assert made == [
            ("T/X", False), ("T/Y", False), ("T/P/A", False), ("T/P/A", True), ("T/P/B", False), ("T/P/B", True),
            ("T/P/C", False), ("T/P/C", True), ("Z", False),
        ]  # fmt: skip
        seen, alone = see_run(world.store, run), run_workflow(FLOW, {})
        report = world.report(run, FLOW)
        assert report is not None
        assert report.results == alone.results
        assert list(seen.states) == ["T", "T/X", "T/Y", "T/P", "T/P/A", "T/P/B", "T/P/C", "Z"]
        assert seen.states["T/X"] == "replaced"
        assert set(seen.states.values()) == {"done", "replaced"}
        inner, expected = seen.view.inner_reports(), alone.inner
        assert {path: (one.task, one.states, one.calls) for path, one in inner.items()} == {
            path: (one.task, one.states, one.calls) for path, one in expected.items()
        }
        assert [one["alternative"] for one in report.adaptations] == ["y"]
        assert [one["within"] for one in report.adaptations] == ["T"]
