"""A real browser for tests: Chromium of this machine, without a window. Where there is none, tests are skipped."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


@contextmanager
def browser() -> Iterator[Browser]:
    """Give a browser; skip the test where there is none."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("there is no Chromium on this machine, so nobody looks at the page")
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed, so nobody looks at the page")
    with api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield made
        finally:
            made.close()
