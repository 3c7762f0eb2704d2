"""How many examples a statement about all programs is tried with: few in `make test`, many in `make soak`."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

_USUAL = 100
_TIMES_MAX = 20


def examples(count: int, **more: Any) -> settings:
    """Draw so many examples, always the same; under a profile that draws more, fresh ones, up to 20 times as many."""
    return settings(max_examples=count * min(_TIMES_MAX, settings.default.max_examples // _USUAL), **more)
