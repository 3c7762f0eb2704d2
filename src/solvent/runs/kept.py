"""Bytes of a record: in the record itself, or in a blob where they are many.

Records are read again and again, and a store takes records only up to a size. So what may be large is `Kept`.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol

import msgspec

from solvent.values.encoding import whole

if TYPE_CHECKING:
    from solvent.values.encoding import Pieces

MIN_BLOB_BYTES = 64 * 1024
"""From this size on bytes are a blob."""


class Blobs(Protocol):
    """Where blobs are: a store, or memory."""

    def put_blob(self, data: bytes | Pieces, /) -> str:
        """Keep a blob, and return its name."""

    def get_blob(self, name: str, /) -> bytes:
        """Return a blob."""


class MemoryBlobs:
    """Blobs of what nobody else reads, such as a replay."""

    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}

    def put_blob(self, data: bytes | Pieces) -> str:
        """Keep a blob, and return its name."""
        found = whole(data)
        name = hashlib.sha256(found).hexdigest()
        self._blobs[name] = found
        return name

    def get_blob(self, name: str) -> bytes:
        """Return a blob."""
        return self._blobs[name]


class Kept(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Bytes, or the name of the blob that has them."""

    data: bytes = b""
    blob: str = ""

    def __bool__(self) -> bool:
        return bool(self.data or self.blob)

    def read(self, blobs: Blobs) -> bytes:
        """Return the bytes."""
        return blobs.get_blob(self.blob) if self.blob else self.data


def keep(blobs: Blobs, data: bytes | Pieces, *, room: int = MIN_BLOB_BYTES) -> Kept:
    """Keep bytes, in a blob if there are more than `room`."""
    if len(data) < MIN_BLOB_BYTES and len(data) < room:
        return Kept(data if isinstance(data, bytes) else whole(data))
    return Kept(blob=blobs.put_blob(data))


__all__ = ["MIN_BLOB_BYTES", "Blobs", "Kept", "MemoryBlobs", "keep"]
