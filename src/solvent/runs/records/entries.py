"""What a record of a run says, in the order in which it happened: enough to do all of it again without calling anybody.

A record (of a store's log) is a batch of entries: all that became known before the next thing was done. Nothing is done
outside before what it rests on is in the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from solvent.values.encoding import encoder
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable


class Entry(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, array_like=True, gc=False):
    """Something that happened in a run."""


class Opened(Entry, frozen=True, gc=False):
    """A process goes on with the run from here; whoever did before must not any more."""

    agent: str
    #: When, in seconds since 1970, for people; nothing is decided by it.
    at: float
    #: In which epoch it has the lease of what the journal is of; 0 where there is no lease.
    epoch: int = 0
    #: Whether it is the process that had it before: calls that are out were not lost.
    goes_on: bool = False


class Called(Entry, frozen=True, gc=False):
    """A call is about to be made."""

    key: str
    at: float


class Retried(Entry, frozen=True, gc=False):
    """A further attempt of a call, whose attempts before have failed, is about to be made."""

    key: str
    at: float


class Failure(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Why a call failed."""

    kind: Literal["FAILED", "TIMEOUT", "CANCELLED", "LOST"]
    text: str
    output: str = ""


class Answered(Entry, frozen=True, gc=False):
    """A call was answered, and the answer has been taken."""

    key: str
    at: float
    attempts: int
    #: The value, as `values.encode` writes it; or the blob that has it.
    value: bytes = b""
    blob: str = ""
    failure: Failure | None = None
    #: Whether the value is no data, and was not kept: the call has to be made again.
    is_unkept: bool = False


class Signalled(Entry, frozen=True, gc=False):
    """A signal came from outside."""

    name: str
    at: float
    value: bytes


class Withdrawn(Entry, frozen=True, gc=False):
    """A call that was out was ended by who had made it, in order to leave: it does not count as lost."""

    key: str
    at: float


class Heard(Entry, frozen=True, gc=False):
    """What other places of the run have said, up to a position of this place's inbox, has been taken."""

    position: int


class Ended(Entry, frozen=True, gc=False):
    """Nothing more can happen: the run is over."""

    state: str
    at: float


class Elsewhere(Entry, frozen=True, gc=False):
    """All that the record says is in a blob: it is more than a record may have."""

    blob: str


Any: TypeAlias = Opened | Called | Retried | Answered | Signalled | Withdrawn | Heard | Ended
_ENCODE = encoder()
_DECODE = msgspec.msgpack.Decoder(list[Any]).decode
_DECODE_ELSEWHERE = msgspec.msgpack.Decoder(tuple[Elsewhere]).decode
_ELSEWHERE = _ENCODE([Elsewhere("")])[:-1]
"""What a record begins with whose entries are in a blob."""


def write(entries: list[Entry]) -> bytes:
    """Make a record of entries."""
    return _ENCODE(entries)


def read(data: bytes, get_blob: Callable[[str], bytes]) -> list[Any]:
    """Give the entries of a record; `ValueError` if it is none."""
    try:
        if data.startswith(_ELSEWHERE):
            data = get_blob(_DECODE_ELSEWHERE(data)[0].blob)
        return _DECODE(data)
    except UNREADABLE as error:
        raise ValueError(str(error)) from error


__all__ = [
    "Answered", "Any", "Called", "Elsewhere", "Ended", "Entry", "Failure", "Heard", "Opened", "Retried", "Signalled",
    "Withdrawn", "read", "write",
]  # fmt: skip
