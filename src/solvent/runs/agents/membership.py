"""Which agents are there, what they say of themselves, and what a run needs that none of them offers.

An agent is alive if its heartbeat changes (see `leases`), which one look cannot tell. So a look waits for
a moment, until each agent's heartbeat has changed, or for a part of the time after which others presume it dead.

A shard is with one agent, so one of them must have all services of its tasks. A workflow is divided by what agents
offer when it is submitted (see `workflows/shards`); those that come and go later may have the same services otherwise.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import StoreError
from solvent.runs.agents.offers import mark_of
from solvent.store.leases import AGENTS, TTL, heartbeat_from_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from solvent.store import Store
    from solvent.store.interface import Entry
    from solvent.workflows.model import Workflow

PART_OF_TTL = 0.6
#: Where more depends on it than what is shown: a machine may be busy.
SURE_PART_OF_TTL = 1.5
LOOK_SECONDS = 0.05
MAX_SECONDS = 10.0


class AgentSeen(msgspec.Struct, frozen=True):
    """An agent: what it says of itself, and whether its heartbeat was seen to change."""

    name: str
    is_alive: bool
    host: str = ""
    pid: int = 0
    started: float = 0.0
    services: dict[str, str] = {}
    trusts_all: bool = False


def see_agents(store: Store, *, patience: float | None = None, part: float = PART_OF_TTL) -> list[AgentSeen]:
    """Return the agents; `patience` limits the wait for heartbeats (default: this part of their ttl).

    Left out are those inside processes that have a run of their own, and take no other.
    """
    before = _heartbeats(store)
    told = {name: entry.value for name, entry in before.items()}
    beaten = set[str]()
    lasts = max((_number(_about(one).get("ttl"), TTL) for one in told.values()), default=0.0)
    until = time.monotonic() + min(MAX_SECONDS, lasts * part if patience is None else patience)
    while len(beaten) < len(before) and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
        now = _heartbeats(store)
        beaten |= {name for name, entry in now.items() if name not in before or entry != before[name]}
        told |= {name: entry.value for name, entry in now.items()}
        before = {name: entry for name, entry in before.items() if name in now}
    return [
        agent_from(name.removeprefix(AGENTS), told[name], is_alive=name in beaten)
        for name in sorted({*before, *beaten})
    ]


def _heartbeats(store: Store) -> dict[str, Entry]:
    return {key: entry for key, entry in store.keys(AGENTS).items() if takes_runs(entry.value)}


def takes_runs(value: bytes) -> bool:
    """Return whether an agent takes runs that are submitted, as its heartbeat says; and not only its own one."""
    return not _about(value).get("run")


def _about(value: bytes) -> dict[str, Any]:
    try:
        return heartbeat_from_value(value)
    except StoreError:
        # Somebody else's key: it is shown, and nothing of it is believed.
        return {}


def agent_from(name: str, value: bytes, *, is_alive: bool) -> AgentSeen:
    """Give what an agent says of itself in its heartbeat."""
    about = _about(value)
    services = about.get("services")
    return AgentSeen(
        name,
        is_alive,
        host=str(about.get("host", ""))[:100],
        pid=int(_number(about.get("pid"), 0)),
        started=_number(about.get("started"), 0.0),
        services={str(one): str(mark) for one, mark in services.items()} if isinstance(services, dict) else {},
        trusts_all=about.get("trusts_all") is True,
    )


def _number(value: Any, otherwise: float) -> float:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else otherwise


class Lacking(msgspec.Struct, frozen=True):
    """Services that no living agent offers, and those of a shard that several offer, and no one all of them."""

    missing: tuple[str, ...] = ()
    apart: tuple[tuple[str, ...], ...] = ()

    def lines(self) -> list[str]:
        """Say it, and what to do."""
        found = [f"no living agent offers: {', '.join(self.missing)}"] if self.missing else []
        for names in self.apart:
            both = "both" if len(names) == 2 else "all of"
            what = "start one with the files of all of them: `solvent agent --services FILE FILE`"
            found.append(f"no living agent offers {both}: {', '.join(names)}; {what}")
        return found


def marks_of(workflow: Workflow) -> dict[str, str]:
    """Give the services that tasks call, each with the mark by which agents know it."""
    used = {name for task in workflow.tasks for name in task.services}
    return {one.name: mark_of(one) for one in workflow.services if one.name in used}


def needs_of(workflow: Workflow, shards: Iterable[Collection[str]]) -> list[dict[str, str]]:
    """Give the services that each shard needs."""
    marks, calls = marks_of(workflow), {task.name: task.services for task in workflow.tasks}
    return [{one: marks[one] for name in names for one in calls[name]} for names in shards]


def lacking(needs: Sequence[Mapping[str, str]], agents: Iterable[AgentSeen]) -> Lacking:
    """Say what living agents do not offer of what shards need."""
    alive = [one for one in agents if one.is_alive]
    everything = {name: mark for one in needs for name, mark in one.items()}
    missing = everything.keys() - {name for one in alive for name in _offered(one, everything)}
    apart = {
        tuple(sorted(one))
        for one in needs
        if missing.isdisjoint(one) and not any(can_serve(agent, one) for agent in alive)
    }
    return Lacking(tuple(sorted(missing)), tuple(sorted(apart)))


def offered_apart(marks: Mapping[str, str], agents: Iterable[AgentSeen]) -> dict[str, frozenset[str]]:
    """Give who offers each service, if living agents offer all of them together, and none of them all; else nothing."""
    alive = [one for one in agents if one.is_alive]
    if not lacking([marks], alive).apart:
        return {}
    return {name: frozenset(one.name for one in alive if name in _offered(one, marks)) for name in marks}


def can_serve(agent: AgentSeen, needs: Mapping[str, str]) -> bool:
    """Whether an agent offers all services that a shard needs."""
    return len(_offered(agent, needs)) == len(needs)


def has_a_part(agent: AgentSeen, marks: Mapping[str, str]) -> bool:
    """Whether an agent offers some of these services, and not all of them."""
    return 0 < len(_offered(agent, marks)) < len(marks)


def _offered(agent: AgentSeen, needs: Mapping[str, str]) -> set[str]:
    return {name for name, mark in needs.items() if agent.trusts_all or (mark and agent.services.get(name) == mark)}


__all__ = [
    "SURE_PART_OF_TTL",
    "AgentSeen",
    "Lacking",
    "agent_from",
    "can_serve",
    "has_a_part",
    "lacking",
    "marks_of",
    "needs_of",
    "offered_apart",
    "see_agents",
    "takes_runs",
]
