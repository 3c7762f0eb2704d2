"""Wakes a thread that waits for connections."""

from __future__ import annotations

import os
from contextlib import suppress


class Bell:
    """Something to wait for beside connections."""

    def __init__(self) -> None:
        self._number = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def fileno(self) -> int:
        """Give what to wait for."""
        return self._number

    def ring(self) -> None:
        """Wake it."""
        os.eventfd_write(self._number, 1)

    def on_event(self, mask: int) -> None:
        """Be silent again."""
        del mask
        with suppress(BlockingIOError):
            os.eventfd_read(self._number)

    def abandon(self) -> None:
        """Stay as it is: whoever has it closes it."""

    def __del__(self) -> None:
        # Not sooner: a thread may still wait for it when the host is over.
        os.close(self._number)


__all__ = ["Bell"]
