"""Interrupts that do not wake the main thread."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECONDS = 0.2


@contextmanager
def interrupt_unheard() -> Iterator[None]:
    """Let another thread take a SIGINT in a moment, when the main thread is asleep.

    Python notes it, and raises `KeyboardInterrupt` when the main thread next wakes; the same is so with one that comes
    just before that thread falls asleep.
    """
    timer = threading.Timer(_SECONDS, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    try:
        yield
    finally:
        timer.join()


__all__ = ["interrupt_unheard"]
