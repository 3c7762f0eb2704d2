"""One run, followed: its journals, how it stands, who has it. What viewers hear of it are messages (see `story`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import RecordProblem
from solvent.runs.agents.looking import lasted
from solvent.runs.agents.plans import ending_of, report_of
from solvent.runs.records import entries
from solvent.runs.records.cards import report_of as report_of_card
from solvent.runs.records.cards import summary_of
from solvent.runs.records.holders import is_there
from solvent.runs.records.journal import MAX_READ
from solvent.web.agents import Agents
from solvent.web.finding import card_of
from solvent.web.story import Story
from solvent.web.values import cut, shown

if TYPE_CHECKING:
    from solvent.runs.records.cards import RunCard
    from solvent.runs.report import Report
    from solvent.store import Store
    from solvent.web.finding import Found
    from solvent.web.story import Message


def state_of(card: RunCard) -> str:
    """Say how a run of one process is; one whose process died before it could say so is `interrupted`."""
    is_lost = card.state == "running" and (card.holder is None or is_there(card.holder) is False)
    return "interrupted" if is_lost else card.state


class Following:
    """What a channel follows: one run (see `channel.Source`)."""

    pause_seconds = 0.04

    def __init__(self, store: Store, found: Found) -> None:
        self.found = found
        self.scopes = (f"runs/{found.run}", f"runs/{found.run}/")
        self.story = Story(found.tasks, found.workflow, found.created)
        self._store = store
        self._after = 0
        self._is_finished = False
        self._told: Message = {}
        self._agents = Agents(store, found) if found.is_of_agents else None
        self._seen: Message | None = None

    def look(self) -> list[Message]:
        """Read what was written since, and see how the run is."""
        # How it stands first: what it came to is known when its journals have been read to their end.
        told = self._standing()
        messages = self._news()
        if self._agents is not None and not self._is_finished:
            seen = self._agents.look()
            if seen != self._seen:
                self._seen = seen
                messages.append({"e": "agents", **seen})
            told = told or {"e": "run", "state": self._agents.state(is_out=bool(self.story.out_count))}
        if told and told != self._told:
            if "ended" in told and not self._is_finished:
                messages += self._finish(told)
            self._told = told
            messages.append(told)
        return messages

    def snapshot(self) -> Message:
        """Say all that is known."""
        seen = {} if self._seen is None else {"agents": self._seen}
        return {**self.story.snapshot(), "run": self._told, **seen}

    def _news(self) -> list[Message]:
        messages: list[Message] = []
        below = self.found.logs if self.found.is_of_agents else ""
        while True:
            records = self._store.read(self.found.logs, self._after, MAX_READ)
            for record in records:
                try:
                    noted = entries.read(record.data, self._store.get_blob)
                    place = int(record.log.removeprefix(below)) if below else -1
                except ValueError as error:
                    said = f"record {record.position} of `{record.log}` does not read: {error}"
                    raise RecordProblem("R403", said) from None
                for entry in noted:
                    messages += self.story.take(entry, place)
                self._after = record.position
            if len(records) < MAX_READ:
                return messages

    # ------------------------------------------------------------------------------------------ how it stands

    def _standing(self) -> Message:
        """Say how the run is, as far as its card or its ending tells."""
        if self._is_finished:
            return self._told
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
        """Take what the run came to."""
        self._is_finished = True
        report, error = self._report()
        if report is None:
            return self.story.finish({}, (), ())
        told["results"] = {name: shown(value) for name, value in report.results.items()}
        told["failures"] = [
            {"task": one.task, "kind": one.kind, "cause": cut(one.cause), "attempts": one.attempts}
            for one in report.failures
        ]
        told["error"] = error
        applied = [str(one.get("alternative", "")) for one in report.adaptations]
        return self.story.finish(report.states, applied, report.stuck)

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


__all__ = ["Following", "state_of"]
