"""`solvent lab simulate capture`: molecules on many nodes, all nodes trying to react them, in discrete steps.

That optimists alone come to no end is a result and not a failure, so it is said and the exit code is 0. A run that is
given up counts with the steps it ran: mean and maximum are lower bounds wherever `finished` is less than `runs`.
"""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING, Any

from solvent.cli.arguments import at_least
from solvent.cli.render import counted
from solvent.errors import Misuse
from solvent_lab.cli.simulate import part
from solvent_lab.simulator.capture import PROTOCOLS, Setup, simulate

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from solvent_lab.simulator.discrete import Observer

SAYS = """\
Take molecules that lie on many nodes, two at a time, until none is left: the paper's Experiment 1.

  adaptive      the paper's protocol: optimistic while that succeeds, pessimistic where molecules are few
  optimistic    fetch at once and give back what does not suffice; may come to no end
  pessimistic   ask, have it promised, fetch
  better        Solvent's own: molecules move to whoever comes first in the order"""
EXAMPLE = "solvent lab simulate capture --nodes 250 --molecules 15000 --runs 20 --protocol better"
DRAWN = {"--nodes": "5", "--molecules": "20"}
_RUNS = 20


def add_options(parser: ArgumentParser) -> None:
    """Add what can be said about the nodes and what they do."""
    usual = Setup()
    add = parser.add_argument
    add("--nodes", type=at_least(1), default=usual.nodes, metavar="N", help="(default: %(default)s)")
    add("--molecules", type=at_least(0), default=usual.molecules[0], metavar="M", help="(default: %(default)s)")
    add("--protocol", choices=PROTOCOLS, default=usual.protocol, help="(default: %(default)s)")
    says = f"the success rate from which `adaptive` is optimistic (default: {usual.threshold})"
    add("--threshold", type=part, metavar="S", help=says)
    add("--dormant", action="store_true", help="pessimists that fail again and again sleep for a while")
    add("--waiting", action="store_true", help="a request waits for one of lower priority instead of failing")
    says = "give a run up after so many steps (default: ten times the optimum, and at least 600)"
    add("--max-steps", type=at_least(1), default=0, metavar="N", help=says)
    parser.set_defaults(runs=_RUNS)


def setup(options: Namespace) -> Setup:
    """Return what is simulated, or refuse an option that would change nothing."""
    name = options.protocol
    if options.threshold is not None and name != "adaptive":
        raise Misuse("P310", f"`--threshold` is for `adaptive`, which switches; `{name}` does not")
    if name in ("optimistic", "better"):
        for option in ("dormant", "waiting"):
            if getattr(options, option):
                raise Misuse("P310", f"`--{option}` is for pessimists, and `{name}` has none")
    return Setup(
        nodes=options.nodes,
        molecules=(options.molecules,),
        protocol=options.protocol,
        threshold=Setup().threshold if options.threshold is None else options.threshold,
        dormant=options.dormant,
        waiting=options.waiting,
        max_steps=options.max_steps,
    )


def run(setup: Setup, seed: int, *, observe: Observer | None = None) -> tuple[int, int, bool]:
    """Run once, and return steps, messages and whether it finished."""
    outcome = simulate(setup, seed, observe=observe)
    # All that is needed here; every reaction of every run would take longer to send than to simulate.
    return outcome.steps, outcome.messages, outcome.is_finished


def summary(results: Sequence[tuple[int, int, bool]], options: Namespace) -> dict[str, Any]:
    """Return steps and messages of the runs, beside the ideal system's steps."""
    steps, messages = [one[0] for one in results], [one[1] for one in results]
    ran = setup(options)
    return {
        "steps": {"mean": mean(steps), "max": max(steps), "min": min(steps)},
        "messages": {"mean": mean(messages), "max": max(messages), "min": min(messages)},
        "finished": sum(one[2] for one in results),
        "runs": len(results),
        "optimum": _plain(ran.optimum),
        "max_steps": ran.limit,
    }


def lines(summary: dict[str, Any], options: Namespace) -> Iterator[str]:
    """Put it into words."""
    optimum, finished, runs = summary["optimum"], summary["finished"], summary["runs"]
    yield f"{counted(options.nodes, 'node')}, {counted(options.molecules, 'molecule')}, {options.protocol}"
    yield f"{'':<10}{'mean':>11}{'min':>10}{'max':>10}"
    for name in ("steps", "messages"):
        of = summary[name]
        yield f"{name:<10}{of['mean']:>11,.1f}{of['min']:>10,}{of['max']:>10,}"
    times = f", in {summary['steps']['mean'] / optimum:.2f} times the optimum of {optimum:,} steps" if optimum else ""
    yield f"finished  {finished:,} of {counted(runs, 'run')}{times if finished == runs else ''}"
    if finished < runs:
        yield f"          the others were given up after {summary['max_steps']:,} steps"


def _plain(number: float) -> float:
    return int(number) if number == int(number) else number
