"""Runs the paper's benchmark of data handover: peers on a platform that pass data on with a lock, cycle after cycle.

    outcome = simulate(Setup(peers=50, bytes=52_428_800, locked=5.0, leaving=0.25), seed=1)
    outcome.cycle, outcome.wait, outcome.blocking, outcome.messages_per_cycle

Peers run the machines of `protocols.elmp`, or of `handover_server` for comparison, and the paper's programs (see
`handover_peers`). Here is our own simulator for them: messages take the latency of their way, data also shares the
bandwidth of links with other data (see `handover_platform`, `handover_flows`).

The seed draws who comes and goes, when each begins within the first tenth of a second, and through whom they come back.
The first peer has the resource until all have come; those who come and go begin after the others.
"""

from __future__ import annotations

from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.errors import SolventError
from solvent.protocols.elmp.process import Elmp, seats
from solvent.protocols.elmp.state import ElmpConfig
from solvent.protocols.elmp.vocabulary import Data
from solvent.protocols.machine import NodeId
from solvent_lab.simulator.clock import Clock
from solvent_lab.simulator.collector import collecting_rarely
from solvent_lab.simulator.handover_flows import Flows
from solvent_lab.simulator.handover_peers import Peer, Seen, complete_cycles, holding_first, out_of_order
from solvent_lab.simulator.handover_platform import LATENCY_FACTOR, PLATFORMS
from solvent_lab.simulator.handover_server import Client, Server
from solvent_lab.simulator.handover_setup import Outcome, Setup
from solvent_lab.simulator.network import encoded_size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from solvent.protocols.machine import Machine
    from solvent_lab.simulator.handover_peers import Ground, Program
    from solvent_lab.simulator.handover_platform import Platform, Route

    Observer: TypeAlias = Callable[[NodeId, NodeId, Any, float], None]

_FIRST_SECONDS = 0.1
_ALL_HAVE_COME = 1.0


class CameToNothing(SolventError):
    """Peers wait and nothing happens any more, or the data is not what it must be."""

    exit_code = 1


def simulate(setup: Setup, seed: int, *, observe: Observer | None = None) -> Outcome:
    """Run once, until all who stay have done their cycles; `observe` is shown every message that arrives."""
    ground = _Air(PLATFORMS[setup.platform], setup.bytes, observe)
    seen = Seen(setup, Random(seed))
    with collecting_rarely():
        ground.run(peers_of(seen, ground), seen)
    return outcome_of(seen, ground.now)


# ------------------------------------------------------------------------------------------------------ the peers


class Cast(NamedTuple):
    """A peer, and its program; the server has none."""

    peer: Peer
    program: Program | None

    def begin(self) -> None:
        """Start it."""
        self.peer.begin(self.program)


def _program(peer: Peer, delay: float, *, comes_and_goes: bool) -> Program:
    if peer.node == 0:
        yield from holding_first(peer, _ALL_HAVE_COME)
    else:
        yield delay
    yield from (out_of_order if comes_and_goes else complete_cycles)(peer)


def peers_of(seen: Seen, ground: Ground) -> list[Cast]:
    """Make all peers; the first has the data, or the server, which is the last."""
    setup, chance = seen.setup, seen.chance
    leavers = set(chance.sample(range(setup.peers), setup.leavers_count))
    cast = []
    for node, machine in enumerate(_machines(setup)):
        peer = Peer(NodeId(node), machine, ground, seen)
        if node < setup.peers:
            comes_and_goes = node in leavers
            delay = _FIRST_SECONDS * (chance.random() + comes_and_goes)
            cast.append(Cast(peer, _program(peer, delay, comes_and_goes=comes_and_goes)))
        else:
            cast.append(Cast(peer, None))
    cast[0 if setup.mode == "peer" else -1].peer.version = 0
    seen.at_work |= {NodeId(node) for node in range(setup.peers) if node not in leavers}
    return cast


def _machines(setup: Setup) -> Sequence[Machine[Any]]:
    if setup.mode == "server":
        server = NodeId(setup.peers)
        return [*(Client(NodeId(node), server) for node in range(setup.peers)), Server()]
    config = ElmpConfig(order=setup.order, is_lazy=setup.is_lazy, exchange_every=setup.exchange_every)
    nodes = tuple(NodeId(node) for node in range(setup.peers))
    data = Data(0, nodes[0])
    return [Elmp(node, config, seat=seat, rank=node + 1, data=data) for node, seat in seats(nodes, setup.order).items()]


