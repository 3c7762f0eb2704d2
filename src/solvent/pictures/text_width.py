"""The width of text, in columns of a terminal and in pixels."""

from __future__ import annotations

from functools import lru_cache
from unicodedata import combining, east_asian_width

_LETTER = 7.4
"""The mean width of a letter of 13 pixels, on the safe side."""
_SMALL = 0.85


@lru_cache(maxsize=65_536)
def columns(text: str) -> int:
    """Return the terminal columns a text takes: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def width_of(text: str, *, is_small: bool = False) -> float:
    """Return the width of a text in pixels."""
    return columns(text) * _LETTER * (_SMALL if is_small else 1)


def cut(text: str, letters: int) -> str:
    """Shorten a text to a number of columns, with an ellipsis at its end."""
    if columns(text) <= letters:
        return text
    kept = text[: letters - 1]
    while kept and columns(kept) > letters - 1:
        kept = kept[:-1]
    return f"{kept}…"


__all__ = ["columns", "cut", "width_of"]
