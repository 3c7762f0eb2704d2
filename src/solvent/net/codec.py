"""Messages as bytes: a length, then the messages of one batch as a msgpack array.

A codec is made for the messages of one protocol, a union of tagged structs that decodes itself: what does not fit the
union is no message. Whole batches are encoded and decoded at once, since the call costs more than a small message.
Mappings that never change (`protocols.maps`) travel as maps.

Lengths are limited before anything is set aside for them, so that a stranger cannot make a node swallow its memory.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import TYPE_CHECKING, Any, get_args, get_origin

import msgspec

from solvent.protocols.machine import NodeId
from solvent.protocols.maps import Map
from solvent.values.encoding import encoder
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_LENGTH = struct.Struct("!I")
MAX_FRAME_BYTES = 16 * 1024 * 1024
_NUMBERS = dict[NodeId, int]


class Nonsense(Exception):
    """Bytes that no node of this run would send; the reason is for people."""


class Codec:
    """Encodes and decodes the messages of one protocol.

    `message_type` is the union of all messages: for a linked machine `wire_type(Ask | Grant)` of `protocols.link`.
    """

    def __init__(self, message_type: Any, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._encode = encoder(enc_hook=_plain)
        self._decode = msgspec.msgpack.Decoder(list[message_type], dec_hook=_persistent).decode
        self.max_frame_bytes = max_frame_bytes

    def encode(self, messages: Sequence[Any], too_large: Callable[[Any], None]) -> bytes:
        """Make frames of messages; one that fits no frame is left out and passed to `too_large`."""
        body = self._encode(messages)
        if len(body) <= self.max_frame_bytes:
            return _LENGTH.pack(len(body)) + body
        if len(messages) == 1:
            too_large(messages[0])
            return b""
        middle = len(messages) // 2
        return self.encode(messages[:middle], too_large) + self.encode(messages[middle:], too_large)

    def decode(self, body: bytes | memoryview) -> list[Any]:
        """Give the messages of one frame, or raise `Nonsense`."""
        try:
            return self._decode(body)
        except UNREADABLE as error:
            raise Nonsense(f"not a message of this protocol: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, Map):
        return dict(value)
    raise NotImplementedError(type(value))


def _persistent(kind: Any, value: Any) -> Any:
    mapping = _mapping(kind)
    if mapping is not _NUMBERS or type(value) is not dict:
        return Map(msgspec.convert(value, mapping))
    # Numbers by node are in every token; looking at them is faster than making another mapping first.
    for key, number in value.items():
        if type(key) is not int or type(number) is not int:
            raise ValueError(f"{key!r}: {number!r} where numbers are wanted")
    return Map(value)


@cache
def _mapping(kind: Any) -> Any:
    if get_origin(kind) is not Map:
        raise NotImplementedError(kind)
    key, value = get_args(kind)
    mapping = dict[key, value]  # type: ignore[valid-type]
    return _NUMBERS if mapping == _NUMBERS else mapping


def framed(body: bytes) -> bytes:
    """Put the length before a body."""
    return _LENGTH.pack(len(body)) + body


class Frames:
    """Cuts a stream of bytes into the bodies of frames; `max_bytes` may be changed as trust grows."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        #: What has come of a frame whose rest has not.
        self.kept = bytearray()
        self._needed = _LENGTH.size

    def feed(self, data: bytes) -> Iterator[memoryview]:
        """Take some bytes and give the bodies that are complete; raise `Nonsense` where one would be too long."""
        kept = self.kept
        if kept:
            kept += data
            if len(kept) < self._needed:
                # A long frame comes in many pieces; looking at each of them would copy it as often.
                return
            data = bytes(kept)
            kept.clear()
        view = memoryview(data)
        start, end = 0, len(data)
        self._needed = _LENGTH.size
        while end - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(data, start)
            if length > self.max_bytes:
                raise Nonsense(f"a frame of {length} bytes, and at most {self.max_bytes} are allowed")
            stop = start + _LENGTH.size + length
            if stop > end:
                self._needed = stop - start
                break
            yield view[start + _LENGTH.size : stop]
            start = stop
        kept += view[start:]


__all__ = ["MAX_FRAME_BYTES", "Codec", "Frames", "Nonsense", "framed"]
