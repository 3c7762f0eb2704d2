"""The source that viewers of one run follow: its journals, its state, and the agents that have it."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from solvent.errors import StoreError
from solvent.runs.agents.membership import takes_runs
from solvent.runs.agents.offers import mark_of
from solvent.runs.closed_shards import closed_shards, merged
from solvent.runs.holders import holder_of, status_of
from solvent.runs.projection import (
    Adaptation,
    CallChanged,
    CallView,
    JournalReader,
    Opened,
    RunView,
    Signal,
    Stuck,
    Taken,
    TaskChanged,
)
from solvent.runs.registry import key_of, record_of
from solvent.store.leases import AGENTS, MAX_TTL, TTL, heartbeat_from_value, holder_from_entry
from solvent.web.shown_values import cut, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from solvent.runs.projection import Change
    from solvent.runs.registry import RunRecord
    from solvent.store import Store
    from solvent.store.interface import Entry
    from solvent.web.channel import Message
    from solvent.web.run_lookup import FoundRun

_MAX_SERVICES = 100
_MAX_TEXT_CHARACTERS = 400
"""The length of a failure's text in a list; the details of the task have all of it."""


class Agents:
    """The agents of a store, and the shards of a run that they hold; used by one thread at a time.

    An agent is alive if its heartbeat changes (see `leases`), which a single look cannot show. So each is unknown until
    its heartbeat has been seen to change.
    """

    def __init__(self, store: Store, found: FoundRun) -> None:
        self._store = store
        self._found = found
        self._began = time.monotonic()
        self._seen: dict[str, tuple[Entry, float, bool]] = {}
        """Each heartbeat, since when it is as it is, and whether it was seen to change."""
        self._agents: list[Message] = []
        self._shards: list[Message] = []

    def look(self) -> Message:
        """Return the agents, the shards that they hold, and the services that are missing."""
        now = time.monotonic()
        found = {key.removeprefix(AGENTS): entry for key, entry in self._store.keys(AGENTS).items()}
        found = {name: entry for name, entry in found.items() if takes_runs(entry.value)}
        for name, entry in found.items():
            before = self._seen.get(name)
            if before is None:
                # An agent that came while we looked is alive; one that was there before may be dead.
                self._seen[name] = entry, now, now - self._began > TTL
            elif before[0] != entry:
                self._seen[name] = entry, now, True
        self._seen = {name: seen for name, seen in self._seen.items() if name in found}
        self._agents = [self._agent(name, now) for name in sorted(self._seen)]
        self._shards = self._leases()
        return {"agents": self._agents, "shards": self._shards, "missing": self._missing()}

    def state(self, *, is_out: bool) -> str:
        """Return the state of a run that has not ended: `running` while a live agent holds a shard, else `queued`."""
        state_of = {one["name"]: one["state"] for one in self._agents}
        held = {state_of.get(one["agent"], "gone") for one in self._shards}
        if "alive" in held or ("unknown" in held and is_out):
            return "running"
        return "queued"

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
        below = key_of(self._found.record.prefix, "lease") + "/"
        found = []
        for key, entry in self._store.keys(below).items():
            number = key.removeprefix(below)
            # What is no lease was not written by an agent.
            with suppress(StoreError):
                holder = holder_from_entry(entry)
                if number.isdigit():
                    found.append({"shard": int(number), "agent": holder.agent, "epoch": holder.epoch})
        return sorted(found, key=lambda one: one["shard"])

    def _missing(self) -> list[str]:
        """Return the services that no agent offers, apart from silent ones."""
        workflow = self._found.workflow
        names = [one["name"] for one in self._agents if one["state"] != "silent"]
        abouts = [_about(self._seen[name][0].value) for name in names]
        if workflow is None or any(about.get("trusts_all") is True for about in abouts):
            return []
        offered = [services for about in abouts if isinstance(services := about.get("services"), dict)]
        used = {name for task in workflow.tasks for name in task.services}
        return sorted(
            one.name
            for one in workflow.services
            if one.name in used and not any(some.get(one.name) == mark_of(one) for some in offered)
        )


def _about(value: bytes) -> dict[str, Any]:
    try:
        return heartbeat_from_value(value)
    except StoreError:
        # Not written by an agent: the key is shown, and its value ignored.
        return {}


