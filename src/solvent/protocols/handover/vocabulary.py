"""What whoever uses a space wants of it, what it is told, and what it is asked.

A *space* is a set of processes that share resources by name; processes come, go, and die. What is wanted comes as
`Requested(...)`, what is told goes out as `Report(...)`. Of a single resource users want and hear what the lock's own
vocabulary says (`solvent.protocols.elmp.vocabulary`), wrapped: `Requested(In("matrix", Request(0)))`, and some time
`Report(Of("matrix", Granted(...)))`.

How a life goes: the first process of a space begins in it. Any other says `Enter(contact)` with any process that is
in it, and hears `Entered`, or `Astray` if it has to try another. `Open(resource)` leads to `Opened`. Then claims. `Go`
ends it, with `Departed`. Names of processes are never used again: who comes back comes with another one.

Where data is: see `Data`. Who releases a new version says `Release(handle, Data(version, node, details))`. Applications
that can find data of others, say in the shared memory of their host, list it when asked for their `Inventory`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from solvent.protocols.elmp.vocabulary import Data
from solvent.protocols.machine import NodeId, Value

Ballot: TypeAlias = tuple[int, NodeId]
"""A number, and who chose it. They are ordered; that of a repair that was made is the *epoch* from then on."""
Found: TypeAlias = Mapping[str, Data]
"""Data that is at hand, by resources."""


# ------------------------------------------------------------------------------------------------------ wanted


class Enter(Value, frozen=True, gc=False):
    """Take part in the space, through any process that does."""

    contact: NodeId


class Open(Value, frozen=True, gc=False):
    """Take part in a resource; if it is the first to, the resource is made."""

    resource: str


class In(Value, frozen=True, gc=False):
    """Want something of a resource: `Request`, `Withdraw`, `Release`, `Fetched` or `Leave`."""

    resource: str
    wanted: Any


class Announce(Value, frozen=True, gc=False):
    """Tell all processes that data of a resource was released, so that its loss is never taken for "never made".

    It is wanted before the first `Release` with data. Whoever answers for an `Inventory` lists the data as lost if it
    finds none of a resource in `SpaceState.released`.
    """

    resource: str


class Died(Value, frozen=True, gc=False):
    """The host says: this process is dead, for certain (its kernel says so), or so it seems (it is silent).

    It may be said again, and of one that was suspected it may be said later that it is certain. Of processes of the
    same host it must be certain: one that lives there is never silent, however long it sleeps.
    """

    peer: NodeId
    is_certain: bool = True


class Go(Value, frozen=True, gc=False):
    """Leave all resources, and then the space."""


# -------------------------------------------------------------------------------------------------------- told


class Entered(Value, frozen=True, gc=False):
    """The process takes part in the space."""

    epoch: Ballot


class Astray(Value, frozen=True, gc=False):
    """The process could not enter: whom it turned to takes no part any more, or is dead. Try another one."""

    contact: NodeId


class Opened(Value, frozen=True, gc=False):
    """The process takes part in the resource, and may make claims."""

    resource: str


class Of(Value, frozen=True, gc=False):
    """What is told of a resource: `Queued`, `Granted`, `Dropped`, `Entrusted`, `Left` or `Stays`.

    The founder may be told to fetch data (`Entrusted`) also of a resource that it has not opened itself.
    """

    resource: str
    told: Any


class Stays(Value, frozen=True, gc=False):
    """Instead of `Left`: this process is the founder, takes part in all resources, and keeps the data that is here."""


class Arrived(Value, frozen=True, gc=False):
    """This process may be talked to from now on, at this address. It comes before anything is sent to it."""

    node: NodeId
    address: str


class Gone(Value, frozen=True, gc=False):
    """This process takes no part any more: it has left, or is taken for dead. Nothing is sent to it any more."""

    node: NodeId


class Watch(Value, frozen=True, gc=False):
    """Keep an eye on these processes, and on no others: say `Died` when one of them is dead, or is silent for long.

    In a space at rest everybody watches the next few in the circle of names. In a repair more is watched for a while.
    """

    nodes: tuple[NodeId, ...]


class Renewed(Value, frozen=True, gc=False):
    """What has become of a resource in a repair."""

    resource: str
    #: Whether the token was lost and another one made.
    is_new_token: bool
    #: Whether it tells of a later version, or a changed part, that nobody has any more. If it was lost, nobody knows.
    is_older: bool = False
    #: The version of the data that counts, and who has it; none if there is none (any more).
    version: int | None = None
    holder: NodeId | None = None


class Repaired(Value, frozen=True, gc=False):
    """A new epoch has begun. Claims that held hold still; those that wait do, too."""

    epoch: Ballot
    #: The epochs that it follows: the last, and those that may have begun somewhere since.
    after: tuple[Ballot, ...] = ()
    #: Who takes no part any more.
    lost: tuple[NodeId, ...] = ()
    #: The resources that this process takes part in.
    renewed: tuple[Renewed, ...] = ()


class Expelled(Value, frozen=True, gc=False):
    """The others took this process for dead and went on without it. All its claims are void; it can do no more."""


class Departed(Value, frozen=True, gc=False):
    """The process takes no part any more, and nobody needs it."""


# ------------------------------------------------------------------------------------------------------- asked


class Inventory(Value, frozen=True, gc=False):
    """Asked in a repair: of which resources is released data at hand here, whoever wrote it?

    The answer maps names to `Data` whose holder is this process, each with its `version`, `details` and the number of
    `parts` that were changed since (`Found`). It may name resources beside these, which are those that the process
    takes part in. From then on no part may be changed there in the epoch that ends: it would not be counted.
    """

    resources: tuple[str, ...]


__all__ = [
    "Announce",
    "Arrived",
    "Astray",
    "Ballot",
    "Departed",
    "Died",
    "Enter",
    "Entered",
    "Expelled",
    "Found",
    "Go",
    "Gone",
    "In",
    "Inventory",
    "Of",
    "Open",
    "Opened",
    "Renewed",
    "Repaired",
    "Stays",
    "Watch",
]
