"""The agents that have a run: who holds which place of it, and who is alive.

An agent is alive if its heartbeat changes (see `leases`), which one look cannot tell. So each is looked at again and
again, and is unknown until then.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from solvent.errors import StoreError
from solvent.runs.agents.offers import mark_of
from solvent.runs.agents.plans import key_of
from solvent.store.leases import AGENTS, MAX_TTL, TTL, heartbeat_from_value, holder_from_entry

if TYPE_CHECKING:
    from typing import Any

    from solvent.store import Store
    from solvent.store.interface import Entry
    from solvent.web.finding import Found
    from solvent.web.story import Message

_MAX_SERVICES = 100


class Agents:
    """Who is there, as seen from here; for one thread at a time."""

    def __init__(self, store: Store, found: Found) -> None:
        self._store = store
        self._found = found
        self._began = time.monotonic()
        self._seen: dict[str, tuple[Entry, float, bool]] = {}
        """What each heartbeat was, since when, and whether it was seen to change."""
        self._told: list[Message] = []
        self._places: list[Message] = []

    def look(self) -> Message:
        """Say who is there and who has what."""
        now = time.monotonic()
        found = {key.removeprefix(AGENTS): entry for key, entry in self._store.keys(AGENTS).items()}
        for name, entry in found.items():
            before = self._seen.get(name)
            if before is None:
                # One that came while we looked is alive; of those that were there before it is not known.
                self._seen[name] = entry, now, now - self._began > TTL
            elif before[0] != entry:
                self._seen[name] = entry, now, True
        self._seen = {name: seen for name, seen in self._seen.items() if name in found}
        self._told = [self._agent(name, now) for name in sorted(self._seen)]
        self._places = self._leases()
        return {"agents": self._told, "places": self._places, "missing": self._missing()}

    def state(self, *, is_out: bool) -> str:
        """Say how a run is that has not ended: `running` while somebody alive has a place of it, else `waiting`."""
        state_of = {one["name"]: one["state"] for one in self._told}
        held = {state_of.get(one["agent"], "gone") for one in self._places}
        if "alive" in held or ("unknown" in held and is_out):
            return "running"
        return "waiting"

    def _agent(self, name: str, now: float) -> Message:
        entry, since, has_changed = self._seen[name]
        about = _about(entry.value)
        ttl = about.get("ttl")
        lasts = min(float(ttl), MAX_TTL) if isinstance(ttl, int | float) and ttl > 0 else TTL
        is_still = now - since > lasts
        services = about.get("services")
        return {
            "name": name,
            "state": "silent" if is_still else "alive" if has_changed else "unknown",
            "host": str(about.get("host", ""))[:100],
            "process": about.get("pid") if isinstance(about.get("pid"), int) else 0,
            "ttl": lasts,
            "trusts_all": about.get("trusts_all") is True,
            "services": sorted(map(str, services))[:_MAX_SERVICES] if isinstance(services, dict) else [],
        }

    def _leases(self) -> list[Message]:
        below = key_of(self._found.run, "has") + "/"
        found = []
        for key, entry in self._store.keys(below).items():
            number = key.removeprefix(below)
            # What is no lease was written by no agent.
            with suppress(StoreError):
                holder = holder_from_entry(entry)
                if number.isdigit():
                    found.append({"place": int(number), "agent": holder.agent, "epoch": holder.epoch})
        return sorted(found, key=lambda one: one["place"])

    def _missing(self) -> list[str]:
        """Give the services that no agent offers who is not known to be silent."""
        workflow = self._found.workflow
        names = [one["name"] for one in self._told if one["state"] != "silent"]
        abouts = [_about(self._seen[name][0].value) for name in names]
        if workflow is None or any(about.get("trusts_all") is True for about in abouts):
            return []
        offered = [services for about in abouts if isinstance(services := about.get("services"), dict)]
        used = {task.service for task in workflow.tasks}
        return sorted(
            one.name
            for one in workflow.services
            if one.name in used and not any(some.get(one.name) == mark_of(one) for some in offered)
        )


def _about(value: bytes) -> dict[str, Any]:
    try:
        return heartbeat_from_value(value)
    except StoreError:
        # Somebody else's key: it is shown, and nothing of it is believed.
        return {}


__all__ = ["Agents"]
