"""A parameter sweep: an epidemic is simulated for every combination of contact rate and recovery rate.

`solvent run sweep.py` runs it; `--processes` spreads the simulations over the processor's cores.
"""

from __future__ import annotations

from solvent.workflow import service, workflow

POPULATION = 10_000
DAYS = 365


@service
def rates(first: float, last: float, count: int) -> list[float]:
    """Give evenly spaced rates."""
    step = (last - first) / (count - 1)
    return [round(first + step * number, 3) for number in range(count)]


@service
def simulate(contact: float, recovery: float, infected: int = 10) -> dict[str, float]:
    """Let an epidemic run for a year; give how many were ill at its peak, and how many in all."""
    healthy, ill, peak = float(POPULATION - infected), float(infected), 0.0
    for _day in range(DAYS):
        new = contact * healthy * ill / POPULATION
        healthy, ill = healthy - new, ill + new - recovery * ill
        peak = max(peak, ill)
    return {"contact": contact, "recovery": recovery, "peak": round(peak), "total": round(POPULATION - healthy)}


@service
def table(runs: list[dict[str, float]], contacts: list[float], recoveries: list[float]) -> str:
    """Set the peaks out: a row for each contact rate, a column for each recovery rate."""
    lines = ["contact " + "".join(f"{recovery:>8}" for recovery in recoveries)]
    for row, contact in enumerate(contacts):
        # The results have the order of the lists, the last list changing fastest.
        cells = runs[row * len(recoveries) : (row + 1) * len(recoveries)]
        lines.append(f"{contact:<8}" + "".join(f"{cell['peak']:>8}" for cell in cells))
    return "\n".join(lines)


@service
def worst(runs: list[dict[str, float]]) -> str:
    """Name the combination with the highest peak."""
    return "peak {peak} at contact {contact}, recovery {recovery}".format(**max(runs, key=lambda run: run["peak"]))


@workflow
def sweep(count: int = 4) -> tuple[str, str]:
    """Simulate each contact rate with each recovery rate."""
    contacts = rates.named("contacts")(0.1, 0.4, count)
    recoveries = rates.named("recoveries")(0.05, 0.2, count)
    runs = simulate.cross(contacts, recoveries, infected=20)
    return table(runs, contacts, recoveries), worst(runs)
