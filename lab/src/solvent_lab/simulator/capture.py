"""Simulates capture: molecules on many nodes, machines that capture them, and what was seen of a run.

    outcome = simulate(Setup(nodes=250, molecules=(15_000,), protocol="adaptive"), seed=1)
    outcome.steps, outcome.messages, outcome.is_finished

Molecules are dealt to the nodes at random from the seed, and the run is in discrete steps, so setup and seed say
everything. Several rules need what section 3.5 of the paper asks for: each rule has a keeper, the node whose hash is
nearest to the rule's, and all others begin with a rule at random.
"""

from __future__ import annotations

from collections import defaultdict
from hashlib import blake2b
from math import ceil
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from solvent.errors import Misuse
from solvent.protocols.capture.moving import MovingConfig, Take, moving_node
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
from solvent.protocols.machine import NodeId
from solvent_lab.papers.capture import capture_node
from solvent_lab.papers.capture.messages import Commitment, Fetch, GiveUp, Query, Reaction
from solvent_lab.papers.capture.state import CaptureConfig
from solvent_lab.simulator.discrete import DiscreteRun
from solvent_lab.simulator.environment import Ending, Environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from solvent.protocols.machine import Machine
    from solvent_lab.simulator.discrete import Observer


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
    """All molecules of a run, and what happens to them.

    As in the paper's evaluation, what reactions compute does not matter: a molecule's value is its type. The world
    plays the discovery protocol, which the paper leaves out: it proposes molecules at random among all that exist,
    taken or not. It keeps what figures are drawn from, every reaction and every switch, and is the judge: a molecule
    that is consumed a second time ends the run.
    """

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
        """Find a combination, or return what a reaction produces."""
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
        """Return whether any rule still finds its molecules; the one most likely to is looked at first."""
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
    """Proposes what lies near, for `better`.

    That is two of the node's own, else two that lie together elsewhere, else one of each. A node that has none
    leaves the last ones to those that have them.
    """

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


# ------------------------------------------------------------------------------------------------------- the runs

PROTOCOLS = ("adaptive", "optimistic", "pessimistic", "better")
CYCLE = 12
"""The steps of a cycle in the paper's figures 7 to 10."""
ONE_RULE: Program = (RuleOfTypes((0, 0)),)
_STEPS_AT_LEAST, _TIMES_THE_OPTIMUM = 600, 10
_REQUESTS = (Query, Commitment, Fetch, GiveUp, Reaction, Take)


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What is simulated; the defaults are the paper's."""

    nodes: int = 250
    #: How many molecules there are of each type at the start.
    molecules: tuple[int, ...] = (15_000,)
    program: Program = ONE_RULE
    protocol: str = "adaptive"
    threshold: float = 0.7
    dormant: bool = False
    waiting: bool = False
    #: A holder serves an optimist although pessimists are interested: an experiment the paper mentions.
    favours_optimists: bool = False
    #: Zero for ten times the theoretical optimum, and at least 600.
    max_steps: int = 0

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise Misuse("P310", f"there is no protocol `{self.protocol}`", hint=f"there are {', '.join(PROTOCOLS)}")
        if self.nodes < len(self.program):
            message = f"{self.nodes} nodes cannot keep {len(self.program)} rules"
            raise Misuse("P310", message, hint="each rule has a node that keeps it")
        if not 0.0 <= self.threshold <= 1.0:
            raise Misuse("P310", f"the threshold is {self.threshold}, and a success rate is between 0 and 1")
        if self.protocol == "better" and (len(self.program) > 1 or len(set(self.program[0].takes)) > 1):
            raise Misuse("P310", "`better` is simulated with one rule for molecules of one type")

    @property
    def optimum(self) -> float:
        """The steps of the paper's ideal system, for one rule that makes nothing: 2 m / (n r)."""
        taken = len(self.program[0].takes)
        return 2 * sum(self.molecules) / (self.nodes * taken)

    @property
    def limit(self) -> int:
        """The steps after which a run is given up."""
        return self.max_steps or max(_STEPS_AT_LEAST, ceil(_TIMES_THE_OPTIMUM * self.optimum))


class Outcome(NamedTuple):
    """What was seen in one run."""

    #: The step of the last reaction; of a run that was given up, the steps it ran.
    steps: int
    messages: int
    is_finished: bool
    seconds: float
    happened: list[Happened]
    turned: list[Turned]
    #: The rules that nodes began with.
    rules: list[RuleId]
    #: Messages by cycle, those that led to a reaction and the others; empty unless counted.
    useful: list[int]
    useless: list[int]


