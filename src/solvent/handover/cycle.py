"""One cycle of a handle, from a request to its release, and what it waits for."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.errors import SolventError
    from solvent.handover.access import Access
    from solvent.handover.data import Region
    from solvent.handover.filling import Job
    from solvent.protocols.elmp.vocabulary import Claim, Granted


class HandleState(StrEnum):
    """How far a handle is, in the words of the paper.

    >>> from solvent.shared import HandleState
    >>> HandleState("locked") is HandleState.LOCKED
    True
    """

    #: It does not take part: not created yet, or destroyed.
    INVALID = "invalid"
    #: Nothing is claimed.
    VALID = "valid"
    #: Claimed; it is not its turn yet.
    REQ = "req"
    #: The same, and somebody waits for it and does nothing else.
    BLOCKED = "blocked"
    #: It is its turn, and the data is on this host.
    GRANT = "grant"
    #: It is its turn, and the data is on its way here.
    FETCH = "fetch"
    #: Acquired: the data is there to be used.
    LOCKED = "locked"
    #: Being released.
    UNLOCK = "unlock"


class Cycle(msgspec.Struct, eq=False):
    """One claim of a handle. The node's threads write here, and the user's read it."""

    #: What the lock knows it by; another one for each, so that what comes late is not taken for another's.
    number: int
    claim: Claim
    #: What the lock said when it was its turn.
    grant: Granted | None = None
    #: What fetches the data, if it is not at hand; where it is when that is done; or why it is not.
    job: Job | None = None
    region: Region | None = None
    problem: SolventError | None = None
    access: Access | None = None
    #: Whether it can be acquired now, or never: then it is over.
    is_settled: bool = False
    is_over: bool = False
    #: Whether it was held to be changed when the process's part ended, and its user has not been told.
    is_lost: bool = False
    #: Who else wants to know.
    on_settled: Callable[[], None] | None = None

    def has_settled(self) -> bool:
        """Tell whether it can be acquired now, or never."""
        return self.is_settled

    def settle(self) -> None:
        """Let whoever waits go on."""
        self.is_settled = True
        told = self.on_settled
        if told is not None:
            told()

    def end(self) -> None:
        """Let it be over, whatever it waited for."""
        self.is_over = True
        if self.job is not None:
            self.job.stop()
        self.settle()


__all__ = ["Cycle", "HandleState"]
