"""The folder in which the processes of one run and one host share their memory.

By default it lies in `/dev/shm`, which is memory, in a folder that only its user can enter:

    solvent-UID/secret           what processes of this user show each other (`net.secrecy`)
    solvent-UID/RUN/alive        each living process of the run has this file locked, together with the others
    solvent-UID/RUN/making       locked for the moment in which something is made or removed
    solvent-UID/RUN/NAME.card    one resource: its card, its bytes, and what is kept of the version before
    solvent-UID/RUN/NAME.data
    solvent-UID/RUN/NAME.kept

A name is made from the resource's, so there is at most one memory of a resource on a host, and a process that comes
back finds what it left. Nothing here is told to Python's resource tracker, which would remove memory that others
still use.

When a process dies, however it dies, the system takes its locks back. A run whose `alive` nobody has locked has no
process here any more. Its folder goes with the last process that leaves in an orderly way; if none did, `sweep` finds
and removes it. It waits a while before it does, so that a run that was killed altogether and is started again at once
finds its data.

Two processes share memory if they see the same folder of the same boot of a system. Containers have a `/dev/shm` each
unless they are told otherwise: the device number of the folder tells them apart.

The *roll* says which processes of a run are on this host, how far each has come, and which are dead. Each process has a
small file in the run's folder, locked for as long as it lives:

    NODE.here     its state and its address, as text

The system takes the lock back when the process dies, however it dies, so whoever can lock the file of another knows
for certain that this one is dead. That is more than silence can tell: a process that was stopped is not dead.

Processes that begin at the same time take turns (`admission`), so that one of them is the first and all others see it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import socket
import threading
import time
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from solvent.errors import DataProblem, Misuse
from solvent.handover.data.locks import CAN_SHARE
from solvent.handover.data.opening import opening
from solvent.net.private_folder import default_base, private
from solvent.protocols.machine import Value

if TYPE_CHECKING:
    from collections.abc import Iterator


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
        """Let others know how far this process is, if it is on the roll; inside `admission`."""
        text = f"{state}\n{address}\n".encode()
        assert len(text) <= _MAX_BYTES
        with self._leaving:
            if self._file >= 0:
                os.ftruncate(self._file, 0)
                os.pwrite(self._file, text, 0)

    def others(self) -> tuple[Presence, ...]:
        """Give those that are there, and clear away what the dead left; inside `admission`."""
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


SWEEP_SECONDS = 60.0
"""How long the memory of a run is kept after its last sign of life, if no process of it is there."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_MAX_ENTRIES = 100


class Swept(Value, frozen=True, gc=False):
    """What was removed."""

    runs: int = 0
    bytes: int = 0


class Folder:
    """The folder of one run, entered by this process until it leaves."""

    def __init__(self, run: str, *, base: Path | None = None) -> None:
        self.base = default_base() if base is None else base
        self.path = self.base / hashlib.sha256(run.encode()).hexdigest()[:20]
        self._alive = self._enter()
        self.host = _host_of(self.path)

    def stem(self, resource: str) -> str:
        """Give the name of a resource's files."""
        return hashlib.sha256(resource.encode()).hexdigest()[:32]

    @contextmanager
    def making(self) -> Iterator[None]:
        """Be the only one that makes or removes memory in this folder."""
        file = _opened(self.path / "making")
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    def leave(self, *, keep: bool = False) -> None:
        """Leave it; the last process of the run takes the folder along, unless it is to be kept."""
        if self._alive < 0:
            return
        with suppress(BlockingIOError):
            fcntl.flock(self._alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not keep:
                _remove(self.path)
        self.abandon()

    def abandon(self) -> None:
        """Close what is open, and do nothing else: this process is a copy that has no part in the run."""
        if self._alive >= 0:
            os.close(self._alive)
            self._alive = -1

    def _enter(self) -> int:
        for attempt in range(_MAX_ENTRIES):
            private(self.base, is_base=True)
            private(self.path)
            # Whoever sweeps may be at the folder just now. Then it is locked, or gone when the lock is there.
            with suppress(FileNotFoundError):
                file = _opened(self.path / "alive")
                with suppress(BlockingIOError, FileNotFoundError):
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    if os.path.samestat(os.fstat(file), os.stat(self.path / "alive")):  # noqa: PTH116
                        return file
                os.close(file)
            time.sleep(0.001 * attempt)
        raise DataProblem("D212", f"the folder `{self.path}` cannot be entered: others lock or remove it all the time")


def sweep(base: Path | None = None, *, older_seconds: float = SWEEP_SECONDS) -> Swept:
    """Remove the memory of runs that have no process on this host, and had none for some time."""
    base = default_base() if base is None else base
    runs = bytes_ = 0
    with suppress(OSError):
        for path in base.iterdir():
            with suppress(OSError):
                found = _sweep_one(path, older_seconds)
                runs += found is not None
                bytes_ += found or 0
    return Swept(runs, bytes_)


def _sweep_one(path: Path, older_seconds: float) -> int | None:
    file = _opened(path / "alive", flags=os.O_RDWR)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        entries = [entry.stat() for entry in path.iterdir()]
        if time.time() - max(entry.st_mtime for entry in entries) < older_seconds:
            return None
        _remove(path)
        return sum(entry.st_blocks * 512 for entry in entries)
    finally:
        os.close(file)


def _remove(path: Path) -> None:
    """Remove the folder of a run, of which this process has `alive` to itself; that file goes last."""
    with suppress(OSError):
        for entry in path.iterdir():
            if entry.name != "alive":
                entry.unlink()
        (path / "alive").unlink()
        path.rmdir()


def _opened(path: Path, *, flags: int = os.O_RDWR | os.O_CREAT) -> int:
    with opening():
        return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _host_of(path: Path) -> str:
    """Name the memory of this host: other processes attach to it if it is theirs by the same name."""
    try:
        boot = _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        boot = socket.gethostname()
    found = path.stat()
    name = f"{boot}:{found.st_dev:x}:{found.st_ino:x}"
    return name if CAN_SHARE else f"{name}:{secrets.token_hex(8)}"


__all__ = ["SWEEP_SECONDS", "Folder", "Presence", "Roll", "Swept", "sweep"]
