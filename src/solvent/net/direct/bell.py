"""What a thread can wait for beside connections: somebody rings, or a time comes that can be put off again and again.

Python has no timers that a thread can wait for and another put off before 3.13; so the system is asked for one
directly. These calls do not let go of the interpreter: they are over before another thread could begin.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


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

    def close(self) -> None:
        """Be gone; not before nobody waits for it any more."""
        number, self._number = self._number, -1
        if number >= 0:
            os.close(number)

    def __del__(self) -> None:
        self.close()


class _Times(ctypes.Structure):
    """What the system wants to know: every how many seconds, and in how many at first."""

    _fields_ = (
        ("every", ctypes.c_long),
        ("every_ns", ctypes.c_long),
        ("first", ctypes.c_long),
        ("first_ns", ctypes.c_long),
    )


_MONOTONIC = 1
_STOPPED = _Times(0, 0, 0, 0)


def _do_nothing() -> None:
    pass


class Timer:
    """Rings after a fixed time, unless that is put off or stopped."""

    def __init__(self, nanoseconds: int) -> None:
        system = ctypes.PyDLL(None)
        self._number: int = system.timerfd_create(_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._number < 0:
            raise OSError("the system has no more timers")
        # Kept: the references do not keep what they refer to.
        self._times = _Times(0, 0, 0, nanoseconds)
        set_time = partial(system.timerfd_settime, self._number, 0)
        #: Ring after the time, counted from now.
        self.start: Callable[[], Any] = partial(set_time, ctypes.byref(self._times), None)
        #: Do not ring, and be silent if it has rung.
        self.stop: Callable[[], Any] = partial(set_time, ctypes.byref(_STOPPED), None)

    def fileno(self) -> int:
        """Give what to wait for."""
        return self._number

    def close(self) -> None:
        """Be gone; not before nobody waits for it any more."""
        # The number may soon be another's.
        self.start = self.stop = _do_nothing
        number, self._number = self._number, -1
        if number >= 0:
            os.close(number)

    def __del__(self) -> None:
        self.close()


__all__ = ["Bell", "Timer"]
