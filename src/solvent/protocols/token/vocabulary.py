"""The words between a token machine and its user."""

from __future__ import annotations

from solvent.protocols.machine import NodeId, Value


class Acquire(Value, frozen=True, gc=False):
    """The user wants the token; one request at a time."""


class Release(Value, frozen=True, gc=False):
    """The user is done with it."""

    #: Whether it wants the token again, after the others that want it.
    is_again: bool = False


class Granted(Value, frozen=True, gc=False):
    """The user has the token, for its request of this number."""

    request: int
    #: Counted up by the token with every grant, so that what was done under an earlier one can be refused; zero where
    #: the token counts nothing.
    number: int = 0


class Moved(Value, frozen=True, gc=False):
    """The token left for another node; `why` says how: round, lent, returned."""

    to: NodeId
    why: str
