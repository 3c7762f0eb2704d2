"""Fresh spaces for tests, one for each back end, and processes that write to them."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.live.space import Space, open_space
from tests.live.data_hosts import Child

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS_MAX = 200.0
_COUNT = itertools.count(1)


class Fresh:
    """A space of its own for a test, which may open it several times, and processes that have it open, too."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._spaces = list[Space]()
        self._children = list[Child]()

    def open(self, **options: Any) -> Space:
        """Open it."""
        space = open_space(self.url, **options)
        self._spaces.append(space)
        return space

    def start(self, work: Callable[[Space, Callable[[str], None]], None], **options: Any) -> Child:
        """Start a process that has it open, and can say lines."""

        def life(say: Callable[[str], None]) -> None:
            with open_space(self.url, **options) as space:
                work(space, say)

        child = Child(life)
        self._children.append(child)
        return child

    def close(self) -> None:
        """End all."""
        for child in self._children:
            with suppress(OSError):
                os.kill(child.number, signal.SIGKILL)
                os.waitpid(child.number, 0)
        for space in self._spaces:
            space.close()


@contextmanager
def fresh_file() -> Iterator[Fresh]:
    """Make a space in a file."""
    folder = Path(tempfile.mkdtemp(prefix="solvent-test-"))
    fresh = Fresh(str(folder / "space.db"))
    try:
        yield fresh
    finally:
        fresh.close()
        shutil.rmtree(folder, ignore_errors=True)


def fresh_part() -> str:
    """Give a part of a name that no other test or example has used."""
    return f"part{next(_COUNT)}"
