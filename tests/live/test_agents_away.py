"""A store that is away for a while costs no call: what is out goes on, and its answer is kept when it is back."""

from __future__ import annotations

import resource
import sqlite3
import time
from functools import partial
from typing import Any

import pytest

from solvent.runs.events import CallLost, CallStarted, ShardTaken
from solvent.workflows.model import Result, Task, Value, Workflow
from tests.live.agents_faults import together
from tests.live.agents_services import SERVICES
from tests.live.agents_world import Member, World, until
from tests.live.store_servers import server
from tests.live.test_agents_spread import items, until_spread

_MIN_ROOM = 4096


def test_calls_go_on_while_the_store_cannot_be_written() -> None:
    """Twice there is no room for an agent's appends: with the usual policy no call is made twice, and none is lost."""
    long = tuple(Task(f"L{k}", "work", (Value(k),)) for k in range(3))
    steps = [Task("S0", "refuse4", (Value(0),))]
    steps += [Task("S1", "work", (Value(1),)), *(Task(f"S{k}", "work", (Result(f"S{k - 1}"),)) for k in range(2, 6))]
    # A sub-workflow, whose calls take turns as well.
    workflow = Workflow("away", (*long, *steps, Task("P", "part", (Value(5),))), SERVICES)
    with World(pause=2.0, ttl=2.0) as world:
        world.submit("run", workflow)
        [member] = world.start()
        world.until_calls(4)
        for count in (1, 2):
            limits = resource.prlimit(member.process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(member.process.pid, resource.RLIMIT_FSIZE, (_MIN_ROOM, limits[1]))
            until(partial(_says_often, member, "store", count), member.said)
            time.sleep(0.5)
            resource.prlimit(member.process.pid, resource.RLIMIT_FSIZE, limits)
            opened = len(_all(world, ShardTaken))
            until(partial(_is_opened_again, world, opened), member.said)
        world.until_over("run")
        made = [line.key for line in world.lines() if not line.key.endswith("/S0")]
        assert sorted(made) == sorted(set(made))
        assert len([one for one in _all(world, CallStarted) if one.call != "S0" and not one.opens]) == len(made)
        assert world.check("run", workflow) == []


@pytest.mark.parametrize("back_end", ["sqlite", "nats"])
def test_calls_at_other_agents_go_on_while_the_store_is_away(back_end: str) -> None:
    """The file is locked, or the server stopped, for longer than a lease: what is out ends, and nothing is repeated."""
    workflow = items(24)
    with server() as one, World("" if back_end == "sqlite" else one.url, pause=6.0, ttl=2.0) as world:
        world.start(3)
        together(world, 3)
        world.submit("run", workflow)
        until_spread(world)
        made = len(world.lines())
        if back_end == "sqlite":
            lock = sqlite3.connect(world.url, isolation_level=None, timeout=60)
            lock.execute("BEGIN IMMEDIATE")
        else:
            one.kill()
        until(lambda: all("the store does not answer" in member.said() for member in world.alive), world.words)
        assert made < 24
        if back_end == "sqlite":
            lock.rollback()
            lock.close()
        else:
            one.start()
        world.until_over("run")
        assert world.check("run", workflow) == []
        assert world.again("run") == 0
        assert [one for one in _all(world, CallLost) if one.why == "agent"] == []


def _says_often(member: Member, word: str, count: int) -> bool:
    return member.said().count(word) >= count


def _is_opened_again(world: World, count: int) -> bool:
    return len(_all(world, ShardTaken)) > count


def _all(world: World, kind: type) -> list[Any]:
    return [one for journal in world.journals("run") for one in journal if isinstance(one, kind)]
