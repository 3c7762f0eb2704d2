"""What an integer molecule costs: a million of them in one solution.

Measured twice in fresh processes: by the growth of resident memory, which counts everything, the integers
too, and by `tracemalloc`, which counts what Python allocated. Each is taken when the molecules are in and
again when a rule that looks at all of them has found nothing to do; the worst figure is `bytes_each`.

    python -m bench.memory [--format json]
"""

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

from bench.options import read_options

MOLECULES = 1_000_000
# Below 257 Python shares integers: begin above, so that each molecule is an object of its own.
FIRST = 1_000
PROGRAM = "let below = replace x::int by x if x < 0 in <below>"


def resident_bytes() -> int:
    """Give the memory that this process holds now."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    # Elsewhere only the peak is known; macOS gives it in bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def traced_bytes() -> int:
    """Give the memory that Python has allocated since tracing began."""
    return tracemalloc.get_traced_memory()[0]


def measure_here(kind: str, count: int) -> dict[str, float]:
    """Fill a solution in this process; give the bytes for each molecule, before and after the run."""
    solvent: Any = importlib.import_module("solvent")
    warm = solvent.hocl.parse(PROGRAM).solution()
    warm.extend([FIRST])
    solvent.hocl.react(warm)
    solution = solvent.hocl.parse(PROGRAM).solution()
    if kind == "traced":
        tracemalloc.start()
    used = traced_bytes if kind == "traced" else resident_bytes
    before = used()
    solution.extend(range(FIRST, FIRST + count))
    filled = used()
    solvent.hocl.react(solution)
    inert = used()
    assert len(list(solution)) >= count
    return {f"{kind}_filled": (filled - before) / count, f"{kind}_inert": (inert - before) / count}


def measure(count: int) -> dict[str, float]:
    """Measure both ways, each in a fresh process."""
    figures: dict[str, float] = {}
    for kind in ("resident", "traced"):
        command = [sys.executable, "-m", "bench.memory", "--here", kind, "--molecules", str(count)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        figures |= json.loads(done.stdout)
    return {"bytes_each": max(figures.values()), **figures}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__.splitlines()[0])
    parser.add_argument("--molecules", type=int, default=MOLECULES)
    parser.add_argument("--here", choices=("resident", "traced"), help="measure in this process, only this way")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    options = read_options(parser, molecules=1_000)
    if options.here:
        print(json.dumps(measure_here(options.here, options.molecules)))
        return
    figures = measure(options.molecules)
    if options.format == "json":
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:>18}: {value:6.1f} bytes")


if __name__ == "__main__":
    main()
