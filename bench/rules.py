"""What idle rules cost: the same molecules with ten rules and with a thousand, of which ten can match.

Rule k adds up the tuples that begin with the symbol Tk; there are molecules for the first ten symbols only.

    python -m bench.rules [--format json]
"""

import argparse
import importlib
import json
import time
from typing import Any

from bench.options import read_options

FEW, MANY = 10, 1_000
MOLECULES = 20_000
ROUNDS = 7


def program_text(rules: int) -> str:
    """Write the program with that many rules."""
    lets = [
        f"let sum{index} = replace T{index} : x::int, T{index} : y::int by T{index} : (x + y) in"
        for index in range(rules)
    ]
    names = ", ".join(f"sum{index}" for index in range(rules))
    return "\n".join([*lets, f"<{names}>"])


def seconds_of_run(solvent: Any, program: Any, count: int) -> float:
    """Fill a fresh solution and run it; give the CPU time."""
    molecules = [(solvent.hocl.Symbol(f"T{number % FEW}"), number) for number in range(count)]
    solution = program.solution()
    before = time.process_time()
    solution.extend(molecules)
    outcome = solvent.hocl.react(solution)
    seconds = time.process_time() - before
    assert outcome.reactions == count - FEW, outcome.reactions
    return seconds


def measure(count: int, rounds: int) -> dict[str, float]:
    """Take the best of several rounds of each, in turns."""
    solvent: Any = importlib.import_module("solvent")
    programs = {rules: solvent.hocl.parse(program_text(rules)) for rules in (FEW, MANY)}
    best = dict.fromkeys(programs, float("inf"))
    for _ in range(rounds):
        for rules, program in programs.items():
            best[rules] = min(best[rules], seconds_of_run(solvent, program, count))
    return {"ratio": best[MANY] / best[FEW], "seconds_few": best[FEW], "seconds_many": best[MANY]}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.rules", description=__doc__.splitlines()[0])
    parser.add_argument("--molecules", type=int, default=MOLECULES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--format", choices=("table", "json"), default="table")
    options = read_options(parser, molecules=100, rounds=1)
    figures = measure(options.molecules, options.rounds)
    if options.format == "json":
        print(json.dumps(figures))
    else:
        few, many = (f"{figures[key] * 1e3:.2f} ms" for key in ("seconds_few", "seconds_many"))
        print(f"{FEW} rules {few}, {MANY} rules {many}, {figures['ratio']:.2f} times")


if __name__ == "__main__":
    main()
