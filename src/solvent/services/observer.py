"""Who hears of calls: for traces, metrics and logs.

A `Caller` with an observer tells it of each call, of each attempt and how it ended. Without one nothing is asked and
nothing is made. An observer is called by any thread, must be brief, and must not raise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from solvent.services.signs import CURRENT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent.services.failure import Failure
    from solvent.services.signs import CallIdentity


class CallSeen:
    """One call, as an observer sees it; this one does nothing with it."""

    def attempt(self, number: int) -> str:  # noqa: ARG002 - for those that look at it
        """Hear that an attempt is made; give what is handed to the service, a `traceparent`, or nothing."""
        return ""

    def began(self) -> None:
        """Hear that the service has begun: before, the attempt was waiting."""

    def attempted(self, failure: Failure | None) -> None:
        """Hear how an attempt ended."""

    def ended(self, failure: Failure | None, attempts: int) -> None:
        """Hear how the call ended."""

    def within(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that runs within the call, wherever it is run."""
        return function

    def inner(self, workflow: str) -> CallObserver | None:  # noqa: ARG002 - for those that look further
        """Return the observer of the calls of a workflow that is called."""
        return None


class CallObserver(Protocol):
    """Hears of the calls of one run."""

    def call(self, service: str, task: str, identity: CallIdentity | None) -> CallSeen:
        """Hear that a service is called for a task."""


class SeenByAll(CallSeen):
    """One call, as several observers see it."""

    def __init__(self, seen: Sequence[CallSeen]) -> None:
        self._seen = seen

    def attempt(self, number: int) -> str:
        """Notify all of an attempt; the first that wants something handed on decides."""
        return next(iter([said for said in [one.attempt(number) for one in self._seen] if said]), "")

    def began(self) -> None:
        """Notify all that the service has begun."""
        for one in self._seen:
            one.began()

    def attempted(self, failure: Failure | None) -> None:
        """Notify all how an attempt ended."""
        for one in self._seen:
            one.attempted(failure)

    def ended(self, failure: Failure | None, attempts: int) -> None:
        """Notify all how the call ended."""
        for one in self._seen:
            one.ended(failure, attempts)

    def within(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that runs within the call, as all see it."""
        for one in self._seen:
            function = one.within(function)
        return function

    def inner(self, workflow: str) -> CallObserver | None:
        """Return all who hear of the calls of a workflow that is called."""
        found = [one.inner(workflow) for one in self._seen]
        return observers_as_one([one for one in found if one is not None])


class AllObservers:
    """Several observers, as one."""

    def __init__(self, observers: Sequence[CallObserver]) -> None:
        self._observers = observers

    def call(self, service: str, task: str, identity: CallIdentity | None) -> CallSeen:
        """Notify all that a service is called."""
        return SeenByAll([one.call(service, task, identity) for one in self._observers])


def observers_as_one(observers: Sequence[CallObserver]) -> CallObserver | None:
    """Return one observer for all; nothing for none."""
    if len(observers) > 1:
        return AllObservers(observers)
    return observers[0] if observers else None


def observer_within(workflow: str) -> CallObserver | None:
    """Return the observer of a workflow that the running function is about to run; called within a call."""
    job = CURRENT.get()
    seen: CallSeen | None = getattr(job, "seen", None)
    return None if seen is None else seen.inner(workflow)


__all__ = ["AllObservers", "CallObserver", "CallSeen", "SeenByAll", "observer_within", "observers_as_one"]