def outcome_of(seen: Seen, seconds: float) -> Outcome:
    """Put together what was seen of a run, and see whether all is right."""
    setup = seen.setup
    uses = len(seen.cycles) + seen.uses_of_leavers
    stay = setup.peers - setup.leavers_count
    if len(seen.cycles) != stay * setup.cycles:
        done = f"{len(seen.cycles)} of {stay * setup.cycles} cycles are done"
        raise CameToNothing("P405", f"{done}, and nothing happens any more")
    # The first use of all is no cycle; who comes and goes may be about to note one.
    if not uses < seen.version <= uses + 1 + setup.leavers_count:
        raise CameToNothing("P405", f"the data has version {seen.version} after {uses} uses of the resource")
    cycles = [cycle for _, cycle, _, _ in seen.cycles]
    return Outcome(
        cycle=fmean(cycles),
        wait=fmean(wait for _, _, wait, _ in seen.cycles),
        blocking=fmean(blocking for _, _, _, blocking in seen.cycles),
        messages_per_cycle=sum(seen.kinds.values()) / uses,
        fetch=fmean(seen.fetches) if seen.fetches else 0.0,
        transfers_per_cycle=seen.shipped / uses,
        settled=fmean(cycle for number, cycle, _, _ in seen.cycles if number or setup.cycles == 1),
        min_cycle=min(cycles),
        max_cycle=max(cycles),
        cycles=len(cycles),
        uses_of_leavers=seen.uses_of_leavers,
        departures=seen.departures,
        seconds=seconds,
        kinds=dict(sorted(seen.kinds.items())),
    )


# -------------------------------------------------------------------------------------------------- our simulator


class _Arrival(NamedTuple):
    sender: NodeId
    to: NodeId
    message: Any


class _Departure(NamedTuple):
    """Data that has waited for its latency."""

    links: tuple[int, ...]
    arrival: _Arrival


class _Waking(NamedTuple):
    node: NodeId


class _FlowEnds(NamedTuple):
    """The next of the transfers under way is over."""


class _Air:
    """Carries messages and data on a platform."""

    def __init__(self, platform: Platform, size: int, observe: Observer | None = None) -> None:
        self._platform = platform
        self._observe = observe
        self._size = float(size)
        self._clock = Clock()
        self._flows = Flows(platform.capacity)
        self._ends: int | None = None
        self._routes: dict[tuple[NodeId, NodeId], Route] = {}
        #: When the last message of each channel arrives.
        self._last: dict[tuple[NodeId, NodeId], float] = {}

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return self._clock.now

    def say(self, sender: NodeId, to: NodeId, message: Any) -> None:
        """Carry a message, not before those that were sent earlier."""
        at = self.now
        if sender != to:
            route = self._route(sender, to)
            at += LATENCY_FACTOR * route.latency + self._platform.seconds_for(encoded_size(message))
            at = max(at, self._last.get((sender, to), 0.0))
            self._last[sender, to] = at
        self._clock.put(at, _Arrival(sender, to, message))

    def ship(self, sender: NodeId, to: NodeId, message: Any) -> None:
        """Carry data."""
        route = self._route(sender, to)
        at = self.now + LATENCY_FACTOR * route.latency
        self._clock.put(at, _Departure(route.links, _Arrival(sender, to, message)))

    def wake(self, node: NodeId, seconds: float) -> None:
        """Let a peer sleep."""
        self._clock.put(self.now + seconds, _Waking(node))

    def run(self, cast: Sequence[Cast], seen: Seen) -> None:
        """Let things happen until all cycles are done."""
        peers = [one.peer for one in cast]
        for one in cast:
            one.begin()
        while not seen.is_over:
            taken = self._clock.take(float("inf"))
            if taken is None:
                return
            item = taken[1]
            if type(item) is _Arrival:
                self._hand_over(item, peers)
            elif type(item) is _Waking:
                peers[item.node].go_on()
            elif type(item) is _Departure:
                self._flows.begin(self.now, item.links, self._size, item.arrival)
                self._plan()
            else:
                arrived = self._flows.ended(self.now)
                self._plan()
                for arrival in arrived:
                    self._hand_over(arrival, peers)

    def _hand_over(self, arrival: _Arrival, peers: Sequence[Peer]) -> None:
        if self._observe is not None:
            self._observe(arrival.sender, arrival.to, arrival.message, self.now)
        peers[arrival.to].hear(arrival.sender, arrival.message)

    def _plan(self) -> None:
        """Know when the next transfer ends."""
        if self._ends is not None:
            self._clock.cancel(self._ends)
        end = self._flows.next_end()
        self._ends = None if end is None else self._clock.put(end, _FlowEnds())

    def _route(self, sender: NodeId, to: NodeId) -> Route:
        found = self._routes.get((sender, to))
        if found is None:
            found = self._routes[sender, to] = self._platform.route(sender, to)
        return found


__all__ = ["CameToNothing", "Cast", "outcome_of", "peers_of", "simulate"]