def simulate(setup: Setup, seed: int, *, counts_messages: bool = False, observe: Observer | None = None) -> Outcome:
    """Run once; count which messages led to reactions if asked to, or show each to somebody, which takes longer."""
    counter = Counter() if counts_messages else None
    run, world, rules = prepared(setup, seed, observe=observe or counter)
    started = perf_counter()
    ending = run.run(setup.limit)
    seconds = perf_counter() - started
    is_finished = ending is Ending.OVER
    useful, useless = counter.by_cycle(world.happened) if counter is not None else ([], [])
    return Outcome(
        steps=world.steps_of_last if is_finished else run.step,
        messages=run.sent,
        is_finished=is_finished,
        seconds=seconds,
        happened=world.happened,
        turned=world.turned,
        rules=rules,
        useful=useful,
        useless=useless,
    )


def prepared(setup: Setup, seed: int, *, observe: Any = None) -> tuple[DiscreteRun, World, list[RuleId]]:
    """Make the nodes and the world around them, ready to run, and the rules that nodes begin with."""
    chance = Random(seed)
    kinds = [kind for kind, count in enumerate(setup.molecules) for _ in range(count)]
    shares = dealt(kinds, setup.nodes, chance)
    rules = [RuleId(0)] * setup.nodes
    machines: list[Any]
    if setup.protocol == "better":
        world: World = NearWorld(setup.program, shares)
        machines = [_mover(NodeId(node), share) for node, share in enumerate(shares)]
    else:
        world = World(setup.program, shares)
        keepers = keepers_of(len(setup.program), setup.nodes, chance)
        if len(setup.program) > 1:
            rules = [
                keepers[node] if node in keepers else RuleId(int(chance.random() * len(setup.program)))
                for node in map(NodeId, range(setup.nodes))
            ]
        machines = _captors(setup, shares, rules, keepers)
    return DiscreteRun(machines, world, seed=chance.getrandbits(64), observe=observe), world, rules


def _mover(node: NodeId, share: Sequence[Any]) -> Machine[Any]:
    # Own molecules are asked for like others', since the paper's model charges two steps for every reaction.
    return moving_node(MovingConfig(node, tuple(share), is_local=False, look_again=2))


def _captors(setup: Setup, shares: Shares, rules: list[RuleId], keepers: dict[NodeId, RuleId]) -> list[Machine[Any]]:
    has_several = len(setup.program) > 1
    arities = tuple(len(rule.takes) for rule in setup.program)
    return [
        capture_node(
            CaptureConfig(
                NodeId(node),
                arities=arities,
                molecules=tuple(share),
                protocol=setup.protocol,
                threshold=setup.threshold,
                waiting=setup.waiting,
                favours_optimists=setup.favours_optimists,
                dormant=setup.dormant,
                # With several rules, a plain mean over old rates of others hides what the node sees itself (C5, C7).
                own_weight=0.5 if has_several else None,
                ageing=20 if has_several else 0,
                rule=rules[node],
                is_keeper=node in keepers,
            )
        )
        for node, share in enumerate(shares)
    ]


def keepers_of(rules: int, nodes: int, chance: Random) -> dict[NodeId, RuleId]:
    """Name the keeper of each rule: who has the nearest hash, or any other node where that one keeps a rule already."""
    ids = sorted((_hash(f"node {node}"), NodeId(node)) for node in range(nodes))
    keepers: dict[NodeId, RuleId] = {}
    for rule in range(rules):
        place = _hash(f"rule {rule}")
        _, node = min(ids, key=lambda known: abs(known[0] - place))
        if node in keepers:
            node = chance.choice([other for _, other in ids if other not in keepers])
        keepers[node] = RuleId(rule)
    return keepers


def _hash(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")


class Counter:
    """Counts messages by the attempt they belong to, since only its end tells whether they were useful."""

    def __init__(self) -> None:
        self._cycles: defaultdict[tuple[NodeId, int], list[int]] = defaultdict(list)

    def __call__(self, sender: NodeId, to: NodeId, message: Any, step: int) -> None:
        """Take note of a message."""
        requester = sender if type(message) in _REQUESTS else to
        self._cycles[requester, message.attempt].append(step // CYCLE)

    def by_cycle(self, happened: list[Happened]) -> tuple[list[int], list[int]]:
        """Return the useful and the useless messages of each cycle."""
        useful, useless = defaultdict[int, int](int), defaultdict[int, int](int)
        successes = {(reaction.node, reaction.attempt) for reaction in happened}
        for attempt, cycles in self._cycles.items():
            counts = useful if attempt in successes else useless
            for cycle in cycles:
                counts[cycle] += 1
        length = 1 + max((*useful, *useless), default=-1)
        return [useful[cycle] for cycle in range(length)], [useless[cycle] for cycle in range(length)]
