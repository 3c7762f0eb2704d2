"""The source that viewers of one run follow: its journals, its state, and the agents that have it."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from solvent.errors import RecordProblem, StoreError
from solvent.runs.agents.looking import lasted
from solvent.runs.agents.offers import mark_of
from solvent.runs.agents.plans import ending_of, key_of, report_of
from solvent.runs.records.cards import report_of as report_of_card
from solvent.runs.records.cards import summary_of
from solvent.runs.records.holders import is_there
from solvent.store.leases import AGENTS, MAX_TTL, TTL, heartbeat_from_value, holder_from_entry
from solvent.web.projection import RunProjection
from solvent.web.run_lookup import card_of, read_journals
from solvent.web.shown_values import cut, shown

if TYPE_CHECKING:
    from typing import Any

    from solvent.runs.records.cards import RunCard
    from solvent.runs.report import Report
    from solvent.store import Store
    from solvent.store.interface import Entry
    from solvent.web.channel import Message
    from solvent.web.run_lookup import FoundRun

_MAX_SERVICES = 100


def state_of(card: RunCard) -> str:
    """Return the state of a run of one process; `interrupted` if its process died without recording an end."""
    is_lost = card.state == "running" and (card.holder is None or is_there(card.holder) is False)
    return "interrupted" if is_lost else card.state


class Agents:
    """The agents of a store, and the places of a run that they hold; used by one thread at a time.

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
        self._places: list[Message] = []

    def look(self) -> Message:
        """Return the agents, the places that they hold, and the services that are missing."""
        now = time.monotonic()
        found = {key.removeprefix(AGENTS): entry for key, entry in self._store.keys(AGENTS).items()}
        for name, entry in found.items():
            before = self._seen.get(name)
            if before is None:
                # An agent that came while we looked is alive; one that was there before may be dead.
                self._seen[name] = entry, now, now - self._began > TTL
            elif before[0] != entry:
                self._seen[name] = entry, now, True
        self._seen = {name: seen for name, seen in self._seen.items() if name in found}
        self._agents = [self._agent(name, now) for name in sorted(self._seen)]
        self._places = self._leases()
        return {"agents": self._agents, "places": self._places, "missing": self._missing()}

    def state(self, *, is_out: bool) -> str:
        """Return the state of a run that has not ended: `running` while a live agent holds a place, else `waiting`."""
        state_of = {one["name"]: one["state"] for one in self._agents}
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
            # What is no lease was not written by an agent.
            with suppress(StoreError):
                holder = holder_from_entry(entry)
                if number.isdigit():
                    found.append({"place": int(number), "agent": holder.agent, "epoch": holder.epoch})
        return sorted(found, key=lambda one: one["place"])

    def _missing(self) -> list[str]:
        """Return the services that no agent offers, apart from silent ones."""
        workflow = self._found.workflow
        names = [one["name"] for one in self._agents if one["state"] != "silent"]
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
        # Not written by an agent: the key is shown, and its value ignored.
        return {}


class RunSource:
    """One run, as a channel follows it (`channel.Source`)."""

    pause_seconds = 0.04

    def __init__(self, store: Store, found: FoundRun) -> None:
        self.found = found
        self.scopes = (f"runs/{found.run}", f"runs/{found.run}/")
        self.projection = RunProjection(found.tasks, found.workflow, found.created)
        self._store = store
        self._after = 0
        self._is_finished = False
        self._last_state: Message = {}
        self._agents = Agents(store, found) if found.is_of_agents else None
        self._seen: Message | None = None

    def look(self) -> list[Message]:
        """Read the new entries and the state of the run, and return what has changed."""
        # The state first: at the end, the journals must have been read completely.
        told = self._state()
        messages = self._news()
        if self._agents is not None and not self._is_finished:
            seen = self._agents.look()
            if seen != self._seen:
                self._seen = seen
                messages.append({"e": "agents", **seen})
            told = told or {"e": "run", "state": self._agents.state(is_out=bool(self.projection.out_count))}
        if told and told != self._last_state:
            if "ended" in told and not self._is_finished:
                messages += self._finish(told)
            self._last_state = told
            messages.append(told)
        return messages

    def snapshot(self) -> Message:
        """Return all that is known."""
        seen = {} if self._seen is None else {"agents": self._seen}
        return {**self.projection.snapshot(), "run": self._last_state, **seen}

    def _news(self) -> list[Message]:
        messages: list[Message] = []
        for read in read_journals(self._store, self.found, self._after):
            record = read.record
            if read.error:
                raise RecordProblem("R403", f"record {record.position} of `{record.log}` does not read: {read.error}")
            for entry in read.entries:
                messages += self.projection.take(entry, read.place)
            self._after = record.position
        return messages

    def _state(self) -> Message:
        """Return the state of the run, as far as its record or its ending has it."""
        if self._is_finished:
            return self._last_state
        if self.found.plan is not None:
            ending = ending_of(self._store, self.found.run)
            if ending is None:
                return {}
            seconds = lasted(self.found.plan, ending)
            return {"e": "run", "state": ending.state, "ended": ending.at, "seconds": seconds, "text": ending.text}
        card = card_of(self._store, self.found.run)
        if card is None:
            return {"e": "run", "state": "gone"}
        told: Message = {"e": "run", "state": state_of(card)}
        if card.has_ended:
            told |= {"ended": card.ended, "seconds": max(0.0, card.ended - card.created)}
        elif card.holder is not None:
            told["holder"] = str(card.holder)
        if card.hindrance:
            told["hindrance"] = card.hindrance
        return told

    def _finish(self, told: Message) -> list[Message]:
        """Apply the results of the run."""
        self._is_finished = True
        report, error = self._report()
        if report is None:
            return self.projection.finish({}, (), ())
        told["results"] = {name: shown(value) for name, value in report.results.items()}
        told["failures"] = [
            {"task": one.task, "kind": one.kind, "cause": cut(one.cause), "attempts": one.attempts}
            for one in report.failures
        ]
        told["error"] = error
        applied = [str(one.get("alternative", "")) for one in report.adaptations]
        return self.projection.finish(report.states, applied, report.stuck)

    def _report(self) -> tuple[Report | None, str]:
        found = self.found
        if found.plan is not None:
            if found.workflow is None:
                return None, ""
            return report_of(self._store, found.run, found.workflow, found.plan.places), ""
        card = card_of(self._store, found.run)
        summary = None if card is None else summary_of(self._store, card)
        if card is None or summary is None:
            return None, ""
        return report_of_card(card, summary), summary.error


__all__ = ["RunSource", "state_of"]
