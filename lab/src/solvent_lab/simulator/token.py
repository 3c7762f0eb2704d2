"""Simulates token passing: setups, the machines of a run with or without losses, and what was seen of it.

    outcome = simulate(Setup(nodes=100, gap=100, protocol="binary", requests=20_000), seed=1)
    outcome.responsiveness, outcome.messages_per_request, outcome.max_others

Runs are in discrete steps: what is sent in one step arrives in the next, and all else takes no time. That is the
model of the paper's section 4. Setup and seed say everything.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from solvent.errors import Misuse, SolventError
from solvent.protocols.machine import NodeId, Send
from solvent.protocols.token.messages import Token
from solvent.protocols.token.node import TokenConfig, ring_node
from solvent_lab.simulator.discrete import DiscreteRun
from solvent_lab.simulator.environment import Ending
from solvent_lab.simulator.token_users import Users
from solvent_lab.token_peers import NaimiTrehel, Raymond

if TYPE_CHECKING:
    from solvent.protocols.machine import Effects, Event, Machine, Step
    from solvent.protocols.token.node import TokenState
    from solvent_lab.simulator.discrete import Observer

PROTOCOLS = ("ring", "binary", "raymond", "naimi")
CLEAN_UPS = ("rotation", "inverse", "none")
FINDINGS = ("pull", "push", "both")
_CODE = "P314"
_PATIENCE, _PATIENCE_PER_NODE = 100_000, 100
_OF_SEARCHES = (
    "clean_up",
    "finding",
    "is_directed",
    "has_one_search",
    "lends_one_by_one",
    "lends_to_newest",
    "max_rest",
    "again",
    "loss",
)
"""What can be said of `binary` only."""


class NobodyServed(SolventError):
    """Somebody waits, and nobody has been served for so long that nobody ever will be."""

    exit_code = 1


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What is simulated."""

    nodes: int = 100
    #: The mean time between requests in the whole system; zero: every node wants the token all the time.
    gap: float = 100.0
    protocol: str = "binary"
    #: A run ends when so many requests have been served,
    requests: int = 20_000
    #: and, where the token goes round, when it has been at every node so often.
    rounds: int = 0
    #: The variants of `binary`.
    clean_up: str = "rotation"
    #: Who looks for whom: who wants the token for it (`pull`), who has it for them (`push`), or `both`.
    finding: str = "pull"
    is_directed: bool = False
    has_one_search: bool = False
    #: How long the token may rest at a node where it finds nothing to do; zero: never, or with `push` and `both` as
    #: many steps as there are nodes.
    max_rest: int = 0
    #: After how many steps a node that still waits searches again; zero: never.
    again: int = 0
    #: The paper taken literally: the token comes back from each borrower before it is lent to the next.
    lends_one_by_one: bool = False
    #: And traps are a stack and no queue, which breaks what the paper says about fairness.
    lends_to_newest: bool = False
    #: Which part of the messages that do not carry the token gets lost.
    loss: float = 0.0

    def __post_init__(self) -> None:
        choices = (
            (self.protocol, PROTOCOLS, "protocol"),
            (self.clean_up, CLEAN_UPS, "clean-up"),
            (self.finding, FINDINGS, "way of finding"),
        )
        for value, known, name in choices:
            if value not in known:
                raise Misuse(_CODE, f"there is no {name} `{value}`", hint=f"there are {', '.join(known)}")
        if self.nodes < 2:
            raise Misuse(_CODE, "a token needs two nodes at least to go anywhere")
        # An infinite gap is no number of steps; a run would never end.
        if not 0.0 <= self.gap < float("inf"):
            raise Misuse(_CODE, f"the gap is {self.gap}, and time between requests is a number from 0")
        if not 0.0 <= self.loss <= 1.0:
            raise Misuse(_CODE, f"the loss is {self.loss}, and a part of messages is a number from 0 to 1")
        changed = [name for name in _OF_SEARCHES if getattr(self, name) != _usual(name)]
        if self.protocol != "binary" and changed:
            raise Misuse(_CODE, f"`{changed[0]}` is about searches, and `{self.protocol}` has none")
        if self.protocol not in ("ring", "binary") and self.rounds:
            raise Misuse(_CODE, f"with `{self.protocol}` the token does not go round")


