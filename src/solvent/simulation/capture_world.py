"""The chemical program around simulated capture machines: molecules of types, and rules that consume and make them.

As in the paper's evaluation, what reactions compute does not matter: a molecule's value is its type. The world plays
the discovery protocol, which the paper leaves out: it proposes molecules at random among all that exist, taken or
not. For `better` it proposes by nearness: two of the node's own, else two that lie together elsewhere, else one of
its own and one of another's; a node that has none leaves the last ones to those that have them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.protocols.capture.vocabulary import (
    Arrived,
    Combination,
    Discover,
    Gone,
    MoleculeId,
    Products,
    React,
    Reacted,
    RuleId,
    Switched,
)
from solvent.simulation.environment import Environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from random import Random

    from solvent.protocols.machine import NodeId


class RuleOfTypes(NamedTuple):
    """A rule that takes molecules of these types and makes molecules of those."""

    takes: tuple[int, ...]
    makes: tuple[int, ...] = ()


Program = tuple[RuleOfTypes, ...]


class Pile:
    """Molecules from which one can be drawn at random, added or removed in constant time."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.places: dict[Any, int] = {}

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, item: Any) -> bool:
        return item in self.places

    def add(self, item: Any) -> None:
        """Put one in."""
        self.places[item] = len(self.items)
        self.items.append(item)

    def remove(self, item: Any) -> None:
        """Take one out; the last one takes its place."""
        at = self.places.pop(item)
        last = self.items.pop()
        if last != item:
            self.items[at] = last
            self.places[last] = at

    def draw(self, count: int, chance: Random) -> list[Any]:
        """Name `count` different ones at random."""
        items = self.items
        size = len(items)
        first = items[int(chance.random() * size)]
        if count == 1:
            return [first]
        if count == 2:
            at = int(chance.random() * (size - 1))
            second = items[at]
            return [first, items[-1] if second == first else second]
        return chance.sample(items, count)


class World(Environment):
    """All molecules of a run, and what happens to them."""

    def __init__(self, program: Program, dealt: Sequence[Sequence[tuple[MoleculeId, int]]]) -> None:
        self.program = program
        self.types = 1 + max(kind for rule in program for kind in (*rule.takes, *rule.makes))
        self.piles = [Pile() for _ in range(self.types)]
        self.holders: dict[MoleculeId, NodeId] = {}
        self.kinds: dict[MoleculeId, int] = {}
        self.reactions = 0
        self.aborts = 0
        self.steps_of_last = 0
        self._products = [Products(rule.makes) for rule in program]
        self._is_over = False
        for node, molecules in enumerate(dealt):
            for molecule, kind in molecules:
                self.enter(molecule, kind, node)  # type: ignore[arg-type]

    def enter(self, molecule: MoleculeId, kind: int, node: NodeId) -> None:
        """A molecule exists from now on."""
        self.holders[molecule] = node
        self.kinds[molecule] = kind
        self.piles[kind].add(molecule)

    def leave(self, molecule: MoleculeId) -> None:
        """A molecule is consumed."""
        assert molecule in self.kinds, f"molecule {molecule} is consumed twice"
        self.piles[self.kinds.pop(molecule)].remove(molecule)
        del self.holders[molecule]

    # ----------------------------------------------------------------------------------------- environment

    def answer(self, node: NodeId, question: Any, chance: Random) -> Any:
        """Find a combination, or give what a reaction produces."""
        if type(question) is React:
            return self._products[question.rule]
        assert type(question) is Discover
        return self.discovered(node, question.rule, chance)

    def discovered(self, _node: NodeId, rule: RuleId, chance: Random) -> Combination:
        """Propose molecules at random among all that exist."""
        takes = self.program[rule].takes
        holders = self.holders
        if takes.count(takes[0]) == len(takes):
            pile = self.piles[takes[0]]
            if len(pile) < len(takes):
                return Combination(rule, ())
            return Combination(rule, tuple([(item, holders[item]) for item in pile.draw(len(takes), chance)]))
        chosen: list[MoleculeId] = []
        for kind in dict.fromkeys(takes):
            count, pile = takes.count(kind), self.piles[kind]
            if len(pile) < count:
                return Combination(rule, ())
            chosen += pile.draw(count, chance)
        return Combination(rule, tuple([(item, holders[item]) for item in chosen]))

    def told(self, node: NodeId, outcome: Any, at: int) -> None:
        """Keep account of what reacts."""
        if type(outcome) is Reacted:
            for molecule in outcome.consumed:
                self.leave(molecule)
            for molecule, kind in outcome.produced:
                self.enter(molecule, kind, node)
            self.reactions += 1
            self.steps_of_last = at
            self._is_over = not self.can_react()
        elif type(outcome) is Switched:
            self.switched(node, outcome, at)

    def switched(self, node: NodeId, outcome: Switched, at: int) -> None:
        """Hear that a node goes about it in another way."""

    def can_react(self) -> bool:
        """Tell whether any rule still finds its molecules."""
        piles = self.piles
        return any(all(len(piles[kind]) >= rule.takes.count(kind) for kind in rule.takes) for rule in self.program)

    def is_over(self) -> bool:
        """The run is over when no reaction is possible any more."""
        return self._is_over


