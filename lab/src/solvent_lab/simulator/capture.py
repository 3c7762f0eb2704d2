"""Sets a simulation of capture up, runs it, and gives what was seen.

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
from solvent.protocols.capture.adaptive import Adaptive
from solvent.protocols.capture.messages import Commitment, Fetch, GiveUp, Query, Reaction
from solvent.protocols.capture.moving import Moving
from solvent.protocols.capture.moving_state import MovingConfig, Take
from solvent.protocols.capture.state import CaptureConfig
from solvent.protocols.capture.vocabulary import RuleId
from solvent.protocols.machine import NodeId
from solvent_lab.simulator.capture_world import NearWorld, Program, RuleOfTypes, World, dealt
from solvent_lab.simulator.discrete import DiscreteRun, Ending

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent.protocols.capture.state import Holding
    from solvent_lab.simulator.capture_world import Happened, Shares, Turned
    from solvent_lab.simulator.discrete import Observer

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


def _mover(node: NodeId, share: Sequence[Any]) -> Moving:
    # Own molecules are asked for like others', since the paper's model charges two steps for every reaction.
    return Moving(MovingConfig(node, tuple(share), is_local=False, look_again=2))


def _captors(setup: Setup, shares: Shares, rules: list[RuleId], keepers: dict[NodeId, RuleId]) -> list[Adaptive]:
    machine = OptimistsFirst if setup.favours_optimists else Adaptive
    has_several = len(setup.program) > 1
    arities = tuple(len(rule.takes) for rule in setup.program)
    return [
        machine(
            CaptureConfig(
                NodeId(node),
                arities=arities,
                molecules=tuple(share),
                protocol=setup.protocol,
                threshold=setup.threshold,
                waiting=setup.waiting,
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


class OptimistsFirst(Adaptive):
    """A node that gives a free molecule to an optimist even where pessimists have asked before."""

    def _may_fetch(self, holding: Holding, sender: NodeId, fetch: Fetch) -> bool:
        if holding.hold is None:
            return fetch.is_optimistic
        return super()._may_fetch(holding, sender, fetch)


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
        """Give the useful and the useless messages of each cycle."""
        useful, useless = defaultdict[int, int](int), defaultdict[int, int](int)
        successes = {(reaction.node, reaction.attempt) for reaction in happened}
        for attempt, cycles in self._cycles.items():
            counts = useful if attempt in successes else useless
            for cycle in cycles:
                counts[cycle] += 1
        length = 1 + max((*useful, *useless), default=-1)
        return [useful[cycle] for cycle in range(length)], [useless[cycle] for cycle in range(length)]


__all__ = ["CYCLE", "ONE_RULE", "PROTOCOLS", "Outcome", "Setup", "keepers_of", "prepared", "simulate"]
