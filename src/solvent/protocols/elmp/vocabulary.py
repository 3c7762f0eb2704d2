"""What whoever uses a lock wants of it, and what it is told.

A process may have several claims at a time; each has a `handle`, a number the user picks. What is wanted comes as
`Requested(...)`, what is told goes out as `Report(...)`.

The data that the lock protects travels from process to process outside these machines. The token carries where it is:
a `Data`. Whoever is granted a claim fetches the data from `Data.holder`, says `Fetched`, and from then on is the holder
itself. A process does not leave as long as it is the holder, so that no data goes with it: it takes the token to
another process, which is told to fetch the data if it does not do so anyway (`Entrusted`). Locks without data have none
of this.
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


class Part(Value, frozen=True, gc=False):
    """A part of the data that was changed, wherever it is now; who changed it may be dead."""

    #: Who has it.
    holder: NodeId
    #: Who has changed it, and under which of its claims: as in `Granted.use`.
    writer: NodeId
    use: int
    #: The stretch that it is.
    claim: Claim
    #: The turn of that claim: of parts that overlap, the one of the later turn counts, and of one turn, the later use.
    turn: int = 0
    #: The version that it was a change of, where that is known.
    base: int = 0


class Data(Value, frozen=True, gc=False):
    """Where the current version of the data is."""

    version: int
    holder: NodeId
    #: What else one must know to fetch it, such as an address.
    details: str = ""
    #: Whether the holder wants to leave and waits for somebody to fetch it.
    is_urgent: bool = False
    #: Turn and number of the last claim of the whole that has fetched or changed all of it.
    since: tuple[int, int] = (0, 0)
    #: Parts that were changed since by claims that nobody answers for any more, since a repair or because who made them
    #: has left; none lies over another.
    parts: tuple[Part, ...] = ()
    #: Of what was found in memory that processes share: which memory, and how often it had changed by then.
    memory: tuple[int, int] = (0, 0)
    #: And stretches that are not there, neither of this version nor of a part.
    gaps: tuple[Claim, ...] = ()

    def holders(self) -> frozenset[NodeId]:
        """Give all that have some of it."""
        return frozenset((self.holder, *(one.holder for one in self.parts)))

    def is_at(self, node: NodeId) -> bool:
        """Say whether a process has some of it."""
        return self.holder == node or (bool(self.parts) and any(one.holder == node for one in self.parts))


WHOLE = Claim()


class Source(Value, frozen=True, gc=False):
    """A part that was changed since the version that `Data` names: who has it, and under which claim."""

    holder: NodeId
    #: The number of the claim among those of its holder: as in `Granted.use`.
    use: int
    claim: Claim
    turn: int = 0


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
    #: The new version of the data, or for a part of the resource that this part was changed; none: it was not.
    data: Data | None = None


class Fetched(Value, frozen=True, gc=False):
    """This version of the data is here now, and for who was entrusted with it all parts that it was told of."""

    version: int
    details: str = ""
    #: The claim for which it was fetched: as in `Granted.use` or `Entrusted.use`.
    use: int = 0


class Stored(Value, frozen=True, gc=False):
    """This version of the data is here as well; if those who have a newer one die, it is the current one."""

    data: Data


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
    #: Parts that were changed since, in the order in which they were; later ones count.
    sources: tuple[Source, ...] = ()
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
    sources: tuple[Source, ...] = ()
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
    "Part",
    "Queued",
    "Recalled",
    "Release",
    "Request",
    "Source",
    "Stored",
    "Withdraw",
]
