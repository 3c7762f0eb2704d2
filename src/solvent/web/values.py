"""Values as a page shows them: texts that are not too long."""

from __future__ import annotations

import json
from typing import Any

CHARACTERS_MAX = 4_000
_LINE = 60


def shown(value: Any, characters_max: int = CHARACTERS_MAX) -> str:
    """Write a value: a text as it is, data as JSON, short data on one line, all else as Python writes it."""
    if isinstance(value, str):
        return cut(value, characters_max)
    try:
        text = json.dumps(value, ensure_ascii=False)
        if len(text) > _LINE:
            text = json.dumps(value, ensure_ascii=False, indent=1)
    except (TypeError, ValueError, RecursionError):
        try:
            text = repr(value)
        except Exception as error:  # noqa: BLE001 - a user's `__repr__` may raise anything
            text = f"a {type(value).__name__} that cannot be shown: {error}"
    return cut(text, characters_max)


def cut(text: str, characters_max: int = CHARACTERS_MAX) -> str:
    """Shorten a text, and say by how much."""
    if len(text) <= characters_max:
        return text
    return f"{text[:characters_max]}\n… and {len(text) - characters_max:,} characters more"


__all__ = ["CHARACTERS_MAX", "cut", "shown"]
