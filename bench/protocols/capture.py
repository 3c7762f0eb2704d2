"""What a simulated message of capture costs: `python -m bench.protocols.capture`.

The paper's adaptive protocol is simulated with 250 and with 10,000 nodes and 15,000 molecules. The two simulations and
calls of an empty Python function take turns every few hundredths of a second, since the machine may be busy with
something else, and all times are the processor's. With 10,000 nodes a run of the first forty steps goes through
optimism, the switch and pessimism; runs with 250 nodes are begun anew until as many messages have been sent.

Demanded: a message costs at 10,000 nodes at most 1.5 times what it costs at 250, and at most 150 empty calls. With
`--strict` the exit code is 2 when one of them is missed. (`better` is not measured here: it sends a sixth of the
messages and a whole run takes half the time, but each of its messages does the work of several.)
"""

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import count
from time import process_time

from rich.table import Table

from bench.options import read_options
from bench.protocols.simulator import empty_call
from bench.report import console_for_output
from solvent_lab.simulator.capture import Setup, prepared

FEW, MANY = 250, 10_000
MAX_RATIO, MAX_CALLS = 1.5, 150
_SLICE = 20_000


class Cost:
    """Messages, and the time they took."""

    def __init__(self) -> None:
        self.messages = 0
        self.seconds = 0.0

    @property
    def each(self) -> float:
        """The seconds of one message."""
        return self.seconds / self.messages


def slices(setup: Setup, seed: int, cost: Cost, max_steps: int) -> Iterator[None]:
    """Run once, in slices of some messages each."""
    run, world, _ = prepared(setup, seed)
    while run.step < max_steps and not world.is_over():
        before, started = run.sent, process_time()
        while run.sent < before + _SLICE and run.step < max_steps and not world.is_over():
            run.run(run.step + 1)
        cost.seconds += process_time() - started
        cost.messages += run.sent - before
        yield


def slices_of_many(setup: Setup, cost: Cost) -> Iterator[None]:
    """Run again and again, with one seed after the other."""
    for seed in count(1):
        yield from slices(setup, seed, cost, setup.limit)


def measure(steps: int) -> dict[str, float]:
    """Let both simulations and empty calls take turns, and give what each costs, in nanoseconds."""
    few, many, calls = Cost(), Cost(), []
    small = slices_of_many(Setup(nodes=FEW), few)
    for _ in slices(Setup(nodes=MANY), 1, many, steps):
        calls.append(empty_call())
        while few.messages < many.messages:
            next(small)
    return {
        "empty_call_ns": 1e9 * sum(calls) / len(calls),
        "few_ns": 1e9 * few.each,
        "many_ns": 1e9 * many.each,
        "messages": many.messages,
        "ratio": many.each / few.each,
        "calls": max(few.each, many.each) * len(calls) / sum(calls),
    }


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(prog="python -m bench.protocols.capture", description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=40, help=f"steps of the run with {MANY:,} nodes (40)")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--strict", action="store_true", help="exit with 2 when a demand is missed")
    options = read_options(parser, steps=1)
    found = measure(options.steps)
    is_met = found["ratio"] <= MAX_RATIO and found["calls"] <= MAX_CALLS
    if options.format == "json":
        print(json.dumps({name: round(value, 3) for name, value in found.items()} | {"met": is_met}))
    else:
        table = Table(title=f"A simulated message, over {found['messages']:,.0f}")
        for title in ("", "ns", "empty calls", "demand"):
            table.add_column(title, justify="right" if title else "left")
        empty = found["empty_call_ns"]
        table.add_row("empty call", f"{empty:,.0f}", "1", "")
        for nodes, name in ((FEW, "few_ns"), (MANY, "many_ns")):
            table.add_row(f"{nodes:,} nodes", f"{found[name]:,.0f}", f"{found[name] / empty:.0f}", f"<= {MAX_CALLS}")
        table.add_row(f"{MANY:,} to {FEW}", f"{found['ratio']:.2f} times", "", f"<= {MAX_RATIO}")
        console_for_output().print(table)
        print("met" if is_met else "missed")
    return 0 if is_met or not options.strict else 2


if __name__ == "__main__":
    sys.exit(main())
