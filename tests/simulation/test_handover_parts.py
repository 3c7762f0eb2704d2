"""Parts of one resource that are counted in on several hosts while processes are killed, from seeds."""

from __future__ import annotations

import pytest

from solvent.errors import SolventError
from solvent_lab.broken.handover import PARTS
from tests.simulation.handover_parts import counted
from tests.soak_size import fresh_seeds

MAX_SEEDS = 40


@pytest.mark.parametrize("seed", range(6))
def test_no_count_is_lost(seed: int) -> None:
    """Each that was released is there, once, wherever it is looked at, also where the token was lost with a process."""
    world = counted(seed)
    assert world.granted >= 10
    assert world.repairs >= 1
    assert world.fetched >= 5


def test_tokens_are_lost_in_some_runs() -> None:
    """Else nothing would be shown of what must be known without it."""
    assert any(counted(seed).lost_tokens for seed in range(6))


@pytest.mark.parametrize("name", PARTS)
def test_a_repair_that_overlooks_parts_is_caught(name: str) -> None:
    """Each broken one loses a count, or what a claim needs, in one run or another."""
    with PARTS[name].applied():
        assert any(_is_caught(seed) for seed in range(MAX_SEEDS))


@pytest.mark.parametrize("wrong, first", [("keeps-it", 0), ("too-late", 0), ("not-barred", 176)])
def test_users_that_bring_parts_wrongly_are_caught(wrong: str, first: int) -> None:
    """A part must be with the data before its claim is over, and be there when a repair looks, or not at all."""
    assert any(_is_caught(seed, wrong) for seed in (first, *range(MAX_SEEDS)))


@pytest.mark.soak
@pytest.mark.parametrize("seed", fresh_seeds(80))
def test_no_count_is_lost_in_many_runs(seed: int) -> None:
    """The same, longer, with more processes."""
    assert counted(seed, 14 + seed % 12, during_ms=6_000).granted >= 10


def _is_caught(seed: int, wrong: str = "") -> bool:
    try:
        counted(seed, wrong=wrong)
    except (SolventError, AssertionError):
        return True
    return False
