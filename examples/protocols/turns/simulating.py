"""`simulate`: a ring over a bad network, many times; each run is told by its seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checking import Hasty, at_most_one_node_works
from machine import Done, Turns

from solvent.protocols.link import Linked
from solvent.protocols.machine import NodeId
from solvent_lab.simulator import Environment, Faults, InvariantBroken, TimedRun

if TYPE_CHECKING:
    from random import Random

NODES = tuple(NodeId(number) for number in range(5))
TURNS = 100
STORM = Faults(
    max_latency_ms=20,
    may_reorder=True,
    min_answer_ms=1,
    max_answer_ms=10,
    loss=0.1,
    duplication=0.1,
    crashes_every_ms=100,
    max_downtime_ms=200,
)


class Workers(Environment):
    """Whom the nodes serve: they do their work, and it is over after the last turn."""

    def __init__(self) -> None:
        self.done = 0

    def answer(self, node: NodeId, question: Any, chance: Random) -> None:
        """Do the work; how long that takes is among the faults."""

    def told(self, node: NodeId, outcome: Any, at: int) -> None:  # noqa: ARG002 - who and when does not matter
        """Hear that a turn is over; all else is about the link."""
        if isinstance(outcome, Done):
            self.done = outcome.turn

    def is_over(self) -> bool:
        """Say whether all turns have been taken."""
        return self.done == TURNS


def run(seed: int, machine: type[Turns]) -> TimedRun:
    """Run a ring to its end, or to where two nodes work at a time."""
    machines = [Linked(machine(me, len(NODES), TURNS), me=me, peers=NODES) for me in NODES]
    one = TimedRun(machines, Workers(), seed=seed, faults=STORM, invariants=(at_most_one_node_works,), max_history=6)
    one.run(max_ms=600_000)
    return one


def main(*, is_broken: bool, seed: int) -> int:
    """Run five seeds from this one on, and tell how each went."""
    for number in range(seed, seed + 5):
        try:
            counts = run(number, Hasty if is_broken else Turns).counts
        except InvariantBroken as broken:
            print(f"seed {number}: {broken.message}")
            print("\n".join(broken.details()))
            return 1
        print(f"seed {number}: {counts.sent} messages, {counts.lost} lost, {counts.crashes} crashes, all turns taken")
    return 0
