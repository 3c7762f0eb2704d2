"""The roll of a run on one host: which of its processes are there, how far each has come, and which are dead.

Each process has a small file in the run's folder, locked for as long as it lives:

    NODE.here     its state and its address, as text

The system takes the lock back when the process dies, however it dies, so whoever can lock the file of another knows
for certain that this one is dead. That is more than silence can tell: a process that was stopped is not dead.

Processes that begin at the same time take turns (`meeting`), so that one of them is the first and all others see it.
"""

from __future__ import annotations

import fcntl
import os
import threading
import weakref
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from solvent.errors import Misuse
from solvent.handover.data.opening import opening

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SUFFIX = ".here"
_MAX_BYTES = 4096


class Presence(NamedTuple):
    """A process that is there."""

    node: int
    state: str
    address: str


class Roll:
    """The roll, as one process sees it; it is on it itself from `enter` to `leave`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = -1
        self._node = -1
        self._leaving = threading.Lock()
        _ROLLS.add(self)

    @contextmanager
    def meeting(self) -> Iterator[None]:
        """Be the only one that looks at the roll to decide something, or changes what others decide by."""
        with opening():
            file = os.open(self._folder / "meeting", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    def enter(self, node: int, state: str, address: str) -> None:
        """Be on the roll from now on, under a number that no other ever had."""
        self.leave()
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        with opening():
            self._file = os.open(self._path(node), flags, 0o600)
        self._node = node
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self.say(state, address)

    def say(self, state: str, address: str) -> None:
        """Let others know how far this process is, if it is on the roll; inside a `meeting`."""
        text = f"{state}\n{address}\n".encode()
        assert len(text) <= _MAX_BYTES
        with self._leaving:
            if self._file >= 0:
                os.ftruncate(self._file, 0)
                os.pwrite(self._file, text, 0)

    def others(self) -> tuple[Presence, ...]:
        """Give those that are there, and clear away what the dead left; inside a `meeting`."""
        for path in self._folder.glob(f"*{_SUFFIX}"):
            if self.is_dead(int(path.name.removesuffix(_SUFFIX))):
                path.unlink(missing_ok=True)
        return self.living()

    def living(self) -> tuple[Presence, ...]:
        """Give those that are there, without this process."""
        found = []
        for path in sorted(self._folder.glob(f"*{_SUFFIX}")):
            node = int(path.name.removesuffix(_SUFFIX))
            if node == self._node or self.is_dead(node):
                continue
            # Who leaves need not wait for others to have met.
            with suppress(FileNotFoundError):
                state, _, rest = path.read_text(encoding="utf-8").partition("\n")
                found.append(Presence(node, state, rest.rstrip("\n")))
        return tuple(found)

    def is_dead(self, node: int) -> bool:
        """Tell whether a process that was on the roll is there no longer; for certain, or not at all."""
        try:
            with opening():
                file = os.open(self._path(node), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return True
        except Misuse:
            # No file can be opened now. Who asks because of silence will ask again.
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(file)
        return True

    def leave(self) -> None:
        """Be on it no longer; two threads may want that at the same time."""
        with self._leaving:
            if self._file >= 0:
                with suppress(OSError):
                    self._path(self._node).unlink(missing_ok=True)
                self.abandon()

    def abandon(self) -> None:
        """Let go of it in a copy of the process, which would stand for the dead one otherwise."""
        if self._file >= 0:
            os.close(self._file)
            self._file = self._node = -1

    def _path(self, node: int) -> Path:
        return self._folder / f"{node}{_SUFFIX}"


_ROLLS: weakref.WeakSet[Roll] = weakref.WeakSet()


def _abandon_all() -> None:
    for roll in list(_ROLLS):
        roll.abandon()
    _ROLLS.clear()


os.register_at_fork(after_in_child=_abandon_all)

__all__ = ["Presence", "Roll"]
