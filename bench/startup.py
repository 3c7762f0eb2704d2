"""What starting costs: `solvent run` on a trivial program beside `python3 -c "import json"`.

The two are run in turns, and the medians of their CPU times, user and system, are compared.

    python -m bench.startup [--format json]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.options import read_options

ROUNDS = 25
PROGRAM = "let max = replace x, y by x if x >= y in <2, 3, 5, 8, 9, max>\n"


def solvent_command() -> list[str]:
    """Find the command beside this Python, or else run the package."""
    script = Path(sys.executable).with_name("solvent")
    return [str(script)] if script.exists() else [sys.executable, "-m", "solvent"]


def cpu_seconds_of(command: list[str]) -> float:
    """Run a command to its end; give the CPU time it took."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        message = f"{' '.join(command)} ended with exit code {process.returncode}"
        raise SystemExit(message)
    return usage.ru_utime + usage.ru_stime


def measure(rounds: int) -> dict[str, float]:
    """Run both in turns, after one round that fills the caches."""
    with tempfile.TemporaryDirectory(prefix="bench-startup-") as folder:
        program = Path(folder) / "trivial.hocl"
        program.write_text(PROGRAM, encoding="utf-8")
        ours = [*solvent_command(), "run", str(program)]
        plain = [sys.executable, "-c", "import json"]
        times: dict[str, list[float]] = {"ours": [], "plain": []}
        for turn in range(rounds + 1):
            for name, command in (("plain", plain), ("ours", ours)):
                seconds = cpu_seconds_of(command)
                if turn:
                    times[name].append(seconds)
    ours_median, plain_median = statistics.median(times["ours"]), statistics.median(times["plain"])
    return {
        "ratio": ours_median / plain_median,
        "seconds_solvent": ours_median,
        "seconds_python": plain_median,
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.startup", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--format", choices=("table", "json"), default="table")
    options = read_options(parser, rounds=1)
    figures = measure(options.rounds)
    if options.format == "json":
        print(json.dumps(figures))
    else:
        ours, plain = (f"{figures[key] * 1e3:.1f} ms" for key in ("seconds_solvent", "seconds_python"))
        print(f"solvent run {ours}, import json {plain}, {figures['ratio']:.2f} times")


if __name__ == "__main__":
    main()
