"""Faults that a run must survive, each done to real processes, and what came of it.

A fault is a function that makes a world, lets a workflow run in it, does its harm while calls are out, waits until the
run is over, and tells. `tests/live/test_agents_faults.py` tries each; `bench/agents/faults.py` makes a table of many.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from solvent.runs.events import CallStarted, ShardTaken
from solvent.store.leases import AGENTS, Heartbeats
from tests.live.agents_workflows import chain, random_workflow
from tests.live.agents_world import MAX_SECONDS, TTL, World, killed_at_random, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.workflows.model import Workflow
    from tests.live.agents_world import Member

RUN = "run"
PAUSE = 0.05
AT_ONCE_SECONDS = 0.05
MAX_DEATHS = 6
MAX_BROKEN_SECONDS = 20.0
AGENTS_COUNT = int(os.environ.get("SOLVENT_TEST_AGENTS", "2"))


@dataclass
class Outcome:
    """What came of a fault: what is wrong afterwards, how many calls that were out were made again, and how soon.

    `leases` is how long it took, in units of the lease, until somebody went on with each shard that a dead agent had
    calls out for.
    """

    wrong: list[str] = field(default_factory=list)
    again: int = 0
    kills: int = 0
    leases: list[float] = field(default_factory=list)


@contextmanager
def running(
    url: str, workflow: Workflow, *, agents: int = AGENTS_COUNT, ttl: float = TTL, variant: str = ""
) -> Iterator[World]:
    """Make a world in which a workflow runs, with calls out."""
    with World(url, ttl=ttl, pause=PAUSE) as world:
        world.start(agents, variant=variant)
        together(world, agents)
        world.submit(RUN, workflow)
        world.until_calls(len(workflow.tasks) // 8)
        yield world


def together(world: World, agents: int) -> None:
    """Wait until so many agents are there."""
    until(lambda: len(world.store.keys(AGENTS)) >= agents, world.words)


def ended(world: World, workflow: Workflow) -> Outcome:
    """Wait for the end, and look whether all is right."""
    world.until_over(RUN)
    found = Outcome(world.check(RUN, workflow), world.again(RUN), len(world.killed))
    for name in world.killed:
        found.leases += [one / world.ttl for one in world.seconds_to_progress(RUN, name)]
    return found


def _ended_somehow(world: World, workflow: Workflow) -> Outcome:
    """Look at a run of broken agents, which may never end."""
    with suppress(AssertionError):
        world.until_over(RUN, MAX_BROKEN_SECONDS)
    return Outcome(world.check(RUN, workflow), world.again(RUN))


def workflow_for(seed: int, tasks_count: int = 60) -> Workflow:
    """Give what to run: with failures and alternatives, or chains that always have something to do."""
    return random_workflow(seed, tasks_count) if seed % 2 else chain(tasks_count // 8, 8)


# --- Processes that die.


def launcher_killed(url: str, seed: int) -> Outcome:
    """Kill who has submitted the workflow."""
    workflow = workflow_for(seed)
    with World(url, pause=PAUSE) as world:
        world.start(AGENTS_COUNT)
        world.launch(RUN, workflow).kill()
        found = ended(world, workflow)
        found.kills = 1
        return found


def agent_killed(url: str, seed: int) -> Outcome:
    """Kill one agent; the others go on."""
    workflow = workflow_for(seed)
    with running(url, workflow) as world:
        world.kill(_busy(world, seed))
        return ended(world, workflow)


def killed_again_and_again(url: str, seed: int, variant: str = "") -> Outcome:
    """Kill agents at random while calls are out."""
    workflow = chain(8, 12)
    with running(url, workflow, variant=variant) as world:
        killed_at_random(world, RUN, seed=seed, kills=4, calls=15, variant=variant)
        return ended(world, workflow)


def each_agent_killed(url: str, seed: int) -> Outcome:
    """Kill one agent after the other, until all that there were at the beginning are dead; others come instead."""
    workflow = workflow_for(seed, 160)
    with running(url, workflow) as world:
        for member in world.alive:
            world.kill(member)
            world.start()
            until_taken_over(world, member)
        return ended(world, workflow)


def all_agents_killed(url: str, seed: int) -> Outcome:
    """Kill all agents at once, and start others a while later."""
    workflow = workflow_for(seed)
    with running(url, workflow) as world:
        for member in world.alive:
            world.kill(member)
        world.start(AGENTS_COUNT)
        found = ended(world, workflow)
        # How soon somebody goes on is here how soon the others were started.
        found.leases = []
        return found


def dies_halfway(url: str, seed: int, variant: str = "dying") -> Outcome:
    """Let agents die between what they note and what they say, again and again, and start others."""
    workflow = random_workflow(seed, 60)
    with World(url, pause=PAUSE / 5) as world:
        world.start(2, variant=variant)
        world.submit(RUN, workflow)
        deaths = 0
        end = time.monotonic() + MAX_SECONDS
        while not _is_over(world):
            assert time.monotonic() < end, f"it is not over after {deaths} deaths\n{world.words()}"
            if len(world.alive) < 2:
                deaths += 1
                # When enough have died, those that come live on.
                world.start(variant=variant if deaths < MAX_DEATHS else "")
            if variant != "dying" and _is_quiet(world):
                return Outcome(["the run does not end"], kills=deaths)
            time.sleep(0.02)
        found = ended(world, workflow)
        found.kills = deaths
        return found


def _is_quiet(world: World) -> bool:
    """Whether nothing has happened for much longer than it takes to take a place over."""
    lines = world.lines()
    starts = [float(one.said().partition(" ")[0]) for one in world.alive if one.said()]
    began = max([time.monotonic() if not starts else 0.0, *(line.began for line in lines), *starts])
    return len(starts) == len(world.alive) and time.monotonic() - began > 6 * world.ttl


def agent_stopped(url: str, seed: int, variant: str = "") -> Outcome:
    """Stop an agent for longer than the lease and let it go on: by then others have its places, and it must not act."""
    workflow = chain(5, 60)
    with running(url, workflow, variant=variant) as world:
        member = _busy(world, seed)
        member.send(signal.SIGSTOP)
        until_taken_over(world, member)
        taken = taken_from(world, member)
        resumed = member.send(signal.SIGCONT)
        found = ended(world, workflow) if not variant else _ended_somehow(world, workflow)
        found.wrong += acts_of(world, member, taken, resumed)
        if not member.is_running:
            found.wrong.append(f"the agent that was stopped has ended: {member.said()[-500:]}")
        return found


def clocks_jump(url: str, seed: int) -> Outcome:
    """Let agents have clocks that are hours apart and jump, while one is killed."""
    workflow = workflow_for(seed, 100)
    with World(url, pause=PAUSE) as world:
        (world.folder / "sitecustomize.py").write_text(_JUMPING)
        for number in range(AGENTS_COUNT):
            path = os.pathsep.join([str(world.folder), *filter(None, [os.environ.get("PYTHONPATH")])])
            world.start(PYTHONPATH=path, SOLVENT_TEST_JUMPS=str(seed * 10 + number))
        together(world, AGENTS_COUNT)
        world.submit(RUN, workflow)
        world.until_calls(10)
        now = world.kill(_busy(world, seed))
        taken_up = [one.at for journal in world.journals(RUN) for one in journal if isinstance(one, ShardTaken)]
        found = ended(world, workflow)
        # Nothing can be told of times that agents write down.
        found.leases = []
        if max(taken_up) - min(taken_up) < 1800 or now > time.time() + 1800:
            found.wrong.append("the clocks of the agents did not jump")
        return found


_JUMPING = """
import os, random, time
_now, _random = time.time, random.Random(int(os.environ["SOLVENT_TEST_JUMPS"]))
_shift = _random.uniform(-1, 1) * 86400 * 2
def _jumping():
    global _shift
    if _random.random() < 0.2:
        _shift += _random.choice((-1, 1)) * _random.uniform(60, 36000)
    return _now() + _shift
