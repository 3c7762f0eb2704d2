"""What all parts of the page share: the store, the secret, and whether the server is stopping."""

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
    """One page: its store, its secret, and what has to be closed with it."""

    def __init__(
        self,
        url: str,
        *,
        shown: str = "",
        secret: str = "",
        hosts: frozenset[str] = frozenset(),
        folders: tuple[Path, ...] = (),
        status_folder: Path | None = None,
    ) -> None:
        """Describe a page.

        `url` is that of the store, `shown` its text on the page; with a `secret`, whoever knows it may cancel runs.
        `hosts` are the names of the page besides addresses and `localhost`. `folders` are those of programs over nodes
        besides the ones that are found; in `status_folder` rings and shared data write their status.
        """
        self.folders = folders
        self.status_folder = status_folder or usual_folder()
        self.url = url
        self.shown = shown or url
        self.hosts = hosts
        self.is_stopping = asyncio.Event()
        self._secret = secret
        self._store: Store | None = None
        self._guard = threading.Lock()
        self._endings: list[Callable[[], None]] = []

    @property
    def has_control(self) -> bool:
        """Whether runs can be cancelled from the page."""
        return bool(self._secret)

    def is_secret(self, text: str) -> bool:
        """Return whether a text is the secret, in a time that does not depend on the text."""
        return self.has_control and hmac.compare_digest(text.encode(), self._secret.encode())

    def store(self) -> Store | None:
        """Return the store, or `None` while there is none: looking at runs does not create it."""
        with self._guard:
            if self._store is None:
                with suppress(NoStore):
                    self._store = open_store(self.url, is_made=False)
            return self._store

    def at_end(self, ending: Callable[[], None]) -> None:
        """Call a function when the page is closed."""
        self._endings.append(ending)

    def close(self) -> None:
        """Stop what runs in the background, and close the store."""
        for ending in self._endings:
            ending()
        with self._guard:
            if self._store is not None:
                self._store.close()
                self._store = None


__all__ = ["Site"]
