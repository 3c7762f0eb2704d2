"""Agents are killed at random over the shapes of real workflows; and all ways to run a workflow give the same.

`make soak` kills at least two hundred. Seeds are printed: `SOLVENT_TEST_SEED=7` begins with another one.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from solvent.runs.embedded import run_workflow
from tests.live.agents_faults import together
from tests.live.agents_networks import leader_of
from tests.live.agents_workflows import (
    TRACES,
    adaptive_workflow,
    like_a_trace,
    patterned_workflow,
    random_workflow,
    trace,
)
from tests.live.agents_world import World, killed_at_random
from tests.live.feature_flows import ROWS
from tests.live.feature_kills import agents_killed, matrix, process_killed
from tests.live.store_servers import cluster, served
from tests.soak_size import FIRST_SEED, scaled

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.store.cluster import Cluster
    from solvent.workflows.model import Workflow

    Make = Callable[[int, int], Workflow]

SEED = int(os.environ.get("SOLVENT_TEST_SEED", "1"))
PAUSE = 0.06
MIN_LEASE = 2.0
"""The shortest with which nobody is taken over who lives, however busy the machine is."""
KINDS = [pytest.param(adaptive_workflow, id="adaptive"), pytest.param(patterned_workflow, id="patterned")]
MAX_KILLS = 12
KILLS = 200


def _killed(workflow: Workflow, seed: int, *, kills: int, agents: int = 3, url: str = "") -> int:
    """Run a workflow while agents are killed; give how many were."""
    with World(url, pause=PAUSE) as world:
        world.start(agents)
        together(world, agents)
        world.submit("run", workflow)
        count = killed_at_random(world, "run", seed=seed, kills=kills, calls=10)
        wrong = world.check("run", workflow)
        print(f"seed {seed}: {workflow.name}, {len(workflow.tasks)} tasks, {count} kills, {world.again('run')} again")
        assert wrong == [], f"seed {seed}"
        return count


def _shape(seed: int) -> Workflow:
    """Give the shape of a recorded workflow, or one like it."""
    if TRACES and seed % 2:
        return trace(TRACES[seed // 2 % len(TRACES)], seed)
    return like_a_trace(seed)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("back_end", ["sqlite", "nats"])
def test_two_hundred_agents_are_killed(back_end: str) -> None:
    """Over shapes of recorded workflows and such as are like them; nothing finished is called again."""
    seed, count = SEED, 0
    while count < KILLS:
        with nullcontext("") if back_end == "sqlite" else served() as url:
            count += _killed(_shape(seed), seed, kills=MAX_KILLS, url=url)
        seed += 1
    print(f"{back_end}: {count} kills, seeds {SEED} to {seed - 1}")


# --- All ways give the same.


def _all_alike(seed: int, tasks_count: int, agents: int) -> None:
    workflow = random_workflow(seed, tasks_count)
    oracle = run_workflow(workflow, jobs=4)
    with served() as url:
        for address in ("", url):
            with World(address, ttl=MIN_LEASE) as world:
                world.start(agents)
                together(world, agents)
                world.submit("run", workflow)
                world.until_over("run")
                assert world.check("run", workflow, oracle) == [], f"seed {seed} {address}"
                assert not world.again("run"), f"seed {seed} {address}"


def test_embedded_file_and_server_give_the_same() -> None:
    """A random workflow with failures and alternatives has the same results, states and adaptations in all three."""
    _all_alike(SEED, 60, 2)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_embedded_file_and_server_always_give_the_same() -> None:
    """Many random workflows, with four agents."""
    with served() as url, World("", ttl=MIN_LEASE) as near, World(url, ttl=MIN_LEASE) as far:
        for world in (near, far):
            world.start(4)
            together(world, 4)
        for seed in range(SEED, SEED + 150):
            workflow = random_workflow(seed, random.Random(seed).randrange(1, 150), failing=seed % 5 / 10)
            oracle = run_workflow(workflow, jobs=4)
            for world in (near, far):
                run = f"run{seed}"
                world.submit(run, workflow)
                world.until_over(run)
                assert world.check(run, workflow, oracle) == [], f"seed {seed} {world.url}"
                assert not world.again(run), f"seed {seed} {world.url}"


def _alike_though_killed(
    make: Make, seeds: range, tasks_count: int, *, kills: int, agents: int = 2, url: str = ""
) -> int:
    """Let agents run several workflows at once while they are killed; return how many were."""
    workflows = {f"run{seed}": make(seed, tasks_count) for seed in seeds}
    with World(url, pause=PAUSE) as world:
        world.start(agents)
        together(world, agents)
        for run, workflow in workflows.items():
            world.submit(run, workflow)
        count = killed_at_random(world, *workflows, seed=seeds.start, kills=kills, calls=tasks_count)
        for run, workflow in workflows.items():
            assert world.check(run, workflow) == [], f"{run}, seeds {seeds} {url}"
        return count


@pytest.mark.parametrize("make", KINDS)
def test_workflows_in_shards_come_to_the_same_though_agents_are_killed(make: Make) -> None:
    """Tasks are replaced, join, split, repeat and wait at shards of dead agents: the outcome is that of one process."""
    assert _alike_though_killed(make, range(SEED, SEED + 3), 24, kills=3)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("back_end", ["sqlite", "nats"])
def test_workflows_in_shards_always_come_to_the_same(make: Make, back_end: str) -> None:
    """Many random workflows, five at a time, with three agents that are killed again and again."""
    kills = 0
    for seed in range(SEED, SEED + 100, 5):
        with nullcontext("") if back_end == "sqlite" else served() as url:
            kills += _alike_though_killed(make, range(seed, seed + 5), 40, kills=8, agents=3, url=url)
    print(f"{back_end}: {kills} kills, seeds {SEED} to {SEED + 99}")
    assert kills >= 100


# --- Every feature.

SOME = ROWS[SEED % 3 :: 3]
"""Some of the features: those of three seeds are all."""


@pytest.mark.parametrize("back_end", ["sqlite", "nats"])
def test_features_survive_the_deaths_of_agents(back_end: str) -> None:
    """Workflows of many features come to what they come to anywhere, while agents that run them are killed."""
    with nullcontext("") if back_end == "sqlite" else served() as url:
        assert agents_killed(url, SEED, SOME, kills=2).wrong == {}


def test_features_survive_the_death_of_their_process() -> None:
    """Workflows of many features come to what they come to anywhere, while their processes are killed and continued."""
    assert process_killed(SEED, SOME[::2], kills=1).wrong == {}


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("store,kills", [("SQLite", 300), ("NATS", 200), ("embedded", 100)])
def test_features_survive_many_deaths(store: str, kills: int) -> None:
    """All features; seeds are printed, and `agents_killed` and `process_killed` try one again."""
    found = matrix(store, scaled(kills), FIRST_SEED)
    print(found.table())
    assert found.wrong == {}


# --- A cluster that is killed, too.


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_thousand_tasks_over_three_servers_while_agents_and_servers_are_killed() -> None:
    """Four agents, three servers; each server is killed once and started again, and agents as well."""
    workflow = random_workflow(SEED, 1000, back=100)
    with cluster() as three, World(three.url, ttl=MIN_LEASE, pause=0.5) as world:
        world.start(4)
        together(world, 4)
        world.submit("run", workflow)
        kills = _hurt(world, three, random.Random(SEED))
        wrong = world.check("run", workflow)
        print(f"seed {SEED}: {kills} kills of agents and servers, {world.again('run')} calls made again")
        assert wrong == []
        assert kills >= 6


def _hurt(world: World, three: Cluster, rnd: random.Random) -> int:
    """Kill servers and agents in turn until a run is over; give how many."""
    count, down = 0, None
    end = time.monotonic() + 600
    while not world.is_over("run"):
        assert time.monotonic() < end, world.words()
        time.sleep(rnd.uniform(0.5, 2.0))
        if down is not None:
            down.start()
            time.sleep(2)
            down = None
        elif count % 2:
            world.kill(rnd.choice(world.alive))
            world.start()
            count += 1
        else:
            down = leader_of(world, three) if rnd.random() < 0.5 else rnd.choice(three.servers)
            down.kill()
            count += 1
    if down is not None:
        down.start()
    return count
