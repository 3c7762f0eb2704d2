"""Observers of calls, for traces, metrics and logs.

A `Caller` notifies its observer, if it has one, of each call, of each attempt and of how it ended. It does so from any
thread, so an observer must be brief, and must not raise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent.services.current_call import CallIdentity
    from solvent.services.failure import Failure


class CallSeen:
    """One call, as an observer sees it; this one ignores everything."""

    def attempt(self, number: int) -> str:  # noqa: ARG002 - for subclasses
        """Note that an attempt is made; return a `traceparent` for the service, or an empty text."""
        return ""

    def began(self) -> None:
        """Note that the service has begun: before, the attempt was waiting."""

    def attempted(self, failure: Failure | None) -> None:
        """Note how an attempt ended."""

    def ended(self, failure: Failure | None, attempts: int) -> None:
        """Note how the call ended."""

    def within(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that runs within the call, wherever it is run."""
        return function

    def inner(self, workflow: str) -> CallObserver | None:  # noqa: ARG002 - for subclasses
        """Return the observer of the calls of a workflow that is called."""
        return None


class CallObserver(Protocol):
    """Observes the calls of one run."""

    def call(self, service: str, task: str, identity: CallIdentity | None) -> CallSeen:
        """Note that a service is called for a task."""


class SeenByAll(CallSeen):
    """One call, as several observers see it."""

    def __init__(self, seen: Sequence[CallSeen]) -> None:
        self._seen = seen

    def attempt(self, number: int) -> str:
        """Notify all of an attempt; return the first `traceparent`."""
        return next(filter(None, [one.attempt(number) for one in self._seen]), "")

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
        """Return a function that runs within the call, wrapped by all."""
        for one in self._seen:
            function = one.within(function)
        return function

    def inner(self, workflow: str) -> CallObserver | None:
        """Return the observers of the calls of a workflow that is called."""
        found = [one.inner(workflow) for one in self._seen]
        return observers_as_one([one for one in found if one is not None])


class AllObservers:
    """Several observers as one."""

    def __init__(self, observers: Sequence[CallObserver]) -> None:
        self._observers = observers

    def call(self, service: str, task: str, identity: CallIdentity | None) -> CallSeen:
        """Notify all that a service is called."""
        return SeenByAll([one.call(service, task, identity) for one in self._observers])


def observers_as_one(observers: Sequence[CallObserver]) -> CallObserver | None:
    """Combine observers into one; `None` if there are none."""
    if len(observers) > 1:
        return AllObservers(observers)
    return observers[0] if observers else None


__all__ = ["AllObservers", "CallObserver", "CallSeen", "SeenByAll", "observers_as_one"]