def _usual(name: str) -> Any:
    return Setup.__struct_defaults__[Setup.__struct_fields__.index(name)]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen in one run, or in several taken together."""

    #: How many requests were served.
    requests: int
    steps: int
    messages: int
    #: How often the token moved, by why: `round`, `lent`, `returned` or `passed`. All other messages look for it.
    moves: dict[str, int]
    responsiveness_sum: int
    max_responsiveness: int
    wait_sum: int
    max_wait: int
    #: How often all others together got the token while one waited, in sum and at most; and any single one at most.
    others_sum: int
    max_others: int
    max_one_other: int

    @property
    def responsiveness(self) -> float:
        """The mean time from the first moment somebody waits until somebody is served."""
        return self.responsiveness_sum / self.requests

    @property
    def wait(self) -> float:
        """The mean time from a request until it is served."""
        return self.wait_sum / self.requests

    @property
    def others(self) -> float:
        """How often others got the token while one waited, on average."""
        return self.others_sum / self.requests

    @property
    def messages_per_request(self) -> float:
        """All messages, those that carry the token among them."""
        return self.messages / self.requests

    @property
    def searches_per_request(self) -> float:
        """The messages that do not carry the token."""
        return (self.messages - sum(self.moves.values())) / self.requests

    @property
    def steps_per_grant(self) -> float:
        """Time for each service; at full load what the protocol can do."""
        return self.steps / self.requests


def taken_together(outcomes: list[Outcome]) -> Outcome:
    """Add runs up, and keep the greatest of what is a maximum."""
    values: dict[str, Any] = {}
    for field in Outcome.__struct_fields__:
        of_runs = [getattr(outcome, field) for outcome in outcomes]
        if field == "moves":
            values[field] = {why: sum(moves.get(why, 0) for moves in of_runs) for moves in of_runs for why in moves}
        else:
            values[field] = max(of_runs) if field.startswith("max_") else sum(of_runs)
    return Outcome(**values)


def simulate(setup: Setup, seed: int, *, observe: Observer | None = None) -> Outcome:
    """Run once, until enough requests have been served; `observe` is shown every message."""
    chance = Random(seed)
    visits = setup.rounds * setup.nodes
    users = Users(nodes=setup.nodes, gap=setup.gap, requests=setup.requests, visits=visits, chance=chance)
    machines, loss = machines_of(setup), Loss(setup.loss, chance)
    if setup.loss:
        machines = [Losing(machine, loss) for machine in machines]
    run = users.run = DiscreteRun(machines, users, seed=chance.getrandbits(64), observe=observe)
    patience = _PATIENCE + (_PATIENCE_PER_NODE + 2 * setup.max_rest) * setup.nodes
    while True:
        heard, limit = users.heard_next, run.step + patience
        ending = run.run(limit if heard is None else min(heard - 1, limit))
        if ending is Ending.OVER:
            break
        is_quiet = ending is Ending.QUIET
        if heard is not None and (is_quiet or run.step == heard - 1):
            # If it is quiet, nothing can happen before this request.
            run.step = heard - 1
            users.want(heard)
        is_at_end = is_quiet and heard is None
        if is_at_end or (users.is_somebody_waiting and run.step - users.at >= patience):
            raise NobodyServed("P403", f"somebody waits, and after {run.step - users.at:,} steps nobody is served")
    users.break_off(run.step)
    return _outcome(run, users, loss.lost)


def machines_of(setup: Setup) -> list[Machine[Any]]:
    """Make the nodes."""
    nodes = [NodeId(node) for node in range(setup.nodes)]
    if setup.protocol == "raymond":
        return [Raymond(node, tells_moves=True) for node in nodes]
    if setup.protocol == "naimi":
        return [NaimiTrehel(node, tells_moves=True) for node in nodes]
    usual = TokenConfig(
        nodes[0],
        setup.nodes,
        protocol=setup.protocol,
        clean_up=setup.clean_up,
        is_directed=setup.is_directed,
        finding=setup.finding,
        has_one_search=setup.has_one_search,
        max_rest=setup.max_rest,
        again=setup.again,
    )
    if setup.lends_one_by_one or setup.lends_to_newest:
        usual = replace(usual, max_row=0)
    rings = [ring_node(replace(usual, node=node), tells_moves=True) for node in nodes]
    return [NewestFirst(ring) for ring in rings] if setup.lends_to_newest else [*rings]


class NewestFirst:
    """A node whose last trap is sprung first."""

    def __init__(self, ring: Machine[TokenState]) -> None:
        self.ring = ring
        self.start = ring.start

    def step(self, state: TokenState, event: Event, /) -> Step[TokenState]:
        """Take one event, and move a trap that was added at the end to the front."""
        after, effects = self.ring.step(state, event)
        traps = after.traps
        if traps and traps[-1] not in state.traps:
            after = replace(after, traps=(traps[-1], *traps[:-1]))
        return after, effects


class Loss:
    """Loses a part of the messages that may be lost, which are all that do not carry the token, and counts them."""

    def __init__(self, part: float, chance: Random) -> None:
        self.part = part
        self.lost = 0
        self._chance = chance

    def rest_of(self, effects: Effects) -> Effects:
        """Leave out what gets lost."""
        kept = tuple([effect for effect in effects if not self._is_lost(effect)])
        self.lost += len(effects) - len(kept)
        return kept

    def _is_lost(self, effect: Any) -> bool:
        return type(effect) is Send and type(effect.message) is not Token and self._chance.random() < self.part


class Losing:
    """A machine some of whose messages get lost."""

    def __init__(self, machine: Machine[Any], loss: Loss) -> None:
        self.machine = machine
        self.loss = loss

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[Any]:
        """Begin."""
        state, effects = self.machine.start(saved, life)
        return state, self.loss.rest_of(effects)

    def step(self, state: Any, event: Event) -> Step[Any]:
        """Take one event."""
        after, effects = self.machine.step(state, event)
        return after, self.loss.rest_of(effects)


def _outcome(run: DiscreteRun, users: Users, lost: int) -> Outcome:
    return Outcome(
        requests=users.served,
        steps=run.step,
        messages=run.sent + lost,
        moves=dict(users.moves),
        responsiveness_sum=users.responsiveness_sum,
        max_responsiveness=users.max_responsiveness,
        wait_sum=users.wait_sum,
        max_wait=users.max_wait,
        others_sum=users.fairness.others_sum,
        max_others=users.fairness.max_others,
        max_one_other=users.fairness.most,
    )
