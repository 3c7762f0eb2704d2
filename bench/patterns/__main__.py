"""The command: `python -m bench.patterns`, from the top of the checkout.

Every shape is run with n, 10n and 100n branches, each in a process of its own; the table gives the processor's time,
the growth exponent between 10n and 100n, and how many times the plain dependencies' time it is. The exit code is 1 if
a run went wrong, and, with `--strict`, 2 if a demand is missed.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys

from rich.table import Table

from bench.options import read_options
from bench.patterns import worker
from bench.patterns.shapes import SHAPES
from bench.report import console_for_output

MAX_EXPONENT = 1.15
DEMANDED = ("synchronization", "discriminator", "multi-merge")


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.patterns", description=__doc__.splitlines()[0])
    parser.add_argument("--branches", type=int, default=100, help="n, the smallest number of branches (100)")
    parser.add_argument("--shapes", default=",".join(SHAPES), help="only these shapes, separated by commas")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each cell, of which the median counts (3)")
    parser.add_argument("--max-seconds", type=float, default=120.0, help="time limit of one run (120)")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--strict", action="store_true", help="exit with 2 when a demand is missed")
    return read_options(parser, branches=1, repeats=1)


def measure(name: str, size: int, repeats: int, max_seconds: float) -> float:
    """Give the median time of a shape."""
    command = [sys.executable, "-m", "bench.patterns.worker", name, str(size)]
    found = []
    for _ in range(repeats):
        done = subprocess.run(command, capture_output=True, text=True, timeout=max_seconds, check=False)
        if done.returncode != 0:
            raise SystemExit(done.stderr.strip() or f"{name} of {size} failed")
        found.append(float(done.stdout))
    return statistics.median(found)


def main() -> int:
    """Measure, print, judge."""
    options = parse_arguments()
    sizes = [options.branches * factor for factor in (1, 10, 100)]
    names = [name for name in SHAPES if name in options.shapes.split(",")]
    # A check needs no process of its own for each cell.
    seconds = worker.main if options.smallest else lambda *cell: measure(*cell, options.repeats, options.max_seconds)
    rows = {name: [seconds(name, size) for size in sizes] for name in names}
    exponents = {name: math.log10(times[-1] / times[-2]) for name, times in rows.items()}
    plain = rows.get("plain")
    if options.format == "json":
        print(json.dumps({"sizes": sizes, "seconds": rows, "exponents": exponents}))
    else:
        table = Table(title="Branches joined by patterns: processor seconds")
        for title in ("shape", *(f"n = {size:,}" for size in sizes), "exponent", "of plain", "demand"):
            table.add_column(title, justify="left" if title == "shape" else "right")
        for name, times in rows.items():
            demand = ""
            if name in DEMANDED:
                verdict = "met" if exponents[name] <= MAX_EXPONENT else "missed"
                demand = f"≤ {MAX_EXPONENT}: {verdict}"
            ratio = f"{times[-1] / plain[-1]:.2f}" if plain else ""
            table.add_row(name, *(f"{one:.3f}" for one in times), f"{exponents[name]:.2f}", ratio, demand)
        console_for_output().print(table)
    is_missed = any(exponents[name] > MAX_EXPONENT for name in DEMANDED if name in exponents)
    return 2 if is_missed and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
