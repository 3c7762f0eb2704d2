"""The simulators' own share of the cost of a message: `python -m bench.protocols.simulator`.

An echo machine does nothing but send each message back, and what it costs by itself is measured too. The difference is
what the simulator adds to every message, in nanoseconds and in calls of an empty Python function, both measured in the
same run, alternately, since the machine it runs on may be busy.
"""

import argparse
import json
import sys
from time import process_time
from typing import TYPE_CHECKING, Any

from rich.table import Table

from bench.options import read_options
from bench.report import console_for_output
from solvent.protocols.machine import Effects, Event, NodeId, Received, Send
from solvent_lab.simulator.discrete import DiscreteRun
from solvent_lab.simulator.environment import Environment
from solvent_lab.simulator.timed import TimedRun

if TYPE_CHECKING:
    from collections.abc import Callable

NODES = (250, 10_000)
_CALLS = 200_000


class Echo:
    """Sends every message back; each node begins with two messages to others."""

    def __init__(self, me: int, nodes: int) -> None:
        self.others = NodeId((7 * me + 1) % nodes), NodeId((5 * me + 3) % nodes)

    def start(self, *_: Any) -> tuple[int, Effects]:
        """Send the first two."""
        return 0, tuple(Send(other, number) for number, other in enumerate(self.others))

    def step(self, state: int, event: Event) -> tuple[int, Effects]:
        """Send it back."""
        assert type(event) is Received
        return state, (Send(event.sender, event.message),)


def nothing() -> None:
    """Be an empty function."""


def empty_call() -> float:
    """Measure a call of an empty function, in seconds."""
    started = process_time()
    for _ in range(_CALLS):
        nothing()
    return (process_time() - started) / _CALLS


def echo_alone() -> float:
    """Measure a step of the echo machine, in seconds."""
    machine, event = Echo(0, 2), Received(NodeId(1), 0)
    step = machine.step
    state = 0
    started = process_time()
    for _ in range(_CALLS):
        state, _effects = step(state, event)
    return (process_time() - started) / _CALLS


def discrete(nodes: int, messages: int) -> float:
    """Measure a message in discrete steps, in seconds."""
    run = DiscreteRun([Echo(node, nodes) for node in range(nodes)], Environment(), seed=1)
    run.run(1)
    before, started = run.received, process_time()
    run.run(1 + max(1, messages // (2 * nodes)))
    return (process_time() - started) / (run.received - before)


def timed(nodes: int, messages: int) -> float:
    """Measure a message on a clock, without faults, in seconds."""
    run = TimedRun([Echo(node, nodes) for node in range(nodes)], Environment(), seed=1, max_history=0)
    run.run(max_events=2 * nodes)
    before, started = run.counts.received, process_time()
    run.run(max_events=2 * nodes + messages)
    return (process_time() - started) / (run.counts.received - before)


def measure(repeats: int, messages: int) -> dict[str, float]:
    """Measure everything alternately and give the best time of each, in nanoseconds."""
    cells: dict[str, Callable[[], float]] = {"empty call": empty_call, "echo alone": echo_alone}
    for nodes in NODES:
        cells[f"discrete, {nodes:,} nodes"] = lambda nodes=nodes: discrete(nodes, messages)  # type: ignore[misc]
        cells[f"timed, {nodes:,} nodes"] = lambda nodes=nodes: timed(nodes, messages // 4)  # type: ignore[misc]
    found = dict.fromkeys(cells, float("inf"))
    for _ in range(repeats):
        for name, cell in cells.items():
            found[name] = min(found[name], cell() * 1e9)
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.protocols.simulator", description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3, help="rounds, of which the best counts (3)")
    parser.add_argument("--messages", type=int, default=100_000, help="messages of a run (100,000)")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    options = read_options(parser, repeats=1, messages=1_000)
    found = measure(options.repeats, options.messages)
    empty, echo = found["empty call"], found["echo alone"]
    if options.format == "json":
        print(json.dumps({name: round(value, 1) for name, value in found.items()}))
        return 0
    table = Table(title="A message of the echo machine")
    for title in ("", "ns", "empty calls", "simulator's share: ns", "empty calls"):
        table.add_column(title, justify="right" if title else "left")
    for name, value in found.items():
        share = (
            () if name in ("empty call", "echo alone") else (f"{value - echo:,.0f}", f"{(value - echo) / empty:.1f}")
        )
        table.add_row(name, f"{value:,.0f}", f"{value / empty:.1f}", *share)
    console_for_output().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
