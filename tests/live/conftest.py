"""What several live tests share: places with hosts, whose processes and files are gone afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.live.data_hosts import Hosts, hosts
from tests.live.shared_processes import Scene, scene
from tests.live.store_backends import BACK_ENDS, fresh_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.store import Store
    from tests.live.fresh_stores import Fresh


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


@pytest.fixture(scope="module", params=BACK_ENDS)
def fresh(request: pytest.FixtureRequest) -> Iterator[Fresh]:
    """Give a store of each back end in turn."""
    with fresh_store(request.param) as made:
        yield made


@pytest.fixture
def store(fresh: Fresh) -> Iterator[Store]:
    """Give the store, open."""
    with fresh.open() as opened:
        yield opened
