"""What nodes say to keep a directory of molecules, and what whoever uses it asks and hears.

`Publish`, `Find`, `Watch` and `Unwatch` are both: a request of the program to its own node, and the message by which
that node asks a slot. All messages are for a link that loses nothing and keeps their order.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from solvent.protocols.capture.vocabulary import MoleculeId, Place
from solvent.protocols.directory.keys import Key, Rank, key_from_text, rank, text_from_key
from solvent.protocols.machine import Message, NodeId, Value


class Entry(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One molecule as the directory lists it."""

    molecule: MoleculeId
    holder: NodeId
    shape: str
    #: The key as text; `order` has the key itself.
    key: str
    #: Whatever the program wants seekers to see: the text of the molecule, say.
    value: Any = None

    @property
    def place(self) -> Place:
        """The molecule and where it is: what an entry is known by."""
        return self.molecule, self.holder

    @property
    def order(self) -> Key:
        """The key."""
        return key_from_text(self.key)


def entry(molecule: MoleculeId, holder: NodeId, shape: str, key: Key, value: Any = None) -> Entry:
    """Make an entry from a plain key."""
    return Entry(molecule, holder, shape, text_from_key(key), value)


class Bounds(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Between which keys: each bound as text, or None where there is none."""

    lower: str | None = None
    upper: str | None = None
    is_lower_open: bool = False
    is_upper_open: bool = False

    @property
    def only(self) -> Key | None:
        """The one key within the bounds, if they say that there is but one."""
        if self.lower is None or self.upper is None or self.is_lower_open or self.is_upper_open:
            return None
        lower = key_from_text(self.lower)
        return lower if rank(lower) == rank(key_from_text(self.upper)) else None

    def ranks(self) -> tuple[Rank, Rank]:
        """Give the bounds of the rows of a shelf, which begin with their rank and a molecule, and compare as tuples."""
        before, after = float("-inf"), float("inf")
        lower: Rank = ()
        if self.lower is not None:
            lower = (rank(key_from_text(self.lower)), after if self.is_lower_open else before)
        upper: Rank = _LAST
        if self.upper is not None:
            upper = (rank(key_from_text(self.upper)), before if self.is_upper_open else after)
        return lower, upper

    def __contains__(self, at: Rank) -> bool:
        lower, upper = self.ranks()
        return lower <= (at, 0) < upper


_LAST: Rank = ((4,),)
"""After every rank."""


def bounds(
    lower: Key | None = None,
    upper: Key | None = None,
    *,
    is_lower_open: bool = False,
    is_upper_open: bool = False,
) -> Bounds:
    """Make bounds from plain keys; a bound belongs to them unless it is open."""
    return Bounds(
        None if lower is None else text_from_key(lower),
        None if upper is None else text_from_key(upper),
        is_lower_open,
        is_upper_open,
    )


EVERYTHING = Bounds()


# ------------------------------------------------------------------------------------------ requests and messages


class Publish(Message, frozen=True, gc=False):
    """List these molecules of this node, and list those no longer."""

    added: tuple[Entry, ...] = ()
    withdrawn: tuple[MoleculeId, ...] = ()


class Find(Message, frozen=True, gc=False):
    """Give some entries of this shape within these bounds, once; `query` is the asker's own number."""

    query: int
    shape: str
    bounds: Bounds = EVERYTHING
    limit: int = 1
    exclude: tuple[MoleculeId, ...] = ()


class Watch(Message, frozen=True, gc=False):
    """Give all entries of this shape within these bounds, and from then on every change."""

    query: int
    shape: str
    bounds: Bounds = EVERYTHING


class Unwatch(Message, frozen=True, gc=False):
    """Tell no more of this watch."""

    query: int


class Matches(Message, frozen=True, gc=False):
    """What one slot has for a `Find`."""

    query: int
    entries: tuple[Entry, ...]


class Changes(Message, frozen=True, gc=False):
    """What came to one slot, and what went, for a `Watch`; at first, in pages, all that it has."""

    query: int
    added: tuple[Entry, ...] = ()
    removed: tuple[Place, ...] = ()


DirectoryMessage: TypeAlias = Publish | Find | Watch | Unwatch | Matches | Changes


# ------------------------------------------------------------------------------------------------------- reports


class Found(Value, frozen=True, gc=False):
    """What a `Find` found: at most `limit` entries, fewer only if no slot has more."""

    query: int
    entries: tuple[Entry, ...]


class Seen(Value, frozen=True, gc=False):
    """What came into the view of a `Watch`, and what went out of it."""

    query: int
    added: tuple[Entry, ...] = ()
    removed: tuple[Place, ...] = ()


__all__ = [
    "EVERYTHING",
    "Bounds",
    "Changes",
    "DirectoryMessage",
    "Entry",
    "Find",
    "Found",
    "Matches",
    "Publish",
    "Seen",
    "Unwatch",
    "Watch",
    "bounds",
    "entry",
]
