"""A stretch of a source text: what an error points at."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solvent.source.text import Source


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
