"""Waits until files and sockets are ready, whatever their numbers are: `select.select` takes none above 1,023."""

from __future__ import annotations

import math
import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _typeshed import HasFileno


def ready_of(files: Iterable[int | HasFileno], seconds: float, events: int = select.POLLIN) -> list[int]:
    """Wait at most so long until one of the files is ready, or broken; return the numbers of those that are."""
    poll = select.poll()
    for file in files:
        poll.register(file, events)
    return [number for number, _ in poll.poll(math.ceil(max(seconds, 0) * 1000))]


def is_readable(file: int | HasFileno, seconds: float) -> bool:
    """Wait at most so long until something can be read, or the other end has closed; return whether it can."""
    return bool(ready_of([file], seconds))


def is_writable(file: int | HasFileno, seconds: float) -> bool:
    """Wait at most so long until something can be written, or a connection has failed; return whether it can."""
    return bool(ready_of([file], seconds, select.POLLOUT))


__all__ = ["is_readable", "is_writable", "ready_of"]
