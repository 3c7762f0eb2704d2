"""The known name that a wrong name was probably meant to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(wrong: str, known: Iterable[str]) -> str:
    """Give a hint naming the closest known name, or nothing when none is close."""
    from difflib import get_close_matches

    found = get_close_matches(wrong, list(known), n=1, cutoff=0.66)
    return f"did you mean `{found[0]}`?" if found else ""
