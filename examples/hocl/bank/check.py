"""Which final states are legal: money is conserved, nobody is overdrawn, no transfer could still happen."""

from __future__ import annotations

import solvent

TOTAL = 120
TRANSFERS = {
    ("Ada", "Bob", 70),
    ("Ada", "Cyd", 60),
    ("Bob", "Cyd", 80),
    ("Bob", "Ada", 10),
    ("Cyd", "Bob", 30),
    ("Cyd", "Bob", 200),
}
AT_START = {"Ada": 100, "Bob": 20, "Cyd": 0}


def is_final(solution: solvent.hocl.Solution) -> bool:
    """Say whether the balances follow from the transfers that are gone and those left are impossible."""
    parts = [solvent.hocl.python_from_molecule(one) for one in solution if isinstance(one, tuple)]
    balances = {name: balance for kind, name, balance, *_ in parts if kind is solvent.hocl.Symbol("ACCOUNT")}
    left = {tuple(rest) for kind, *rest in parts if kind is solvent.hocl.Symbol("TRANSFER")}
    expected = dict(AT_START)
    for giver, taker, amount in TRANSFERS - left:
        expected[giver] -= amount
        expected[taker] += amount
    return (
        left <= TRANSFERS
        and balances == expected
        and sum(balances.values()) == TOTAL
        and min(balances.values()) >= 0
        and all(balances[giver] < amount for giver, _, amount in left)
    )
