"""What whoever uses a lock wants of it, and what it is told.

A process may have several claims at a time; each has a `handle`, a number the user picks. What is wanted comes as
`Requested(...)`, what is told goes out as `Report(...)`.

The data that the lock protects travels from process to process outside these machines. The token carries where it is:
a `Data`. Whoever is granted a claim fetches the data from `Data.holder`, says `Fetched`, and from then on is the holder
itself. A process does not leave as long as it is the holder, so that no data goes with it: it takes the token to
another process, which is told to fetch the data if it does not do so anyway (`Entrusted`). Locks without data have none
of this.

Whoever has changed a part brings it to the holder's host before it says `Release`. So that host always has the whole,
and `Data.has_parts` tells others to ask there what has become of the version.
"""

from __future__ import annotations

from solvent.protocols.machine import NodeId, Value


class Claim(Value, frozen=True, gc=False):
    """What part of the resource is claimed, and whether others may have it at the same time."""

    #: To read, beside others that read; else to write, alone.
    is_shared: bool = False
    first: int = 0
    #: None: to the end.
    length: int | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it excludes every other claim."""
        return not self.is_shared and self.first == 0 and self.length is None

    def overlaps(self, other: Claim) -> bool:
        """Say whether both claim some part."""
        ends_before = self.length is not None and self.first + self.length <= other.first
        begins_after = other.length is not None and other.first + other.length <= self.first
        return not ends_before and not begins_after

    def excludes(self, other: Claim) -> bool:
        """Say whether the two cannot be held at the same time."""
        return not (self.is_shared and other.is_shared) and self.overlaps(other)

    def covers(self, other: Claim) -> bool:
        """Say whether all that the other one claims is claimed here, too."""
        if self.first > other.first:
            return False
        if self.length is None or other.length is None:
            return self.length is None
        return self.first + self.length >= other.first + other.length


class Data(Value, frozen=True, gc=False):
    """Where the current version of the data is."""

    version: int
    holder: NodeId
    #: What else one must know to fetch it, such as an address.
    details: str = ""
    #: Whether the holder wants to leave and waits for somebody to fetch it.
    is_urgent: bool = False
    #: Whether parts may have been changed since it was released: its holder's host has them, and says which they are.
    has_parts: bool = False
    #: Of what is found in a repair: how many parts were changed there since, and whether something of it is missing.
    parts: int = 0
    is_torn: bool = False


WHOLE = Claim()


# ------------------------------------------------------------------------------------------------------ wanted


class Request(Value, frozen=True, gc=False):
    """Claim the resource. A claim of the same handle that still waits is withdrawn first."""

    handle: int = 0
    #: Ticks after which the claim is withdrawn if it has not been granted; zero: it waits for ever.
    patience: int = 0
    claim: Claim = WHOLE


class Withdraw(Value, frozen=True, gc=False):
    """Claim it no longer, whether that was granted or not."""

    handle: int = 0


class Release(Value, frozen=True, gc=False):
    """Let the next one have it; ignored where nothing was granted."""

    handle: int = 0
    #: The new version of the data; none: it was not changed, or only a part was, which is with the data already.
    data: Data | None = None


class Fetched(Value, frozen=True, gc=False):
    """This version of the data is here now, with all parts that were changed since."""

    version: int
    details: str = ""
    #: The claim for which it was fetched: as in `Granted.use` or `Entrusted.use`.
    use: int = 0


class Join(Value, frozen=True, gc=False):
    """Become one of the processes that may claim the resource, through any of them."""

    known: NodeId


class Leave(Value, frozen=True, gc=False):
    """Be none of them any more. Claims are withdrawn, and what is held is released."""


# -------------------------------------------------------------------------------------------------------- told


class Queued(Value, frozen=True, gc=False):
    """The claim has its place in the queue: `turn`, counted over all claims there ever were."""

    handle: int
    turn: int


class Granted(Value, frozen=True, gc=False):
    """The claim holds."""

    handle: int
    turn: int
    data: Data | None = None
    #: The number of the claim among those of this process.
    use: int = 0


class Dropped(Value, frozen=True, gc=False):
    """The claim is no more: it was withdrawn, or made by a process that takes no part."""

    handle: int


class Joined(Value, frozen=True, gc=False):
    """The process takes part, with this number as its rank."""

    rank: int


class Astray(Value, frozen=True, gc=False):
    """The process could not join: whom it knew takes no part any more. Try another one."""

    known: NodeId


class Left(Value, frozen=True, gc=False):
    """The process takes no part any more, and nobody needs it."""


class Entrusted(Value, frozen=True, gc=False):
    """The token rests here, and who has data wants to leave: fetch it all, change nothing, and say `Fetched`."""

    data: Data
    #: The number of this errand among the claims of this process.
    use: int = 0


class Recalled(Value, frozen=True, gc=False):
    """The token goes on before the data was fetched: fetch it no longer. Told before anybody else can get it."""


__all__ = [
    "WHOLE",
    "Astray",
    "Claim",
    "Data",
    "Dropped",
    "Entrusted",
    "Fetched",
    "Granted",
    "Join",
    "Joined",
    "Leave",
    "Left",
    "Queued",
    "Recalled",
    "Release",
    "Request",
    "Withdraw",
]
