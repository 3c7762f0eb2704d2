"""A few steps of a handle that nothing comes between: no other thread of the same handle, and no Ctrl-C.

A handle and the lock must agree on what is claimed. Between the two, an interrupt is only noted, as it is in a step of
the lock (`live.direct.shield`), and raised when both are done.
"""

from __future__ import annotations

import threading
from threading import get_ident

from solvent.live.direct.shield import SHIELD


class Section:
    """Entered with `with`, also by who is in it already."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        is_main = get_ident() == SHIELD.main
        if is_main:
            SHIELD.depth += 1
        try:
            self._lock.acquire()
        except BaseException:
            # A signal's handler that is not Python's own has raised something.
            if is_main:
                SHIELD.lower()
            raise

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        if get_ident() == SHIELD.main:
            SHIELD.lower()


__all__ = ["Section"]
