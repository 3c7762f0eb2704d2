"""Spelling hints: the known name closest to a wrong one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


_MAX_CHARACTERS = 200
"""Longer names are not compared: that takes quadratic time."""


def nearest(wrong: str, known: Iterable[str]) -> str:
    """Return a hint with the closest known name, or an empty text if none is close."""
    from difflib import get_close_matches

    if len(wrong) > _MAX_CHARACTERS:
        return ""
    found = get_close_matches(wrong, [one for one in known if len(one) <= _MAX_CHARACTERS], n=1, cutoff=0.66)
    return f"did you mean `{found[0]}`?" if found else ""