class RunSource:
    """One version of a run, as a channel follows it (`channel.Source`)."""

    pause_seconds = 0.04

    def __init__(self, store: Store, found: FoundRun) -> None:
        self.found = found
        self.scopes = (f"runs/{found.run}", f"runs/{found.run}/")
        self.view = RunView(found.tasks, found.record.created, found.workflow)
        self._numbers = {name: number for number, name in enumerate(found.tasks)}
        self._store = store
        self._journals = JournalReader(store, found.record.prefix)
        self._is_finished = False
        self._ended: RunRecord | None = None
        self._last_state: Message = {}
        self._waits: list[list[str]] = []
        self._agents = Agents(store, found) if found.record.by_agents else None
        self._seen: Message | None = None
        self._is_superseded = False

    def look(self) -> list[Message]:
        """Read the new events and the state of the run, and return what has changed."""
        # The state first: at the end, the journals must have been read completely.
        told = self._state()
        messages = self._messages(
            [one for shard, event in self._journals.news() for one in self.view.take(shard, event)]
        )
        if self._ended is not None:
            messages += self._messages(self.view.end(self._ended))
            self._ended = None
        if self._agents is not None and (self._seen is None or not self._is_finished):
            seen = self._agents.look()
            if seen != self._seen:
                self._seen = seen
                messages.append({"e": "agents", **seen})
            told = told or {"e": "run", "state": self._agents.state(is_out=bool(self.view.out))}
        waits = [[one.task, one.signal] for one in self.view.waits]
        if waits != self._waits:
            self._waits = waits
            messages.append({"e": "waits", "waits": waits})
        if told and told["state"] in {"running", "queued"} and self.view.is_waiting:
            told |= {"state": "waiting"}
        if told and told != self._last_state:
            self._last_state = told
            messages.append(told)
        return messages + self._successor()

    def _successor(self) -> list[Message]:
        """Return, once, that another version of the run counts by now: viewers ask for that one."""
        record = None if self._is_superseded else record_of(self._store, self.found.run)
        if record is None or record.state == "pruned" or record.prefix == self.found.record.prefix:
            return []
        self._is_superseded = True
        return [{"e": "version", "version": record.version}]

    def snapshot(self) -> Message:
        """Return all that is known."""
        view = self.view
        seen = {} if self._seen is None else {"agents": self._seen}
        return {
            "version": self.found.record.version,
            # Those of the workflow first, and then those inside sub-workflows, as they were opened.
            "inner": list(self._numbers)[len(view.tasks) :],
            "states": [view.states[name] for name in self._numbers],
            "calls": [self._call(one) for one in view.calls],
            "items": [[self._numbers[name], items] for name, items in view.items.items()],
            "adaptations": self._messages(view.adaptations),
            "openings": self._messages(view.takings),
            "signals": self._messages(view.signals),
            "stuck": view.stuck,
            "waits": self._waits,
            "run": self._last_state,
            **seen,
        }

    def _messages(self, changes: Sequence[Change]) -> list[Message]:
        """Return changes as the page takes them, in its short names."""
        return [message for one in changes if (message := self._message(one))]

    def _message(self, change: Change) -> Message:
        match change:
            case TaskChanged(task, state):
                return {"e": "task", "t": self._numbers[task], "s": state}
            case Opened(_, _, tasks):
                for name in tasks:
                    self._numbers.setdefault(name, len(self._numbers))
                return {"e": "inner", "tasks": tasks, "states": [self.view.states[name] for name in tasks]}
            case CallChanged(call, items=items):
                more = {} if items is None else {"i": items}
                return {"e": "call", **self._call(call), **more}
            case Adaptation():
                return self._adaptation(change)
            case Taken(at, agent, shard):
                return {"e": "open", "at": at, "who": agent, "shard": shard}
            case Signal(at, name):
                return {"e": "signal", "at": at, "name": name}
            case Stuck(lines):
                return {"e": "stuck", "lines": lines}
            case _:
                # The state of the run says that it is over.
                return {}

    def _call(self, call: CallView) -> Message:
        found: Message = {
            "n": call.number, "t": self._numbers[call.task], "k": call.call, "b": call.began, "s": call.state,
            "p": call.shard,
        }  # fmt: skip
        more = {"r": call.retried, "x": call.ended, "m": call.text[:_MAX_TEXT_CHARACTERS]}
        more["w"] = call.agent if call.is_elsewhere else ""
        found |= {name: value for name, value in more.items() if value or value == 0.0}
        return found if call.attempts == 1 else found | {"a": call.attempts}

    def _adaptation(self, one: Adaptation) -> Message:
        numbers = self._numbers
        exits = {} if self.found.workflow is None or one.within else self._exits()
        pairs = exits.get(one.alternative, {}).items()
        return {
            "e": "adapt",
            "at": one.at,
            "name": one.alternative,
            "because": numbers.get(one.because, -1),
            "replaced": [numbers[name] for name in one.replaced if name in numbers],
            "woken": [numbers[name] for name in one.woken if name in numbers],
            "exits": [(numbers[old], numbers[new]) for old, new in pairs if old in numbers and new in numbers],
        }

    def _exits(self) -> dict[str, dict[str, str]]:
        assert self.found.workflow is not None
        return {one.name: dict(one.exits) for one in self.found.workflow.alternatives}

    def _state(self) -> Message:
        """Return the state of the run, as far as its record has it."""
        if self._is_finished:
            return self._last_state
        record = record_of(self._store, self.found.run)
        if record is None or record.state == "pruned":
            return {"e": "run", "state": "gone"}
        if record.has_ended:
            return self._end(record)
        if record.by_agents:
            return {}
        told: Message = {"e": "run", "state": status_of(self._store, record)}
        holder = holder_of(self._store, record)
        if holder is not None:
            told["holder"] = str(holder)
        if record.hindrance:
            told["hindrance"] = record.hindrance
        return told

    def _end(self, record: RunRecord) -> Message:
        """Return how the run ended."""
        self._is_finished, self._ended = True, record
        told: Message = {
            "e": "run", "state": record.state, "ended": record.ended, "seconds": record.lasted, "text": record.why,
        }  # fmt: skip
        closed = closed_shards(self._store, record)
        if closed is None or (len(closed) > 1 and self.found.workflow is None):
            return told
        report = merged(self._store, record, self.found.workflow, closed)
        told["results"] = {name: shown(value) for name, value in report.results.items()}
        told["failures"] = [
            {"task": one.task, "kind": one.kind, "cause": cut(one.cause), "attempts": one.attempts}
            for one in report.failures
        ]
        told["error"] = closed[0].error
        return told


__all__ = ["RunSource"]
