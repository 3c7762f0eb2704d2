"""The chemical program around simulated capture machines: molecules of types, and rules that consume and make them.

As in the paper's evaluation, what reactions compute does not matter: a molecule's value is its type. The world plays
the discovery protocol, which the paper leaves out: it proposes molecules at random among all that exist, taken or
not. For `better` it proposes by nearness: two of the node's own, else two that lie together elsewhere, else one of
its own and one of another's; a node that has none leaves the last ones to those that have them.

The world keeps what figures are drawn from: every reaction and every switch, with its step. It also is the judge: a
molecule that is consumed a second time ends the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.protocols.capture.vocabulary import (
    Arrived,
    AttemptId,
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
from solvent_lab.simulator.environment import Environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from random import Random

    from solvent.protocols.machine import NodeId


class RuleOfTypes(NamedTuple):
    """A rule that takes molecules of these types and makes molecules of those."""

    takes: tuple[int, ...]
    makes: tuple[int, ...] = ()


Program = tuple[RuleOfTypes, ...]
Shares = list[list[tuple[MoleculeId, int]]]
"""The molecules of each node, each with its type."""


class Happened(NamedTuple):
    """A reaction, as it is kept for figures."""

    at: int
    rule: RuleId
    node: NodeId
    attempt: AttemptId


class Turned(NamedTuple):
    """A node goes about it in another way from this step on."""

    at: int
    node: NodeId
    mode: str
    rule: RuleId


class Pile:
    """Things from which one can be drawn at random, added or removed in constant time."""

    __slots__ = ("items", "places")

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
            # One of all but the last; where that is the first one again, the last one stands in for it.
            second = items[int(chance.random() * (size - 1))]
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
        self.happened: list[Happened] = []
        self.turned: list[Turned] = []
        self._products = [Products(rule.makes) for rule in program]
        self._nothing = [Combination(RuleId(rule), ()) for rule in range(len(program))]
        #: For each rule, how many of which type it takes.
        self._needs = [[(kind, rule.takes.count(kind)) for kind in dict.fromkeys(rule.takes)] for rule in program]
        #: For a rule that takes two of one type, the pile it takes them from.
        self._pairs = [self.piles[need[0][0]] if len(need) == 1 and need[0][1] == 2 else None for need in self._needs]
        for node, molecules in enumerate(dealt):
            for molecule, kind in molecules:
                self.enter(molecule, kind, node)  # type: ignore[arg-type]
        self._is_over = not self.can_react()

    @property
    def reactions(self) -> int:
        """How many there have been so far."""
        return len(self.happened)

    @property
    def steps_of_last(self) -> int:
        """The step of the last reaction."""
        return self.happened[-1].at if self.happened else 0

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
        holders = self.holders
        pair = self._pairs[rule]
        if pair is not None:
            # Nearly always two of one type, and then by far the most of what is asked: so nothing is called here.
            items = pair.items
            size = len(items)
            if size < 2:
                return self._nothing[rule]
            one = items[int(chance.random() * size)]
            two = items[int(chance.random() * (size - 1))]
            if two == one:
                two = items[-1]
            return Combination(rule, ((one, holders[one]), (two, holders[two])))
        chosen: list[MoleculeId] = []
        for kind, count in self._needs[rule]:
            pile = self.piles[kind]
            if len(pile.items) < count:
                return self._nothing[rule]
            chosen += pile.draw(count, chance)
        return Combination(rule, tuple([(item, holders[item]) for item in chosen]))

    def told(self, node: NodeId, outcome: Any, at: int) -> None:
        """Keep account of what reacts, and of how nodes go about it."""
        if type(outcome) is Reacted:
            rule, attempt, consumed, produced = outcome.rule, outcome.attempt, outcome.consumed, outcome.produced
            for molecule in consumed:
                self.leave(molecule)
            for molecule, kind in produced:
                self.enter(molecule, kind, node)
            self.happened.append(Happened(at, rule, node, attempt))
            self._is_over = not self.can_react(rule)
        elif type(outcome) is Switched:
            self.turned.append(Turned(at, node, outcome.mode, RuleId(outcome.rule)))

    def can_react(self, first: int = 0) -> bool:
        """Tell whether any rule still finds its molecules; the one most likely to is looked at first."""
        piles, needs = self.piles, self._needs
        for kind, count in needs[first]:
            if len(piles[kind].items) < count:
                break
        else:
            return True
        return any(all(len(piles[kind]) >= count for kind, count in of_rule) for of_rule in needs)

    def is_over(self) -> bool:
        """The run is over when no reaction is possible any more."""
        return self._is_over


class NearWorld(World):
    """Proposes what lies near: for capture by moving."""

    def __init__(self, program: Program, dealt: Sequence[Sequence[tuple[MoleculeId, int]]]) -> None:
        types = range(1 + max(kind for rule in program for kind in (*rule.takes, *rule.makes)))
        # At each node, by type, the molecules that lie there.
        self.own: list[list[Pile]] = [[Pile() for _ in types] for _ in dealt]
        #: By type, the nodes with several molecules of it, and those with any.
        self.rich: list[Pile] = [Pile() for _ in types]
        self.some: list[Pile] = [Pile() for _ in types]
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
            # It was under way to the node that has consumed it.
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
        places: list[tuple[MoleculeId, NodeId]] = []
        for kind, count in self._needs[rule]:
            found = self._near(node, kind, count, chance)
            if not found:
                return self._nothing[rule]
            places += found
        return Combination(rule, tuple(places), tuple([self.kinds[item] for item, _ in places]))

    def _near(self, node: NodeId, kind: int, count: int, chance: Random) -> list[tuple[MoleculeId, NodeId]]:
        own = self.own[node][kind].items
        if len(own) >= count:
            return [(item, node) for item in own[:count]]
        if self.rich[kind]:
            other = self.rich[kind].draw(1, chance)[0]
            their = self.own[other][kind].items
            if len(their) >= count:
                return [(item, other) for item in their[-count:]]
        if not own or len(self.some[kind]) < 2:
            return []
        one, two = self.some[kind].draw(2, chance)
        other = two if one == node else one
        return [(own[0], node), (self.own[other][kind].items[0], other)]


def dealt(molecules: Iterable[int], nodes: int, chance: Random) -> Shares:
    """Deal molecules, given by their types, out to nodes at random, as a hash function would."""
    shares: Shares = [[] for _ in range(nodes)]
    for number, kind in enumerate(molecules):
        shares[int(chance.random() * nodes)].append((MoleculeId(number), kind))
    return shares


__all__ = ["Happened", "NearWorld", "Pile", "Program", "RuleOfTypes", "Shares", "Turned", "World", "dealt"]
