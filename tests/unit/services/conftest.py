"""Fixtures of the tests of services."""

from __future__ import annotations

import pytest

from tests.unit.services.outcomes import Time


@pytest.fixture
def time_(monkeypatch: pytest.MonkeyPatch) -> Time:
    """Give a time of our own to all that measures it."""
    time = Time()
    for module in ("admission", "call", "clock"):
        monkeypatch.setattr(f"solvent.services.{module}.monotonic", time.now)
    return time
