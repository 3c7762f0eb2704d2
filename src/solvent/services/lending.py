"""What the callers of services ask of whoever has the resources of a run.

    function = lender.lent(function)          # gets data where the call has claims
    work = lender.lent_awaited(function)      # the same for an asynchronous function
    with lender.paths(attempt.arguments, attempt.keywords) as loan:
        ...                                   # a command gets the path of a file
        loan.keep()                           # otherwise all is as it was before

Resources need sockets and shared memory, which this layer knows nothing of; so the lender is handed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from solvent.workflow.slots import Claim

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
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
    """Give the claims among some arguments."""
    return tuple(value for value in values if isinstance(value, Claim))


__all__ = ["Lender", "Loan", "claims_among"]
