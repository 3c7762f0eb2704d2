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
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import socket
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from solvent.errors import DataProblem
from solvent.handover.data.locks import CAN_SHARE
from solvent.handover.data.opening import opening
from solvent.net.private_folder import default_base, private
from solvent.protocols.machine import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

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


__all__ = ["SWEEP_SECONDS", "Folder", "Swept", "sweep"]
