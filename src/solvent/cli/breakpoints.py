"""`breakpoint()` in a service: the debugger has the terminal while it asks, and the live view pauses."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from solvent.cli.live import View

_terminal = threading.RLock()
"""Calls run in several threads, and only one at a time may ask."""


@contextmanager
def breakpoints(view: View) -> Iterator[None]:
    """Let calls use `breakpoint()` for a while, unless the user has said what that does (`PYTHONBREAKPOINT`)."""
    if os.environ.get("PYTHONBREAKPOINT"):
        yield
        return
    before = sys.breakpointhook

    def stop(*_: Any, **__: Any) -> None:
        _debug(view, sys._getframe(1))  # noqa: SLF001 - where `breakpoint()` was called

    sys.breakpointhook = stop
    try:
        yield
    finally:
        sys.breakpointhook = before


def _debug(view: View, frame: FrameType) -> None:
    """Begin to debug a frame."""
    import pdb  # noqa: T100 - what `breakpoint()` is for

    class Debugger(pdb.Pdb):
        def interaction(self, frame: FrameType | None, traceback: Any) -> None:
            with _terminal, view.paused():
                super().interaction(frame, traceback)

    Debugger().set_trace(frame)


__all__ = ["breakpoints"]
