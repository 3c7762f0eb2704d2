"""How much room letters need."""

from __future__ import annotations

from functools import lru_cache
from unicodedata import combining, east_asian_width

_LETTER = 7.4
"""The mean width of a letter of 13 pixels, on the safe side."""
_SMALL = 0.85


@lru_cache(maxsize=65_536)
def columns(text: str) -> int:
    """Give how many columns of a terminal a text takes: two for each wide letter, none for what is set upon another."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def width_of(text: str, *, is_small: bool = False) -> float:
    """Give how many pixels a text takes."""
    return columns(text) * _LETTER * (_SMALL if is_small else 1)


def cut(text: str, letters: int) -> str:
    """Shorten a text to so many columns."""
    if columns(text) <= letters:
        return text
    kept = text[: letters - 1]
    while kept and columns(kept) > letters - 1:
        kept = kept[:-1]
    return f"{kept}…"


__all__ = ["columns", "cut", "width_of"]
