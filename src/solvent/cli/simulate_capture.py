"""`solvent simulate capture`: molecules on many nodes, all nodes trying to react them, in discrete steps."""

from __future__ import annotations

from argparse import ArgumentTypeError
from functools import partial
from statistics import mean
from typing import TYPE_CHECKING, Any

from solvent.cli.loading import at_least
from solvent.simulation.capture import PROTOCOLS, Setup, simulate

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterator, Sequence

SAYS = "Take molecules that lie on many nodes, two at a time, until none is left: the paper's Experiment 1."
EXAMPLE = "solvent simulate capture --nodes 250 --molecules 15000 --runs 20 --protocol better"
_RUNS = 20


def add_options(parser: ArgumentParser) -> None:
    """Add what can be said about the nodes and what they do."""
    usual = Setup()
    add = parser.add_argument
    add("--nodes", type=at_least(1), default=usual.nodes, metavar="N", help="(default: %(default)s)")
    add("--molecules", type=at_least(0), default=usual.molecules[0], metavar="M", help="(default: %(default)s)")
    add("--protocol", choices=PROTOCOLS, default=usual.protocol, help="(default: %(default)s)")
    says = "the success rate from which a node is optimistic (default: %(default)s)"
    add("--threshold", type=_rate, default=usual.threshold, metavar="S", help=says)
    add("--dormant", action="store_true", help="nodes that fail again and again sleep for a while")
    add("--waiting", action="store_true", help="a request waits for one of lower priority instead of failing")
    parser.set_defaults(runs=_RUNS)


def job(options: Namespace) -> Callable[[int], tuple[int, int, bool]]:
    """Give what one run does with its seed."""
    return partial(_run, _setup(options))


def _setup(options: Namespace) -> Setup:
    return Setup(
        nodes=options.nodes,
        molecules=(options.molecules,),
        protocol=options.protocol,
        threshold=options.threshold,
        dormant=options.dormant,
        waiting=options.waiting,
    )


def _run(setup: Setup, seed: int) -> tuple[int, int, bool]:
    outcome = simulate(setup, seed)
    # All that is needed here; every reaction of every run would take longer to send than to simulate.
    return outcome.steps, outcome.messages, outcome.is_finished


def summary(results: Sequence[tuple[int, int, bool]], options: Namespace) -> dict[str, Any]:
    """Give steps and messages of the runs, beside the ideal system's steps."""
    steps = [one[0] for one in results]
    return {
        "steps": {"mean": mean(steps), "max": max(steps)},
        "messages": {"mean": mean(one[1] for one in results)},
        "finished": sum(one[2] for one in results),
        "runs": len(results),
        "optimum": _plain(_setup(options).optimum),
    }


def lines(summary: dict[str, Any], options: Namespace) -> Iterator[str]:
    """Put it into words."""
    steps, optimum = summary["steps"], summary["optimum"]
    yield f"{options.nodes:,} nodes, {options.molecules:,} molecules, {options.protocol}"
    yield f"  finished   {summary['finished']:,} of {summary['runs']:,} runs"
    times = f" ({steps['mean'] / optimum:.2f} times the optimum, {optimum:,})" if optimum else ""
    yield f"  steps      {steps['mean']:,.1f} on average{times}, {steps['max']:,} at most"
    yield f"  messages   {summary['messages']['mean']:,.1f} on average"


def _plain(number: float) -> float:
    return int(number) if number == int(number) else number


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise ArgumentTypeError(f"`{text}` is not a number between 0 and 1")
    return value
