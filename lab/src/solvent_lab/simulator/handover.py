"""Runs the paper's benchmark of data handover: peers on a platform that pass data on with a lock, cycle after cycle.

    outcome = simulate(Setup(peers=50, bytes=52_428_800, locked=5.0, leaving=0.25), seed=1)
    outcome.cycle, outcome.wait, outcome.blocking, outcome.messages_per_cycle

Peers run the machines of `protocols.elmp`, or of `handover_server` for comparison. A peer has the paper's three levels:
a program that uses the resource, a resource manager that fetches its data, and the lock's machine. Programs are the
paper's listings, as generators: a number is a sleep of so many seconds, an `Until` waits for something. Messages and
data go through `handover_network`.

Data has a version, which every use makes higher by one, so that in the end it tells how many uses there were: had two
peers had the resource at a time, or had a change been lost, it would not be right.

The seed draws who comes and goes, when each begins within the first tenth of a second, and through whom they come back.
The first peer has the resource until all have come; those who come and go begin after the others.
"""

from __future__ import annotations

from collections import Counter, deque
from enum import Enum
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from solvent.errors import Misuse, SolventError
from solvent.protocols.elmp.process import Elmp, seats
from solvent.protocols.elmp.state import ElmpConfig
from solvent.protocols.elmp.vocabulary import (
    Astray,
    Data,
    Dropped,
    Entrusted,
    Fetched,
    Granted,
    Join,
    Joined,
    Leave,
    Left,
    Release,
    Request,
)
from solvent.protocols.machine import Message, NodeId, Received, Report, Requested, Send
from solvent_lab.simulator.environment import collecting_rarely
from solvent_lab.simulator.handover_network import PLATFORMS, Network
from solvent_lab.simulator.handover_server import CARRIERS, Client, Server

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from solvent.protocols.machine import Event, Machine
    from solvent_lab.simulator.handover_network import Observer

MODES = ("peer", "server")
LEAVERS = ("use", "drop")
FETCHES = ("grant", "acquire")
_CODE = "P316"
_LEAST = {"peers": 1, "bytes": 1, "cycles": 1, "exchange_every": 1, "order": 2}
_DURATIONS = ("locked", "wblocked", "idle", "pause")
_FIRST_SECONDS = 0.1
_ALL_HAVE_COME = 1.0


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What is simulated; times in seconds."""

    peers: int = 50
    #: How large the data is.
    bytes: int = 50 * 1024 * 1024
    #: The paper's T_locked, T_Wblocked and T_idle.
    locked: float = 5.0
    wblocked: float = 0.0
    idle: float = 0.0
    #: Which part of the peers comes and goes; if and when these use the resource, and how long they sleep in between.
    leaving: float = 0.0
    leavers: str = "use"
    pause: float = 1.0
    #: `peer`: ELMP. `server`: lock and data at a server.
    mode: str = "peer"
    #: When a peer fetches the data: as soon as the lock is granted, or when it waits for it.
    fetch: str = "grant"
    #: Of each peer that stays.
    cycles: int = 100
    platform: str = "grid5000"
    #: See `ElmpConfig`.
    order: int = 2
    is_lazy: bool = False
    exchange_every: int = 1

    def __post_init__(self) -> None:
        names = ("mode", MODES), ("leavers", LEAVERS), ("fetch", FETCHES)
        for name, known in (*names, ("platform", tuple(PLATFORMS))):
            value = getattr(self, name)
            if value not in known:
                raise Misuse(_CODE, f"there is no {name} `{value}`", hint=f"there are {', '.join(known)}")
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise Misuse(_CODE, f"`{name}` is {getattr(self, name)}, and must be {least} at least")
        for name in _DURATIONS:
            if not 0 <= getattr(self, name) < float("inf"):
                raise Misuse(_CODE, f"`{name}` is {getattr(self, name)}, and must be a number of seconds")
        if not 0 <= self.leaving <= 1:
            raise Misuse(_CODE, f"`leaving` is {self.leaving}, and must be a part: from 0 to 1")
        if self.leavers_count >= self.peers:
            raise Misuse(_CODE, "all peers come and go: somebody must stay, or there are no cycles to see")
        if self.leavers_count and not self.pause:
            raise Misuse(_CODE, "`pause` is 0: who comes and goes without a pause stops the clock")
        if self.fetch == "acquire" and self.mode == "server":
            raise Misuse(_CODE, "a server sends the data with the lock: nobody fetches it later")

    @property
    def leavers_count(self) -> int:
        """How many come and go."""
        return round(self.leaving * self.peers)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen in one run. Means are over all cycles of all peers that stay; times in seconds."""

    #: The paper's T_DHO, T_wait and T_blocking.
    cycle: float
    wait: float
    blocking: float
    #: All messages, those with data among them, for each use of the resource.
    messages_per_cycle: float
    #: From asking for the data until it is there, where it had to be fetched; without a server only.
    fetch: float
    #: How often data moved, for each use.
    transfers_per_cycle: float
    #: The mean cycle but for each peer's first, which has no full round before it.
    settled: float
    min_cycle: float
    max_cycle: float
    #: How many cycles those who stay have done, how often the others have used the resource, and left.
    cycles: int
    uses_of_leavers: int
    departures: int
    #: Seconds of simulated time.
    seconds: float
    #: Messages by their names.
    kinds: dict[str, int]


