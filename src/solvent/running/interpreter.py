"""What runs ask of the Python that they run in: room to recurse, and less looking for garbage.

Both are settings of the whole process, and several runs may be under way in its threads. So what was set before is kept
by the first that asks, and set again when the last one has ended; who ends earlier changes nothing for the others.
"""

from __future__ import annotations

import gc
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

_FRAMES = 20_000
_YOUNG_DEEP, _YOUNG_FEW = 200_000, 100_000
_OLDER = (50, 100)


class _Before:
    """How many have asked, and what was set before the first of them."""

    guard = threading.Lock()
    users = 0
    frames = 0
    thresholds = (0, 0, 0)


def deep_stack() -> AbstractContextManager[None]:
    """Let Python recurse as deep as the nesting we allow needs, and look for garbage less often.

    Python allows itself too little recursion for 200 levels. Its collector goes through all young objects every few
    hundred new ones; a solution is made of many small objects that live long and hold no cycles.
    """
    return _eased(_FRAMES, (_YOUNG_DEEP, 0, 0))


def few_collections() -> AbstractContextManager[None]:
    """Let Python look for garbage less often: the molecules live until the end, and looking costs half the time."""
    return _eased(0, (_YOUNG_FEW, *_OLDER))


@contextmanager
def _eased(frames: int, thresholds: tuple[int, int, int]) -> Iterator[None]:
    with _Before.guard:
        now = gc.get_threshold()
        if not _Before.users:
            _Before.frames, _Before.thresholds = sys.getrecursionlimit(), now
        _Before.users += 1
        sys.setrecursionlimit(max(sys.getrecursionlimit(), frames))
        # Where somebody has turned the collector off it stays so.
        if now[0]:
            gc.set_threshold(max(now[0], thresholds[0]), max(now[1], thresholds[1]), max(now[2], thresholds[2]))
    try:
        yield
    finally:
        with _Before.guard:
            _Before.users -= 1
            if not _Before.users:
                sys.setrecursionlimit(_Before.frames)
                gc.set_threshold(*_Before.thresholds)


__all__ = ["deep_stack", "few_collections"]
