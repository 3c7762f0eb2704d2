"""Agents note only calls that can run: the rest is lost with nobody, and goes to agents that come later."""

from __future__ import annotations

from collections import Counter

from solvent.runs.events import CallStarted
from solvent.workflows.model import Task, Value, Workflow
from tests.live.agents_member import JOBS
from tests.live.agents_services import PAUSE, SERVICES
from tests.live.agents_world import World, until


def independent(count: int) -> Workflow:
    """Give a workflow whose tasks can all begin at once."""
    return Workflow("wide", tuple(Task(f"T{k}", "work", (Value(k),)) for k in range(count)), SERVICES)


def test_tasks_that_never_began_are_not_lost_with_agents() -> None:
    """Three agents are killed under forty calls with the usual policy: nothing fails, and few calls are repeated."""
    workflow = independent(40)
    with World() as world:
        world.submit("run", workflow)
        for _ in range(3):
            before = len(world.lines())
            [member] = world.start(**{PAUSE: "60"})
            world.until_calls(before + JOBS)
            world.kill(member)
        noted = Counter(
            one.call for journal in world.journals("run") for one in journal if isinstance(one, CallStarted)
        )
        began = Counter(line.key.partition("/")[2] for line in world.lines())
        # Those that were noted and had no thread yet are few.
        assert noted.total() - began.total() <= 3 * JOBS
        assert len(noted) < len(workflow.tasks)
        world.start(2)
        assert world.until_over("run").state == "done"
        assert world.check("run", workflow) == []


def test_agents_that_come_later_get_their_share() -> None:
    """One agent has all shards of many tasks; three that come when it has begun make calls, too, each of them."""
    # More than the first agent can do before the others are there, however busy the machine is.
    with World(pause=0.5, ttl=3.0) as world:
        world.submit("run", independent(1000))
        [first] = world.start()
        world.until_calls(JOBS)
        everybody = {first.name, *(member.name for member in world.start(3))}
        until(lambda: {line.agent for line in world.lines()} == everybody, world.words)
        assert world.again("run") == 0


def test_a_call_waits_for_its_turn_without_being_noted() -> None:
    """While all threads of the only agent are busy the journals tell of no more calls than there are threads."""
    workflow = independent(30)
    with World(pause=60.0) as world:
        world.submit("run", workflow)
        world.start()
        world.until_calls(JOBS)
        until(lambda: bool(world.journals("run")))
        noted = [one for journal in world.journals("run") for one in journal if isinstance(one, CallStarted)]
        assert len(noted) == JOBS