class CameToNothing(SolventError):
    """Peers wait and nothing happens any more, or the data is not what it must be."""

    exit_code = 1


# ---------------------------------------------------------------------------------------------------------- peers


class Fetch(Message, frozen=True, gc=False):
    """Send this version of the data."""

    version: int


class Parcel(Message, frozen=True, gc=False):
    """Here it is; the data itself is with it."""

    version: int


class Until(Enum):
    """What a program may wait for."""

    HELD = "the resource is granted, and the data is here"
    LEFT = "the peer takes no part any more"
    JOINED = "it takes part"


Program: TypeAlias = "Generator[float | Until, None, None]"


class Seen:
    """What is seen of a run."""

    def __init__(self, setup: Setup, chance: Random) -> None:
        self.setup = setup
        self.chance = chance
        #: Of each cycle of those who stay: its number, and how long it, its wait and its blocking took.
        self.cycles: list[tuple[int, float, float, float]] = []
        #: How long data took to fetch, in those cycles in which it was fetched.
        self.fetches: list[float] = []
        self.kinds: Counter[str] = Counter()
        self.shipped = 0
        #: Uses of the resource by those who come and go, and how often one left.
        self.uses_of_leavers = 0
        self.departures = 0
        self.version = 0
        #: Who still has cycles to do.
        self.at_work: set[NodeId] = set()

    @property
    def is_over(self) -> bool:
        """Whether all who stay have done their cycles."""
        return not self.at_work


