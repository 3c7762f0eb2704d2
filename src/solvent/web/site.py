"""What all parts of the page share: where runs are, who may change something, and whether it is time to end."""

from __future__ import annotations

import asyncio
import hmac
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from solvent.errors import NoStore
from solvent.net.status_files import usual_folder
from solvent.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from solvent.store import Store


class Site:
    """One page: its store, its secret, and those who listen."""

    def __init__(
        self,
        url: str,
        *,
        shown: str = "",
        secret: str = "",
        hosts: frozenset[str] = frozenset(),
        folders: tuple[Path, ...] = (),
        board: Path | None = None,
    ) -> None:
        """`url` is where runs are, `shown` how that is said; with a `secret`, who knows it may control runs.

        `hosts` are names by which the page may be asked for, besides addresses and `localhost`; `folders` are those of
        runs of programs over nodes, besides those that are found; `board` is where rings and shared data tell how
        they are.
        """
        self.folders = folders
        self.board = board or usual_folder()
        self.url = url
        self.shown = shown or url
        self.hosts = hosts
        self.is_stopping = asyncio.Event()
        self._secret = secret
        self._store: Store | None = None
        self._opening = threading.Lock()
        self._endings: list[Callable[[], None]] = []

    @property
    def has_control(self) -> bool:
        """Whether anybody may change anything."""
        return bool(self._secret)

    def knows(self, secret: str) -> bool:
        """Tell whether that is the secret; how long it takes says nothing about it."""
        return self.has_control and hmac.compare_digest(secret.encode(), self._secret.encode())

    def store(self) -> Store | None:
        """Give the store; nothing while it is not there, since looking at runs makes none."""
        with self._opening:
            if self._store is None:
                with suppress(NoStore):
                    self._store = open_store(self.url, is_made=False)
            return self._store

    def at_end(self, ending: Callable[[], None]) -> None:
        """Have something done when the page ends."""
        self._endings.append(ending)

    def close(self) -> None:
        """End all that goes on, and let the store go."""
        for ending in self._endings:
            ending()
        with self._opening:
            if self._store is not None:
                self._store.close()
                self._store = None


__all__ = ["Site"]
