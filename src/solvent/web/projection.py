"""The projection of a run for the page: states of tasks, calls, adaptations. Pure.

Each journal entry is taken once, in order, and returns *messages*: small mappings of what has changed, which viewers
apply to what they have. A viewer that applies `snapshot` and then all later messages has the same as one that has
applied all messages.

No journal entry says that an alternative applies. The first call of one of its tasks shows it, or the end of the run.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from solvent.runs.records.entries import Answered, Called, Ended, Opened, Retried, Signalled, Withdrawn
from solvent.runs.records.history import task_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from solvent.runs.records import entries
    from solvent.web.channel import Message
    from solvent.workflows.model import Workflow

MAX_TEXT_CHARACTERS = 400
"""The length of a failure's text in a list; the details of the task have all of it."""


class Call(msgspec.Struct, omit_defaults=True):
    """One call, with times in seconds from the run's beginning; viewers get it with short names, without defaults."""

    task: int = msgspec.field(name="t")
    key: str = msgspec.field(name="k")
    began: float = msgspec.field(name="b")
    state: str = msgspec.field(name="s")
    place: int = msgspec.field(name="p", default=-1)
    tries: list[float] = msgspec.field(name="r", default_factory=list)
    """When each further attempt began."""
    ended: float | None = msgspec.field(name="x", default=None)
    attempts: int = msgspec.field(name="a", default=1)
    text: str = msgspec.field(name="m", default="")


