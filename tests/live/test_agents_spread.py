"""Calls of one shard are made at all agents that have room, and survive whoever asks for them or makes them."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from solvent.runs.embedded import run_workflow
from solvent.runs.events import CallFailed, CallLost, CallStarted, ShardTaken
from solvent.runs.projection import view_of
from solvent.runs.registry import existing, record_of
from solvent.store.leases import AGENTS, heartbeat_from_value
from solvent.workflows.formats.files import write
from solvent.workflows.model import Control, Each, Result, Task, Value, Workflow
from tests.live.agents_faults import together
from tests.live.agents_services import SERVICES
from tests.live.agents_world import TTL, World, until
from tests.live.feature_kills import Alone, Forked
from tests.live.store_backends import BACK_ENDS
from tests.live.store_servers import served
from tests.repo.project import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.live.agents_world import Member


def items(count: int, service: str = "work") -> Workflow:
    """Return a workflow of which all calls but the last are items of one task."""
    each = Task("each", service, (Value(list(range(count))),), each=Each("dot", (0,)))
    return Workflow("items", (each, Task("sum", "work", (Result("each"),))), SERVICES)


@contextmanager
def running(
    back_end: str, workflow: Workflow, *, agents: int = 3, pause: float = 0.3, max_shards: int | None = None
) -> Iterator[World]:
    """Let a workflow run in a world of agents."""
    with served() as url, World("" if back_end == "sqlite" else url, pause=pause) as world:
        world.start(agents)
        together(world, agents)
        world.submit("run", workflow, max_shards=max_shards)
        yield world


def host_of(world: World) -> Member:
    """Return the agent that has the shard of the run."""
    return world.members[next(one.agent for one in reversed(world.journals("run")[0]) if isinstance(one, ShardTaken))]


def elsewhere(world: World) -> list[Any]:
    """Return the calls that were noted as made by another agent than has the shard."""
    return [one for one in world.journals("run")[0] if isinstance(one, CallStarted) and one.agent]


def until_spread(world: World, agents: int = 2) -> None:
    """Wait until so many agents make calls for the one that has the shard."""

    def is_so() -> bool:
        made = {line.agent for line in world.lines()}
        return len(made) > agents and len({one.agent for one in elsewhere(world)} & made) >= agents

    until(is_so, world.words)


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_items_of_one_task_are_called_at_all_agents(back_end: str) -> None:
    """Also at one that comes late; and the status of the run shows where each call is made."""
    each = tuple(Task(f"each{one}", "meet", (Value(3),)) for one in range(12))
    workflow = Workflow("meets", each, SERVICES)
    with running(back_end, workflow, agents=2, max_shards=1) as world:
        until_spread(world, 1)
        world.start()
        world.until_over("run")
        assert world.check("run", workflow) == []
        host, noted = host_of(world).name, {one.call: one.agent for one in elsewhere(world)}
        seen = {one.call: one.agent for one in view_of(world.store, existing(world.store, "run")).calls}
        assert seen == {task.name: noted.get(task.name, host) for task in each}
        assert set(seen.values()) == set(world.members)


@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize("killed", ["maker", "host", "both"])
def test_calls_survive_the_death_of(killed: str, back_end: str) -> None:
    """Whoever dies, of those that make calls and the one that has their shard: what was answered is not made again."""
    workflow = items(48)
    with running(back_end, workflow, agents=4) as world:
        until_spread(world)
        host = host_of(world)
        maker = world.members[elsewhere(world)[-1].agent]
        for member in {"maker": [maker], "host": [host], "both": [maker, host]}[killed]:
            world.kill(member)
        world.until_over("run")
        assert world.check("run", workflow) == []


@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize("killed", ["", "maker", "host"])
def test_calls_inside_sub_workflows_are_made_at_all_agents(killed: str, back_end: str) -> None:
    """At any depth; and who dies costs the calls that are out there, and not the sub-workflow."""
    workflow = Workflow("nested", (Task("T", "deep", (Value(list(range(48))),)),), SERVICES)
    with running(back_end, workflow) as world:
        until_spread(world)
        found = {"": [], "host": [host_of(world)], "maker": [world.members[elsewhere(world)[-1].agent]]}
        for member in found[killed]:
            world.kill(member)
        world.until_over("run")
        assert world.check("run", workflow) == []
        assert {one.within for one in elsewhere(world)} == {"T/G"}
        assert len([one for one in world.journals("run")[0] if isinstance(one, CallStarted) and one.opens]) == 2
        assert world.again("run") <= len(found[killed]) * 4 * 3


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_the_limit_of_a_service_holds_inside_sub_workflows_too(back_end: str) -> None:
    """At most two calls run at once, of tasks and of those of sub-workflows at several agents together."""
    tasks = [*(Task(f"S{one}", "narrows") for one in range(3)), *(Task(f"T{one}", "narrow") for one in range(6))]
    workflow = Workflow("limits", tuple(tasks), SERVICES)
    with running(back_end, workflow) as world:
        world.until_over("run")
        report = world.report("run", workflow)
        assert report is not None
        assert report.succeeded
        assert (
            len({one.agent for journal in world.journals("run") for one in journal if isinstance(one, ShardTaken)}) > 1
        )
        spans = [report.results[f"T{one}"] for one in range(6)]
        spans += [span for one in range(3) for span in report.results[f"S{one}"]]
        assert len(spans) == 24
        assert max(sum(begun <= at < ended for begun, ended in spans) for at, _ in spans) <= 2


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_an_agent_that_was_stopped_begins_no_call_that_others_make(back_end: str) -> None:
    """It is taken for dead, and what it was asked for is made again; when it goes on it finds that out first."""
    workflow = items(48)
    with running(back_end, workflow) as world:
        until_spread(world)
        maker = world.members[elsewhere(world)[-1].agent]
        maker.send(signal.SIGSTOP)
        until(lambda: any(isinstance(one, CallLost) for one in world.journals("run")[0]), world.words)
        maker.send(signal.SIGCONT)
        world.until_over("run")
        assert world.check("run", workflow) == []


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_an_agent_that_leaves_costs_no_loss(back_end: str) -> None:
    """What it has not finished is made again, and counts as no death."""
    workflow = items(48)
    with running(back_end, workflow) as world:
        until_spread(world)
        maker = world.members[elsewhere(world)[-1].agent]
        maker.send(signal.SIGTERM)
        world.until_over("run")
        assert world.check("run", workflow) == []
        assert [one for one in world.journals("run")[0] if isinstance(one, CallLost) and one.why == "agent"] == []


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_agents_that_resume_a_run_go_on_with_calls_that_had_spread(back_end: str) -> None:
    """The command and all its agents are killed: `resume --agents` makes only what was out again."""
    workflow = items(48)
    with served() as url, Alone("" if back_end == "sqlite" else url, pause=0.3) as world:
        path = world.folder / "items.json"
        path.write_text(write(workflow, suffix=".json"))
        words = ["--agents", "3", "--jobs", "2", "--ttl", f"{TTL:g}"]
        variables = {"PYTHONPATH": str(ROOT)}
        launcher = Forked(world, "launcher", ["run", str(path), "--name", "run", *words], variables)
        until(lambda: record_of(world.store, "run") is not None, launcher.said)
        until(lambda: len({one.agent for one in _started(world)}) > 2 and len(world.lines()) > 12, launcher.said)
        launcher.kill()
        for entry in world.store.keys(AGENTS).values():
            with suppress(ProcessLookupError):
                os.kill(heartbeat_from_value(entry.value)["pid"], signal.SIGKILL)
        assert not world.is_over("run")
        again = Forked(world, "again", ["resume", "run", "--file", str(path), *words], variables)
        assert again.wait() == 0, again.said()
        assert world.check("run", workflow) == []
        # Each agent may have had as many out as it makes ahead.
        assert 0 < world.again("run") < 24


def _started(world: World) -> list[CallStarted]:
    """Return the calls that were noted, with the agents that make them."""
    return [one for one in World.journals(world, "run")[0] if isinstance(one, CallStarted)]


def test_an_agent_without_the_service_makes_no_call() -> None:
    """It has room, and others do not."""
    workflow = items(48)
    with World(pause=0.2) as world:
        world.start(2)
        world.start(1, variant="lacking:work")
        together(world, 3)
        world.submit("run", workflow)
        world.until_over("run")
        assert world.check("run", workflow) == []
        assert {line.agent for line in world.lines()} == {"a1", "a2"}


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_the_limit_of_a_service_holds_for_all_agents(back_end: str) -> None:
    """At most two calls run at once, or one begins in each twentieth of a second, though their shards are apart."""
    tasks = [Task(f"{service}{one}", service, (Value(one),)) for service in ("narrow", "paced") for one in range(16)]
    workflow = Workflow("limits", tuple(tasks), SERVICES)
    with running(back_end, workflow) as world:
        assert len(world.journals("run")) > 1
        world.until_over("run")
        report = world.report("run", workflow)
        assert report is not None
        assert report.succeeded
        spans = {name: sorted(report.results[f"{name}{one}"] for one in range(16)) for name in ("narrow", "paced")}
        narrow = spans["narrow"]
        assert max(sum(begun <= at < ended for begun, ended in narrow) for at, _ in narrow) <= 2
        began = [at for at, _ in spans["paced"]]
        # A thread may begin late, and so may be nearer to the next; over all of them that is no matter.
        assert began[-1] - began[0] >= 15 / 20 - 0.05


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_a_call_at_another_agent_is_cancelled(back_end: str) -> None:
    """Calls that would never end are ended when another task withdraws theirs, wherever they are made."""
    slow = tuple(f"slow{one}" for one in range(10))
    tasks = (
        *(Task(name, "doze") for name in slow),
        Task("after", "after", (Value(10),)),
        Task("cancel", "work", (Result("after"),), control=Control(cancels=slow)),
    )
    with running(back_end, Workflow("cancels", tasks, SERVICES), max_shards=1) as world:
        world.until_over("run")
        journal = world.journals("run")[0]
        ended = {one.task: one.kind for one in journal if isinstance(one, CallFailed) and one.is_last}
        assert ended == dict.fromkeys(slow, "CANCELLED")
        assert {one.task for one in elsewhere(world)} & set(slow)


def test_an_answer_carries_the_same_from_another_agent() -> None:
    """Failures have their kinds, causes, outputs and attempts; and each attempt is noted before it is made."""
    each = (
        Task("fails", "refuse", (Value(list(range(8))),), each=Each("dot", (0,))),
        *(Task(f"fails{one}", "refuse2", (Value(one),)) for one in range(8)),
        *(Task(f"late{one}", "late", (Value(one),)) for one in range(8)),
    )
    workflow = Workflow("answers", each, SERVICES)
    with World(pause=0.2) as world:
        world.start(3)
        together(world, 3)
        # One shard, so that the others have room.
        world.submit("run", workflow, max_shards=1)
        world.until_over("run")
        report = world.report("run", workflow)
        assert report is not None
        assert elsewhere(world)
        found = {one.task: (one.kind, one.cause, one.attempts, one.output) for one in report.failures}
        oracle = run_workflow(workflow, jobs=4)
        right = {one.task: (one.kind, one.cause, one.attempts, one.output) for one in oracle.failures}
        for name in right.keys() - {f"late{one}" for one in range(8)}:
            assert found[name] == right[name]
        assert {found[f"late{one}"][:3] for one in range(8)} == {("TIMEOUT", "no result after 0.3 s", 2)}
        assert [one for one in world.check("run", workflow) if "late" not in one and "ended as" not in one] == []