class NearWorld(World):
    """Proposes what lies near: for capture by moving."""

    def __init__(self, program: Program, dealt: Sequence[Sequence[tuple[MoleculeId, int]]]) -> None:
        # At each node, by type, the molecules that lie there.
        self.own: list[list[Pile]] = [[Pile() for _ in range(8)] for _ in dealt]
        #: By type, the nodes with several molecules of it, and those with any.
        self.rich: list[Pile] = [Pile() for _ in range(8)]
        self.some: list[Pile] = [Pile() for _ in range(8)]
        super().__init__(program, dealt)

    def enter(self, molecule: MoleculeId, kind: int, node: NodeId) -> None:
        """A molecule exists from now on."""
        super().enter(molecule, kind, node)
        self._lay(molecule, kind, node)

    def leave(self, molecule: MoleculeId) -> None:
        """A molecule is consumed."""
        self._lift(molecule)
        super().leave(molecule)

    def _lay(self, molecule: MoleculeId, kind: int, node: NodeId) -> None:
        pile = self.own[node][kind]
        pile.add(molecule)
        if len(pile) == 1:
            self.some[kind].add(node)
        elif len(pile) == 2:
            self.rich[kind].add(node)

    def _lift(self, molecule: MoleculeId) -> None:
        kind, node = self.kinds[molecule], self.holders[molecule]
        pile = self.own[node][kind]
        if molecule not in pile:
            return
        pile.remove(molecule)
        if len(pile) == 1:
            self.rich[kind].remove(node)
        elif not pile:
            self.some[kind].remove(node)

    def told(self, node: NodeId, outcome: Any, at: int) -> None:
        """Follow molecules that move."""
        if type(outcome) is Gone:
            if outcome.molecule in self.kinds:
                self._lift(outcome.molecule)
        elif type(outcome) is Arrived:
            self.holders[outcome.molecule] = node
            self._lay(outcome.molecule, self.kinds[outcome.molecule], node)
        else:
            super().told(node, outcome, at)

    def discovered(self, node: NodeId, rule: RuleId, chance: Random) -> Combination:
        """Propose two of the node's own, else two of another's, else one of each."""
        takes = self.program[rule].takes
        places: list[tuple[MoleculeId, NodeId]] = []
        for kind in dict.fromkeys(takes):
            found = self._near(node, kind, takes.count(kind), chance)
            if not found:
                return Combination(rule, ())
            places += found
        return Combination(rule, tuple(places), tuple([self.kinds[item] for item, _ in places]))

    def _near(self, node: NodeId, kind: int, count: int, chance: Random) -> list[tuple[MoleculeId, NodeId]]:
        own = self.own[node][kind]
        if len(own) >= count:
            return [(item, node) for item in own.items[:count]]
        if self.rich[kind]:
            other = self.rich[kind].draw(1, chance)[0]
            if len(self.own[other][kind]) >= count:
                return [(item, other) for item in self.own[other][kind].items[-count:]]
        if not own or len(self.some[kind]) < 2:
            return []
        one, two = self.some[kind].draw(2, chance)
        other = two if one == node else one
        return [(own.items[0], node), (self.own[other][kind].items[0], other)]


def dealt(molecules: Iterable[int], nodes: int, chance: Random) -> list[list[tuple[MoleculeId, int]]]:
    """Deal molecules, given by their types, out to nodes at random, as a hash function would."""
    shares: list[list[tuple[MoleculeId, int]]] = [[] for _ in range(nodes)]
    for number, kind in enumerate(molecules):
        shares[int(chance.random() * nodes)].append((MoleculeId(number), kind))
    return shares
