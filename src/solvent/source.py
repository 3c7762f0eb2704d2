"""Source texts, stretches of them, and the marked line under an error message.

    3 | <1, 2, colour>
      |        ^^^^^^ no rule or variable has this name

Long lines are cut around the mark, so an error in a file of one line stays readable.
"""

from __future__ import annotations

from bisect import bisect_right

_MAX_WIDTH = 100
_MAX_BEFORE = 60


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
        """Return the line and column, both from 1, of a character offset."""
        starts = self._line_starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return the text of a line, without its end."""
        starts = self._line_starts()
        begin = starts[number - 1]
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return self.text[begin:end].rstrip("\r")

    def __repr__(self) -> str:
        return f"Source({self.name!r}, {len(self.text)} characters)"


class Span:
    """From `start` up to, not including, `end` of a source."""

    __slots__ = ("end", "source", "start")

    def __init__(self, source: Source, start: int, end: int) -> None:
        self.source = source
        self.start = start
        self.end = end

    @property
    def line(self) -> int:
        """The line of the first character, from 1."""
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        """The column of the first character, from 1."""
        return self.source.position(self.start)[1]

    @property
    def place(self) -> str:
        """`file:line:column`."""
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"

    @property
    def text(self) -> str:
        """The characters of the stretch."""
        return self.source.text[self.start : self.end]


def excerpt(span: Span, note: str = "") -> str:
    """Return the line of a span with carets under it and a note beside them."""
    number, column = span.source.position(span.start)
    line = span.source.line(number)
    begin = column - 1
    width = max(1, min(span.end - span.start, len(line) - begin))
    if len(line) > _MAX_WIDTH:
        cut = max(0, begin - _MAX_BEFORE)
        line = line[cut : cut + _MAX_WIDTH]
        begin -= cut
        width = max(1, min(width, len(line) - begin))
    # A tab is as wide as the terminal says; keeping it in the margin keeps the caret in place.
    margin = "".join(char if char == "\t" else " " for char in line[:begin])
    label = str(number)
    mark = f"{' ' * len(label)} | {margin}{'^' * width}"
    return f"{label} | {line}\n{mark}{' ' + note if note else ''}"
