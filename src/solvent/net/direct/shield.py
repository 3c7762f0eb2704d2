"""Keeps Ctrl-C out of the middle of a step.

Python raises `KeyboardInterrupt` between any two instructions of the main thread. Inside a step that would lose a
message, or have one said and not noted; so while the main thread is in a step the interrupt is only noted, and raised
as soon as the step is over. A thread that waits is interrupted at once, but for an interrupt that comes just before it
falls asleep: of that one Python knows nothing until it wakes, which is soon (`MAX_DEAF_SECONDS`).

This replaces Python's own handler of the signal, as long as a host is open that the main thread has started, and no
other: whoever has a handler of their own that raises may end a host with it, in the middle of a step.
"""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


class Shield:
    """Whether the main thread may be interrupted. Only that thread changes anything here."""

    __slots__ = ("depth", "hosts", "is_noted", "main")

    def __init__(self) -> None:
        self.main = threading.main_thread().ident
        #: How many steps the main thread is in, one inside the other.
        self.depth = 0
        self.is_noted = False
        self.hosts = 0

    def lower(self) -> None:
        """Leave a step; raise what was noted in it."""
        self.depth -= 1
        if self.is_noted and not self.depth:
            self.is_noted = False
            raise KeyboardInterrupt

    def is_mine_noted(self) -> bool:
        """Tell whether this thread is to be interrupted as soon as it leaves its step, for one that takes long."""
        return self.is_noted and threading.get_ident() == self.main

    def install(self) -> bool:
        """Take Python's handler's place, for one host more; tell whether this can be done."""
        if threading.get_ident() != self.main:
            return False
        if self.hosts == 0:
            if signal.getsignal(signal.SIGINT) not in (signal.default_int_handler, self.on_interrupt):
                return False
            signal.signal(signal.SIGINT, self.on_interrupt)
        self.hosts += 1
        return True

    def remove(self) -> None:
        """Note that one host less needs it, and give the place back if that can be done now."""
        self.hosts -= 1
        self.give_back()

    def give_back(self) -> None:
        """Give the place back when no host needs it any more.

        Not inside a step: Python's own handler would interrupt that, and the thread never be out of it. Nor can another
        thread. Then this one stays for now, and does what Python's own would do.
        """
        if (
            self.hosts == 0
            and threading.get_ident() == self.main
            and self.depth == 0
            and signal.getsignal(signal.SIGINT) == self.on_interrupt
        ):
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def forget(self) -> None:
        """Begin anew, in a copy of the process."""
        self.main = threading.get_ident()
        self.depth = self.hosts = 0
        self.is_noted = False

    def on_interrupt(self, number: int, frame: FrameType | None) -> None:
        """Take a Ctrl-C."""
        if self.depth > 0:
            self.is_noted = True
        else:
            signal.default_int_handler(number, frame)


SHIELD = Shield()

__all__ = ["SHIELD", "Shield"]
