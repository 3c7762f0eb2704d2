"""Messages of the language server protocol on a stream: a header with their length, an empty line, JSON."""

from __future__ import annotations

from typing import IO, Any

import msgspec

BYTES_MAX = 256 * 1024 * 1024
_HEADER_BYTES_MAX = 8192


class BadMessage(Exception):
    """What came is no message. With `is_fatal`, nobody knows where the next one begins."""

    def __init__(self, text: str, *, is_fatal: bool = False) -> None:
        super().__init__(text)
        self.is_fatal = is_fatal


def read_message(stream: IO[bytes]) -> Any:
    """Give the next message; nothing at the end of the stream. Raise `BadMessage` for what is none."""
    length: int | None = None
    while True:
        line = stream.readline(_HEADER_BYTES_MAX)
        if not line:
            return None
        if not line.strip():
            break
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            length = int(value)
    if length is None or length > BYTES_MAX:
        raise BadMessage("a message begins with `Content-Length: BYTES` and an empty line", is_fatal=True)
    data = stream.read(length)
    if len(data) < length:
        return None
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadMessage(f"a message is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise BadMessage("a message is a JSON object")
    return found


def write_message(stream: IO[bytes], message: dict[str, Any]) -> None:
    """Write a message."""
    data = msgspec.json.encode({"jsonrpc": "2.0", **message})
    stream.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
    stream.flush()


__all__ = ["BadMessage", "read_message", "write_message"]
