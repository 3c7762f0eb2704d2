"""Values as texts of limited length, for the page."""

from __future__ import annotations

import json
from typing import Any

from solvent.values.text import form_of

MAX_CHARACTERS = 4_000
_LINE = 60


def shown(value: Any, max_characters: int = MAX_CHARACTERS) -> str:
    """Return a value as text: a text as it is, data as JSON, other values by `repr`."""
    if isinstance(value, str):
        return cut(value, max_characters)
    try:
        text = json.dumps(value, ensure_ascii=False)
        if len(text) > _LINE:
            text = json.dumps(value, ensure_ascii=False, indent=1)
    except (TypeError, ValueError, RecursionError):
        text = form_of(value)
    return cut(text, max_characters)


def cut(text: str, max_characters: int = MAX_CHARACTERS) -> str:
    """Return a text, cut if it is too long, with the number of characters left out."""
    if len(text) <= max_characters:
        return text
    return f"{text[:max_characters]}\n… and {len(text) - max_characters:,} characters more"


__all__ = ["cut", "shown"]
