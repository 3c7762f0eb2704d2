"""A look-up with several providers, one of which is out of order."""

from __future__ import annotations

from solvent.hocl import Symbol

FAILED = Symbol("FAILED")
BROKEN_PROVIDER = "north"
POPULATION = {"Bern": 134_591, "Oslo": 709_037, "Rome": 2_872_800, "Turin": 847_622}


def look_up(provider: str, city: str) -> int | Symbol:
    """Give the population of a city, or FAILED: the broken provider knows only the cities before N."""
    if provider == BROKEN_PROVIDER and city > "N":
        return FAILED
    return POPULATION[city]
