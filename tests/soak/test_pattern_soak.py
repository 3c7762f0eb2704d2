"""Thousands of random nestings of patterns, by hand: `make soak`.

The seeds are fresh each time; `NESTING_SEEDS=1000:9000` names them. A failure says
which one it was and how to replay it.
"""

from __future__ import annotations

import random

import pytest

from solvent.runs.exploration import explore_workflow
from tests.property.pattern_parts import step
from tests.property.pattern_random import nesting, seeds_from
from tests.property.test_pattern_orders import small
from tests.soak_size import scaled

pytestmark = pytest.mark.soak

START = random.Random().randrange(10**9)
RUNS = range(START, START + scaled(1_000))
EXPLORED = range(START, START + scaled(50))
MAX_STATES = 500


def test_many_nestings_run_as_they_mean() -> None:
    """Every task of a random nesting runs so often, so late and with such results as the patterns say."""
    print(f"NESTING_SEEDS={RUNS.start}:{RUNS.stop}")
    tasks = 0
    for seed in seeds_from(RUNS):
        one = nesting(seed, 40, depth=5)
        tasks += len(one.builder.tasks)
        assert one.run() == [], f"{one.told('tests/soak -m soak')}"
    print(f"{len(RUNS)} nestings of {tasks} tasks")


def test_many_nestings_mean_the_same_in_every_order() -> None:
    """In every state that can be reached nobody has started too early, and every end is the one that is meant."""
    print(f"NESTING_SEEDS={EXPLORED.start}:{EXPLORED.stop}")
    for seed in seeds_from(EXPLORED):
        one = small(seed)
        orders = explore_workflow(one.workflow, services={"step": step}, max_states=MAX_STATES)
        assert one.disorders(orders) == [], f"{one.told('tests/soak -m soak')}"
