"""Settings of the Python interpreter that runs need: deep recursion, rare garbage collection, an orderly Ctrl-C.

The first two apply to the whole process, and several runs may be active in its threads. So the first run saves the
previous settings, and the last one to end restores them.
"""

from __future__ import annotations

import gc
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

_FRAMES = 20_000
_YOUNG_DEEP, _YOUNG_FEW = 200_000, 100_000
_OLDER = (50, 100)
_SWITCH_SECONDS = 1e-5


class _Before:
    """The number of active users, and the settings before the first of them."""

    guard = threading.Lock()
    users = 0
    frames = 0
    thresholds = (0, 0, 0)


def deep_stack() -> AbstractContextManager[None]:
    """Allow the recursion that the deepest nesting needs, and collect garbage less often.

    Python's default recursion limit is too low for 200 levels. Its collector visits all young objects every few hundred
    new ones; a solution consists of many small objects that live long and hold no cycles.
    """
    return _eased(_FRAMES, (_YOUNG_DEEP, 0, 0))


def few_collections() -> AbstractContextManager[None]:
    """Collect garbage less often: molecules live until the end of a run, and collecting costs half the time."""
    return _eased(0, (_YOUNG_FEW, *_OLDER))


@contextmanager
def _eased(frames: int, thresholds: tuple[int, int, int]) -> Iterator[None]:
    with _Before.guard:
        now = gc.get_threshold()
        if not _Before.users:
            _Before.frames, _Before.thresholds = sys.getrecursionlimit(), now
        _Before.users += 1
        sys.setrecursionlimit(max(sys.getrecursionlimit(), frames))
        # A collector that was turned off stays off.
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


def hurry() -> None:
    """Switch threads more often, in a process that is about to stop.

    A thread that waits for the interpreter's lock asks for it after the switch interval of 5 ms. Among several
    threads that compute, the main thread waited for seconds until it had had the few turns that it needs to stop.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)


@contextmanager
def interruptible(note: Callable[[], None]) -> Iterator[None]:
    """Call `note` at the first Ctrl-C instead of raising it; the second one is raised.

    Raised anywhere, it could lose molecules or leave threads and processes running. Only the main thread receives it. A
    handler that the program has set stays.
    """
    is_noted = False

    def handle(_number: int, _frame: Any) -> None:
        nonlocal is_noted
        if is_noted:
            raise KeyboardInterrupt
        is_noted = True
        hurry()
        note()

    interval = sys.getswitchinterval()
    try:
        is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        before = signal.signal(signal.SIGINT, handle) if is_default else None
    except ValueError:
        before = None
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
            sys.setswitchinterval(interval)


__all__ = ["deep_stack", "few_collections", "hurry", "interruptible"]
