"""Faults of servers and networks: servers that die, connections that are cut, hosts that are cut off.

See `agents_faults`. A store in a file has no network: agents and the file are on one machine, and what comes nearest is
a disk that does not answer (`agents_damage.disk_full`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from tests.live.agents_faults import (
    AGENTS_COUNT,
    PAUSE,
    RUN,
    Outcome,
    acts_of,
    ended,
    running,
    taken_from,
    together,
    until_taken_over,
    workflow_for,
)
from tests.live.agents_workflows import chain
from tests.live.agents_world import World, until
from tests.live.store_proxy import Proxy
from tests.live.store_servers import cluster, server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.store.cluster import Cluster
    from solvent.store.server import Server
    from tests.live.agents_world import Member

AWAY_SECONDS = 1.5
HOSTS_COUNT = 3


def server_killed(url: str, seed: int) -> Outcome:
    """Kill the server, and start it again on what it has kept."""
    del url
    workflow = workflow_for(seed)
    with server() as one, running(one.url, workflow) as world:
        one.kill()
        time.sleep(AWAY_SECONDS)
        one.start()
        return ended(world, workflow)


def node_killed(url: str, seed: int) -> Outcome:
    """Kill one of three servers that does not lead, and start it again."""
    del url
    return _cluster_hurt(seed, is_leader=False)


def leader_killed(url: str, seed: int) -> Outcome:
    """Kill that one of three servers which leads, and start it again."""
    del url
    return _cluster_hurt(seed, is_leader=True)


def _cluster_hurt(seed: int, *, is_leader: bool) -> Outcome:
    workflow = workflow_for(seed)
    with cluster() as three, running(three.url, workflow, ttl=2.0) as world:
        victim = next(one for one in three.servers if (one is leader_of(world, three)) == is_leader)
        victim.kill()
        time.sleep(AWAY_SECONDS)
        victim.start()
        return ended(world, workflow)


def leader_of(world: World, three: Cluster) -> Server:
    """Give the server that leads what is appended."""
    link: Any = world.store._link  # type: ignore[attr-defined]
    end = time.monotonic() + 200
    while time.monotonic() < end:
        with suppress(Exception):
            told = json.loads(link.run(link.ask("$JS.API.STREAM.INFO.solvent-records")).data)
            name = told.get("cluster", {}).get("leader")
            if name:
                return next(one for one in three.servers if one.plan.name == name)
        time.sleep(0.1)
    raise AssertionError("nobody leads")


# --- Partitions.


class Cable(Proxy):
    """A way to the server that can be pulled, and put in again; or on which nothing arrives, silently."""

    is_silent = False

    def pull(self) -> None:
        """Let no connection be, nor be made."""
        self._there, self._port = self._port, 1
        self.cut()

    def plug(self) -> None:
        """Let connections be made again."""
        self._port = self._there

    def _ask(self, client: Any, there: Any) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 16):
                if not self.is_silent:
                    there.sendall(data)
        self._end(client, there)


def agent_cut_off(url: str, seed: int, variant: str = "") -> Outcome:
    """Cut the connection of one agent for longer than the lease: others go on, and it must not act."""
    del url
    return _cut_off(seed, variant, is_silent=False)


def agent_unheard(url: str, seed: int, variant: str = "") -> Outcome:
    """Lose all that one agent and the server say to each other, with the connection as it was."""
    del url
    return _cut_off(seed, variant, is_silent=True)


def _cut_off(seed: int, variant: str, *, is_silent: bool) -> Outcome:
    del seed
    workflow = chain(5, 60)
    with server() as one, Cable(one.plan.port) as cable, World(one.url, pause=PAUSE) as world:
        [member] = world.start(url=cable.url, variant=variant)
        world.start(AGENTS_COUNT - 1)
        together(world, AGENTS_COUNT)
        world.submit(RUN, workflow)
        _until_busy(world, member)
        since = time.monotonic()
        if is_silent:
            cable.is_silent = cable.swallows_answers = True
        else:
            cable.pull()
        until_taken_over(world, member)
        taken, by_then = taken_from(world, member), time.monotonic()
        wrong = _progress(world, member, since)
        if is_silent:
            cable.is_silent = cable.swallows_answers = False
        else:
            cable.plug()
        found = ended(world, workflow)
        found.wrong += [*wrong, *acts_of(world, member, taken, by_then)]
        if not member.is_running:
            found.wrong.append(f"the agent that was cut off has ended: {member.said()[-500:]}")
        return found


def _until_busy(world: World, member: Member) -> None:
    """Wait until an agent makes calls."""
    until(lambda: sum(line.agent == member.name for line in world.lines()) > 3, world.words)


def _progress(world: World, member: Member, since: float) -> list[str]:
    """Say whether others did nothing meanwhile."""
    if any(line.agent != member.name and line.began > since for line in world.lines()):
        return []
    return ["nobody went on while one was cut off"]


# --- Hosts, each with a network of its own.


def can_make_hosts() -> bool:
    """Whether the system lets this process make networks."""
    if not shutil.which("ip") or os.geteuid() != 0:
        return False
    made = _ip("netns", "add", "solvent-probe")
    _ip("netns", "delete", "solvent-probe")
    return made


def _ip(*arguments: str) -> bool:
    program = shutil.which("ip")
    assert program
    return subprocess.run([program, *arguments], capture_output=True, check=False).returncode == 0


@contextmanager
def hosts(count: int) -> Iterator[list[str]]:
    """Make hosts: network namespaces, each with a cable to a switch at which the server is; give their names."""
    tag = f"sv{os.getpid() % 10000}"
    names = [f"{tag}h{number}" for number in range(count)]
    net = f"10.{os.getpid() % 200 + 20}.77"
    try:
        assert _ip("link", "add", tag, "type", "bridge")
        assert _ip("addr", "add", f"{net}.1/24", "dev", tag)
        assert _ip("link", "set", tag, "up")
        for number, name in enumerate(names):
            assert _ip("netns", "add", name)
            assert _ip("link", "add", f"{name}o", "type", "veth", "peer", "name", "eth0", "netns", name)
            assert _ip("link", "set", f"{name}o", "master", tag)
            assert _ip("link", "set", f"{name}o", "up")
            assert _ip("-n", name, "addr", "add", f"{net}.{number + 2}/24", "dev", "eth0")
            assert _ip("-n", name, "link", "set", "eth0", "up")
        yield [f"{net}.1", *names]
    finally:
        for name in names:
            _ip("link", "delete", f"{name}o")
            _ip("netns", "delete", name)
        _ip("link", "delete", tag)


def host_cut_off(url: str, seed: int) -> Outcome:
    """Run agents on three hosts; pull the cable of one host, kill the agent of another, and put the cable in again."""
    del url
    workflow = chain(10, 40)
    with hosts(HOSTS_COUNT) as (address, *names), server(host=address) as one, World(one.url, pause=PAUSE) as world:
        members = []
        for name in names:
            world.before = ("ip", "netns", "exec", name)
            members += world.start()
        together(world, HOSTS_COUNT)
        world.submit(RUN, workflow)
        _until_busy(world, members[0])
        _ip("link", "set", f"{names[0]}o", "down")
        until_taken_over(world, members[0])
        taken, by_then = taken_from(world, members[0]), time.monotonic()
        world.before = ("ip", "netns", "exec", names[2])
        world.kill(members[1 + seed % 2])
        _ip("link", "set", f"{names[0]}o", "up")
        world.start()
        found = ended(world, workflow)
        found.wrong += acts_of(world, members[0], taken, by_then)
        # Two at once were away: how soon the others went on says little.
        found.leases = []
        return found
