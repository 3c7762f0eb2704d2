"""How the main process and its worker processes write to each other: a kind, a number, and some bytes.

main to worker    FUNCTION  what to call, once for each worker       number: the function's
                  CALL      a call's arguments                       number: the call's
worker to main    HELLO     the worker is ready
                  RESULT    a call's result                          number: the call's
                  ERROR     why it has none                          number: the call's
                  BEAT      the running call is alive                number: the call's
                  BEGUN     the running call has all it needs        number: the call's
                  SEAL      does the call's outcome count?           number: the call's
                  RETURNED  a call that was not begun                number: the call's, or 0 after the last
"""

from __future__ import annotations

import struct

FUNCTION, CALL, HELLO, RESULT, ERROR, BEAT, RETURNED, BEGUN, SEAL = range(9)

SEALED = b"!"
"""On the pipe by which calls are asked back: the outcome of the running call counts."""

_HEADER = struct.Struct("!BQQ")
_LENGTH = _HEADER.size
CHUNK = 1 << 18


def frame(kind: int, number: int, payload: bytes = b"") -> bytes:
    """Make a frame."""
    return _HEADER.pack(kind, number, len(payload)) + payload


class Frames:
    """Puts frames together from the pieces in which they arrive."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._needed = _LENGTH

    def feed(self, data: bytes) -> list[tuple[int, int, bytes]]:
        """Take some bytes and give the frames that are complete now."""
        buffer = self._buffer
        buffer += data
        if len(buffer) < self._needed:
            return []
        found = []
        start, end = 0, len(buffer)
        self._needed = _LENGTH
        while end - start >= _LENGTH:
            kind, number, length = _HEADER.unpack_from(buffer, start)
            stop = start + _LENGTH + length
            if stop > end:
                # A long frame comes in many pieces; looking at each of them would copy it as often.
                self._needed = stop - start
                break
            found.append((kind, number, bytes(buffer[start + _LENGTH : stop])))
            start = stop
        del buffer[:start]
        return found


__all__ = [
    "BEAT", "BEGUN", "CALL", "CHUNK", "ERROR", "FUNCTION", "HELLO", "RESULT", "RETURNED", "SEAL",
    "SEALED", "Frames", "frame",
]  # fmt: skip
