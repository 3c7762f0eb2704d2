"""Small workflows with control flow for tests: steps in one line each, and services that wait for what a test says."""

from __future__ import annotations

from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any

import solvent
from solvent.services import cancelled
from solvent.workflows.model import Control, Service, Task, Workflow

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.runs.report import Report
    from solvent.workflows.model import Each

PATIENCE = 200.0
"""Seconds after which what a test waits for will not happen any more."""


def run(*args: Any, **options: Any) -> Report:
    """Run a workflow, and return the report, however the run ended."""
    return solvent.run(*args, **options, check=False)


def told(*values: Any) -> Any:
    """Give the only value, or the list of them."""
    return values[0] if len(values) == 1 else list(values)


def broken(*_: Any) -> Any:
    """Fail."""
    raise RuntimeError("broken")


def step(
    name: str,
    service: str,
    *arguments: Any,
    after: tuple[str, ...] = (),
    each: Each | None = None,
    **words: Any,
) -> Task:
    """Give a task; `words` are those of its control."""
    return Task(name, service, arguments, each=each, after=after, control=Control(**words) if words else None)


def flow(*tasks: Task, functions: dict[str, Callable[..., Any]] | None = None, **parts: Any) -> Workflow:
    """Give a workflow of these tasks, whose services are these functions, `told` and `broken`."""
    known = {"told": told, "broken": broken, **(functions or {})}
    return Workflow("flow", tasks, tuple(Service(name, function=one) for name, one in known.items()), **parts)


def events_of(report: Report, kind: str) -> list[str]:
    """Give the tasks that something happened to, in order."""
    return [event.task for event in report.trace or () if event.kind == kind]


class Held:
    """A service that answers only when it may, or when its call is cancelled."""

    def __init__(self, answer: Any = "held") -> None:
        self.answer = answer
        self.begun, self.go, self.ended = Event(), Event(), Event()
        self.was_cancelled = False

    def __call__(self, *_: Any) -> Any:
        """Wait, and answer."""
        self.begun.set()
        latest = monotonic() + PATIENCE
        while not (self.go.wait(0.005) or cancelled()):
            assert monotonic() < latest
        self.was_cancelled = cancelled()
        self.ended.set()
        return self.answer

    def met(self, *_: Any) -> str:
        """Be another service, which answers when this one has begun."""
        assert self.begun.wait(PATIENCE)
        return "met"

    def over(self, *_: Any) -> str:
        """Be another service, which answers when this one has ended."""
        assert self.ended.wait(PATIENCE)
        return "over"

    def release(self, *_: Any) -> str:
        """Be another service, which lets this one answer."""
        self.go.set()
        return "released"


__all__ = ["PATIENCE", "Held", "broken", "events_of", "flow", "run", "step", "told"]