class Peer:
    """One peer, or the server."""

    def __init__(self, node: NodeId, machine: Machine[Any], network: Network, seen: Seen) -> None:
        self.node = node
        self.network = network
        self.seen = seen
        self.setup = seen.setup
        #: The version of the data that is in this peer's memory; none yet.
        self.version = -1
        self._machine = machine
        self._state: Any = None
        self._events: deque[Event] = deque()
        self._is_stepping = False
        self._program: Program | None = None
        self._awaits: Until | None = None
        self._is_going = False
        #: What has come of what a program may wait for.
        self._come = {Until.JOINED}
        self._granted: Data | None = None
        #: The claim, or the errand, for which data is fetched.
        self._use = 0
        self._fetching: tuple[int, float] | None = None

    # --------------------------------------------------------------------------------------------- from the network

    def begin(self, program: Program | None = None) -> None:
        """Start the machine, and run a program."""
        self._state, effects = self._machine.start()
        self._carry_out(effects)
        self._program = program
        if program is not None:
            self.go_on()

    def hear(self, sender: NodeId, message: Any) -> None:
        """Take what arrives."""
        if isinstance(message, Fetch):
            # One that is late is of somebody who does not wait for it any more.
            if message.version == self.version:
                self._ship(sender, Parcel(message.version))
        elif isinstance(message, Parcel):
            self._on_parcel(message.version)
        else:
            if isinstance(message, CARRIERS):
                self.version = message.version
            self._step(Received(sender, message))

    def go_on(self) -> None:
        """Go on with the program until it sleeps or waits."""
        assert self._program is not None
        self._is_going = True
        for want in self._program:
            if isinstance(want, Until):
                self._awaits = want
                self._consider_fetching()
                if want not in self._come:
                    break
                self._awaits = None
            elif want > 0:
                self.network.wake(self.node, want)
                break
        self._is_going = False

    # --------------------------------------------------------------------------------------------- what users call

    def request(self) -> None:
        """Claim the resource; a claim that still waits is dropped."""
        self._step(Requested(Request()))

    def release(self) -> None:
        """Let the next one have it; ignored where nothing was granted."""
        data = None
        if Until.HELD in self._come:
            self.version += 1
            self.seen.version = max(self.seen.version, self.version)
            data = Data(self.version, self.node)
        self._forget_claim()
        self._step(Requested(Release(data=data)))

    def destroy(self) -> None:
        """Leave."""
        self._come.clear()
        self._granted = None
        self._step(Requested(Leave()))

    def create(self) -> None:
        """Come back, through anybody who stays."""
        stays = sorted(self.seen.at_work) or [NodeId(0)]
        self._step(Requested(Join(self.seen.chance.choice(stays))))

    # ---------------------------------------------------------------------------------------- the resource manager

    def _let_come(self, what: Until) -> None:
        """Let something have come, and a program go on that waits for it."""
        self._come.add(what)
        if self._awaits is what and not self._is_going:
            self._awaits = None
            self.go_on()

    def _on_told(self, outcome: Any) -> None:
        match outcome:
            case Granted(data=data, use=use):
                self._granted, self._use = data, use
                self._consider_fetching()
            case Entrusted(data, use=use):
                self._use = use
                self._fetch(data)
            case Dropped():
                self._forget_claim()
            case Left():
                self.seen.departures += 1
                self._let_come(Until.LEFT)
            case Joined():
                self._come.discard(Until.LEFT)
                self._let_come(Until.JOINED)
            case Astray():
                self.create()

    def _consider_fetching(self) -> None:
        """Fetch the data when the resource is granted; or not before the program waits for it, as the paper does."""
        data = self._granted
        if data is None or Until.HELD in self._come:
            return
        if data.holder == self.node:
            self._let_come(Until.HELD)
        elif self.setup.fetch == "grant" or self._awaits is Until.HELD:
            self._fetch(data)

    def _fetch(self, data: Data) -> None:
        if self._fetching is None or self._fetching[0] != data.version:
            self._fetching = data.version, self.network.now
            self._say(data.holder, Fetch(data.version))

    def _on_parcel(self, version: int) -> None:
        if self._fetching is None or self._fetching[0] != version:
            return
        self.seen.fetches.append(self.network.now - self._fetching[1])
        self._fetching = None
        self.version = version
        self._step(Requested(Fetched(version, use=self._use)))
        if self._granted is not None and self._granted.version == version:
            self._let_come(Until.HELD)

    def _forget_claim(self) -> None:
        self._granted = None
        self._come.discard(Until.HELD)

    # ----------------------------------------------------------------------------------------------- the machine

    def _step(self, event: Event) -> None:
        """Let the machine take an event; one that follows from an effect comes after the other effects."""
        self._events.append(event)
        if self._is_stepping:
            return
        self._is_stepping = True
        while self._events:
            self._state, effects = self._machine.step(self._state, self._events.popleft())
            self._carry_out(effects)
        self._is_stepping = False

    def _carry_out(self, effects: Sequence[Any]) -> None:
        for effect in effects:
            if type(effect) is Send:
                if isinstance(effect.message, CARRIERS):
                    self._ship(effect.to, effect.message)
                else:
                    self._say(effect.to, effect.message)
            elif type(effect) is Report:
                self._on_told(effect.outcome)
            else:
                raise TypeError(f"node {self.node} gave {effect!r}, which these experiments have no use for")

    def _say(self, to: NodeId, message: Any) -> None:
        if to != self.node:
            self.seen.kinds[type(message).__name__] += 1
        self.network.say(self.node, to, message)

    def _ship(self, to: NodeId, message: Any) -> None:
        self.seen.kinds[type(message).__name__] += 1
        self.seen.shipped += 1
        self.network.ship(self.node, to, message)


