"""What a command prints, kept within bounds: all of it up to a limit, or only the end."""

from __future__ import annotations

from solvent.services.failure import OUTPUT_MAX, tail


class TooMuch(Exception):
    """More was printed than the result may have."""


class Whole:
    """Keeps everything up to a limit."""

    def __init__(self, bytes_max: int) -> None:
        self._chunks: list[bytes] = []
        self._room = bytes_max

    def add(self, data: bytes) -> None:
        """Take a piece; one too many is an error."""
        self._room -= len(data)
        self._chunks.append(data)
        if self._room < 0:
            raise TooMuch

    def data(self) -> bytes:
        """Give all that was printed."""
        return b"".join(self._chunks)

    def end(self) -> str:
        """Give the end of it as text."""
        kept, length = list[bytes](), 0
        for chunk in reversed(self._chunks):
            kept.append(chunk)
            length += len(chunk)
            if length >= 4 * OUTPUT_MAX:
                break
        return _as_text(b"".join(reversed(kept)))


class End:
    """Keeps the end only."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        """Take a piece."""
        self._data += data
        if len(self._data) > 8 * OUTPUT_MAX:
            del self._data[: -4 * OUTPUT_MAX]

    def data(self) -> bytes:
        """Give what is left."""
        return bytes(self._data)

    def end(self) -> str:
        """Give the end of it as text."""
        return _as_text(bytes(self._data[-4 * OUTPUT_MAX :]))


def _as_text(data: bytes) -> str:
    return tail(data.decode(errors="replace").strip("\n"))


__all__ = ["End", "TooMuch", "Whole"]
