"""What processes tell each other of data, in the texts that the lock carries for them, and how versions are counted.

Where a process is to be found is said once, when it enters the space: a *home*. So the token need not say it again: it
names the holder, and in a few words which version that has (*details*).

A version is made from the turn of the claim under which it is written, so that versions grow and a version of a claim
that was lost is never taken for one of a later claim. A process that has the token and is alone may write many under
one turn; they are counted in the lower bits. A part that was written under a claim of its own has a version that tells
who wrote it and under which of its claims: no other part has that.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from solvent.handover.data import Where
from solvent.protocols.elmp.vocabulary import Data

if TYPE_CHECKING:
    from solvent.protocols.machine import NodeId

_COUNT_BITS = 16
_USE_BITS = 32
_PART = 1 << 63
LOST = "lost"
"""Details of data that was there, and is not to be had any more."""
_NONE = "-"
_NUMBERS = 4


class Home(NamedTuple):
    """Where a process is to be found."""

    #: `HOST:PORT` for the lock's messages, and for data; the latter may be empty.
    address: str
    data_address: str
    #: The memory that it shares with others.
    host: str
    token: bytes

    def text(self) -> str:
        """Say it."""
        return " ".join((self.address, self.data_address or _NONE, self.host, self.token.hex()))

    def where(self, resource: str, version: int, size: int, birth: int = 0) -> Where:
        """Say where a version is that the process has."""
        return Where(resource, version, size, self.host, "", birth, self.data_address, self.token)


class Details(NamedTuple):
    """Which version a holder has."""

    version: int
    size: int
    birth: int
    keep_last: bool
    form: str
    #: How many hosts are to have a version before others get it.
    copies: int = 1


@lru_cache(maxsize=4096)
def home_from_text(text: str) -> Home | None:
    """Read where a process is; nothing from what was not said by one of this kind."""
    match text.split(" "):
        case [address, data_address, host, token]:
            try:
                return Home(address, "" if data_address == _NONE else data_address, host, bytes.fromhex(token))
            except ValueError:
                return None
    return None


def text_from_details(version: int, rest: str) -> str:
    """Say which version; the rest seldom changes, and is made by `rest_of`."""
    return f"{version} {rest}"


def rest_of(size: int, birth: int, *, keep_last: bool, form: str, copies: int = 1) -> str:
    """Say all but the version; data whose last version is not kept has no copies either."""
    return f"{size} {birth} {copies if keep_last else 0} {form}"


@lru_cache(maxsize=1024)
def details_from_text(text: str) -> Details | None:
    """Read them; none if the data is lost, or nobody knows what was meant."""
    match text.split(" ", 4):
        case [*numbers, form] if len(numbers) == _NUMBERS and all(map(_is_number, numbers)):
            version, size, birth, copies = map(int, numbers)
            return Details(version, size, birth, copies > 0, form, max(1, copies))
    return None


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def lost_data(holder: NodeId) -> Data:
    """Say that there was data: any version that somebody has counts more."""
    return Data(-1, holder, LOST)


def next_version(turn: int, base: int) -> int:
    """Number what is written under a turn, over a base; -1 if there is none."""
    return max(turn << _COUNT_BITS, base + 1)


def part_version(node: NodeId, use: int) -> int:
    """Number a part, written by a process under one of its claims."""
    return _PART | node << _USE_BITS | use


def is_part(version: int) -> bool:
    """Tell whether it numbers a part."""
    return version >= _PART


__all__ = [
    "LOST",
    "Details",
    "Home",
    "details_from_text",
    "home_from_text",
    "is_part",
    "lost_data",
    "next_version",
    "part_version",
    "rest_of",
    "text_from_details",
]
