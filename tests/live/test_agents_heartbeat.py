"""The heartbeat of an agent is beaten by a process of its own: as long as the agent could act, and no longer."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from solvent.runs.events import ShardTaken
from solvent.store.leases import AGENTS
from solvent.workflows.model import Task, Value, Workflow
from tests.live.agents_faults import RUN, together
from tests.live.agents_services import SERVICES
from tests.live.agents_workflows import chain
from tests.live.agents_world import World, until
from tests.live.store_servers import served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.live.agents_world import Member

MIN_LEASE = 2.0
"""The shortest that is promised to hold on a busy machine."""


def _state(pid: int) -> tuple[str, int]:
    """Give the state of a process and its parent."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "", 0
    return words[0], int(words[1])


def _has_ended(pid: int) -> bool:
    return _state(pid)[0] in ("", "Z", "X")


@contextmanager
def _one() -> Iterator[tuple[World, Member, int]]:
    """Give an agent, and the number of the process that beats for it."""
    with World() as world:
        [member] = world.start()
        together(world, 1)
        pids = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal()]
        [heartbeat] = [one for one in pids if _state(one)[1] == member.process.pid]
        yield world, member, heartbeat


@pytest.mark.parametrize("back_end", ["sqlite", pytest.param("nats", marks=pytest.mark.soak)])
def test_a_service_may_keep_the_lock_of_the_interpreter(back_end: str) -> None:
    """For as long as it does, no thread of its agent runs; nobody takes over, and it is called once."""
    workflow = Workflow("one", (Task("T", "keep", (Value(2.5 * MIN_LEASE),)),), SERVICES)
    with served() as url, World("" if back_end == "sqlite" else url, ttl=MIN_LEASE) as world:
        world.start(2)
        together(world, 2)
        world.submit(RUN, workflow)
        assert world.until_over(RUN).state == "done"
        assert [line.is_repeated for line in world.lines()] == [False]
        [journal] = world.journals(RUN)
        assert sum(isinstance(one, ShardTaken) for one in journal) == 1


@pytest.mark.soak
def test_nobody_is_presumed_dead_while_nobody_can_write() -> None:
    """A process holds up all who write to a file, for longer than a lease: when it is over all have what they had."""
    workflow = Workflow("two", tuple(Task(name, "keep", (Value(0.0),)) for name in ("A", "B")), SERVICES)
    with World(ttl=MIN_LEASE, pause=60.0) as world:
        world.start(2)
        together(world, 2)
        world.submit(RUN, workflow)
        world.until_calls(2)
        with closing(sqlite3.connect(world.url, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            time.sleep(2.5 * MIN_LEASE)
            other.execute("ROLLBACK")
        time.sleep(MIN_LEASE)
        assert [sum(isinstance(one, ShardTaken) for one in journal) for journal in world.journals(RUN)] == [1, 1]


def test_the_heartbeat_dies_with_its_agent() -> None:
    """When an agent is killed nobody beats for it."""
    with _one() as (_, member, heartbeat):
        member.kill()
        until(lambda: _has_ended(heartbeat), member.said)


def test_an_agent_that_loses_its_heartbeat_beats_by_itself() -> None:
    """The process that beats is killed: the agent is heard of as before, and works."""
    with _one() as (world, member, heartbeat):
        os.kill(heartbeat, signal.SIGKILL)
        until(lambda: _state(heartbeat)[0] == "", member.said)
        [before] = world.store.keys(AGENTS).values()
        until(lambda: list(world.store.keys(AGENTS).values()) != [before], member.said)
        world.submit(RUN, chain(2))
        assert world.until_over(RUN).state == "done"


def test_a_heartbeat_that_was_stopped_goes_on() -> None:
    """An agent that can act lets the process that beats for it go on."""
    with _one() as (_, member, heartbeat):
        os.kill(heartbeat, signal.SIGSTOP)
        until(lambda: _state(heartbeat)[0] not in ("T", "t"), member.said)
        assert not _has_ended(heartbeat)


def test_an_agent_that_leaves_takes_its_heartbeat_away() -> None:
    """It ends in order: its key is gone, and so is the process."""
    with _one() as (world, member, heartbeat):
        member.send(signal.SIGTERM)
        member.process.wait(200)
        assert (world.store.keys(AGENTS), _has_ended(heartbeat)) == ({}, True), member.said()
