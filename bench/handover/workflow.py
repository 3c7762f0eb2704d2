"""A solver's grid, passed on by results and handed over as a resource: `python -m bench.handover.workflow`.

The same chain of steps in two worker processes, each a sweep over the grid, or a change of one row of it. By results
the grid is copied into a pipe and out of it, to the main process and to the next worker. As a resource it stays where
it is; once with the version before kept, so that a step that fails has changed nothing, and once without
(`undo=False`). All take turns in rounds, and the median of the rounds counts; what is printed is the time from one
step to the next.
"""

from __future__ import annotations

import argparse
import math
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

import solvent
from bench.options import read_options
from bench.report import console_for_output
from solvent import resource, service, workflow
from solvent.services import Processes

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 12
WAYS = ("by results", "resource", "resource, no undo")


def relax(grid: Any) -> None:
    """Pull every inner point to the mean of its neighbours."""
    grid[1:-1, 1:-1] = (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]) / 4


def touch(grid: Any) -> None:
    """Change one row."""
    grid[0] += 1.0


WORK: dict[str, Callable[[Any], None]] = {"one row": touch, "a sweep": relax}


@service
def make(side: int) -> Any:
    """Make a grid that is hot at one edge."""
    grid = np.zeros((side, side))
    grid[0] = 100.0
    return grid


@service
def heat(grid: Any) -> None:
    """Heat one edge of a grid."""
    grid[0] = 100.0


@service
def step_copied(grid: Any, work: str) -> Any:
    """Change a grid that came as a result, and pass it on."""
    WORK[work](grid)
    return grid


@service
def step(grid: Any, work: str) -> None:
    """Change a grid in place."""
    WORK[work](grid)


@service
def total_copied(grid: Any) -> float:
    """Sum a grid up."""
    return float(grid.sum())


@service
def total(grid: Any) -> float:
    """Sum a grid up."""
    return float(grid.sum())


@workflow
def by_results(side: int, work: str) -> float:
    """Pass the grid on by results."""
    grid = make(side)
    for _ in range(STEPS):
        grid = step_copied(grid, work)
    return total_copied(grid)


def _handed_over(*, undo: bool) -> Any:
    @workflow
    def handed_over(side: int, work: str) -> float:
        grid = resource("grid", shape=(side, side), undo=undo)
        last = heat(grid)
        for _ in range(STEPS):
            last = step.after(last)(grid, work)
        return total.after(last)(grid.read)

    return handed_over


FLOWS = dict(zip(WAYS, (by_results, _handed_over(undo=True), _handed_over(undo=False)), strict=True))


def measure(flow: Any, side: int, work: str, processes: Processes) -> tuple[float, float]:
    """Run a chain; give the seconds from one step to the next, and what it came to."""
    report = solvent.run(flow, {"side": side, "work": work}, processes=processes)
    assert report.succeeded, report.failures
    begins = sorted(timing.started for name, timing in report.timings.items() if name.startswith("step"))
    (result,) = report.results.values()
    return (begins[-1] - begins[0]) / (STEPS - 1), result


def main() -> None:
    """Measure everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 8, 64], metavar="MIB")
    parser.add_argument("--rounds", type=int, default=3)
    options = read_options(parser, sizes=[1], rounds=1)
    table = Table(title="From one step to the next, in milliseconds (median)")
    for head in ("grid", "step", *WAYS, "results / resource"):
        table.add_column(head, justify="right")
    processes = Processes(jobs=2)
    try:
        for way, flow in FLOWS.items():
            print(f"warming up: {way}")
            measure(flow, 10, "one row", processes)
        for mebibytes in options.sizes:
            side = math.isqrt((mebibytes << 20) // 8)
            for work in WORK:
                found: dict[str, list[float]] = {way: [] for way in WAYS}
                ends = set()
                for _ in range(options.rounds):
                    for way, flow in FLOWS.items():
                        seconds, result = measure(flow, side, work, processes)
                        found[way].append(seconds)
                        ends.add(round(result, 3))
                assert len(ends) == 1, f"the ways came to different ends: {ends}"
                middle = [median(found[way]) for way in WAYS]
                cells = [f"{1000 * seconds:.2f}" for seconds in middle]
                table.add_row(f"{mebibytes} MiB", work, *cells, f"{middle[0] / middle[1]:.1f}")
    finally:
        processes.close()
    console_for_output().print(table)


if __name__ == "__main__":
    main()