class RunProjection:
    """The state of a run, as far as it is known."""

    def __init__(self, tasks: Sequence[str], workflow: Workflow | None, began: float) -> None:
        self.began = began
        self.tasks = tuple(tasks)
        self.number_of = {name: number for number, name in enumerate(tasks)}
        self.states = ["waiting"] * len(self.tasks)
        self.calls: list[Call] = []
        self.adaptations: list[Message] = []
        self.openings: list[Message] = []
        self.signals: list[Message] = []
        self.stuck: list[str] = []
        self.ended: float | None = None
        self._known = frozenset(tasks)
        self._out: dict[str, int] = {}
        self._out_of = Counter[int]()
        self._replaced = set[int]()
        self._applied = set[str]()
        self._wakers = {} if workflow is None else workflow.wakers
        self._alternatives = {} if workflow is None else {one.name: one for one in workflow.alternatives}
        for name in self._wakers:
            if name in self.number_of:
                self.states[self.number_of[name]] = "asleep"

    def take(self, entry: entries.Any, place: int = -1) -> list[Message]:
        """Apply the next entry of a journal, and return what has changed."""
        match entry:
            case Opened():
                return self._opened(entry, place)
            case Called():
                return self._called(entry, place)
            case Retried():
                return self._retried(entry)
            case Answered():
                return self._answered(entry, place)
            case Withdrawn():
                return self._end_call(entry.key, entry.at, "withdrawn", "waiting")
            case Signalled():
                told = {"e": "signal", "at": self._after(entry.at), "name": entry.name}
                self.signals.append(told)
                return [told]
            case Ended():
                return self._ended(entry)
        return []

    def snapshot(self) -> Message:
        """Return all that is known."""
        return {
            "states": self.states,
            "calls": [_message(number, one) for number, one in enumerate(self.calls)],
            "adaptations": self.adaptations,
            "openings": self.openings,
            "signals": self.signals,
            "stuck": self.stuck,
        }

    def finish(self, states: Mapping[str, str], applied: Iterable[str], stuck: Sequence[str]) -> list[Message]:
        """Apply the states of the tasks when the run ended, which its calls alone do not show."""
        at = self.ended or max((one.ended or one.began for one in self.calls), default=0.0)
        messages: list[Message] = []
        for name in applied:
            if name in self._alternatives and name not in self._applied:
                messages += self._adapt(name, at)
        for name, state in states.items():
            number = self.number_of.get(name)
            if number is not None:
                messages += self._set_state(number, state, is_final=True)
        for number, call in enumerate(self.calls):
            if call.ended is None:
                call.ended, call.state = max(at, call.began), "interrupted"
                messages.append(_message(number, call))
        if stuck:
            self.stuck = list(stuck)
            messages.append({"e": "stuck", "lines": self.stuck})
        return messages

    @property
    def out_count(self) -> int:
        """The number of calls that have no answer yet."""
        return len(self._out)

    def _after(self, at: float) -> float:
        return round(max(0.0, at - self.began), 4)

    def _set_state(self, task: int, state: str, *, is_final: bool = False) -> list[Message]:
        """Set the state of a task; one that was replaced stays so, whatever becomes of its calls."""
        if self.states[task] == state or (task in self._replaced and state != "replaced" and not is_final):
            return []
        self.states[task] = state
        return [{"e": "task", "t": task, "s": state}]

    def _number(self, key: str) -> int | None:
        return self.number_of.get(key if key in self._known else task_of(key, self._known))

    # ------------------------------------------------------------------------------------------------- entries

    def _opened(self, entry: Opened, place: int) -> list[Message]:
        told: Message = {"e": "open", "at": self._after(entry.at), "who": entry.agent, "place": place}
        self.openings.append(told)
        messages = [told]
        for key, number in list(self._out.items()):
            if self.calls[number].place == place:
                # The process that made these calls is gone; calls that are still needed are repeated.
                messages += self._end_call(key, entry.at, "interrupted", "waiting")
        return messages

    def _ended(self, entry: Ended) -> list[Message]:
        self.ended = self._after(entry.at)
        if entry.state != "cancelled":
            return []
        messages = [one for key in list(self._out) for one in self._end_call(key, entry.at, "cancelled", "cancelled")]
        for task in sorted({call.task for call in self.calls}):
            if self.states[task] == "waiting":
                messages += self._set_state(task, "cancelled")
        return messages

    def _called(self, entry: Called, place: int) -> list[Message]:
        task = self._number(entry.key)
        if task is None:
            return []
        messages = self._end_call(entry.key, entry.at, "interrupted", "waiting") if entry.key in self._out else []
        name = self.tasks[task]
        if name in self._wakers and self._applied.isdisjoint(self._wakers[name]):
            messages += self._adapt(self._waker_of(self._wakers[name]), self._after(entry.at))
        call = Call(task, entry.key, self._after(entry.at), "running", place)
        self._out[entry.key] = len(self.calls)
        self._out_of[task] += 1
        self.calls.append(call)
        return [*messages, _message(len(self.calls) - 1, call), *self._set_state(task, "running")]

    def _retried(self, entry: Retried) -> list[Message]:
        number = self._out.get(entry.key)
        if number is None:
            return []
        call = self.calls[number]
        call.tries = [*call.tries, self._after(entry.at)]
        call.attempts = len(call.tries) + 1
        return [_message(number, call)]

    def _answered(self, entry: Answered, place: int) -> list[Message]:
        if entry.key not in self._out:
            # Answered without a call: cancelled before, or lost too often.
            task = self._number(entry.key)
            if task is None:
                return []
            self._out[entry.key] = len(self.calls)
            self._out_of[task] += 1
            self.calls.append(Call(task, entry.key, self._after(entry.at), "running", place, attempts=0))
        call = self.calls[self._out[entry.key]]
        call.attempts = max(call.attempts, entry.attempts)
        failure = entry.failure
        if failure is None:
            return self._end_call(entry.key, entry.at, "done", "done")
        kind = "cancelled" if failure.kind == "CANCELLED" else "failed"
        said = failure.text if failure.kind in {"FAILED", "CANCELLED"} else f"{failure.kind}: {failure.text}"
        call.text = said[:MAX_TEXT_CHARACTERS]
        return self._end_call(entry.key, entry.at, kind, kind)

    def _end_call(self, key: str, at: float, state: str, becomes: str) -> list[Message]:
        """End a call; its task takes the state `becomes` unless other calls of it are out, or one has failed."""
        number = self._out.pop(key, None)
        if number is None:
            return []
        call = self.calls[number]
        call.ended, call.state = max(self._after(at), call.began), state
        self._out_of[call.task] -= 1
        messages = [_message(number, call)]
        has_failed = self.states[call.task] == "failed"
        if becomes == "failed" or (not self._out_of[call.task] and not (has_failed and becomes == "cancelled")):
            messages += self._set_state(call.task, becomes)
        return messages

    def _waker_of(self, names: Sequence[str]) -> str:
        """Return which of several alternatives has woken a task: one whose watched tasks have failed."""
        bad = {self.tasks[number] for number, state in enumerate(self.states) if state == "failed"}
        return next((one for one in names if not bad.isdisjoint(self._alternatives[one].watched)), names[0])

    def _adapt(self, name: str, at: float) -> list[Message]:
        """Apply an alternative: the tasks that it replaces end, and its own tasks wait from now on."""
        self._applied.add(name)
        alternative = self._alternatives[name]
        replaced = [self.number_of[one] for one in alternative.replaced if one in self.number_of]
        woken = [self.number_of[one] for one, by in self._wakers.items() if name in by and one in self.number_of]
        because = next((one for one in alternative.watched if self._is_bad(one)), alternative.watched[0])
        told: Message = {
            "e": "adapt", "at": at, "name": name, "because": self.number_of.get(because, -1), "replaced": replaced,
            "woken": woken, "exits": self._exits(alternative.exits),
        }  # fmt: skip
        self.adaptations.append(told)
        messages = [told]
        for number in replaced:
            messages += self._set_state(number, "replaced")
            self._replaced.add(number)
        for number in woken:
            if self.states[number] == "asleep":
                messages += self._set_state(number, "waiting")
        return messages

    def _is_bad(self, name: str) -> bool:
        number = self.number_of.get(name)
        return number is not None and self.states[number] == "failed"

    def _exits(self, exits: Mapping[str, str]) -> list[tuple[int, int]]:
        known = self.number_of
        return [(known[old], known[new]) for old, new in exits.items() if old in known and new in known]


def _message(number: int, call: Call) -> Message:
    return {"e": "call", "n": number, **msgspec.to_builtins(call)}


__all__ = ["RunProjection"]
