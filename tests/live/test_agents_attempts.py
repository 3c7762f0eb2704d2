"""The attempts of a call are counted over the deaths of all agents that make it."""

from __future__ import annotations

from solvent.workflow.model import Task, Value, Workflow
from tests.live.agents_services import SERVICES
from tests.live.agents_world import World


def test_attempts_before_a_death_count_after_it() -> None:
    """Of four attempts two are made before the agent is killed, and two by the next one."""
    workflow = Workflow("one", (Task("T", "refuse4", (Value(1),)),), SERVICES)
    with World() as world:
        world.submit("run", workflow)
        [first] = world.start()
        world.until_calls(2)
        world.kill(first)
        world.start()
        assert world.until_over("run").state == "failed"
        assert [line.is_repeated for line in world.lines()] == [False, True, True, True]
        report = world.report("run", workflow)
        assert report is not None
        assert [(one.kind, one.attempts) for one in report.failures] == [("FAILED", 4)]


def test_a_lost_call_is_made_once_more_though_no_attempt_is_left() -> None:
    """Both attempts are used up when the agent dies; one more is made, and no other when that is lost, too."""
    workflow = Workflow("one", (Task("T", "stumble", (Value(1),)),), SERVICES)
    with World() as world:
        world.submit("run", workflow)
        for count in (2, 3):
            [member] = world.start()
            world.until_calls(count)
            world.kill(member)
        world.start()
        assert world.until_over("run").state == "failed"
        assert [line.is_repeated for line in world.lines()] == [False, True, True]
        report = world.report("run", workflow)
        assert report is not None
        assert [(one.kind, one.attempts) for one in report.failures] == [("LOST", 3)]
