"""Processes of spaces for tests: on hosts that are folders, told what to do, stopped and killed."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import solvent
from solvent.handover.data import Store
from solvent.net.private_folder import MEMORY
from tests.live.data_hosts import Child

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.handover import BlockingHandle, Opening

# Processes of one test share two busy processors with others: with less, one that lives is taken for dead.
PATIENCE = 2.0
MAX_SECONDS = 200.0


class Scene:
    """Some hosts, each a folder of its own, and the processes on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._children = list[Child]()

    def space(self, host: str = "here", **options: Any) -> Opening:
        """Give a space, for a process of a host."""
        settings: dict[str, Any] = {"folder": self.folder / host, "patience": PATIENCE, "secret": b"of the tests"}
        return solvent.shared.join("test", **settings | options)

    def store(self, host: str = "here") -> Store:
        """Give the data of a host, for somebody who does not ask for the lock."""
        return Store("test", secret=b"of the tests", address=None, folder=self.folder / host)

    def start(self, work: Callable[[Callable[[str], None]], None]) -> Child:
        """Start a process; it can say lines."""
        child = Child(work)
        self._children.append(child)
        return child

    def serve(self, host: str = "here", **options: Any) -> tuple[Child, str]:
        """Start a process that takes part and does nothing; give its address, too."""

        def work(say: Callable[[str], None]) -> None:
            with self.space(host, **options) as space:
                say(space.address)
                time.sleep(MAX_SECONDS)

        child = self.start(work)
        return child, child.hear()

    def holder(self, host: str = "here", *, content: bytes = b"", then: str = "", **options: Any) -> Child:
        """Start a process that has the resource `m`, has written to it, and waits to be killed.

        With `then`, it has released what it wrote first, and written that next. On other hosts it finds it made.
        """

        def work(say: Callable[[str], None]) -> None:
            size = None if "join" in options else 100
            with self.space(host, **options) as space, space.handle("m", size=size) as handle:
                view = handle.acquire(timeout=MAX_SECONDS)
                view[: len(content)] = content
                if then:
                    handle.release()
                    handle.acquire(timeout=MAX_SECONDS)[: len(then)] = then.encode()
                say("holds")
                time.sleep(MAX_SECONDS)

        child = self.start(work)
        assert child.hear() == "holds"
        return child

    def remove(self, host: str) -> None:
        """Remove the memory of a host whose processes are dead."""
        shutil.rmtree(self.folder / host)

    def close(self) -> None:
        """Kill all that are left."""
        for child in self._children:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(child.number, signal.SIGKILL)
                os.waitpid(child.number, 0)


@contextmanager
def scene() -> Iterator[Scene]:
    """Make a place for hosts, in memory where the system has such a place."""
    root = MEMORY if MEMORY.is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="solvent-test-", dir=root))
    some = Scene(folder)
    try:
        yield some
    finally:
        some.close()
        shutil.rmtree(folder, ignore_errors=True)


def count(handle: BlockingHandle, times: int = 1) -> None:
    """Count in a resource, so many times."""
    for _ in range(times):
        view = handle.acquire(timeout=MAX_SECONDS)
        view[:8] = (int.from_bytes(view[:8], "little") + 1).to_bytes(8, "little")
        handle.release()


def counted(handle: BlockingHandle) -> int:
    """Tell how far it was counted."""
    view = handle.acquire("read", timeout=MAX_SECONDS)
    number = int.from_bytes(view[:8], "little")
    handle.release()
    return number


def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, but not for ever."""
    end = time.monotonic() + MAX_SECONDS
    while not is_so():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.01)
