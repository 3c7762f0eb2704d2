"""How many examples a statement about all programs is tried with: few in `make test`, many in `make soak`."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

_HUNDRED = 100
_MAX_TIMES = 20


def examples(count: int, **more: Any) -> settings:
    """Draw so many examples for each hundred that the profile draws of others, but at most 20 times as many."""
    drawn = min(_MAX_TIMES * _HUNDRED, settings.default.max_examples)
    return settings(max_examples=max(1, count * drawn // _HUNDRED), **more)
