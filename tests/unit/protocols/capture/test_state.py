"""What is always true of a molecule at its holder, as long as requesters are machines of ours."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from solvent.protocols.capture.adaptive import Adaptive
from solvent.protocols.capture.state import CaptureConfig, Holding
from solvent.protocols.capture.vocabulary import Combination, Products, React
from solvent.protocols.machine import Answered, Ask, Received, Send, SetTimer, TimerFired

PROTOCOLS = ("optimistic", "pessimistic", "adaptive")
NODES = range(3)
MOLECULES = {molecule: molecule % 3 for molecule in range(7)}
"""Who holds which molecule."""


class Town:
    """Three nodes that want two molecules at a time; messages between two nodes keep their order."""

    def __init__(self, seed: int, protocols: tuple[str, ...]) -> None:
        self.chance = Random(seed)
        self.machines = [
            Adaptive(
                CaptureConfig(
                    node,
                    molecules=tuple((item, item) for item, holder in MOLECULES.items() if holder == node),
                    protocol=protocol,
                    waiting=True,
                    max_own=4,
                )
            )
            for node, protocol in zip(NODES, protocols, strict=True)
        ]
        self.channels: dict[tuple[int, int], deque[Any]] = {}
        self.states: list[Any] = [None] * len(NODES)
        for node in NODES:
            self.carry_out(node, self.machines[node].start())

    def carry_out(self, node: int, step: Any) -> None:
        """Do what a host does, and answer at once."""
        self.states[node], effects = step
        for effect in effects:
            if isinstance(effect, Send):
                self.channels.setdefault((node, effect.to), deque()).append(Received(node, effect.message))
            elif isinstance(effect, SetTimer):
                self.channels.setdefault((node, node), deque()).append(TimerFired(effect.name, 0))
        for effect in effects:
            if isinstance(effect, Ask):
                answer = Answered(self.answer(effect.question))
                self.carry_out(node, self.machines[node].step(self.states[node], answer))

    def answer(self, question: Any) -> Any:
        """Propose any two molecules; a reaction leaves nothing."""
        if isinstance(question, React):
            return Products(())
        return Combination(0, tuple((item, MOLECULES[item]) for item in self.chance.sample(sorted(MOLECULES), 2)))

    def deliver(self) -> None:
        """Let the next message of some channel arrive."""
        open_ones = sorted(channel for channel, waiting in self.channels.items() if waiting)
        channel = self.chance.choice(open_ones)
        node = channel[1]
        self.carry_out(node, self.machines[node].step(self.states[node], self.channels[channel].popleft()))


def faults_of(holding: Holding) -> list[str]:
    """Say what is wrong with a molecule at its holder."""
    hold, queue, waiting = holding.hold, holding.queue, holding.waiting
    checks = {
        "somebody waits for nothing": not waiting or hold is not None,
        "the first is another": holding.first is None or holding.first == min(queue.values()),
        "somebody waits for who comes before": all(
            hold is None or hold.claim is None or claim < hold.claim for claim in waiting.values()
        ),
        "the owner waits for itself": hold is None or hold.requester not in {*queue, *waiting},
        "somebody is on both lists": not set(queue) & set(waiting),
        "a claim stands under another's name": all(
            node == claim.requester for claims in (queue, waiting) for node, claim in claims.items()
        ),
    }
    return [fault for fault, is_well in checks.items() if not is_well]


@given(seed=st.integers(0, 1 << 32), protocols=st.tuples(*[st.sampled_from(PROTOCOLS)] * 3))
def test_lists_and_holds_fit_together(seed: int, protocols: tuple[str, ...]) -> None:
    """Nobody waits where nothing is held, for who comes before, or for itself; the first is the first."""
    town = Town(seed, protocols)
    for _ in range(100):
        town.deliver()
        for state in town.states:
            for holding in state.molecules.values():
                assert faults_of(holding) == []
