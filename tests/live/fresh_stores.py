"""Fresh stores for tests, one for each back end, and processes that write to them."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.store import Store, open_store
from tests.live.data_hosts import Child

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_SECONDS = 200.0
_COUNT = itertools.count(1)


class Fresh:
    """A store of its own for a test, which may open it several times, and processes that have it open, too."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._stores = list[Store]()
        self._children = list[Child]()

    def open(self, **options: Any) -> Store:
        """Open it."""
        store = open_store(self.url, **options)
        self._stores.append(store)
        return store

    def start(self, work: Callable[[Store, Callable[[str], None]], None], **options: Any) -> Child:
        """Start a process that has it open, and can say lines."""

        def life(say: Callable[[str], None]) -> None:
            with open_store(self.url, **options) as store:
                work(store, say)

        child = Child(life)
        self._children.append(child)
        return child

    def close(self) -> None:
        """End all."""
        for child in self._children:
            with suppress(OSError):
                os.kill(child.number, signal.SIGKILL)
                os.waitpid(child.number, 0)
        for store in self._stores:
            store.close()


@contextmanager
def fresh_file() -> Iterator[Fresh]:
    """Make a store in a file."""
    folder = Path(tempfile.mkdtemp(prefix="solvent-test-"))
    fresh = Fresh(str(folder / "store.db"))
    try:
        yield fresh
    finally:
        fresh.close()
        shutil.rmtree(folder, ignore_errors=True)


def fresh_part() -> str:
    """Give a part of a name that no other test or example has used."""
    return f"part{next(_COUNT)}"
