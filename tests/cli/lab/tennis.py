"""A little protocol for the tests of `solvent lab simulate`: two players, and a rule that a long match breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent_lab.simulator.environment import Environment
from solvent_lab.simulator.network import Faults
from solvent_lab.simulator.timed import TimedRun
from tests.simulation.machines import Player

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

SAYS = "Two players throw a ball."
EXAMPLE = "solvent lab simulate tennis --throws 10"


def add_options(parser: ArgumentParser) -> None:
    """Add the length of a match, and a time it must not take."""
    parser.add_argument("--throws", type=int, default=10)
    parser.add_argument("--max-ms", type=float, default=1e9)
    parser.set_defaults(runs=3)


def setup(options: Namespace) -> tuple[int, float, str]:
    """Return how often the ball is thrown, how long that may take, and how to see it again."""
    return options.throws, options.max_ms, options.replay


def run(setup: tuple[int, float, str], seed: int) -> float:
    """Play, and return how long it took."""
    throws, max_ms, replay = setup

    def matches_are_short(world: Any) -> bool:
        return world.now <= max_ms

    match = TimedRun(
        [Player(1, throws), Player()],
        Environment(),
        seed=seed,
        faults=Faults(max_latency_ms=9.0),
        invariants=[matches_are_short],
        replay=f"{replay} --seed {seed}",
    )
    match.run()
    return match.now


def summary(results: Sequence[float], _options: Namespace) -> dict[str, Any]:
    """Return the times."""
    return {"times": [round(time, 3) for time in results]}


def lines(summary: dict[str, Any], options: Namespace) -> Iterator[str]:
    """Put it into words."""
    for time in summary["times"]:
        yield f"{options.throws} throws: {time} ms"
