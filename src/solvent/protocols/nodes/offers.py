"""Offers: molecules with what the directory needs to know of them.

A capture protocol treats values as opaque. Here a value is an offer, packed as text: text passes every codec and
journal as it is, and equal offers are equal texts, so a holder can give an equal molecule instead of the one named.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from solvent.protocols.directory.keys import Key, key_from_text, text_from_key
from solvent.protocols.directory.messages import Entry
from solvent.protocols.machine import Value

if TYPE_CHECKING:
    from solvent.protocols.capture.vocabulary import MoleculeId
    from solvent.protocols.machine import NodeId

_encode = json.JSONEncoder(separators=(",", ":")).encode


class Offer(Value, frozen=True, gc=False):
    """A molecule as its program describes it."""

    #: The molecule itself, in a form that the program can read back: text, or another plain JSON value.
    value: Any
    #: What kind it is of, for those who look for molecules; None if nobody should find it.
    shape: str | None = None
    #: Its place in the order of its kind.
    key: Key = ()


def packed(offer: Offer) -> str:
    """Write an offer as text."""
    return _encode((offer.value, offer.shape, text_from_key(offer.key)))


def unpacked(text: str) -> Offer:
    """Read an offer from text."""
    value, shape, key = json.loads(text)
    return Offer(value, shape, key_from_text(key))


def listing(molecule: MoleculeId, holder: NodeId, text: str) -> Entry | None:
    """Give the entry under which a packed offer is listed; None for one that nobody should find."""
    value, shape, key = json.loads(text)
    return None if shape is None else Entry(molecule, holder, shape, key, value)


def offered(entry: Entry) -> Offer:
    """Give the offer that an entry lists."""
    return Offer(entry.value, entry.shape, entry.order)


__all__ = ["Offer", "listing", "offered", "packed", "unpacked"]
