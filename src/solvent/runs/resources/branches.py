"""The part that a process has in the space of a run: one for each run, made when it is first needed.

A worker process may serve many runs, one after the other; when it gets to a new one, it leaves the spaces of those for
which it has nothing more to do.
"""

from __future__ import annotations

import atexit
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from solvent.handover import join

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from solvent.handover import BlockingHandle
    from solvent.runs.resources.lending import Estate
    from solvent.workflows.model import Resource


MAX_READ_SECONDS = 2.0
"""How long to wait, at the end of a run, for a function that was given up and still runs."""


class Branch:
    """The space of a run, as one process has it."""

    def __init__(self, estate: Estate, *, is_main: bool) -> None:
        self.is_main = is_main
        self.loans_count = 0
        self._opening = join(estate.space, secret=estate.secret)
        self._space = self._opening.__enter__()
        self._guard = threading.Lock()
        # A handle that is kept keeps the process in the resource's lock: the next call need not enter it again.
        self._idle: dict[str, list[BlockingHandle]] = {}

    def take(self, resource: Resource) -> BlockingHandle:
        """Give a handle that nobody else uses."""
        with self._guard:
            self.loans_count += 1
            idle = self._idle.setdefault(resource.name, [])
            if idle:
                return idle.pop()
        size, file = resource.bytes_count, str(resource.file) or None
        return self._space.handle(resource.name, size=size, file=file, keep_last=resource.undo).create()

    def give(self, name: str, handle: BlockingHandle) -> None:
        """Take a handle back."""
        with self._guard:
            self.loans_count -= 1
            self._idle[name].append(handle)

    def make(self, resource: Resource) -> None:
        """Have the data made."""
        handle = self.take(resource)
        try:
            handle.acquire()
            handle.release()
        finally:
            self.give(resource.name, handle)

    @contextmanager
    def reading(self, resource: Resource) -> Iterator[Path]:
        """Have the data to read, and give the path of its bytes; `TimeoutError` if somebody does not give it back."""
        handle = self.take(resource)
        try:
            handle.acquire("read", timeout=MAX_READ_SECONDS)
            yield path_of(handle)
        finally:
            handle.withdraw()
            self.give(resource.name, handle)

    def close(self) -> None:
        """Leave the space."""
        self._opening.__exit__(None, None, None)


def path_of(handle: BlockingHandle) -> Path:
    """Give the file of the bytes that a handle holds."""
    path = handle.path
    assert path is not None
    return path


_guard = threading.RLock()
_branches: dict[str, Branch] = {}


def branch_of(estate: Estate, *, is_main: bool = False) -> Branch:
    """Give the part of this process in the space of a run."""
    with _guard:
        if estate.space not in _branches:
            for name in [name for name, one in _branches.items() if not one.is_main and not one.loans_count]:
                _branches.pop(name).close()
            _branches[estate.space] = Branch(estate, is_main=is_main)
        return _branches[estate.space]


def close_branch(name: str) -> None:
    """Leave the space of a run, if this process is in it."""
    with _guard:
        found = _branches.pop(name, None)
    if found is not None:
        found.close()


@atexit.register
def _close_all() -> None:
    for name in list(_branches):
        close_branch(name)


__all__ = ["Branch", "branch_of", "close_branch", "path_of"]
