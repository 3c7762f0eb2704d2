"""Values as a page shows them: texts that are not too long."""

from __future__ import annotations

import json
from typing import Any

MAX_CHARACTERS = 4_000
_LINE = 60


def shown(value: Any, max_characters: int = MAX_CHARACTERS) -> str:
    """Write a value: a text as it is, data as JSON, short data on one line, all else as Python writes it."""
    if isinstance(value, str):
        return cut(value, max_characters)
    try:
        text = json.dumps(value, ensure_ascii=False)
        if len(text) > _LINE:
            text = json.dumps(value, ensure_ascii=False, indent=1)
    except (TypeError, ValueError, RecursionError):
        try:
            text = repr(value)
        except Exception as error:  # noqa: BLE001 - a user's `__repr__` may raise anything
            text = f"a {type(value).__name__} that cannot be shown: {error}"
    return cut(text, max_characters)


def cut(text: str, max_characters: int = MAX_CHARACTERS) -> str:
    """Shorten a text, and say by how much."""
    if len(text) <= max_characters:
        return text
    return f"{text[:max_characters]}\n… and {len(text) - max_characters:,} characters more"


__all__ = ["MAX_CHARACTERS", "cut", "shown"]
