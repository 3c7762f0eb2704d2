"""Agents that are stopped, or die, at the worst of moments: what is another's by then they leave alone."""

from __future__ import annotations

import signal

import pytest

from solvent.runs.agents.status import see_run
from solvent.runs.events import CallStarted, ShardTaken
from solvent.store.leases import AGENTS
from solvent.workflows.model import Alternative, Result, Task, Value, Workflow
from tests.live.agents_faults import together
from tests.live.agents_services import PAUSE, SERVICES
from tests.live.agents_workflows import chain
from tests.live.agents_world import World, until
from tests.live.store_servers import served

RUN = "run"


@pytest.mark.parametrize("back_end", ["sqlite", pytest.param("nats", marks=pytest.mark.soak)])
@pytest.mark.parametrize("moment", ["unopened", "unbegun"])
def test_one_that_was_stopped_leaves_a_place_to_who_has_it_by_then(back_end: str, moment: str) -> None:
    """Stopped between lease and journal, or journal and call, it does not act when it wakes: the other's call stays."""
    workflow = Workflow("one", (Task("T", "once", (Value(1),)),), SERVICES)
    with served() as url, World("" if back_end == "sqlite" else url, pause=3.0, ttl=2.0) as world:
        world.submit(RUN, workflow)
        [old] = world.start(variant=moment)
        until(lambda: old.is_stopped, world.words)
        [new] = world.start()
        world.until_calls(1)
        heartbeat = world.store.get(AGENTS + old.name)
        old.send(signal.SIGCONT)
        until(lambda: world.store.get(AGENTS + old.name) != heartbeat, world.words)
        assert world.until_over(RUN).state == "done"
        assert [line.agent for line in world.lines()] == [new.name]
        [journal] = world.journals(RUN)
        assert [one.agent for one in journal if isinstance(one, ShardTaken)][-1] == new.name
        assert old.is_running


def test_a_call_that_was_called_off_after_a_death_is_not_made_again() -> None:
    """Who takes the place over hears first what was said since: the outcome is the one without the death."""
    tasks = (
        Task("bad", "refuse", (Value(1),)),
        Task("long", "once", (Value(1),)),
        Task("spare", "work", (Value(1),)),
        Task("end", "work", (Result("bad"), Result("long"))),
    )
    alternative = Alternative("instead", {"bad": "spare"}, also=("long",), watch=("bad",))
    workflow = Workflow("called off", tasks, SERVICES, (alternative,))
    with World() as world:
        [first] = world.start(variant="poor:once", **{PAUSE: "60"})
        world.submit(RUN, workflow)
        world.until_calls(1)
        world.kill(first)
        world.start(variant="lacking:once")
        world.until_calls(3)
        world.start()
        record = world.until_over(RUN)
        report = world.report(RUN, workflow)
        assert report is not None
        assert [line.agent for line in world.lines() if line.key == f"{RUN}/long"] == [first.name]
        called = [one.call for journal in world.journals(RUN) for one in journal if isinstance(one, CallStarted)]
        assert called.count("long") == 1
        assert (record.state, report.states["long"]) == ("failed", "replaced")


def test_one_that_cannot_open_a_place_leaves_it_to_others() -> None:
    """A fault of one agent is not the end of a run: another one does it."""
    workflow = chain(2, 4)
    with World() as world:
        [unable] = world.start(variant="unable")
        world.start()
        together(world, 2)
        world.submit(RUN, workflow)
        assert world.until_over(RUN).state == "done"
        assert world.check(RUN, workflow) == []
        assert "does not read" in unable.said()


def test_a_run_that_nobody_can_open_fails_and_says_why() -> None:
    """When all agents that are alive have tried it is over; until then the status tells."""
    workflow = chain(2, 4)
    with World() as world:
        unable = world.start(2, variant="unable")
        together(world, 2)
        [last] = world.start(variant="unopened")
        together(world, 3)
        world.submit(RUN, workflow)
        until(lambda: last.is_stopped, world.words)
        until(lambda: bool(see_run(world.store, RUN).refusals), world.words)
        told = see_run(world.store, RUN)
        assert {one.agent for one in told.refusals} <= {one.name for one in unable}
        assert all("does not read" in one.why for one in told.refusals)
        world.kill(last)
        record = world.until_over(RUN)
        assert (record.state, "does not read" in record.why) == ("failed", True)
