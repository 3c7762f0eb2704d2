"""A real browser without a window, for tests of the page; skipped with a word where there is none."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-default-apps", "--disable-sync", "--no-first-run", "--disable-dev-shm-usage",
]  # fmt: skip
MAX_SECONDS = 200


@contextmanager
def browser() -> Iterator[Browser]:
    """Start a browser."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser test")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("there is no Chromium here: the page is not looked at in a browser")
    with playwright.sync_playwright() as player:
        found = player.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield found
        finally:
            found.close()


class Watched:
    """A page of the browser, and what it has complained of or asked of others."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address.rstrip("/")
        self.problems: list[str] = []
        page.set_default_timeout(MAX_SECONDS * 1000)
        page.on("console", lambda one: self.problems.append(one.text) if one.type == "error" else None)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("request", lambda one: self._see(one.url))

    def _see(self, url: str) -> None:
        if not url.startswith((f"{self.address}/", "data:")):
            self.problems.append(f"asked for {url}")

    def go(self, hash_: str) -> None:
        """Show a part of the page."""
        self.page.goto(f"{self.address}/{hash_}")

    def wait(self, selector: str, *, state: Any = "attached") -> None:
        """Wait until something is there."""
        self.page.wait_for_selector(selector, state=state)


@contextmanager
def looking(browser: Browser, address: str, **options: Any) -> Iterator[Watched]:
    """Open a page; that it did not complain is checked at its end."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
    try:
        watched = Watched(context.new_page(), address)
        yield watched
        assert watched.problems == []
    finally:
        context.close()


__all__ = ["MAX_SECONDS", "Watched", "browser", "looking"]
