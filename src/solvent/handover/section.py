"""A few steps of a handle that nothing comes between: no other thread of the same handle, and no Ctrl-C.

A handle and the lock must agree on what is claimed. Between the two, an interrupt is only noted, as it is in a step of
the lock (`live.direct.shield`), and raised when both are done.
"""

from __future__ import annotations

import threading
from threading import get_ident

from solvent.net.direct.shield import SHIELD


class Section:
    """Entered with `with`, also by who is in it already."""

    __slots__ = ("_acquire", "_release")

    def __init__(self) -> None:
        lock = threading.RLock()
        self._acquire, self._release = lock.acquire, lock.release

    def __enter__(self) -> None:
        if get_ident() != SHIELD.main:
            self._acquire()
            return
        SHIELD.depth += 1
        try:
            self._acquire()
        except BaseException:
            # A signal's handler that is not Python's own has raised something.
            SHIELD.lower()
            raise

    def __exit__(self, kind: object, fault: object, trace: object) -> None:
        self._release()
        if get_ident() == SHIELD.main:
            # As `lower` does it: a call less in every claim.
            SHIELD.depth -= 1
            if SHIELD.is_noted:
                SHIELD.depth += 1
                SHIELD.lower()


__all__ = ["Section"]
