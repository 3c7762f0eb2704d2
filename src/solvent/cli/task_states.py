"""The states of the tasks of a running workflow, from its events.

The thread that runs the workflow changes them and another one draws them, so they change only by single steps, and the
reader takes copies.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solvent.runs.report import TaskEvent
    from solvent.workflows.model import Workflow

STATES = ("done", "running", "waiting", "failed", "cancelled", "interrupted", "replaced", "unused")
MARKS = {
    "done": "✓",
    "running": "▸",
    "waiting": "·",
    "failed": "✗",
    "cancelled": "⊗",
    "interrupted": "!",
    "replaced": "⊘",
    "unused": " ",
}
STYLES = {
    "done": "green",
    "running": "bold cyan",
    "failed": "bold red",
    "cancelled": "yellow",
    "interrupted": "bold yellow",
    "replaced": "yellow",
}


class TaskStates:
    """The states of all tasks, how many tasks are in each, and which calls run."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.services = {task.name: task.service for task in workflow.tasks}
        asleep = workflow.wakers
        self.states = {name: "unused" if name in asleep else "waiting" for name in self.services}
        self.counts = Counter(self.states.values())
        self.calls: Counter[str] = Counter()
        self.rounds: Counter[str] = Counter()
        """How often each task has begun while none of its calls was out."""
        self.running: dict[str, float] = {}
        """Tasks with calls that have not ended, by when the first of them was made."""
        self.took: dict[str, float] = {}
        self.items: dict[str, tuple[int, int]] = {}
        """Of tasks that are called for each item: how many are over, and of how many."""
        self.began = time.monotonic()
        self._out: Counter[str] = Counter()
        # How the calls ended of a task that has others out still.
        self._ends: dict[str, set[str]] = {}
        self.repeatable = repeatable(workflow)
        self._alternatives = {one.name: one for one in workflow.alternatives}
        self._wakes: dict[str, list[str]] = {}
        for name, alternatives in asleep.items():
            for alternative in alternatives:
                self._wakes.setdefault(alternative, []).append(name)

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.began

    def take(self, event: TaskEvent) -> bool:
        """Take an event; return whether it changed the state of its task."""
        name = event.task
        if event.within:
            # Of a sub-workflow only the task that calls it is counted.
            return True
        if event.kind == "signal":
            # It has the name of a signal, not of a task.
            return True
        if event.kind == "waits":
            return True
        if event.kind in {"reused", "missed"}:
            return False
        if event.items is not None:
            self.items[name] = event.items
        is_going_on = event.items is not None and event.items[0] < event.items[1]
        if event.kind == "started":
            if not self._out[name] and not (is_going_on and self.states[name] == "running"):
                self._ends[name] = set()
                self.rounds[name] += 1
            self.calls[name] += 1
            self._out[name] += 1
            self.running.setdefault(name, event.seconds)
            return self._set(name, "running")
        if event.kind == "adapted":
            alternative = self._alternatives[event.text]
            for one in alternative.replaced:
                self._set(one, "replaced")
            for one in self._wakes.get(event.text, ()):
                if self.states[one] == "unused":
                    self._set(one, "waiting")
            return True
        ends = self._ends.setdefault(name, set())
        ends.add("done" if event.kind == "healed" else event.kind)
        # A call that was cancelled before it was made has an end only.
        self._out[name] = max(self._out[name] - 1, 0)
        if self._out[name] or is_going_on:
            # One of several calls; only their last one ends the task.
            return event.kind == "failed" and self._set(name, "failed")
        self.took[name] = event.seconds - self.running.pop(name, event.seconds)
        # Where one of several calls has failed, the others cannot save the task; where one is done, those that are
        # cancelled were not needed.
        return self._set(name, next(kind for kind in ("failed", "done", "cancelled") if kind in ends))

    def _set(self, name: str, state: str) -> bool:
        before = self.states.get(name)
        if before == state or (before == "replaced" and state in ("done", "failed")):
            return False
        if before is not None:
            self.counts[before] -= 1
        self.states[name] = state
        self.counts[state] += 1
        return True

    def runs_of(self, name: str) -> str:
        """Return how often a task has run, in words, if more than once."""
        calls, (over, total) = self.calls[name], self.items.get(name, (0, 0))
        if total > 1 and over < total:
            return f"{over:,} of {total:,} items"
        return "" if calls < 2 else f"{calls:,} {'runs' if name in self.repeatable else 'calls'}"

    def counted(self) -> list[tuple[str, int]]:
        """Return how many tasks are in each state that has some."""
        return [(state, self.counts[state]) for state in STATES if self.counts[state] > 0]


def repeatable(workflow: Workflow) -> set[str]:
    """Return the tasks that may repeat, and have one call for each run."""
    if not workflow.is_controlled:
        return set()
    return {
        task.name
        for task in workflow.tasks
        if task.each is None and (task.control is None or task.control.many is None)
    }
