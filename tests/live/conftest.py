"""What several live tests share: places with hosts, whose processes and files are gone afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.live.data_hosts import Hosts, hosts
from tests.live.shared_processes import Scene, scene

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def place() -> Iterator[Scene]:
    """Make hosts whose processes share data."""
    with scene() as some:
        yield some


@pytest.fixture
def machines() -> Iterator[Hosts]:
    """Make hosts with stores of data."""
    with hosts() as some:
        yield some
