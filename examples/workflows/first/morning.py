"""A morning report: the satellite does not answer, so the weather stations take over.

`solvent run morning.py` runs it. The pauses stand for work, so that there is something to watch.
"""

from __future__ import annotations

import time

from solvent import attempt, service, workflow


@service
def list_towns(country: str) -> list[str]:
    """Say which towns the report is about."""
    time.sleep(0.4)
    return {"Portugal": ["Porto", "Lisbon", "Faro"]}[country]


@service
def ask_satellite(towns: list[str]) -> dict[str, int]:
    """Measure the temperatures from above."""
    time.sleep(0.8)
    raise ConnectionError(f"the satellite is behind the horizon and sees none of {len(towns)} towns")


@service
def ask_stations(towns: list[str]) -> dict[str, int]:
    """Measure the temperatures on the ground."""
    time.sleep(0.8)
    return {town: 10 + 2 * len(town) for town in towns}


@service
def check_trains(towns: list[str]) -> list[str]:
    """List the towns to which trains run."""
    time.sleep(0.6)
    return towns[:2]


@service
def write_report(temperatures: dict[str, int], trains: list[str]) -> str:
    """Put everything into words."""
    time.sleep(0.2)
    lines = [f"{town}: {degrees} °C{', by train' if town in trains else ''}" for town, degrees in temperatures.items()]
    return "\n".join(lines)


@workflow
def morning(country: str = "Portugal") -> str:
    """Report weather and trains; whoever can measure the temperatures will do."""
    towns = list_towns(country)
    temperatures = attempt(ask_satellite(towns), otherwise=ask_stations(towns), name="no satellite")
    return write_report(temperatures, check_trains(towns))
