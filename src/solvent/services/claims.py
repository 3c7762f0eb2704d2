"""Claims of calls to the resources of a run: who lends these, and whose turn it is.

    function = lender.lent(function)          # gets data where the call has claims
    work = lender.lent_awaited(function)      # the same for an asynchronous function
    with lender.paths(attempt.arguments, attempt.keywords) as loan:
        ...                                   # a command gets the path of a file
        loan.keep()                           # otherwise all is as it was before

Resources need sockets and shared memory, which this layer knows nothing of; so the lender is handed in.

*Turns.* A call that claims resources begins when nobody who runs has what it claims, and nobody who came before it
waits for it. It takes all of its claims at once, so no two calls can wait for each other. Those who only read go in
together, and so do those whose stretches have nothing in common.

This is order among the calls of one run, so that none of them keeps a worker waiting. That nobody else has the data is
seen to by the lock of the resource itself, which a call gets when it begins: see `Lender`.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol

from solvent.workflows.model import Claim

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from contextlib import AbstractContextManager


class Loan(Protocol):
    """What a call has while it runs."""

    arguments: list[Any]
    keywords: dict[str, Any]

    def keep(self) -> None:
        """Hand on what was changed; a loan that ends without it changes nothing."""


class Lender(Protocol):
    """Whoever has the resources of a run."""

    services: Collection[str]
    """The services that tasks call with resources."""

    def lent(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Make a function that takes claims of one that takes the data; it can be sent to worker processes."""

    def lent_awaited(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Make the same of an asynchronous function."""

    def paths(self, arguments: list[Any], keywords: dict[str, Any]) -> AbstractContextManager[Loan]:
        """Lend the files of what is claimed."""


def claims_among(values: Iterable[Any]) -> tuple[Claim, ...]:
    """Return the claims among some arguments."""
    return tuple(value for value in values if isinstance(value, Claim))


class Claimant(Protocol):
    """What waits for its turn."""

    claims: tuple[Claim, ...]

    @property
    def over(self) -> bool:
        """Whether it no longer wants its turn."""

    def proceed(self) -> None:
        """Take the turn; whoever takes it ends it later."""


class Turns:
    """The turns of one run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Claimant] = []
        self._inside: list[Claimant] = []
        self._opening = False

    def enter(self, one: Claimant) -> None:
        """Let one proceed as soon as nobody before it is in its way."""
        with self._lock:
            self._waiting.append(one)
        self.look()

    def leave(self, one: Claimant) -> None:
        """Note that one has ended its turn."""
        with self._lock:
            self._inside.remove(one)
        self.look()

    def look(self) -> None:
        """Let in all who may go in, also those who no longer want to, for whom there is nothing to wait for.

        One thread at a time does this. Another one that comes meanwhile need not: the loop looks again.
        """
        while True:
            with self._lock:
                if self._opening:
                    return
                one = self._take()
                if one is None:
                    return
                self._opening = True
            try:
                one.proceed()
            finally:
                with self._lock:
                    self._opening = False

    def _take(self) -> Claimant | None:
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


__all__ = ["Claimant", "Lender", "Loan", "Turns", "claims_among"]
