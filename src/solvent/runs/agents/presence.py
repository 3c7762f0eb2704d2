"""Which agents are there, and what they say of themselves.

An agent is alive if its heartbeat changes (see `leases`), which one look cannot tell. So a look waits for
a moment, until each agent's heartbeat has changed, or for a part of the time after which others presume it dead.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import StoreError
from solvent.store.leases import AGENTS, TTL, heartbeat_from_value

if TYPE_CHECKING:
    from solvent.store import Store
    from solvent.store.interface import Entry

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


__all__ = ["SURE_PART_OF_TTL", "AgentSeen", "agent_from", "see_agents", "takes_runs"]
