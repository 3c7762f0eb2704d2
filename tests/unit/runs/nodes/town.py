"""Nodes without a network: real chemists and machines, and a seeded shuffle of everything that is under way.

Messages between two nodes keep their order, as a link keeps it; what the directory would tell comes late, and in
another order at each node.
"""

from __future__ import annotations

import random
from collections import deque
from typing import TYPE_CHECKING, Any

import solvent
from solvent.lang.solution import Solution
from solvent.protocols.capture.moving import MovingConfig, MovingState, moving_node
from solvent.protocols.capture.vocabulary import Arrived, Gone, Reacted, Wake
from solvent.protocols.directory.messages import Seen, entry
from solvent.protocols.machine import Answered, Ask, Machine, NodeId, Received, Report, Requested, Send
from solvent.protocols.nodes.offers import unpacked
from solvent.protocols.nodes.words import for_capture, for_program
from solvent.runs.nodes.alone import Alone
from solvent.runs.nodes.chemist import Chemist
from solvent.runs.nodes.dealing import Deal, rules_in
from solvent.runs.nodes.homes import home_of
from solvent.runs.nodes.shapes import Shapes
from solvent.runs.nodes.standing import Rules
from solvent.runs.nodes.table import Table
from solvent.runs.nodes.writing import Writing

if TYPE_CHECKING:
    from solvent.hocl.program import Program
    from solvent.protocols.capture.vocabulary import MoleculeId

MAX_STEPS = 50_000


class TooLong(Exception):
    """The nodes have not come to rest after many steps."""


class Town:
    """Some nodes with a program between them."""

    def __init__(self, program: Program, nodes: int, seed: int, *, scatters: bool = False, **options: Any) -> None:
        self.chance = random.Random(seed)
        self.program = program
        self.writing = Writing(program)
        self.deal = Deal(program, program.solution(), nodes)
        if self.deal.why_together.startswith("no rule"):
            # It would not pay, but it must be right all the same.
            self.deal.why_together = ""
            self.deal.words = Rules(program.solution()).words()
            self.deal.homes = Rules(program.solution()).homes()
            molecules = self.deal.shares[0]
            self.deal.shares = [molecules[number::nodes] for number in range(nodes)]
        if scatters:
            # As if molecules had come about anywhere, and had reacted there.
            molecules = [text for share in self.deal.shares for text in share]
            self.chance.shuffle(molecules)
            self.deal.shares = [molecules[number::nodes] for number in range(nodes)]
        rules = rules_in(program)
        self.messages = 0
        self.under_way: dict[tuple[int, int, str], deque[Any]] = {}
        self.chemists: list[Chemist] = []
        self.machines: list[Machine[MovingState]] = []
        self.states: list[Any] = []
        endless = [self.writing.read(text) for text in self.deal.endless]
        self.table = Table([rules[at] for at in self.deal.standing], endless)
        for number in range(nodes):
            self.chemists.append(
                Chemist(
                    NodeId(number),
                    self.writing,
                    self.table,
                    shapes=Shapes(self.deal.words, self.deal.homes),
                    chance=self.chance,
                    **options,
                )
            )
            self.machines.append(moving_node(MovingConfig(NodeId(number), confirm=True)))
            self.states.append(None)
        for number in range(nodes):
            self.states[number], effects = self.machines[number].start()
            self._do(number, effects)
        for number, share in enumerate(self.deal.shares if not self.deal.why_together else ()):
            molecules = [self.writing.read(text) for text in share]
            if scatters:
                alone = Alone(self.table.shared, molecules)
                alone.react_until(float("inf"))
                molecules = alone.left()
            self._step(number, Requested(for_capture(self.chemists[number].begin(molecules))))

    def run(self) -> Solution:
        """Let everything happen until nothing is under way; give what there is then."""
        for _ in range(MAX_STEPS):
            waiting = [key for key, queue in self.under_way.items() if queue]
            if not waiting:
                return self.solution()
            sender, to, kind = key = self.chance.choice(waiting)
            message = self.under_way[key].popleft()
            if kind == "directory":
                self.chemists[to].told(message)
                self._step(to, Requested(Wake()))
            else:
                self.messages += 1
                self._step(to, Received(NodeId(sender), message))
        raise TooLong

    def solution(self) -> Solution:
        """Give the molecules of all nodes; no machine knows others than its chemist."""
        texts: list[str] = []
        for chemist, state in zip(self.chemists, self.states, strict=True):
            assert sorted(chemist.texts()) == sorted(unpacked(text).value for text in state.molecules.values())
            texts += chemist.texts()
        return Solution([*self.deal.copies, *map(self.writing.read, texts)])

    @property
    def reactions(self) -> int:
        """How many reactions there were."""
        return sum(chemist.reactions for chemist in self.chemists)

    def _step(self, number: int, event: Any) -> None:
        self.states[number], effects = self.machines[number].step(self.states[number], event)
        self._do(number, effects)

    def _do(self, number: int, effects: tuple[Any, ...]) -> None:
        left = deque(effects)
        while left:
            effect = left.popleft()
            if isinstance(effect, Send):
                self.under_way.setdefault((number, effect.to, "message"), deque()).append(effect.message)
            elif isinstance(effect, Report):
                outcome = for_program(effect.outcome)
                self.chemists[number].told(outcome)
                self._publish(number, outcome)
            elif isinstance(effect, Ask):
                answer = Answered(for_capture(self.chemists[number].answer(for_program(effect.question))))
                self.states[number], more = self.machines[number].step(self.states[number], answer)
                left += more

    def _publish(self, number: int, outcome: Any) -> None:
        come: tuple[tuple[MoleculeId, Any], ...] = ()
        gone: tuple[MoleculeId, ...] = ()
        if isinstance(outcome, Arrived):
            come = ((outcome.molecule, outcome.value),)
        elif isinstance(outcome, Gone):
            gone = (outcome.molecule,)
        elif isinstance(outcome, Reacted):
            come, gone = outcome.produced, outcome.consumed
        listed = [(molecule, offer) for molecule, offer in come if offer.shape is not None]
        removed = tuple((molecule, NodeId(number)) for molecule in gone)
        for other in range(len(self.chemists)):
            added = tuple(
                entry(molecule, NodeId(number), offer.shape, offer.key, offer.value)
                for molecule, offer in listed
                if offer.shape not in self.deal.homes or home_of(offer.key, len(self.chemists)) == other
            )
            if other != number and (added or removed):
                self.under_way.setdefault((number, other, "directory"), deque()).append(Seen(0, added, removed))


def over_nodes(text: str, *, nodes: int = 3, seed: int = 0, functions: Any = None, **options: Any) -> str:
    """Run a program over nodes and show what is left."""
    town = Town(solvent.hocl.parse(text, functions=functions), nodes, seed, **options)
    return solvent.hocl.show(town.run())
