"""Keeps Python's garbage collector out of the way of a long run.

Machines make many small records that are freed by counting references; none of them is part of a cycle. Left alone,
the collector looks through all live states again and again and finds nothing, and the more nodes there are the longer
it takes. What is alive when a run begins is set aside, and what is made after that is looked at rarely.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_THRESHOLDS = (200_000, 50, 100)
_held = 0


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Let the collector run rarely, and only on what is made from now on; runs may nest."""
    global _held  # noqa: PLW0603 - the collector belongs to the process, and so does the count of who holds it
    if _held == 0:
        gc.freeze()
    thresholds = gc.get_threshold()
    gc.set_threshold(*_THRESHOLDS)
    _held += 1
    try:
        yield
    finally:
        _held -= 1
        gc.set_threshold(*thresholds)
        if _held == 0:
            gc.unfreeze()


__all__ = ["collecting_rarely"]
