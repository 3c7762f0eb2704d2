"""What several tests of agents share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.runs.agents.flows import store_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from solvent.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give a store in a file."""
    with store_at(tmp_path) as opened:
        yield opened
