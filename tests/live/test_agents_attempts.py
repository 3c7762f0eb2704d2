"""The attempts of a call are counted over the deaths of all agents that make it, and deaths apart from failures."""

from __future__ import annotations

from solvent.runs.events import CallStarted
from solvent.workflows.model import Task, Value, Workflow
from tests.live.agents_services import PAUSE, SERVICES
from tests.live.agents_world import World, until


def test_attempts_that_failed_before_a_death_count_after_it() -> None:
    """Of four attempts two have failed when the agent is killed, and two are made by the next one."""
    workflow = Workflow("one", (Task("T", "refuse4", (Value(1),)),), SERVICES)
    with World() as world:
        world.submit("run", workflow)
        [first] = world.start()
        until(lambda: [one.attempt for one in _started(world)] == [1, 2, 3], world.words)
        world.kill(first)
        world.start()
        assert world.until_over("run").state == "failed"
        assert [line.is_repeated for line in world.lines()] == [False, True, True, True]
        report = world.report("run", workflow)
        assert report is not None
        assert [one.kind for one in report.failures] == ["FAILED"]


def test_a_call_that_is_lost_more_often_than_its_policy_allows_has_failed() -> None:
    """One loss is allowed: the second attempt is lost and made again; when that is lost nobody makes it any more."""
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


def test_a_call_survives_the_deaths_of_several_agents_though_it_is_never_retried() -> None:
    """With the usual policy three agents die under the same call, and the fourth one's answer counts."""
    workflow = Workflow("one", (Task("T", "work", (Value(1),)),), SERVICES)
    with World() as world:
        world.submit("run", workflow)
        for count in (1, 2, 3):
            [member] = world.start(**{PAUSE: "60"})
            world.until_calls(count)
            world.kill(member)
        world.start()
        assert world.until_over("run").state == "done"
        assert [line.is_repeated for line in world.lines()] == [False, True, True, True]
        assert [one.attempt for one in _started(world)] == [1, 1, 1, 1]


def _started(world: World) -> list[CallStarted]:
    return [one for one in world.journals("run")[0] if isinstance(one, CallStarted)]
