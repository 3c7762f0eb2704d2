"""Small random nestings of patterns do in every order what they mean."""

from __future__ import annotations

from solvent.runs.exploration import explore_workflow
from tests.property.pattern_parts import step
from tests.property.pattern_random import Nesting, nesting, seeds_from

SEEDS = range(12)
MAX_TASKS = 6
MAX_STATES = 60
MIN_COMPLETE = 7
KINDS = frozenset(
    "row choice loop replaced all some merged open threads apart locked cancel first deferred instances".split()  # noqa: SIM905
)


def small(seed: str) -> Nesting:
    """Give a small nesting; none has a workflow inside, which cannot be explored."""
    return nesting(seed, MAX_TASKS, depth=2, sleeps=0.0, kinds=KINDS)


def test_nestings_mean_the_same_in_every_order() -> None:
    """In every state that can be reached nobody has started too early, and every end is the one that is meant."""
    seeds = [*seeds_from(SEEDS)]
    complete = 0
    for seed in seeds:
        one = small(seed)
        orders = explore_workflow(one.workflow, services={"step": step}, max_states=MAX_STATES)
        # Of those that have more states the first ones are looked at.
        complete += orders.is_complete
        assert one.disorders(orders) == [], one.told()
        assert not orders.is_complete or orders.finals, one.told()
    assert complete >= MIN_COMPLETE or len(seeds) < len(SEEDS)
