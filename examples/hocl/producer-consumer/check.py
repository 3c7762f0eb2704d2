"""Which final states are legal: everything made was taken, once, and the buffer is empty."""

from __future__ import annotations

import solvent

MADE = [1, 2, 3, 4, 5, 6]
SLOTS = 3


def is_final(solution: solvent.hocl.Solution) -> bool:
    """Say whether the two consumers together have taken each item once."""
    parts = [solvent.hocl.python_from_molecule(one) for one in solution if isinstance(one, tuple)]
    taken = {part[1]: part[2] for part in parts if part[0] is solvent.hocl.Symbol("CONSUMER")}
    return (
        set(taken) == {"left", "right"}
        and sorted(taken["left"] + taken["right"]) == MADE
        and solution.count(solvent.hocl.Symbol("SLOT")) == SLOTS
        and (solvent.hocl.Symbol("MAKE"), len(MADE) + 1) in parts
        and not any(kind is solvent.hocl.Symbol("ITEM") for kind, *_ in parts)
    )
