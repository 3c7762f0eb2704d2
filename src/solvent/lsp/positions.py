r"""Places as editors count them: lines from 0, ended by `\n`, `\r\n` or `\r`, and UTF-16 code units within a line.

A character beyond U+FFFF is two units. A place in the middle of one, or behind the end of its line or of the text, is
taken as the nearest place before it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TypeAlias

Place: TypeAlias = dict[str, int]
"""`{"line": ..., "character": ...}`."""
_LINE_END = re.compile(r"\r\n|\n|\r")
_TWO_UNITS_FROM = "\U00010000"


class Positions:
    """The lines of a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        ends = [match.span() for match in _LINE_END.finditer(text)]
        self._starts = [0, *(end for _, end in ends)]
        self._ends = [*(start for start, _ in ends), len(text)]

    def place(self, offset: int) -> Place:
        """Give the place of a character."""
        line = bisect_right(self._starts, offset) - 1
        start = self._starts[line]
        return {"line": line, "character": units(self._text[start : min(offset, self._ends[line])])}

    def range(self, start: int, end: int) -> dict[str, Place]:
        """Give the range from one character up to another."""
        return {"start": self.place(start), "end": self.place(end)}

    def offset(self, place: Place) -> int:
        """Give the character at a place."""
        line, character = place["line"], place["character"]
        if line >= len(self._starts):
            return len(self._text)
        start, end = self._starts[line], self._ends[line]
        part = self._text[start:end]
        if part.isascii():
            return start + min(character, len(part))
        passed = 0
        for at, char in enumerate(part):
            passed += 2 if char >= _TWO_UNITS_FROM else 1
            if passed > character:
                return start + at
        return end


def units(text: str) -> int:
    """Give how many UTF-16 code units a text has."""
    return len(text) if text.isascii() else len(text) + sum(char >= _TWO_UNITS_FROM for char in text)


__all__ = ["Place", "Positions", "units"]
