"""Encoding that survives a lack of memory.

`Encoder.encode` of msgspec 0.22 crashes the process (SIGSEGV) when its buffer cannot grow: it releases the buffer that
the failed allocation has already released. `encode_into` a `bytearray` raises `MemoryError`. So whatever may be large
is encoded by `encoder`, and what is large inside of it is never copied: it is one of the `Pieces` that are written one
after the other.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MAX_PIECE_BYTES = 1 << 20


def encoder(**options: Any) -> Callable[[Any], bytes]:
    """Return a function that encodes as msgpack, and raises `MemoryError` where memory runs out."""
    encode_into = msgspec.msgpack.Encoder(**options).encode_into

    def encode(value: Any) -> bytes:
        buffer = bytearray()
        encode_into(value, buffer)
        return bytes(buffer)

    return encode


encode_msgpack = encoder()


class Pieces:
    """Bytes in pieces, which can be gone through several times; a text stands for its UTF-8."""

    __slots__ = ("_parts", "_size")

    def __init__(self, parts: Iterable[bytes | memoryview | str], size: int) -> None:
        self._parts = tuple(parts)
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes | memoryview]:
        """Return the bytes, a megabyte or so at a time, none of them empty."""
        for part in self._parts:
            if isinstance(part, str):
                for at in range(0, len(part), MAX_PIECE_BYTES):
                    yield part[at : at + MAX_PIECE_BYTES].encode()
            else:
                view = memoryview(part).cast("B")
                for at in range(0, len(view), MAX_PIECE_BYTES):
                    yield view[at : at + MAX_PIECE_BYTES]

    @property
    def parts(self) -> tuple[bytes | memoryview | str, ...]:
        """The pieces as they were given."""
        return self._parts


def utf8_size(text: str) -> int:
    """Return how many bytes a text has as UTF-8; raise `UnicodeEncodeError` if it has half characters."""
    if text.isascii():
        return len(text)
    return sum(len(text[at : at + MAX_PIECE_BYTES].encode()) for at in range(0, len(text), MAX_PIECE_BYTES))


def whole(data: bytes | Pieces) -> bytes:
    """Return bytes in one piece."""
    return data if isinstance(data, bytes) else b"".join(data)


def as_pieces(data: bytes | memoryview | Pieces) -> Pieces:
    """Return bytes as pieces."""
    if isinstance(data, Pieces):
        return data
    view = memoryview(data)
    return Pieces((view,), view.nbytes)


def digest_of(pieces: Pieces) -> str:
    """Return the SHA-256 of what the pieces are together."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


__all__ = ["MAX_PIECE_BYTES", "Pieces", "as_pieces", "digest_of", "encode_msgpack", "encoder", "utf8_size", "whole"]
