"""What a running function can report to and ask of its call.

`heartbeat()` reports that the function is alive; a service whose policy has a `heartbeat` must report that often.
`cancelled()` returns whether the result is no longer wanted; a function in a thread cannot be stopped from outside, so
a long one should ask now and then. Outside of a call the first does nothing and the second is false.

`call()` identifies the call, in a recorded run: by its key a service can detect that it did the work before.

`begun()` and `sealed()` are for code that lends resources to a function. The first reports that the function has its
resources: the time before was waiting, and does not count for the service. The second asks, when the function has
ended, whether its outcome counts; from then on the call cannot be cancelled.

The current call is a context variable: each worker thread has its own context, and so has each asynchronous task.
"""

from __future__ import annotations

import os
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.services.failure import Failure


class CallIdentity(NamedTuple):
    """Which call of a recorded run a service runs: what `solvent.call()` returns.

    >>> from solvent.services.current_call import CallIdentity
    >>> CallIdentity(run="monday", task="book", key="monday/book/1").repeated
    False
    """

    run: str
    task: str
    #: Unique to this call, and the same when it is repeated after a crash.
    key: str
    #: Whether it may have been made before: its process died, or an attempt failed.
    repeated: bool = False
    #: When it was first made, in seconds since 1970; 0 if that is not recorded.
    since: float = 0.0


class Allowance(NamedTuple):
    """How many attempts a call of a recorded run has left, and what is called before each further one."""

    attempts: int
    #: Called before the pause with why the last attempt failed, and the function that makes the next one, which it
    #: calls when that is recorded.
    before_next: Callable[[Failure, Callable[[], None]], None]


class Job(Protocol):
    """The call of a running function."""

    #: The end of what it has printed.
    printed: str

    @property
    def identity(self) -> CallIdentity | None:
        """The identity of the call, if the run is recorded."""

    @property
    def over(self) -> bool:
        """Whether its outcome is no longer wanted."""

    def beat(self) -> None:
        """Note a heartbeat."""

    def begun(self) -> None:
        """Note that the function has its resources."""

    def seal(self) -> bool:
        """Return whether the outcome counts; if so, the call can no longer be cancelled."""


CURRENT: ContextVar[Job | None] = ContextVar("solvent_call", default=None)


def heartbeat() -> None:
    """Report that the running function is alive."""
    job = CURRENT.get()
    if job is not None:
        job.beat()


def cancelled() -> bool:
    """Return whether the running function's result is no longer wanted."""
    job = CURRENT.get()
    return job is not None and job.over


def call() -> CallIdentity | None:
    """Return the call that the running function serves: run, task, key, and whether it may have been made before.

    Use the key to find out whether the work was already done, by a process that died after it. Returns `None` outside
    of a service, and in runs that are not recorded: `solvent run` records, `solvent.run` does not. Raises nothing.

    >>> import solvent
    >>> @solvent.service
    ... def book(order: str) -> str:
    ...     call = solvent.call()
    ...     return f"{order}, unrecorded" if call is None else f"{order}, once by {call.key}"
    >>> book("tea")
    'tea, unrecorded'
    """
    job = CURRENT.get()
    return None if job is None else job.identity


def begun() -> None:
    """Report that the running function has its resources, and its time begins."""
    job = CURRENT.get()
    if job is not None:
        job.begun()


def sealed() -> bool:
    """Return whether the outcome of the function counts; if so, the call can no longer be cancelled."""
    job = CURRENT.get()
    return job is None or job.seal()


def end_if_forked(home: int) -> None:
    """End this process if a service has forked it: it must not continue as its parent."""
    if os.getpid() != home:
        # Without closing or writing anything: all of it belongs to the parent.
        os._exit(0)


__all__ = [
    "CURRENT",
    "Allowance",
    "CallIdentity",
    "Job",
    "begun",
    "call",
    "cancelled",
    "end_if_forked",
    "heartbeat",
    "sealed",
]
