"""Signs between a running function and whoever called it.

`heartbeat()` says that the function is alive; a service whose policy has a `heartbeat` must say so that often.
`cancelled()` says whether anybody still wants the result; a function in a thread cannot be stopped from outside, so
a long one should ask now and then. Outside of a call the first does nothing and the second is false.

`call()` says which call it is, in a run that is recorded: by its key a service can see that it did the work before.

`begun()` and `sealed()` are for those that lend resources to a function. The first says that the function has all it
needs: what came before was waiting, and is no time of the service. The second asks, when the function has ended,
whether its outcome counts; from then on it does, and nobody can cancel it any more.

The current call is held by a context variable: each worker thread has its own context, and so has each asynchronous
task, although these share a thread.
"""

from __future__ import annotations

import os
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class CallIdentity(NamedTuple):
    """Which call of a recorded run a service runs: what `solvent.call()` returns.

    >>> from solvent.services.signs import CallIdentity
    >>> CallIdentity(run="monday", task="book", key="monday/book/1").repeated
    False
    """

    run: str
    task: str
    #: The same whenever this call is made, also after a crash and a resumption; no other call has it.
    key: str
    #: Whether it may have been made before, by a process that died or in an attempt that failed.
    repeated: bool = False


class Allowance(NamedTuple):
    """How many attempts a call of a recorded run has left, and who hears of each further one before its pause."""

    attempts: int
    #: Is given what makes the attempt, after its pause, and lets it be made when it has noted that.
    before_next: Callable[[Callable[[], None]], None]


class Job(Protocol):
    """What a running function knows of its call."""

    @property
    def identity(self) -> CallIdentity | None:
        """Which call it is, if the run is recorded."""

    @property
    def over(self) -> bool:
        """Whether nobody waits for it any more."""

    def beat(self) -> None:
        """Take a sign of life."""

    def begun(self) -> None:
        """Learn that the function has all it needs."""

    def seal(self) -> bool:
        """Return whether the outcome counts; if so, it counts for good."""


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
    """Report that the running function has all it needs, and its time begins."""
    job = CURRENT.get()
    if job is not None:
        job.begun()


def sealed() -> bool:
    """Ask whether the outcome of the function counts; if so, it counts for good."""
    job = CURRENT.get()
    return job is None or job.seal()


def end_if_forked(home: int) -> None:
    """End this process, if a service has made it by a fork: it must not go on as the one that called the service."""
    if os.getpid() != home:
        # Nothing is closed or written: all that is here belongs to the other.
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
