"""How much `make soak` does, and from which seeds.

At its usual size it takes less than an hour on two cores, so that it is really run. `make soak SOAK=10` does ten times
as much. Each run has other seeds; `SOAK_SEED`, which `make` prints, gives those of an earlier one.
"""

from __future__ import annotations

import os

FACTOR = float(os.environ.get("SOAK", "1"))
FIRST_SEED = int(os.environ.get("SOAK_SEED", "1000"))


def scaled(count: int) -> int:
    """Return how many to do, of something that is done `count` times at the usual size."""
    return max(1, round(count * FACTOR))


def fresh_seeds(count: int) -> range:
    """Return seeds that no earlier run had, `count` at the usual size."""
    return range(FIRST_SEED, FIRST_SEED + scaled(count))


__all__ = ["fresh_seeds", "scaled"]
