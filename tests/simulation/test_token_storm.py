"""A group around a token, in all weathers."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from tests.simulation.token_storm import MANY, storm
from tests.soak_size import fresh_seeds

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def cleared() -> Iterator[None]:
    """Free the memory of a run: it and its users know each other, and the collector comes rarely."""
    yield
    gc.collect()


@pytest.mark.parametrize("seed", range(12))
def test_few_nodes_in_a_storm(seed: int) -> None:
    """Whatever happens, all hear the same in the same order, and all are served in the end."""
    run = storm(seed, 5)
    assert run.counts.crashes
    assert run.environment.locked  # type: ignore[attr-defined]


def test_many_nodes_in_a_storm() -> None:
    """So do many."""
    assert storm(3, 40, wishes=30, during_ms=8_000).counts.crashes


@pytest.mark.soak
@pytest.mark.parametrize("seed", fresh_seeds(8))
def test_a_thousand_nodes_in_a_storm(seed: int) -> None:
    """So do a thousand."""
    assert storm(seed, 1_000, **MANY).counts.crashes


@pytest.mark.soak
@pytest.mark.parametrize("seed", fresh_seeds(200))
def test_few_nodes_in_many_storms(seed: int) -> None:
    """However often one tries."""
    storm(seed, 3 + seed % 8)
