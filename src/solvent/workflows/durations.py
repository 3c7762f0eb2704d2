"""How long something is to take, as people write it: `90`, `"30s"`, `"15m"`, `"1h"`, `"7d"`."""

from __future__ import annotations

import re

MAX_SECONDS = 10 * 365 * 86_400.0
DURATION_RULE = "seconds, or a number with s, m, h or d: 90, 0.5s, 15m, 1h, 7d"
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)")


def seconds_of(duration: object) -> float | None:
    """Return the seconds of a duration, or None if it is none; at most ten years."""
    match = _DURATION.fullmatch(str(duration).strip()) if type(duration) in (int, float, str) else None
    if match is None:
        return None
    seconds = float(match[1]) * _UNITS[match[2]]
    return seconds if seconds <= MAX_SECONDS else None


def duration_text(seconds: float) -> str:
    """Return a duration as `seconds_of` reads it, in the largest unit of which it is a whole number."""
    for unit in ("d", "h", "m"):
        number = seconds / _UNITS[unit]
        if number == int(number) > 0:
            return f"{int(number)}{unit}"
    return f"{seconds:g}s"


__all__ = ["DURATION_RULE", "MAX_SECONDS", "duration_text", "seconds_of"]
