"""A source text: its name and its characters, and where its lines begin."""

from __future__ import annotations

from bisect import bisect_right


class Source:
    """A named text, from a file or typed in."""

    __slots__ = ("_starts", "name", "text")

    def __init__(self, text: str, name: str = "<text>") -> None:
        self.name = name
        self.text = text
        self._starts: list[int] | None = None

    def _line_starts(self) -> list[int]:
        # Only an error asks for a line, so the table is made when the first one does.
        if self._starts is None:
            starts = [0]
            find = self.text.find
            at = find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = find("\n", at + 1)
            self._starts = starts
        return self._starts

    def position(self, offset: int) -> tuple[int, int]:
        """Give the line and column, both from 1, of a character offset."""
        starts = self._line_starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Give the text of a line, without its end."""
        starts = self._line_starts()
        begin = starts[number - 1]
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return self.text[begin:end].rstrip("\r")

    def __repr__(self) -> str:
        return f"Source({self.name!r}, {len(self.text)} characters)"
