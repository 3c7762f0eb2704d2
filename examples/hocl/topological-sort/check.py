"""Which final states are legal: every task once, each after all it waits for."""

from __future__ import annotations

import solvent

WAITS_FOR = {
    "shirt": [],
    "socks": [],
    "trousers": ["shirt"],
    "shoes": ["socks", "trousers"],
    "belt": ["trousers"],
    "coat": ["shirt", "belt"],
}


def is_final(solution: solvent.hocl.Solution) -> bool:
    """Say whether the order has each task once and after its earlier ones."""
    parts = [solvent.hocl.python_from_molecule(one) for one in solution if isinstance(one, tuple)]
    if len(parts) != 1:
        return False
    _, order = parts[0]
    return sorted(order) == sorted(WAITS_FOR) and all(
        order.index(earlier) < order.index(task) for task in order for earlier in WAITS_FOR[task]
    )
