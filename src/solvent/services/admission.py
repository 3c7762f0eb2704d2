"""When a call may begin: limits of a service, and resources that calls claim.

A `CallLimit` admits the calls of one service in the order in which they came: at most `concurrency` at once, and at
least `1 / rate` seconds apart. A `ClaimQueue` admits the calls of one run that claim resources: a call begins when no
running call has what it claims, and no call that came before waits for it. It takes all of its claims at once, so no
two calls can wait for each other. Calls that only read are admitted together, and so are those whose ranges do not
overlap.

Nothing polls: a call that leaves admits the next one, and the clock opens a limit when its rate allows.

The queue only orders the calls of one run, so that none of them keeps a worker waiting. Exclusive access is the
business of the lock of the resource, which a call gets from the `Lender` when it begins:

    function = lender.lent(name, function)    # gets data where the call has claims
    work = lender.lent_awaited(function)      # the same for an asynchronous function
    with lender.paths(attempt.arguments, attempt.keywords) as loan:
        ...                                   # a command gets the path of a file
        result = loan.keep(result)            # otherwise all changes are undone

Resources need sockets and shared memory, which this layer does not know; so the lender is passed in.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from solvent.services.clock import Clock
from solvent.workflows.model import Claim

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from contextlib import AbstractContextManager

    from solvent.services.clock import Timer
    from solvent.workflows.model import Policy, Service


class Loan(Protocol):
    """What a call has while it runs."""

    arguments: list[Any]
    keywords: dict[str, Any]

    def keep(self, result: Any) -> Any:
        """Keep the changes, and return the result, as `Changed` where they are to be recorded.

        A loan that ends without this changes nothing.
        """


class Changed(NamedTuple):
    """A result, and what its call has changed: for each part the resource, its first byte and its bytes."""

    value: Any
    changes: tuple[tuple[str, int, bytes], ...]


class Lender(Protocol):
    """Lends the resources of a run to its calls."""

    services: Collection[str]
    """The services that tasks call with resources."""

    def lent(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function that takes data into one that takes claims; it can be sent to worker processes."""

    def lent_awaited(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap an asynchronous function in the same way."""

    def paths(self, arguments: list[Any], keywords: dict[str, Any]) -> AbstractContextManager[Loan]:
        """Lend the files of what is claimed."""


def claims_among(values: Iterable[Any]) -> tuple[Claim, ...]:
    """Return the claims among some arguments."""
    return tuple(value for value in values if isinstance(value, Claim))


class Waiting(Protocol):
    """Waits for the limit of its service."""

    @property
    def over(self) -> bool:
        """Whether it no longer waits."""

    def launch(self) -> None:
        """Begin; it leaves the limit later."""


class Claimant(Protocol):
    """Waits for its turn."""

    claims: tuple[Claim, ...]

    @property
    def over(self) -> bool:
        """Whether it no longer waits."""

    def proceed(self) -> None:
        """Take the turn; it is ended later."""


One = TypeVar("One")


class _Admission(ABC, Generic[One]):
    """Admits those that wait, one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_admitting = False

    def admit(self) -> None:
        """Admit all that may begin.

        A thread that comes while another does this need not, nor need a call that ends while it is admitted: the loop
        looks again.
        """
        while True:
            with self._lock:
                if self._is_admitting:
                    return
                one = self._take()
                if one is None:
                    return
                self._is_admitting = True
            try:
                self._begin(one)
            finally:
                with self._lock:
                    self._is_admitting = False

    @abstractmethod
    def _take(self) -> One | None:
        """Take the next that may begin; under the lock."""

    @abstractmethod
    def _begin(self, one: One) -> None: ...


class CallLimit(_Admission[Waiting]):
    """How many calls of one service may run at once, and how soon after each other they may begin."""

    def __init__(self, policy: Policy, clock: Clock) -> None:
        super().__init__()
        self._room = policy.concurrency
        self._apart = 1.0 / policy.rate if policy.rate else 0.0
        self._clock = clock
        self._queue: deque[Waiting] = deque()
        self._inside = 0
        self._opens_at = 0.0
        self._timer: Timer | None = None

    def enter(self, one: Waiting) -> None:
        """Let one begin as soon as those before it have begun and there is room."""
        with self._lock:
            self._queue.append(one)
        self.admit()

    def pause(self) -> None:
        """Admit none before the next is due after one that began just now."""
        with self._lock:
            self._opens_at = max(self._opens_at, monotonic() + self._apart)

    def leave(self) -> None:
        """Note that one has ended."""
        with self._lock:
            self._inside -= 1
        self.admit()

    def _begin(self, one: Waiting) -> None:
        one.launch()

    def _take(self) -> Waiting | None:
        """Take the first that may begin now; set the clock if only the rate forbids it."""
        while self._queue and self._queue[0].over:
            self._queue.popleft()
        if not self._queue or (self._room is not None and self._inside >= self._room):
            return None
        if self._apart:
            now = monotonic()
            if now < self._opens_at:
                if self._timer is None:
                    self._timer = self._clock.after(self._opens_at - now, self._open_by_clock)
                return None
            self._opens_at = now + self._apart
        self._inside += 1
        return self._queue.popleft()

    def _open_by_clock(self) -> None:
        with self._lock:
            self._timer = None
        self.admit()


Limit: TypeAlias = tuple[str, int | None, float | None]
"""A limit of services: those of the same name, concurrency and rate share one, in whatever workflow they are."""


def limit_of(service: Service) -> Limit:
    """Return the limit of a service."""
    return service.name, service.policy.concurrency, service.policy.rate


def is_limited(service: Service) -> bool:
    """Return whether a service has a limit of its own."""
    return service.policy.concurrency is not None or service.policy.rate is not None


class CallLimits:
    """The limits of services that several callers share."""

    def __init__(self) -> None:
        self._clock = Clock()
        self._limits: dict[Limit, CallLimit] = {}

    def of(self, service: Service) -> CallLimit:
        """Return the limit of a service."""
        return self._limits.setdefault(limit_of(service), CallLimit(service.policy, self._clock))

    def close(self) -> None:
        """Admit no more."""
        self._clock.close()


class ClaimQueue(_Admission[Claimant]):
    """The calls of one run that claim resources, in the order in which they came."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[Claimant] = []
        self._inside: list[Claimant] = []

    def enter(self, one: Claimant) -> None:
        """Let one proceed as soon as none before it has or wants what it claims."""
        with self._lock:
            self._waiting.append(one)
        self.admit()

    def leave(self, one: Claimant) -> None:
        """Note that one has ended its turn."""
        with self._lock:
            self._inside.remove(one)
        self.admit()

    def _begin(self, one: Claimant) -> None:
        one.proceed()

    def _take(self) -> Claimant | None:
        """Take the first that may proceed, or no longer wants to: that has nothing to wait for."""
        before = [claim for one in self._inside for claim in one.claims]
        for at, one in enumerate(self._waiting):
            if one.over or not _conflict(one.claims, before):
                del self._waiting[at]
                self._inside.append(one)
                return one
            before += one.claims
        return None


def _conflict(claims: Sequence[Claim], others: Sequence[Claim]) -> bool:
    return any(one.conflicts(other) for one in claims for other in others)


__all__ = ["CallLimit", "CallLimits", "Changed", "ClaimQueue", "Claimant", "Lender", "Loan", "Waiting", "claims_among"]
