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


@pytest.mark.parametrize(
    "name, first",
    [("lays_parts_anyhow", 0), ("takes_all_parts_for_new", 1), ("overlooks_gaps", 3), ("wants_all_in_one_memory", 8)],
)
def test_what_is_wrong_about_parts_is_caught(name: str, first: int) -> None:
    """Each broken one loses a count, or what a claim needs, in one run or another."""
    with PARTS[name].applied():
        assert any(_is_caught(seed) for seed in (first, *range(MAX_SEEDS)))


def test_every_broken_one_is_tried() -> None:
    """None is left out above."""
    marks = test_what_is_wrong_about_parts_is_caught.pytestmark  # type: ignore[attr-defined]
    assert {name for name, _ in marks[0].args[1]} == PARTS.keys()


@pytest.mark.soak
@pytest.mark.parametrize("seed", fresh_seeds(80))
def test_no_count_is_lost_in_many_runs(seed: int) -> None:
    """The same, longer, with more processes."""
    assert counted(seed, 14 + seed % 12, during_ms=6_000).granted >= 10


def _is_caught(seed: int) -> bool:
    try:
        counted(seed)
    except (SolventError, AssertionError):
        return True
    return False
