"""Chaos runs: processes share data by handover while some of them are killed.

Reading order: ledger (the data), worker (one process), run (all of them).
"""

__all__: list[str] = []