time.time = _jumping
"""


# --- Under load.


def busy_machine(url: str, seed: int, *, ttl: float = 2.0, burners: int = 8) -> Outcome:
    """Keep all processors busy: nobody may be presumed dead, and no call made twice."""
    workflow = chain(12, 8)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(burners)]
    try:
        with running(url, workflow, ttl=ttl) as world:
            heartbeats = Heartbeats(world.store, ttl=ttl)
            wrong, at = list[str](), 0.0
            while not _is_over(world):
                if time.monotonic() >= at:
                    heartbeats.look()
                    wrong += [f"{name} is presumed dead" for name in heartbeats.dead()]
                    at = time.monotonic() + ttl / 4
                time.sleep(0.02)
            found = ended(world, workflow)
            found.wrong += wrong
            if found.again:
                found.wrong.append(f"{found.again} calls were made again, though nobody died")
            found.wrong += [f"{one.name} lost a place" for one in world.alive if "another agent's" in one.said()]
            del seed
            return found
    finally:
        for one in busy:
            one.kill()
            one.wait()


def _is_over(world: World) -> bool:
    return world.is_over(RUN)


# --- What faults have in common.


def _busy(world: World, seed: int) -> Member:
    """Choose an agent that makes calls."""
    names = {line.agent for line in world.lines()[-10:]}
    return random.Random(seed).choice([one for one in world.alive if one.name in names] or world.alive)


def taken_from(world: World, member: Member) -> set[str]:
    """Give the keys of calls of the places that an agent had, and another has by now."""
    found = set[str]()
    for journal in world.journals(RUN):
        agents = [one.agent for one in journal if isinstance(one, ShardTaken)]
        if agents and member.name in agents and agents[-1] != member.name:
            found |= {one.call for one in journal if isinstance(one, CallStarted)}
    return found


def _taken_back(world: World, member: Member) -> set[str]:
    """Give the keys of calls that an agent announced when it had taken a place again."""
    found = set[str]()
    for journal in world.journals(RUN):
        agents = list[str]()
        for one in journal:
            if isinstance(one, ShardTaken):
                agents.append(one.agent)
            elif isinstance(one, CallStarted) and agents[-1] == member.name and set(agents[:-1]) - {member.name}:
                found.add(one.call)
    return found


def _asked_again(world: World, member: Member, since: float) -> set[str]:
    """Return the calls that another agent, which has the shard by now, asked an agent for when that was back."""
    found = set[str]()
    for journal in world.journals(RUN):
        agent = ""
        for one in journal:
            if isinstance(one, ShardTaken):
                agent = one.agent
            elif isinstance(one, CallStarted) and agent != member.name and one.agent == member.name and one.at > since:
                found.add(one.call)
    return found


def until_taken_over(world: World, member: Member) -> None:
    """Wait until nobody waits for an agent any more: all that it had others have."""

    def is_so() -> bool:
        agents = [[one.agent for one in journal if isinstance(one, ShardTaken)] for journal in world.journals(RUN)]
        return all(member.name != one[-1] for one in agents if one) or _is_over(world)

    until(is_so, world.words)


def acts_of(world: World, member: Member, keys: set[str], since: float) -> list[str]:
    """Give the calls that an agent began after its place was taken over.

    A thread may have been stopped between its last look whether it may call and the call itself: no lease can prevent
    that, and one such call, at once, is let pass. An agent that does not look makes all that it has in its queue.
    """
    if not keys:
        return ["nobody took over"]
    keys = keys - _taken_back(world, member) - _asked_again(world, member, since)
    acts = [
        line
        for line in world.lines()
        if line.agent == member.name and line.began > since and line.key.partition("/")[2] in keys
    ]
    if len(acts) == 1 and acts[0].began - since < AT_ONCE_SECONDS:
        return []
    said = "{} began {} {:.3f} s after it went on, though it is another agent's"
    return [said.format(member.name, line.key, line.began - since) for line in acts]