# ------------------------------------------------------------------------------------------------------- programs


def holding_first(peer: Peer, seconds: float) -> Program:
    """Have the resource until all others queue up; else whoever is first could do all its cycles alone."""
    peer.request()
    yield Until.HELD
    yield seconds
    peer.release()


def complete_cycles(peer: Peer) -> Program:
    """Do the paper's Listing 2: request, go on for a while, acquire, hold, release."""
    setup, seen, network = peer.setup, peer.seen, peer.network
    for number in range(setup.cycles):
        began = network.now
        yield setup.idle
        requested = network.now
        peer.request()
        yield setup.wblocked
        acquires = network.now
        yield Until.HELD
        held = network.now
        yield setup.locked
        peer.release()
        seen.cycles.append((number, network.now - began, held - requested, held - acquires))
    seen.at_work.discard(peer.node)
    if not seen.is_over:
        peer.destroy()
        yield Until.LEFT


def out_of_order(peer: Peer) -> Program:
    """Do the paper's Listing 1 again and again: the first request is dropped by the second, then leave and come back.

    As it is printed it never holds the resource. With `leavers` = "use" it waits for it and uses it once before it
    releases and leaves, so that all peers use it, as they do where nobody leaves.
    """
    setup, seen = peer.setup, peer.seen
    while True:
        peer.request()
        yield setup.pause
        peer.request()
        yield setup.pause
        if setup.leavers == "use":
            yield Until.HELD
            yield setup.locked
            seen.uses_of_leavers += 1
        peer.release()
        peer.release()
        peer.destroy()
        yield Until.LEFT
        peer.create()
        yield Until.JOINED


# ----------------------------------------------------------------------------------------------------------- runs


def simulate(setup: Setup, seed: int, *, observe: Observer | None = None) -> Outcome:
    """Run once, until all who stay have done their cycles; `observe` is shown every message that arrives."""
    network = Network(PLATFORMS[setup.platform], setup.bytes, observe)
    seen = Seen(setup, Random(seed))
    with collecting_rarely():
        peers = _peers(seen, network)
        for peer, program in peers:
            peer.begin(program)
        network.run(
            lambda sender, to, message: peers[to][0].hear(sender, message),
            lambda node: peers[node][0].go_on(),
            lambda: seen.is_over,
        )
    return _outcome(seen, network.now)


def _program(peer: Peer, delay: float, *, comes_and_goes: bool) -> Program:
    if peer.node == 0:
        yield from holding_first(peer, _ALL_HAVE_COME)
    else:
        yield delay
    yield from (out_of_order if comes_and_goes else complete_cycles)(peer)


def _peers(seen: Seen, network: Network) -> list[tuple[Peer, Program | None]]:
    """Make all peers with their programs; the first has the data, or the server, which is the last and has none."""
    setup, chance = seen.setup, seen.chance
    leavers = set(chance.sample(range(setup.peers), setup.leavers_count))
    peers: list[tuple[Peer, Program | None]] = []
    for node, machine in enumerate(_machines(setup)):
        peer = Peer(NodeId(node), machine, network, seen)
        if node < setup.peers:
            comes_and_goes = node in leavers
            delay = _FIRST_SECONDS * (chance.random() + comes_and_goes)
            peers.append((peer, _program(peer, delay, comes_and_goes=comes_and_goes)))
        else:
            peers.append((peer, None))
    peers[0 if setup.mode == "peer" else -1][0].version = 0
    seen.at_work |= {NodeId(node) for node in range(setup.peers) if node not in leavers}
    return peers


def _machines(setup: Setup) -> Sequence[Machine[Any]]:
    if setup.mode == "server":
        server = NodeId(setup.peers)
        return [*(Client(NodeId(node), server) for node in range(setup.peers)), Server()]
    config = ElmpConfig(order=setup.order, is_lazy=setup.is_lazy, exchange_every=setup.exchange_every)
    nodes = tuple(NodeId(node) for node in range(setup.peers))
    data = Data(0, nodes[0])
    return [Elmp(node, config, seat=seat, rank=node + 1, data=data) for node, seat in seats(nodes, setup.order).items()]


def _outcome(seen: Seen, seconds: float) -> Outcome:
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
